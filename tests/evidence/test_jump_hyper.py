"""The chain over (T, z, alpha, eta): the exact posterior on a tiny corpus, with a continuous prior of alpha and eta.

The law of (T, z, log alpha, log eta) is summed over all z for T = 1..3 and integrated over a fine grid of the logs. As
for the chain at fixed h, the mean of weight times (f - E[f]) is 0 for every omega, and broken chains are refused.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

import oracle
from bayestopics.base.checkpoint import NoCheckpoint
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence import jump as module
from bayestopics.evidence import pair_moves
from bayestopics.evidence.jump import Chain, Sampler, run_chain
from bayestopics.evidence.pmmh import Walk
from bayestopics.evidence.soft_topic import Bias, Normaliser, SoftTopic, level_of
from bayestopics.evidence.topic_law import hyper_law
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.given_z import Ends, draw_alpha, of_alpha, of_eta, slice_step
from bayestopics.lda.state import Prior
from pmmh_oracle import check_means

MOST, ITERATIONS, ENDS = 3, 3600, (0.01, 20.0)
TOPIC_PRIOR, START = TopicPrior(1, MOST, "poisson", 2.5), Prior(0.7, 0.5)
GRID = np.linspace(*np.log(ENDS), 201)  # the integrand is smooth: halving the steps changes 1e-4 of its width or less


@pytest.fixture(autouse=True)
def _rough_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short paths, split or merged every other iteration; any omega that depends on T and on the level of alpha."""
    monkeypatch.setattr(pair_moves, "LAUNCH", 2)
    monkeypatch.setattr(pair_moves, "STEPS", (2, 3))
    monkeypatch.setattr(module, "EVERY", 2)
    monkeypatch.setattr(module, "SWEEPS", 1)
    monkeypatch.setattr(SoftTopic, "_make", omega_of)


BIAS_AT, MORE = SoftTopic.bias_at, 20


def deeper(self: SoftTopic, topics: int, normaliser: Normaliser) -> Bias:
    """On a tiny corpus the depth hardly depends on alpha; here it does, from 0.3 to 3 within a level."""
    bias = BIAS_AT(self, topics, normaliser)
    return bias._replace(depth=bias.depth**MORE)


def omega_of(self: SoftTopic, topics: int) -> Bias:
    """Small topics weigh more if alpha is large, as they do in omega as it is learnt."""
    level = level_of(self.alpha)
    rough = np.random.default_rng([topics, level + 100]).normal(0.0, 0.8, 3)
    omega = np.append(rough + (1.5 if level >= 0 else -1.0), 0.0)
    return Bias(omega, np.exp(np.diff(omega)))


@cache
def tiny() -> Corpus:
    """With an empty document and a term that does not occur."""
    return oracle.tiny_corpus([[0, 0, 2], [], [2, 2]], 3)


def features(topics: np.ndarray, used: np.ndarray, log_alpha: np.ndarray, log_eta: np.ndarray) -> np.ndarray:
    """Of each draw."""
    laws = [np.ones_like(log_alpha), log_alpha, log_eta, log_alpha * log_eta, (log_alpha > 0) & (log_eta < -1)]
    return np.column_stack([(topics == t) * law for t in range(1, MOST + 1) for law in laws] + [used == 2])


@cache
def expected() -> np.ndarray:
    """E[features], by enumeration and integration."""
    corpus, sums, total = tiny(), 0.0, 0.0
    weights = np.ones(len(GRID))
    weights[[0, -1]] = 0.5
    grids = [grid.ravel() for grid in np.meshgrid(GRID, GRID, indexing="ij")]
    for topics in range(1, MOST + 1):
        z = oracle.all_assignments(corpus.token_count, topics)
        used = np.array([len(set(row)) for row in z.tolist()])
        of_alpha = [oracle.log_prior(corpus.documents, z, np.full(topics, np.exp(x))) for x in GRID]
        of_eta = [oracle.log_likelihood(corpus.terms, z, topics, np.exp(x), corpus.term_count) for x in GRID]
        a, e = np.exp(of_alpha) * weights[:, None], np.exp(of_eta) * weights[:, None]
        for number in range(1, topics + 1):
            mine = used == number
            mass = (np.exp(TOPIC_PRIOR.log_density(topics)) * a[:, mine] @ e[:, mine].T).ravel()
            sums = sums + mass @ features(np.full(len(mass), topics), np.full(len(mass), number), *grids)
            total += mass.sum()
    return np.asarray(sums / total)


def sampler(seed: int = 1) -> Sampler:
    assignments = np.zeros(tiny().token_count, np.int32)
    chain = Chain(0, 2, np.random.default_rng(seed), assignments, 2, 0, {}, {1: 0.7}, np.empty(0))
    chain.trace, chain.shares = np.empty((ITERATIONS, len(module.TRACE))), [{}]
    return Sampler(tiny(), START, TOPIC_PRIOR, chain)


