"""The chain over (T, z): the exact posterior on tiny corpora, and joint simulation in two ways.

For every omega and every lift, the mean of weight times (f - E[f]) is 0, where E[f] is by enumeration of all z for
T = 1..4. Paths of splits and merges are short and frequent, so that their weights scatter and matter. The negative
controls break one factor, and the same check refuses the chain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from kept_states import KeptStates
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from scipy.stats import f as fisher

import oracle
from bayestopics.base.checkpoint import NoCheckpoint
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence import burn_in, pair_moves
from bayestopics.evidence import jump as module
from bayestopics.evidence.jump import Chain, Sampler, run_chain, run_chains
from bayestopics.evidence.jump_tables import batches_table, moves_table, trace_table
from bayestopics.evidence.pmmh import Walk
from bayestopics.evidence.soft_topic import Bias, SoftTopic
from bayestopics.evidence.topic_law import law
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior, count
from bayestopics.lda.uniforms import new_words
from pmmh_oracle import check_means

PRIOR, MOST = Prior(0.7, 0.5), 4
LIFTS = {1: 1.7, 2: 0.5, 3: 1.0, 4: 0.0}
PRIORS = {
    "uniform": TopicPrior(1, MOST),
    "poisson": TopicPrior(1, MOST, "poisson", 2.5),
    "geometric": TopicPrior(2, MOST, "geometric", 0.4),
}


@pytest.fixture(autouse=True)
def _rough_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short paths, split or merged every other iteration; any omega that depends on T."""
    monkeypatch.setattr(pair_moves, "LAUNCH", 2)
    monkeypatch.setattr(pair_moves, "STEPS", (2, 3))
    monkeypatch.setattr(module, "EVERY", 2)
    monkeypatch.setattr(module, "SWEEPS", 1)
    monkeypatch.setattr(SoftTopic, "_make", lambda self, topics: omega_of(topics))


@cache
def omega_of(topics: int) -> Bias:
    omega = np.append(np.random.default_rng(topics).normal(0.0, 0.8, 3), 0.0)
    return Bias(omega, np.exp(np.diff(omega)))


@cache
def tiny() -> Corpus:
    """With an empty document and a term that does not occur."""
    return oracle.tiny_corpus([[0, 0, 2], [], [2, 2]], 3)


def sampler_at(
    z: np.ndarray, topics: int, topic_prior: TopicPrior, corpus: Corpus, prior: Prior = PRIOR, seed: int = 0
) -> Sampler:
    rng, assignments = np.random.default_rng(seed), z.astype(np.int32)
    chain = Chain(0, topics, rng, assignments, topics, 0, {}, dict(LIFTS), np.empty(0))
    return Sampler(corpus, prior, topic_prior, chain)


# -- T given the partition ---------------------------------------------------------------------------


def partition(z: np.ndarray) -> tuple[int, ...]:
    """Topics numbered as they come."""
    names: dict[int, int] = {}
    return tuple(names.setdefault(int(t), len(names)) for t in z)


def mean_weight(topics: int, z: np.ndarray) -> float:
    sizes = np.bincount(z, minlength=topics)
    return float(np.mean(np.exp(omega_of(topics)(sizes))))


@pytest.mark.parametrize("name", PRIORS)
def test_topics_given_a_partition(name: str) -> None:
    """Sums over all labellings of all partitions; with the soft topic and the lifts in the third."""
    topic_prior, corpus = PRIORS[name], tiny()
    sums: dict[tuple[int, ...], dict[int, np.ndarray]] = {}
    for topics in range(topic_prior.low, MOST + 1):
        exact = oracle.enumerate_all(corpus, topics, PRIOR)
        for z, log_joint in zip(exact.assignments, exact.log_joint, strict=True):
            density = math.exp(log_joint + topic_prior.log_density(topics))
            found = sums.setdefault(partition(z), {}).setdefault(topics, np.zeros(2))
            found += density * np.array([1.0, math.exp(LIFTS[topics]) * mean_weight(topics, z)])
    for z, by_topics in sums.items():
        sizes = np.bincount(z)
        topics = max(len(sizes), topic_prior.low)
        sampler = sampler_at(np.array(z), topics, topic_prior, corpus)
        values, *logs = sampler.topics_given(len(sizes), sizes)
        assert_array_equal(values, sorted(by_topics))
        expected = np.log([by_topics[topics] for topics in values])
        shift = logs[0][0] - expected[0, 0]
        assert_allclose(np.transpose(logs) - shift, expected, atol=1e-9)
        for topics, log_sum in zip(values.tolist(), logs[1], strict=True):
            assert_allclose(sampler._log_topics(topics, sizes), log_sum)


