"""The soft topic is led through all sizes, so that its weights are known where the chain has not been."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.evidence.jump import TRACE, Chain, Sampler
from bayestopics.evidence.scan import SWEEPS, scan, umbrella
from bayestopics.evidence.soft_topic import VISITS
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior

PRIOR = Prior(0.1, 0.1)


def two_topics(seed: int) -> tuple:
    one = simulate_lda(documents=80, length=60, terms=50, topics=2, alpha=0.1, eta=0.1, rng=np.random.default_rng(seed))
    return one.corpus, one.truth["assignments"].astype(np.int32)


def sampler_at(seed: int) -> Sampler:
    corpus, z = two_topics(seed)
    chain = Chain(0, 2, np.random.default_rng(seed), z, 3, 2, {}, {}, np.full((1, len(TRACE)), np.nan))
    return Sampler(corpus, PRIOR, TopicPrior(1, 9), chain)


def test_only_the_weights_are_changed() -> None:
    sampler = sampler_at(0)
    before, counts = sampler.chain.assignments.copy(), [one.copy() for one in sampler.counts]
    scan(sampler, 10_000)
    assert_array_equal(sampler.chain.assignments, before)
    assert (sampler.chain.topics, sampler.chain.soft) == (3, 2)
    for have, want in zip(sampler.counts, counts, strict=True):
        assert_array_equal(have[..., :3], want[..., :3])


def test_every_size_is_visited_and_the_bias_is_not_learnt() -> None:
    """Two scans find the same rises, within their error, and not those of the first guess, 67 nats in all."""
    sampler = sampler_at(1)
    scan(sampler, 10_000)
    soft_topic, tokens = sampler.soft_topic, sampler.corpus.token_count
    edges = soft_topic.bin_edges(3)
    visits = soft_topic.rates[3][: len(edges) - 1, VISITS] / tokens
    assert visits.min() > 0.2 * SWEEPS
    rises = []
    for seed in (2, 3):
        other = sampler_at(1)
        other.chain.rng = np.random.default_rng(seed)
        scan(other, 10_000)
        rises.append(np.cumsum(other.soft_topic._force(3, len(edges) - 1)[0] * np.diff(edges)))
    small = edges[1:] <= 60
    assert_allclose(rises[0][small], rises[1][small], atol=3.0)
    assert max(one.max() for one in rises) < 45.0


def test_without_sweeps_nothing_is_learnt() -> None:
    sampler = sampler_at(0)
    scan(sampler, 10)
    assert not any(rates.any() for rates in sampler.soft_topic.rates.values())


def test_the_umbrella_holds_a_size() -> None:
    for centre in (0.0, 1.0, 30.0, 400.0):
        tilt = umbrella(centre, 1000)
        assert np.isfinite(tilt).all()
        weights = np.append(0.0, np.cumsum(np.log(tilt)))
        assert abs(np.argmax(weights) - centre) <= 1