def check_chain() -> Chain:
    run = sampler()
    run.hyper = ENDS
    for _ in range(ITERATIONS):
        run.iterate(learning=False)
        run.record(0)
    columns = dict(zip(module.TRACE, run.chain.trace.T, strict=True))
    rows = features(columns["topics"], columns["occupied"], np.log(columns["alpha"]), np.log(columns["eta"]))
    check_means((rows - expected()) * np.exp(columns["log_weight"])[:, None], np.zeros(rows.shape[1]))
    return run.chain


@pytest.mark.parametrize("small", [0, 1000])
def test_the_chain_has_the_exact_posterior(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one typical alpha for the weights of the soft topic, and with levels."""
    monkeypatch.setattr(module, "SMALL", small)
    chain = check_chain()
    exact = expected()[::5][:MOST]
    shares = np.array([chain.shares[0][topics] for topics in range(1, MOST + 1)])
    assert_allclose(shares / shares.sum(), exact, atol=0.04)  # the law of T given each partition: a smaller error


def without_weight(self: Sampler, learning: bool, ends: Ends) -> None:
    """alpha is drawn as if omega did not depend on it."""
    with patch.object(module, "log_weight", lambda *_: 0.0):
        DRAW(self, learning, ends)


def old_omega(self: Sampler, learning: bool, ends: Ends) -> None:
    """The soft topic stays with the level of the start."""
    DRAW(self, learning, ends)
    self.soft_topic = self._soft_topic_at(float(START.alpha))  # type: ignore[arg-type]


def old_alpha(self: Sampler, learning: bool, ends: Ends) -> None:
    """The law of T given the partition keeps an old alpha."""
    DRAW(self, learning, ends)
    self.normaliser = Normaliser(tiny().document_lengths, 0.02)


def uniform_eta(self: Sampler, learning: bool, ends: Ends) -> None:
    """The prior of eta is uniform in eta, not in its log."""
    DRAW(self, learning, ends)
    terms, totals = (counts[..., : self.chain.topics] for counts in self.counts[1:])
    density = of_eta(terms, totals)
    self.eta = float(np.exp(slice_step(lambda x: density(x) + x, np.log(self.eta), ENDS, self.chain.rng)))


DRAW = Sampler._draw_hyper
FAULTS = {
    "alpha without the weight": without_weight,
    "omega of the start": old_omega,
    "old alpha": old_alpha,
    "uniform in eta": uniform_eta,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_chain_is_refused(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sampler, "_draw_hyper", FAULTS[fault])
    with pytest.raises(AssertionError, match="largest"):
        check_chain()


def test_with_one_topic_alpha_has_its_prior() -> None:
    rng = np.random.default_rng(5)
    draws = np.log([draw_alpha(np.array([[3], [4]]), np.array([3, 4]), 0.1, rng, ENDS) for _ in range(2000)])
    low, high = np.log(ENDS)
    scores = ((draws - low) / (high - low))[:, None] ** np.arange(1, 4) - 1 / np.arange(2, 5)
    assert np.abs(scores.mean(axis=0) / (scores.std(axis=0) / np.sqrt(2000))).max() < 5


# -- the run -------------------------------------------------------------------------------------------


def run(iterations: int = 6, burn_in: int = 8, **how: Any) -> Chain:
    walk = Walk(TopicPrior(1, 5), (2,), iterations, burn_in)
    return run_chain(tiny(), START, walk, 0, 7, NoCheckpoint(), ENDS, **how)


def test_alpha_and_eta_keep_their_start_in_the_first_part_of_the_burn_in() -> None:
    chain = run()
    alpha, eta = (chain.trace[:, module.TRACE.index(name)] for name in ("alpha", "eta"))
    assert_array_equal(alpha[:2], 0.7)
    assert_array_equal(eta[:2], 0.5)
    assert len(set(alpha[2:])) == len(set(eta[2:])) == 12


@pytest.mark.parametrize("small", [0, 1000])
def test_the_weights_of_the_soft_topic_are_frozen_after_the_burn_in(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one typical alpha, and with levels."""
    monkeypatch.setattr(module, "SMALL", small)
    learnt: list[list[tuple[int, int]]] = []
    record = Sampler.record

    def watched(self: Sampler, batch: int | None) -> None:
        record(self, batch)
        learnt.append([(one.sweeps, one.followed) for one in self.chain.soft_topics.values() if one.sweeps > 0])

    monkeypatch.setattr(Sampler, "record", watched)
    run(iterations=20, burn_in=20)
    assert (len(learnt[19]) > 1) == (small > 0)
    assert (learnt[19][0][1] > 0) == (small == 0)
    assert all(one == learnt[19] for one in learnt[19:])


def test_each_level_of_alpha_has_weights_of_its_own() -> None:
    """The first with the alpha of the start, so that a chain with alpha fixed has the weights of its alpha; the others
    with the middle of their level, whatever alpha comes there first."""
    one = sampler()
    assert one.soft_topic.alpha == START.alpha
    assert one._soft_topic_at(0.69) is one.soft_topic
    other = one._soft_topic_at(3.1)
    assert other.alpha == pytest.approx(np.exp(1.25))
    assert one._soft_topic_at(4.4) is other
    assert one._soft_topic_at(4.5) is not other


def test_sweeps_and_draws_have_the_weights_of_the_present_alpha(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a level they differ in depth; if one step used another depth, the law of the chain would be off."""
    monkeypatch.setattr(SoftTopic, "bias_at", deeper)
    one, topics = sampler(), 4
    one.alpha, one.normaliser = 0.95, Normaliser(tiny().document_lengths, 0.95)
    sizes, bias = np.array([3, 1]), one.soft_topic.bias(topics)
    dear = ((one.normaliser(3) - one.normaliser(4)) / one.soft_topic.penalty(4)) ** MORE
    assert abs(dear - 1) > 0.2
    omega = dear * np.append(bias.omega[np.minimum(sizes, len(bias.omega) - 1)], np.repeat(bias.omega[0], 2))
    expected = np.log(np.mean(np.exp(omega)))
    assert one._log_tilt(topics, sizes) == pytest.approx(expected + one.chain.lifts.get(topics, 0.0))
    with patch.object(module, "soft_sweep") as sweep:
        one.chain.topics = topics
        one._sweep(learning=False)
    tilt = next(argument for argument in sweep.call_args.args if np.shape(argument) == bias.tilt.shape)
    assert_allclose(tilt, bias.tilt**dear)
    one.chain.topics, logs = 2, []
    with patch.object(module, "slice_step", lambda log_density, start, ends, rng: logs.append(log_density) or start):
        one._draw_hyper(False, ENDS)
    of_z = of_alpha(one.counts[0][:, :2], tiny().document_lengths)
    for alpha in (0.65, 0.95):
        bias = deeper(one.soft_topic, 2, Normaliser(tiny().document_lengths, alpha))
        weight = logsumexp(bias.depth * bias.omega[np.minimum(one.sizes, len(bias.omega) - 1)]) - np.log(2)
        assert logs[0](np.log(alpha)) == pytest.approx(of_z(np.log(alpha)) + weight)


def test_the_soft_topic_follows_alpha() -> None:
    """A mean of the logs; the first draw takes the place of the start."""
    one = SoftTopic(10, np.array([5, 5]), 100.0)
    one.follow(0.1)
    assert one.alpha == pytest.approx(0.1)
    one.follow(10.0)
    assert one.alpha == pytest.approx(1.0)
    assert one.normaliser(3) == pytest.approx(Normaliser(np.array([5, 5]), 1.0)(3))
    for _ in range(2000):
        one.follow(7.0)
    assert one.alpha == pytest.approx(7.0)


def test_a_state_is_kept_for_each_number_of_topics() -> None:
    chain = run(iterations=300)
    visited = chain.trace[8:, 0]
    assert set(chain.drawn_by_topics) == set(visited.astype(int))
    weights = np.exp(chain.trace[8:, module.TRACE.index("log_weight")])
    for topics, one in chain.drawn_by_topics.items():
        assert one.weight == pytest.approx(weights[visited == topics].sum())
        assert one.assignments.max() < topics
        rows = chain.trace[8:][visited == topics]
        assert (one.alpha, one.eta) in {tuple(row) for row in rows[:, -2:]}


def test_a_kept_state_is_drawn_by_its_weight() -> None:
    """A state of weight 3 is kept from among three others of weight 1 in half of all cases."""
    run, kept = sampler(), []
    for _ in range(400):
        run.chain.drawn_by_topics.clear()
        for alpha, weight in ((1.0, 1.0), (2.0, 3.0), (3.0, 1.0), (4.0, 1.0)):
            run.alpha = alpha
            run._keep_by_topics(2, weight)
        kept.append(run.chain.drawn_by_topics[2].alpha == 2.0)
    assert abs(sum(kept) - 200) < 5 * 10  # a standard deviation is 10


def test_a_chain_starts_from_the_topics_that_were_found() -> None:
    found = np.array([1, 0, 1, 0, 1], np.int32)
    chain = run(iterations=1, burn_in=0, found=found)
    assert chain.start == 2
    assert_array_equal(found, [1, 0, 1, 0, 1])  # a copy is changed


def test_the_law_of_alpha_weighs_draws_and_each_chain_the_same() -> None:
    logs = np.log([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]])
    weights = np.array([[0.0, 1.0, 0.0], [10.0, 20.0, 10.0]])
    assert hyper_law(logs, weights) == pytest.approx({"mean": 3.5, "median": 2.0, "low": 2.0, "high": 5.0})