LARGE = {
    # the shares of T fall by 300 nats and rise again
    "poisson": (TopicPrior(1, None, "poisson", 600.0), [30] * 3, 1e6),
    "poisson, few tokens": (TopicPrior(1, None, "poisson", 60.0), [1, 2], 0.5),
    "geometric": (TopicPrior(1, None, "geometric", 0.01), [5, 5, 0, 3], 0.1),
    "geometric, many documents": (TopicPrior(1, None, "geometric", 0.01), [9] * 50, 0.01),
    "uniform": (TopicPrior(1, 100), [1] * 4, 1e-50),
}


@pytest.mark.parametrize(("topic_prior", "lengths", "alpha"), LARGE.values(), ids=LARGE)
@pytest.mark.parametrize("used", [1, 3])
def test_no_number_of_topics_that_matters_is_left_out(
    topic_prior: TopicPrior, lengths: list[int], alpha: float, used: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = oracle.tiny_corpus([[0] * length for length in lengths], 1)
    z = np.arange(corpus.token_count) % used
    sampler = sampler_at(z, used, topic_prior, corpus, Prior(alpha, 0.1))
    values, exact, tilted = sampler.topics_given(used, np.bincount(z))
    monkeypatch.setattr(module, "NEGLIGIBLE", math.inf)
    whole = TopicPrior(1, 3000 if topic_prior.high is None else 100, topic_prior.kind, topic_prior.parameter)
    every = sampler_at(z, used, whole, corpus, Prior(alpha, 0.1)).topics_given(used, np.bincount(z))
    assert len(every[0]) > 90
    for found, complete in zip((exact, tilted), every[1:], strict=True):
        assert_allclose(np.logaddexp.reduce(found), np.logaddexp.reduce(complete), atol=1e-12)
    if topic_prior.high is None:
        assert len(values) < len(every[0])


# -- the whole chain ---------------------------------------------------------------------------------


def features(topics: int, z: np.ndarray) -> np.ndarray:
    """Of each row of z: 1(T = t), 1(K = k), the squared sizes, and how many pairs of tokens are together in each pair
    of documents."""
    in_topic = z[:, :, None] == np.arange(topics)
    sizes = in_topic.sum(axis=1)
    used = (sizes > 0).sum(axis=1)
    together = np.einsum("mit,mjt->mij", in_topic, in_topic, dtype=np.int64)
    parts = np.flatnonzero(tiny().documents == 0), np.flatnonzero(tiny().documents == 2)
    pairs = [together[:, parts[a]][:, :, parts[b]].sum(axis=(1, 2)) for a, b in ((0, 0), (0, 1), (1, 1))]
    ks, ts = used[:, None] == np.arange(1, 4), np.tile(topics == np.arange(2, 5), (len(z), 1))
    return np.column_stack([ts, ks, (sizes**2).sum(axis=1), *pairs, (used == topics)]).astype(float)


@cache
def expected(name: str) -> np.ndarray:
    """E[features] under the posterior of (T, z)."""
    laws = [oracle.enumerate_all(tiny(), topics, PRIOR) for topics in range(PRIORS[name].low, MOST + 1)]
    logs = [law.log_joint + PRIORS[name].log_density(law.topics) for law in laws]
    total = np.logaddexp.reduce(np.concatenate(logs))
    each = [np.exp(log - total) @ features(law.topics, law.assignments) for log, law in zip(logs, laws, strict=True)]
    return np.sum(each, axis=0)


def visit(name: str, iterations: int, sweeps: bool, seed: int = 1) -> tuple[np.ndarray, Sampler]:
    """The features along a chain, and the sampler at its end; without sweeps, splits and merges do all the work."""
    sampler = sampler_at(np.zeros(tiny().token_count), 2, PRIORS[name], tiny(), seed=seed)
    chain, assignments = sampler.chain, []
    chain.trace, chain.shares = np.empty((iterations, len(module.TRACE))), [{}]
    for _ in range(iterations):
        if sweeps:
            sampler.iterate(learning=False)
        else:
            sampler._split_or_merge()
            sampler.draw_topics()
        sampler.record(0)
        assignments.append(chain.assignments.copy())
        if chain.done % 500 == 1:
            recount = count(tiny(), sampler.counts[2].size, chain.assignments)
            for have, want in zip(sampler.counts, recount, strict=True):
                assert_array_equal(have, want)
    topics, z = chain.trace[:, module.TRACE.index("topics")], np.array(assignments)
    rows = np.empty((iterations, len(expected(name))))
    for t in range(1, MOST + 1):
        rows[topics == t] = features(t, z[topics == t])
    return rows, sampler


def check_chain(name: str, iterations: int, sweeps: bool = True) -> Sampler:
    rows, sampler = visit(name, iterations, sweeps)
    weights = np.exp(sampler.chain.trace[:, module.TRACE.index("log_weight")])
    residuals = ((rows - expected(name)) * weights[:, None])[:, np.any(rows, axis=0)]
    check_means(residuals, np.zeros(residuals.shape[1]))
    return sampler


@pytest.mark.parametrize("name", PRIORS)
def test_the_chain_has_the_exact_posterior(name: str) -> None:
    sampler = check_chain(name, 2700)
    moves = moves_table([sampler.chain])
    assert moves.groupby("split")["accepted"].sum().min() > 50
    check_shares(name, sampler)


def check_shares(name: str, sampler: Sampler) -> None:
    """The shares of T, with the law of T given each partition, come from the same draws with a smaller error."""
    shares, trace = sampler.chain.shares[0], trace_table([sampler.chain])
    total = sum(shares.values())
    weights = np.exp(trace["log_weight"].to_numpy())
    for topics, exact in zip((2, 3, 4), expected(name), strict=False):
        drawn = (trace["topics"].to_numpy() == topics) * weights / weights.mean()
        batches = drawn.reshape(60, -1).mean(axis=1) - exact * (weights / weights.mean()).reshape(60, -1).mean(axis=1)
        assert abs(shares[topics] / total - exact) < 5 * batches.std(ddof=1) / math.sqrt(60)


def test_draws_without_splits_and_merges_have_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVERY", math.inf)
    assert not check_chain("uniform", 2500).chain.moves


def test_splits_and_merges_alone_have_the_same_law() -> None:
    check_chain("uniform", 2500, sweeps=False)


class Choosing:
    """A generator that chooses this topic."""

    def __init__(self, topic: int) -> None:
        self._topic = topic

    def integers(self, used: int) -> int:
        assert self._topic < used
        return self._topic


def log_density(sampler: Sampler) -> float:
    """log p(T, partition, w), times the weight of the soft topic and the lift, by the oracle."""
    chain, topic_prior = sampler.chain, sampler.topic_prior
    used = len(set(chain.assignments.tolist()))
    labellings = math.log(math.factorial(chain.topics) // math.factorial(chain.topics - used))
    log_joint = float(oracle.log_joint(tiny(), chain.assignments[None], chain.topics, PRIOR)[0])
    tilt = LIFTS[chain.topics] + math.log(mean_weight(chain.topics, chain.assignments))
    return log_joint + topic_prior.log_density(chain.topics) + labellings + tilt


STATES = [([0, 0, 0, 0, 0], 1, 0, [0, 1, 1, 0, 1]), ([0, 1, 0, 0, 1], 3, 0, [0, 1, 0]), ([1, 0, 1, 2, 2], 3, 2, [1, 0])]


@pytest.mark.parametrize(("z", "topics", "topic", "halves"), STATES)
def test_a_split_and_its_merge_multiply_to_one(
    z: list[int], topics: int, topic: int, halves: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Along the same path; and the ratio of the split is pi' p(pair) / 2 W / (p_2(labels) / p_1 pi / K), by the
    oracle."""
    log_work, decided = -3.3, []
    monkeypatch.setattr(pair_moves.Pair, "split", lambda self, rng: (np.array(halves, np.int8), log_work))
    monkeypatch.setattr(pair_moves.Pair, "merge", lambda self, present, rng: log_work)
    monkeypatch.setattr(Sampler, "_decide", lambda self, *decision: decided.append(decision))
    before, used = sampler_at(np.array(z), topics, PRIORS["poisson"], tiny()), len(set(z))
    before.chain.rng = Choosing(topic)  # type: ignore[assignment]
    before._split(used)
    *_, log_ratio, assignments, _, more = decided.pop()
    assert more == 1
    after = sampler_at(assignments, topics + 1, PRIORS["poisson"], tiny())
    pairs = list(zip(*np.triu_indices(used + 1, 1), strict=True))
    chosen = pairs.index((topic, used))
    log_chances = after._log_pairs(assignments, used + 1)
    assert_allclose(np.exp(log_chances).sum(), 1.0)
    path = pair_moves.Path(before._pair(np.flatnonzero(np.array(z) == topic)), np.zeros(z.count(topic)))
    path.begin(np.array(halves, np.int8))
    log_two = path._log_density() - path.log_total  # as two topics, over one
    expected = log_density(after) - log_density(before) + log_work - log_two + log_chances[chosen] + math.log(used / 2)
    assert_allclose(log_ratio, expected)
    monkeypatch.setattr(module, "_draw", lambda logs, rng: chosen)
    after._merge(used + 1)
    *_, back, merged, left, more = decided.pop()
    assert (left, more) == (used, -1)
    assert partition(merged) == partition(np.array(z))
    assert_allclose(back, -log_ratio)


def test_no_half_of_a_split_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler, decided = sampler_at(np.zeros(tiny().token_count), 2, PRIORS["uniform"], tiny()), []
    monkeypatch.setattr(Sampler, "_decide", lambda self, *decision: decided.append(decision))
    for label in (0, 1):
        labels = np.full(tiny().token_count, label, np.int8)
        monkeypatch.setattr(pair_moves.Pair, "split", lambda self, rng, labels=labels: (labels, 0.0))
        sampler._split(1)
        assert not decided


def no_labellings(self: Sampler, topics: int, used: int) -> float:
    """T! / (T - K)! is forgotten."""
    return self.topic_prior.log_density(topics) + self.soft_topic.normaliser(topics)


def no_lift(self: Sampler, batch: int | None) -> None:
    """The weight of a draw forgets the lift of its T."""
    RECORD(self, batch)
    self.chain.trace[self.chain.done - 1, module.TRACE.index("log_weight")] += LIFTS[self.chain.topics]


def no_half(self: Sampler, split: bool, tokens: int, log_work: float, log_ratio: float, *rest: Any) -> None:
    """The ratio of a split and of a merge forgets the 1/2 of the two numberings."""
    DECIDE(self, split, tokens, log_work, log_ratio + math.log(2) * (1 if split else -1), *rest)


def weight_of_partition(self: Sampler, batch: int | None) -> None:
    """The weight of a draw of (T, z) is that of its partition."""
    RECORD(self, batch)
    _, exact, tilted = self.law
    weight = np.logaddexp.reduce(exact) - np.logaddexp.reduce(tilted)
    self.chain.trace[self.chain.done - 1, module.TRACE.index("log_weight")] = weight


RECORD, DECIDE, MAKE = Sampler.record, Sampler._decide, SoftTopic._make
FAULTS: dict[str, tuple[str, Callable[..., Any], bool]] = {  # what is broken, and whether there are sweeps
    "labellings": ("log_exact", no_labellings, True),
    "lift": ("record", no_lift, True),
    "weight": ("record", weight_of_partition, True),
    "one half": ("_decide", no_half, False),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_chain_is_refused(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, broken, sweeps = FAULTS[fault]
    monkeypatch.setattr(Sampler, name, broken)
    with pytest.raises(AssertionError, match="largest"):
        check_chain("uniform", 2500, sweeps)


# -- joint simulation ---------------------------------------------------------------------------------

LENGTHS, TERMS, NU = [4, 3, 1, 0], 3, TopicPrior(1, MOST, "poisson", 2.0)
DOCUMENTS = np.repeat(np.arange(len(LENGTHS)), LENGTHS).astype(np.int32)
VOCABULARY = tuple(str(v) for v in range(TERMS))
STEPS, BATCHES, INDEPENDENT, FALSE_ALARM = 2500, 50, 20_000, 1e-6


def invert(cumulative: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Draws from distribution functions along the last axis."""
    return np.sum(cumulative[..., :-1] <= uniforms[..., None], axis=-1, dtype=np.int32)


def draw_words(z: np.ndarray, topics: int, rng: np.random.Generator) -> np.ndarray:
    """w given each row of z."""
    beta = rng.dirichlet(np.full(TERMS, PRIOR.eta), size=(len(z), topics)).cumsum(axis=-1)
    return invert(beta[np.arange(len(z))[:, None], z], rng.random(z.shape))


def statistics(topics: int, z: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Of each row: T, K, log p(T, z, w), the largest topic, squares of topic sizes, topic-term and document-term
    counts."""
    in_topic, is_term = z[:, :, None] == np.arange(topics), terms[:, :, None] == np.arange(TERMS)
    sizes = in_topic.sum(axis=1)
    topic_term = np.einsum("mnt,mnv->mtv", in_topic, is_term, dtype=np.int64)
    document_term = np.einsum("nd,mnv->mdv", DOCUMENTS[:, None] == np.arange(len(LENGTHS)), is_term, dtype=np.int64)
    log_joint = oracle.log_prior(DOCUMENTS, z, np.full(topics, PRIOR.alpha)) + NU.log_density(topics)
    log_joint += oracle.log_likelihood(terms, z, topics, PRIOR.eta, TERMS)
    squares = [np.square(counts).sum(axis=(1, 2)) for counts in (sizes[:, :, None], topic_term, document_term)]
    used = np.count_nonzero(sizes, axis=1)
    return np.column_stack([np.full(len(z), topics), used, log_joint, sizes.max(axis=1), *squares])


@cache
def marginal_conditional() -> np.ndarray:
    rng, found = np.random.default_rng(2004), []
    density = np.exp([NU.log_density(topics) for topics in range(1, MOST + 1)])
    for topics, draws in enumerate(rng.multinomial(INDEPENDENT, density / density.sum()), start=1):
        theta = rng.dirichlet(np.full(topics, PRIOR.alpha), size=(draws, len(LENGTHS))).cumsum(axis=-1)
        z = invert(theta[:, DOCUMENTS], rng.random((draws, len(DOCUMENTS))))
        found.append(statistics(topics, z, draw_words(z, topics, rng)))
    return np.concatenate(found)


def successive_conditional(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The statistics and the weights of (T, z, w) along a chain: w given (T, z), then one iteration."""
    rng = np.random.default_rng(seed)
    z, topics, found, log_weights = np.zeros(len(DOCUMENTS), np.int32), 2, [], []
    for _ in range(STEPS):
        terms = draw_words(z[None], topics, rng)[0]
        order = np.lexsort((terms, DOCUMENTS))  # a corpus has its tokens sorted
        corpus = Corpus(DOCUMENTS, terms[order], len(LENGTHS), VOCABULARY)
        sampler = sampler_at(z[order], topics, NU, corpus)
        sampler.chain.rng = rng
        sampler.draw_topics()  # also the soft topic
        sampler.iterate(learning=False)
        z, topics = sampler.chain.assignments, sampler.chain.topics
        found.append(statistics(topics, z[None], corpus.terms[None])[0])
        log_weights.append(-LIFTS[topics] - math.log(mean_weight(topics, z)))
    return np.array(found), np.exp(log_weights)


@pytest.mark.parametrize("fault", [None, "labellings"])
def test_joint_simulations_agree(fault: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hotelling's T^2 of all statistics, with the covariance of batch means for the chain."""
    if fault:
        monkeypatch.setattr(Sampler, *FAULTS[fault][:2])
    independent = marginal_conditional()
    found, weights = successive_conditional(seed=1)
    residuals = (found - independent.mean(axis=0)) * (weights / weights.mean())[:, None]
    means = residuals.reshape(BATCHES, -1, residuals.shape[1]).mean(axis=1)
    covariance = np.cov(means.T) / BATCHES + np.cov(independent.T) / INDEPENDENT
    difference, k = means.mean(axis=0), means.shape[1]
    t_squared = difference @ np.linalg.solve(covariance, difference)
    p_value = fisher.sf(t_squared * (BATCHES - k) / (k * (BATCHES - 1)), k, BATCHES - k)
    each = np.round(difference / np.sqrt(np.diag(covariance)), 1)
    with pytest.raises(AssertionError, match="standardised") if fault else nullcontext():
        assert p_value > FALSE_ALARM, f"p = {p_value:.1g}; standardised differences: {each}"


# -- the run -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("starts", [(3,), (1, 4)])
@pytest.mark.parametrize("iterations", [1, 3, 41])
def test_a_short_run_is_a_law(starts: tuple[int, ...], iterations: int) -> None:
    """Fewer iterations than batches; the tables have one row for each iteration, burn-in included."""
    chains = run_chains(tiny(), PRIOR, Walk(TopicPrior(1, None, "geometric", 0.3), starts, iterations, 5))
    trace, found = trace_table(chains), law(batches_table(chains))
    assert len(trace) == len(starts) * (iterations + 5)
    assert np.all(np.isfinite(trace))
    assert [chain.start for chain in chains] == list(starts)
    assert_allclose(sum(found.posterior.values()), 1.0)


def test_only_the_burn_in_learns_and_only_its_first_half_pushes() -> None:
    walk, seen = Walk(PRIORS["uniform"], (2,), 60, 41), []

    class Watched(Sampler):
        def iterate(self, learning: bool, pushed: bool = False) -> None:  # type: ignore[override]
            super().iterate(learning, pushed)
            lowered = sum(one.sum() for one in self.soft_topic.lowered.values())
            told.append((learning, self.soft_topic.sweeps, lowered, -sum(self.chain.lifts.values())))

    told: list[tuple[bool, int, float, float]] = []
    with patch.object(module, "Sampler", Watched):
        chain = run_chain(tiny(), PRIOR, walk, 0, 0, NoCheckpoint(), progress=lambda done: seen.append(done))
    learnt, sweeps, lowered, lifts = zip(*told, strict=True)
    assert seen == list(range(1, 102))
    assert learnt == (True,) * 41 + (False,) * 60
    assert sweeps == (*range(1, 42), *(41,) * 60)
    assert lifts[:20] == pytest.approx(module.GAIN * np.arange(1, 21))
    assert lowered[19] > 0
    assert not np.any(lowered[20:])
    assert not np.any(lifts[20:])
    assert not chain.lifts


def test_a_chain_cools_in_the_first_quarter_of_its_burn_in() -> None:
    """Then b is 1. A chain from one topic has nothing to melt, and topics that were found are not melted."""

    class Watched(Sampler):
        def iterate(self, learning: bool, pushed: bool = False) -> None:  # type: ignore[override]
            super().iterate(learning, pushed)
            powers.append(self.b)

    found = np.arange(tiny().token_count, dtype=np.int32) % 2
    for start, given, warm in ((2, None, True), (1, None, False), (2, found, False)):
        powers: list[float] = []
        walk = Walk(PRIORS["uniform"], (start,), 8, 20)
        with patch.object(module, "Sampler", Watched):
            run_chain(tiny(), PRIOR, walk, 0, 0, NoCheckpoint(), found=given)
        expected = np.linspace(burn_in.WARMEST, 1.0, 6)[:-1] if warm else np.ones(5)
        assert_allclose(powers[:5], expected)
        assert powers[5:] == [1.0] * 23


def test_a_large_corpus_begins_with_a_part_of_its_documents() -> None:
    """Whole documents, at least one. In the second half of the burn-in all tokens have joined in, and counts follow."""
    corpus, walk = oracle.random_corpus(np.random.default_rng(3), 60, 5, 12), Walk(PRIORS["uniform"], (3,), 6, 10)

    class Watched(Sampler):
        def iterate(self, learning: bool, pushed: bool = False) -> None:  # type: ignore[override]
            super().iterate(learning, pushed)
            for have, want in zip(self.counts, self.counted(self.counts[2].size), strict=True):
                assert_array_equal(have, want)
            sizes.append((self.corpus.token_count, len(self.chain.assignments), int(self.sizes.sum())))

    for part in (25, 1):
        sizes: list[tuple[int, int, int]] = []
        with patch.object(module, "Sampler", Watched), patch.object(burn_in, "PART", part):
            chain = run_chain(corpus, PRIOR, walk, 0, 0, NoCheckpoint())
        first = sizes[0][0]
        assert 0 < first <= max(part, corpus.document_lengths.max())
        assert sizes == [(first,) * 3] * 5 + [(60,) * 3] * 11
        assert chain.part is None
        assert_array_equal(np.isnan(chain.trace[:, module.TRACE.index("log_joint")]), np.arange(16) < 5)


def test_a_chain_that_was_killed_before_its_documents_joined_goes_on_the_same() -> None:
    corpus, walk = oracle.random_corpus(np.random.default_rng(3), 60, 5, 12), Walk(PRIORS["uniform"], (3,), 6, 10)

    with patch.object(burn_in, "PART", 25):
        kept = KeptStates()
        whole = run_chain(corpus, PRIOR, walk, 0, 0, kept)
        for number in (2, 4, 5):  # before the half, at it, and after it
            kept.number = number
            again = run_chain(corpus, PRIOR, walk, 0, 0, kept)
            assert_array_equal(again.trace, whole.trace)
            assert_array_equal(again.assignments, whole.assignments)


def test_new_tokens_get_topics_by_their_terms() -> None:
    """The first half of the tokens has a topic for each term, and so have the others, but for eta."""
    terms = np.tile(np.arange(3, dtype=np.int32), 400)
    shares = np.cumsum(np.array([[8, 1, 1], [1, 8, 1], [0, 0, 5]]) + 0.0, axis=1)
    assignments = np.full(1200, -1, np.int32)
    assignments[:3] = 1
    burn_in._spread(terms, shares, assignments, new_words(np.random.default_rng(0)))
    assert_array_equal(assignments[:3], 1)
    assert_array_equal(np.unique(assignments[5::3]), [2])
    assert abs(np.mean(assignments[3::3] == 0) - 0.8) < 4 * 0.4 / 20
    assert abs(np.mean(assignments[4::3] == 1) - 0.8) < 4 * 0.4 / 20


def test_the_topics_that_are_shown_are_drawn_by_their_weights() -> None:
    """A state of weight 3 is kept from among three others of weight 1 in half of all cases."""
    sampler = sampler_at(np.zeros(tiny().token_count), 2, PRIORS["uniform"], tiny())
    chain, kept, tries = sampler.chain, 0, 400
    for _ in range(tries):
        chain.trace, chain.shares, chain.done, chain.weight = np.empty((4, len(module.TRACE))), [{}], 0, 0.0
        for number, weight in enumerate((1.0, 3.0, 1.0, 1.0)):
            chain.assignments[0] = number % 2 + 2 * (number // 2)
            sampler.law = np.array([2]), np.array([math.log(weight)]), np.array([0.0])
            sampler.log_joint = lambda: 0.0  # type: ignore[method-assign]
            sampler.record(0)
        assert chain.drawn is not None
        kept += int(chain.drawn[0] == 1)
    assert min(binom.cdf(kept, tries, 0.5), binom.sf(kept - 1, tries, 0.5)) > FALSE_ALARM


def test_chains_have_random_numbers_of_their_own() -> None:
    first, second = run_chains(tiny(), PRIOR, Walk(PRIORS["uniform"], (2, 2), 30))
    assert not np.array_equal(first.trace, second.trace)
    (again,) = run_chains(tiny(), PRIOR, Walk(PRIORS["uniform"], (2,), 30))
    assert_array_equal(again.trace, first.trace)


@pytest.mark.parametrize("alpha", [1e-50, 1e6])
@pytest.mark.parametrize("eta", [1e-50, 1e6])
def test_every_prior_gives_numbers(alpha: float, eta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the weights of the soft topic as they are learnt; from one topic and from more than there are tokens."""
    monkeypatch.setattr(SoftTopic, "_make", MAKE)
    chains = run_chains(tiny(), Prior(alpha, eta), Walk(TopicPrior(1, 100), (1, 30), 5, 10))
    assert np.all(np.isfinite(trace_table(chains)))


def test_what_cannot_be_run_is_refused() -> None:
    walk = Walk(TopicPrior(1, 4), (2,), 5)
    with pytest.raises(InputError, match="alpha must be one number"):
        run_chains(tiny(), Prior((0.1, 0.2), 0.1), walk)
    empty = Corpus(np.zeros(0, np.int32), np.zeros(0, np.int32), 2, ("a",), name="empty")
    with pytest.raises(InputError, match="empty: the corpus has no words"):
        run_chains(empty, PRIOR, walk)


def test_a_chain_without_moves_has_the_same_kinds_of_columns() -> None:
    """Guards columns of objects, which are read back from a record as numbers."""
    moved, still = (
        Chain(number, 1, np.random.default_rng(0), np.zeros(1, np.int32), 1, 0, {}, {}, np.zeros((0, 8)))
        for number in range(2)
    )
    moved.moves.append((3, 1.0, 7.0, -2.5, -3.5, 0.0))
    kinds = ["int64", "int64", "bool", "int64", "float64", "float64", "bool"]
    for chains in ([moved, still], [still, moved], [still]):
        assert moves_table(chains).dtypes.map(str).tolist() == kinds
    assert moves_table([still, moved]).to_numpy().tolist() == [[0, 3, True, 7, -2.5, -3.5, False]]
