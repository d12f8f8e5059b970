"""Superfluous topics are taken out in the burn-in of a chain over (T, z): by enumeration, and on simulated corpora."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import logsumexp

import oracle
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.evidence import burn_in, weeding
from bayestopics.evidence.jump import Chain, Sampler
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior, count

PRIOR = Prior(0.3, 0.4)


def log_works(steps: int, repeats: int) -> tuple[np.ndarray, float]:
    """Works of paths that end without a token in topic 1, -inf for the others; and the exact log of their mean."""
    corpus = oracle.tiny_corpus([[0, 0, 1], [1, 2]], 3)
    exact = oracle.enumerate_all(corpus, 3, PRIOR)
    rng, works = np.random.default_rng(5), []
    with patch.object(weeding, "BEYOND", 0.5):
        for _ in range(repeats):
            z = exact.assignments[rng.choice(len(exact.posterior), p=exact.posterior)].astype(np.int32)
            counts = count(corpus, 5, z)  # there may be more columns than topics
            data = (corpus, 1, 3, counts, z, PRIOR.alpha, PRIOR.eta)
            work, made = weeding.anneal_away(*data, steps, -np.inf, rng)
            assert made == steps
            for have, want in zip(counts, count(corpus, 5, z), strict=True):
                assert_array_equal(have, want)
            works.append(work if counts[2][1] == 0 else -np.inf)
    without = ~np.any(exact.assignments == 1, axis=1)
    return np.array(works), float(logsumexp(exact.log_joint[without]) - exact.log_evidence)


@pytest.mark.parametrize("steps", [1, 4])
def test_the_work_is_an_unbiased_estimate(steps: int) -> None:
    oracle.check_unbiased(*log_works(steps, 8000))


def test_without_the_work_the_check_fails() -> None:
    works, exact = log_works(4, 8000)
    with pytest.raises(AssertionError):
        oracle.check_unbiased(np.where(np.isfinite(works), 0.0, works), exact)


def sampler_at(corpus: Corpus, z: np.ndarray, prior: Prior, topic_prior: TopicPrior, empty: int = 0) -> Sampler:
    topics = int(z.max()) + 1 + empty
    chain = Chain(0, topics, np.random.default_rng(0), z.astype(np.int32), topics, topics - 1, {}, {}, np.empty(0))
    return Sampler(corpus, prior, topic_prior, chain)


@pytest.mark.parametrize("empty", [0, 1, 3])
@pytest.mark.parametrize("small", [False, True])
def test_weeding_takes_a_superfluous_topic_and_no_other(small: bool, empty: int) -> None:
    """The superfluous topic has a few tokens of all others, a small one has words of its own."""
    prior, rng = Prior(0.1, 0.3), np.random.default_rng(1)
    simulated = simulate_lda(
        documents=60, length=100, terms=60, topics=4, alpha=0.1, eta=0.3, rng=np.random.default_rng(2)
    )
    z = simulated.truth["assignments"].copy()
    corpus = simulated.corpus
    if small:  # keep a tenth of topic 3
        kept = np.flatnonzero((z != 3) | (rng.random(len(z)) < 0.1))
        corpus, z = burn_in.part_of(corpus, kept), z[kept]
    with_weed = np.where(rng.random(len(z)) < 0.02, 4, z)
    with_weed = np.array([0, 1, 4, 3, 2])[with_weed]  # it is not the last one
    sampler = sampler_at(corpus, with_weed, prior, TopicPrior(1, 20), empty)
    for _ in range(2):  # the second time there is nothing to take out
        burn_in.weed(sampler, 20_000)
        assert np.sum(sampler.sizes > 0) == 4  # T can have an empty topic, because it is drawn afterwards
        columns = sampler.counts[2].size
        for have, want in zip(sampler.counts, count(corpus, columns, sampler.chain.assignments), strict=True):
            assert_array_equal(have, want)


def test_a_path_that_is_hopeless_ends_early_and_a_weeding_has_a_limit() -> None:
    """A true topic is far from open; and what was begun is undone."""
    simulated = simulate_lda(
        documents=60, length=100, terms=60, topics=4, alpha=0.1, eta=0.3, rng=np.random.default_rng(2)
    )
    z = simulated.truth["assignments"]
    sampler = sampler_at(simulated.corpus, z.copy(), Prior(0.1, 0.3), TopicPrior(1, 20))
    with patch.object(weeding, "OPEN", 20.0):
        gone, sweeps = burn_in._goes(sampler, 0, 30.0, 20_000)
    assert not gone
    assert 0 < sweeps < weeding.STEPS[0]
    assert_array_equal(sampler.chain.assignments, z)
    assert burn_in._goes(sampler, 0, 30.0, weeding.STEPS[0] - 1) == (False, 0)
    assert burn_in._goes(sampler, 0, -1.0, 20_000) == (False, 0)


def test_weeding_respects_the_prior() -> None:
    simulated = simulate_lda(
        documents=60, length=100, terms=60, topics=4, alpha=0.1, eta=0.3, rng=np.random.default_rng(2)
    )
    z = np.where(
        np.random.default_rng(1).random(simulated.corpus.token_count) < 0.02, 4, simulated.truth["assignments"]
    )
    sampler = sampler_at(simulated.corpus, z, Prior(0.1, 0.3), TopicPrior(5, 20))
    burn_in.weed(sampler, 20_000)
    assert np.sum(sampler.sizes > 0) == 5
