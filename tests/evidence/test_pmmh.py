"""PMMH over the number of topics: the exact posterior of T, z and the parameters, the same bits however it is run.

Where estimates are not what is tested they come from a table: the law of an estimate with one inner sweep from a fixed
z_0 is known, p(w, z) / g(z_0, z) with probability g(z_0, z). The negative controls break the chain, and the same check
refuses it.
"""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln
from scipy.stats import t as student

import oracle
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import mcse
from bayestopics.evidence import pmmh as module
from bayestopics.evidence import pseudo_marginal
from bayestopics.evidence.pmmh import Chain, Made, TopicPosterior, Wanted, given_by, pmmh
from bayestopics.evidence.pseudo_marginal import Estimates, Joint
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda import sampler
from bayestopics.lda.parameters import draw_parameters
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.problems import InputError
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import Run
from bayestopics.seeds import generator

# of one statistical check, over seeds; there are about twenty. Where a rare z holds the chain, batch means come out too
# small, by 1.4 at worst (30 seeds of the chain with one inner sweep), which makes it 3e-4
FALSE_ALARM = 1e-6
PRIOR = Prior(0.7, 0.5)
RANGE = TopicPrior(1, 4)


@cache
def tiny() -> Corpus:
    return oracle.tiny_corpus([[0, 0, 0], [1, 1]], 2)


@cache
def one_term() -> Corpus:
    """One of twenty: the posterior of T is far from uniform although alpha and eta are large."""
    return oracle.tiny_corpus([[0, 0, 0, 0], [0, 0]], 20)


@cache
def exact(topics: int, corpus: Callable[[], Corpus] = tiny, prior: Prior = PRIOR) -> oracle.Enumeration:
    return oracle.enumerate_all(corpus(), topics, prior)


@cache
def posterior(corpus: Callable[[], Corpus] = tiny, prior: Prior = PRIOR) -> np.ndarray:
    """Of T = 1, ..., 4 under the uniform prior."""
    evidence = np.exp([exact(topics, corpus, prior).log_evidence for topics in range(1, 5)])
    return evidence / evidence.sum()


def expectation(
    function: Callable[[int, np.ndarray], np.ndarray], corpus: Callable[[], Corpus] = tiny, prior: Prior = PRIOR
) -> np.ndarray:
    """Of a function of T and the rows of z, under their posterior."""
    laws = {topics: exact(topics, corpus, prior) for topics in range(1, 5)}
    given_topics = [law.posterior @ function(topics, law.assignments) for topics, law in laws.items()]
    return posterior(corpus, prior) @ np.array(given_topics)


@cache
def small() -> Corpus:
    """40 tokens: the chain moves."""
    return oracle.random_corpus(np.random.default_rng(1), 40, 6, 8)


def check_means(columns: np.ndarray, expected: np.ndarray) -> None:
    """Averages over one chain, within batch-means errors: Student t with sqrt(n) - 1 degrees, Bonferroni."""
    statistic = (columns.mean(axis=0) - expected) / mcse(columns)
    p_values = 2 * student.sf(np.abs(statistic), np.sqrt(len(columns)) - 1)
    assert p_values.min() * len(p_values) > FALSE_ALARM, f"largest |t| is {np.abs(statistic).max():.1f}"


def check_posterior(result: TopicPosterior, expected: np.ndarray | None = None) -> None:
    expected = posterior() if expected is None else expected
    visited = result.trace["topics"].to_numpy()
    check_means(visited[:, None] == np.arange(1, len(expected) + 1), expected)


# -- the law of T and z -----------------------------------------------------------------------------


@dataclass
class Together:
    """How often tokens share a topic, at each step, along with T."""

    documents: np.ndarray
    steps: list[np.ndarray] = field(default_factory=list)

    def observe(self, chain: int, step: int, topics: int, assignments: np.ndarray) -> None:
        self.steps.append(self.shared(topics, assignments[None, :])[0])

    def shared(self, topics: int, z: np.ndarray) -> np.ndarray:
        """For each row of z: 1(T = t) times the share of token pairs with one topic, for T = 2, 3, 4 and pairs in the
        first document, across, and in the second. A single pair across shares one so seldom that batch means are no
        guide: two false alarms in a hundred seeds."""
        share = np.eye(2)[self.documents] / np.bincount(self.documents)
        pairs = np.einsum("mij,id,je->mde", z[:, :, None] == z[:, None, :], share, share)
        return np.kron(np.arange(2, 5) == topics, pairs[:, [0, 0, 1], [0, 1, 1]])


WAYS = [
    pytest.param({"inner": 1}, tiny, PRIOR, id="one sweep"),
    pytest.param({"inner": 3}, tiny, PRIOR, id="weighted"),
    pytest.param({"inner": 3, "choose": "last"}, tiny, PRIOR, id="last"),
    pytest.param({"inner": 2, "sampler": "sparse"}, tiny, PRIOR, id="sparse"),
    pytest.param({"inner": 2, "z_start": "pilot", "pilot_sweeps": 3}, tiny, PRIOR, id="pilot"),
    # without a variance unless alpha and eta exceed the counts; twice as large, three moments
    pytest.param({"inner": 2, "sampler": "grouped", "iterations": 3000}, one_term, Prior(13.0, 13.0), id="grouped"),
]


@pytest.mark.parametrize(("options", "corpus", "prior"), WAYS)
def test_topics_and_assignments_have_the_exact_posterior(
    options: dict[str, Any], corpus: Callable[[], Corpus], prior: Prior
) -> None:
    """For a fixed number of inner sweeps, even for one."""
    work = {"topics": RANGE, "starts": [4], "iterations": 6000, "seed": 3} | options
    together = Together(corpus().documents)
    result = pmmh(corpus(), prior, observer=together, **work)
    check_posterior(result, posterior(corpus, prior))
    check_means(np.array(together.steps), expectation(together.shared, corpus, prior))
    assert not result.warnings


def test_grouped_estimates_without_the_densities_of_the_parameters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The summand is p(w | theta, beta) alone."""
    monkeypatch.setattr(
        pseudo_marginal, "_by_parameters", lambda module, joint: lambda *sweep: module.sweep(*sweep).log_likelihood
    )
    prior = Prior(13.0, 13.0)
    result = pmmh(one_term(), prior, topics=RANGE, starts=[4], inner=2, iterations=3000, sampler="grouped")
    with pytest.raises(AssertionError, match="largest"):
        check_posterior(result, posterior(one_term, prior))


# -- the law of theta and beta ------------------------------------------------------------------------


@dataclass
class Parameters:
    """Draws theta and beta given the T and z of each step."""

    rng: np.random.Generator
    topics: list[int] = field(default_factory=list)
    assignments: list[np.ndarray] = field(default_factory=list)
    steps: list[np.ndarray] = field(default_factory=list)

    def observe(self, chain: int, step: int, topics: int, assignments: np.ndarray) -> None:
        drawn = draw_parameters(from_assignments(tiny(), topics, PRIOR, assignments), self.rng)
        self.topics.append(topics)
        self.assignments.append(assignments)
        self.steps.append(nameless(assignments[None], np.exp(drawn.log_theta[None]), np.exp(drawn.log_beta[None]))[0])


def nameless(z: np.ndarray, theta: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """What does not depend on the labels of topics, for each row of z, theta and beta: the number of topics with
    a token; the probability of term 0 in each document; the sum of theta_dz beta_zw over the tokens; the sums of the
    squares of theta_d, and of beta_t0."""
    used = (np.diff(np.sort(z, axis=1), axis=1) > 0).sum(axis=1) + 1
    of_term = np.einsum("mdt,mt->md", theta, beta[:, 0])
    rows = np.arange(len(z))[:, None]
    own = theta[rows, tiny().documents, z] * beta[rows, tiny().terms, z]
    squares = (theta**2).sum(axis=2), (beta[:, 0] ** 2).sum(axis=1)
    return np.column_stack([used, of_term, own.sum(axis=1), *squares])


def expected_nameless(topics: int, z: np.ndarray) -> np.ndarray:
    """Their expectations given z: theta and beta are independent Dirichlet variables."""
    in_document, in_term = oracle.counts_of(exact(topics), z)
    a, b = in_document + PRIOR.alpha, in_term + PRIOR.eta
    a_total, b_total = a.sum(axis=2, keepdims=True), b.sum(axis=1, keepdims=True)
    result = nameless(z, a / a_total, b / b_total)
    # E[x^2] = a (a + 1) / (A (A + 1)), not the square of the mean
    squares = a * (a + 1) / (a_total * (a_total + 1)), b * (b + 1) / (b_total * (b_total + 1))
    result[:, -3:] = np.column_stack([squares[0].sum(axis=2), squares[1][:, 0].sum(axis=1)])
    return result


@cache
def chain_with_parameters(inner: int) -> Parameters:
    work = {"topics": RANGE, "starts": [4], "iterations": 6000, "seed": 5}
    return pmmh(tiny(), PRIOR, inner=inner, observer=Parameters(np.random.default_rng(6)), **work).observer


@pytest.mark.parametrize("inner", [1, 2])
def test_parameters_drawn_along_the_chain_have_the_exact_posterior(inner: int) -> None:
    check_means(np.array(chain_with_parameters(inner).steps), expectation(expected_nameless))


@pytest.mark.parametrize("fault", [None, "alpha", "mean", "axis", "late"])
def test_wrong_draws_along_the_chain_are_refused(fault: str | None) -> None:
    """The same T and z, and parameters from the oracle: right ones, then wrong ones."""
    chain, rng = chain_with_parameters(1), np.random.default_rng(7)
    visited, steps = np.array(chain.topics), np.array(chain.steps)
    for topics in range(1, 5):
        z = np.array(chain.assignments)[visited == topics]
        steps[visited == topics] = nameless(z, *oracle.plain_parameters(exact(topics), z, rng, fault))
    with pytest.raises(AssertionError, match="largest") if fault else nullcontext():
        check_means(steps, expectation(expected_nameless))


# -- chains on estimates from a table ---------------------------------------------------------------


@cache
def table(topics: int) -> tuple[np.ndarray, np.ndarray]:
    """(log-estimates, their cumulative probabilities) with one inner sweep from the first z."""
    all_z = exact(topics)
    log_g = np.array([sampler("sparse").transition_density(all_z.state(0), z) for z in all_z.assignments])
    return all_z.log_joint - log_g, np.exp(log_g).cumsum()


def from_table(key: tuple[int, int, int], seed: int = 0) -> Made:
    values, cumulative = table(key[1])
    uniform = generator(seed, f"table/{key}").random()
    return Made(float(values[np.searchsorted(cumulative[:-1], uniform)]), None)


def noise(key: tuple[int, int, int], sd: float = 1.0) -> Made:
    """An unbiased estimate of 1, so that the posterior is the prior."""
    return Made(float(generator(0, f"noise/{key}").normal(-(sd**2) / 2, sd)), None)


def run(make: Callable[[Any], Made], monkeypatch: pytest.MonkeyPatch, **options: Any) -> TopicPosterior:
    """A chain on these estimates."""
    monkeypatch.setattr(module, "_make", lambda wanted, keys: [make(key) for key in keys])
    defaults: dict[str, Any] = {"topics": RANGE, "starts": [2], "iterations": 10_000}
    return pmmh(tiny(), PRIOR, **defaults | options)


def test_the_exact_law_of_the_estimates_gives_the_exact_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    for topics in range(1, 5):
        values, cumulative = table(topics)
        expectation = np.exp(values) @ np.diff(cumulative, prepend=0.0)
        assert_allclose(np.log(expectation), exact(topics).log_evidence, rtol=1e-12)
    check_posterior(run(from_table, monkeypatch))


class Refreshing(Chain):
    """Makes the current estimate anew at every step."""

    def advance(self, made: Made) -> None:
        if self.current is not None:
            self.current = from_table((self.number, self.topics, len(self.rows)), seed=1)
        super().advance(made)


def test_an_estimate_that_is_made_anew_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Chain", Refreshing)
    with pytest.raises(AssertionError, match="largest"):
        check_posterior(run(from_table, monkeypatch))


def test_a_walk_without_boundary_correction_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "log_proposal", lambda prior, topics: 0.0)
    with pytest.raises(AssertionError, match="largest"):
        check_posterior(run(from_table, monkeypatch))


def test_a_joint_without_a_constant_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """sum_d lG(T alpha) is left out."""
    right = Joint.__call__
    monkeypatch.setattr(
        Joint, "__call__", lambda self, state: right(self, state) - 2 * gammaln(self._by_chain(state.alpha))
    )
    result = pmmh(tiny(), PRIOR, topics=RANGE, starts=[4], inner=1, iterations=3000)
    with pytest.raises(AssertionError, match="largest"):
        check_posterior(result)


PRIORS = [
    pytest.param("uniform", 1, 4, lambda t: 1.0, id="uniform"),
    pytest.param("poisson:2.5", 1, None, lambda t: 2.5**t / math.factorial(t), id="poisson"),
    pytest.param("poisson:2.5", 2, 5, lambda t: 2.5**t / math.factorial(t), id="poisson, cut"),
    pytest.param("geometric:0.4", 1, None, lambda t: 0.6 ** (t - 1), id="geometric"),
    pytest.param("geometric:0.4", 3, 4, lambda t: 0.6 ** (t - 1), id="geometric, cut to two"),
]


@pytest.mark.parametrize(("text", "low", "high", "density"), PRIORS)
def test_without_data_the_posterior_is_the_prior(
    text: str, low: int, high: int | None, density: Callable[[int], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    prior = TopicPrior.parse(text, low, high)
    result = run(noise, monkeypatch, topics=prior, starts=[low + 1])
    weights = np.array([density(topics) for topics in range(low, (high or 60) + 1)])
    expected = weights / weights.sum()
    shown = min(len(expected), 5)  # the tail is one
    at = result.trace["topics"].to_numpy()[:, None] == low + np.arange(shown)
    check_means(at, expected[:shown]) if shown < len(expected) else check_means(at[:, 1:], expected[1:])


# -- the same bits ----------------------------------------------------------------------------------

LONG = {"topics": TopicPrior(2, 9), "starts": [2, 8], "inner": 3, "iterations": 60, "burn_in": 10, "seed": 4}
RUN = Run("study", "smoke", "pmmh", {}, 4, "small", "f00d", "c0de")


@dataclass
class Seen:
    """A sum over all that is observed, by chain: it changes when anything does."""

    sums: dict[int, float] = field(default_factory=dict)
    die_at: int = 0
    seen: int = 0

    def observe(self, chain: int, step: int, topics: int, assignments: np.ndarray) -> None:
        value = float(assignments @ np.arange(len(assignments)))
        self.sums[chain] = 0.9 * self.sums.get(chain, 0.0) + value * topics + step
        self.seen += 1
        if self.seen == self.die_at:
            raise Killed


class Killed(BaseException):
    pass


class Always(Checkpoint):
    def due(self) -> bool:
        return True


def check_same(first: TopicPosterior, second: TopicPosterior) -> None:
    pd.testing.assert_frame_equal(first.trace, second.trace, check_exact=True)
    assert_array_equal(first.fresh_log_estimates, second.fresh_log_estimates)
    assert (first.posterior, first.rhat, first.warnings) == (second.posterior, second.rhat, second.warnings)
    assert first.observer.sums == second.observer.sums


@cache
def in_one_go(z_start: str) -> TopicPosterior:
    return pmmh(small(), PRIOR, **LONG, z_start=z_start, pilot_sweeps=5, observer=Seen())


def test_two_workers_and_a_kill_change_no_bit(tmp_path: Path) -> None:
    options = LONG | {"z_start": "pilot", "pilot_sweeps": 5, "workers": 2}
    checkpoint = Always(tmp_path, RUN)
    with pytest.raises(Killed):
        pmmh(small(), PRIOR, **options, observer=Seen(die_at=50), checkpoint=checkpoint)
    chains, seen, resumed = checkpoint.load()
    assert 20 < sum(len(chain.rows) for chain in chains) < 140
    seen.die_at = 0
    checkpoint.save((chains, seen, resumed))
    result = pmmh(small(), PRIOR, **options, observer=Seen(), checkpoint=checkpoint)
    assert result.volatile["resumed"] == 1
    assert result.observer.seen == 120
    check_same(result, in_one_go("pilot"))


@pytest.mark.parametrize("die_at", [1, 77])
def test_killed_and_resumed_gives_the_same_bits(die_at: int, tmp_path: Path) -> None:
    checkpoint = Always(tmp_path, RUN)
    with pytest.raises(Killed):
        pmmh(small(), PRIOR, **LONG, observer=Seen(die_at=die_at), checkpoint=checkpoint)
    chains, seen, resumed = checkpoint.load()
    seen.die_at = 0
    checkpoint.save((chains, seen, resumed))
    result = pmmh(small(), PRIOR, **LONG, observer=Seen(), checkpoint=checkpoint)
    check_same(result, in_one_go("uniform"))
    again = pmmh(small(), PRIOR, **LONG, observer=Seen(), checkpoint=checkpoint)  # nothing is left to do
    check_same(again, result)


def test_a_longer_chain_begins_like_a_shorter_one() -> None:
    longer = pmmh(small(), PRIOR, **LONG | {"iterations": 70}).trace
    shorter = in_one_go("uniform").trace
    assert_array_equal(longer[longer["step"] < 70], shorter)


@pytest.mark.parametrize("workers", [1, 2])
def test_estimates_made_together_change_no_bit(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight at once with one worker, then one at a time, or eight with two workers."""
    expected = in_one_go("uniform")
    if workers == 1:
        monkeypatch.setattr(Estimates, "together", 1)
    check_same(pmmh(small(), PRIOR, **LONG, pilot_sweeps=5, observer=Seen(), workers=workers), expected)


@pytest.mark.parametrize("sampler", ["single-site", "sparse"])
def test_a_chain_takes_its_estimates_from_one_with_more_inner_sweeps(sampler: str) -> None:
    """To the bit what it does on its own, and nearly nothing is left to be made."""
    options = {"topics": RANGE, "starts": [2], "iterations": 100, "seed": 7, "sampler": sampler}
    longer = pmmh(small(), PRIOR, inner=6, shorter=[1, 4], **options)
    assert (longer.trace["proposed"] == 2).sum() > 10  # the start's own number is put right
    for inner in (1, 4):
        alone = pmmh(small(), PRIOR, inner=inner, **options)
        given = given_by(longer.trace, 2, inner)
        taken = pmmh(small(), PRIOR, inner=inner, given=given, **options)
        assert_array_equal(taken.trace, alone.trace)
        assert_array_equal(taken.fresh_log_estimates, alone.fresh_log_estimates)
        assert len(given) == 100
        fresh = len(alone.fresh_log_estimates)
        assert taken.volatile["estimates"] - fresh < (alone.volatile["estimates"] - fresh) / 2
        wrong = {(chain, topics, number + 1): value for (chain, topics, number), value in given.items()}
        assert not pmmh(small(), PRIOR, inner=inner, given=wrong, **options).trace.equals(alone.trace)


def test_what_cannot_be_shared_is_refused() -> None:
    with pytest.raises(InputError, match=r"does not begin with \[3\]"):
        pmmh(small(), PRIOR, topics=RANGE, starts=[2], inner=2, shorter=[3])
    two = pmmh(small(), PRIOR, topics=RANGE, starts=[2, 3], inner=2, shorter=[1], iterations=3)
    with pytest.raises(InputError, match="one chain"):
        given_by(two.trace, 2, 1)
    with pytest.raises(InputError, match="no assignments"):
        pmmh(small(), PRIOR, topics=RANGE, starts=[2], given={}, observer=Seen())


class Rounds(module._Here):
    """Two workers that finish at the same time, without the workers: counts the rounds."""

    rounds = 0

    def work(self, wishes: Iterable[Any]) -> None:
        new = (key for key in wishes if key not in self.made)
        for _, key in zip(range(2), new, strict=False):
            super().work([key])
        Rounds.rounds += 1


@pytest.mark.parametrize("sd", [0.5, 1.5, 50.0], ids=["moves", "moves less", "sticks"])
def test_what_is_made_ahead_is_used(sd: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers need little more than half of the rounds, on chains that move and on chains that stick."""
    monkeypatch.setattr(module, "_Here", Rounds)
    monkeypatch.setattr(Rounds, "rounds", 0)
    options = {"topics": TopicPrior(2, 100), "starts": [30], "iterations": 2000, "fresh": 2}
    result = run(lambda key: noise(key, sd), monkeypatch, **options)
    assert result.volatile["estimates"] < 1.1 * 2000
    assert Rounds.rounds < 2000 / 1.8


@pytest.mark.parametrize("sd", [0.5, 1.5, 50.0], ids=["moves", "moves less", "sticks"])
def test_what_is_made_together_is_used(sd: float, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = []

    def make(wanted: Wanted, keys: list[Any]) -> list[Made]:
        groups.append(keys)
        return [noise(key, sd) for key in keys]

    monkeypatch.setattr(module, "_make", make)
    pmmh(tiny(), PRIOR, topics=TopicPrior(2, 100), starts=[30], iterations=2000, fresh=2)
    keys = [key for group in groups for key in group]
    assert len(set(keys)) == len(keys) < 1.1 * 2000
    assert len(groups) < 2000 / 6


def test_no_estimate_is_made_by_two_workers() -> None:
    """Three groups of eight are under way at a time, and all keys are different."""
    submitted: list[Any] = []

    def submit(function: Any, keys: list[Any]) -> Future:
        submitted.extend(keys)
        future: Future = Future()
        if len(submitted) > 16:  # the first two take longer
            future.set_result([noise(key) for key in keys])
        return future

    makers = module._Pool(submit, 2, 8)
    wishes = [(0, 30 + (i % 3), i // 3) for i in range(100)]
    for calls in (1, 2, 3):
        makers.work([*wishes[:9], *wishes])  # a wish can come twice
        assert len(submitted) == len(set(submitted)) == 16 + 8 * calls
        assert len(makers.made) == makers.count == 8 * calls
        assert set(submitted[16:]) == set(makers.made)
    assert submitted == wishes[:40]


# -- whether to believe it --------------------------------------------------------------------------


def test_a_chain_that_sticks_is_not_to_be_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"topics": TopicPrior(2, 100), "starts": [10, 90], "iterations": 2000}
    result = run(lambda key: noise(key, 100.0), monkeypatch, **options)
    assert result.log_estimate_sd > 50
    assert result.total_variation == 1.0
    for words in ("scatter by", "hardly moves", "was stuck for", "depends on where it starts"):
        assert sum(words in warning for warning in result.warnings) == 1


def test_chains_that_agree_have_no_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(noise, monkeypatch, topics=RANGE, starts=[1, 4], burn_in=100, iterations=4000)
    assert not result.warnings
    assert result.rhat < 1.01
    assert result.total_variation < 0.1
    assert len(result.trace) == 2 * 4100
    assert_allclose(sum(result.posterior.values()), 1.0)
    assert len(result.fresh_log_estimates) == 20


def test_fresh_estimates_are_no_chains_own() -> None:
    result = in_one_go("uniform")
    assert not set(result.fresh_log_estimates) & set(result.trace["log_estimate_proposed"])


def test_scatter_is_not_told_of_one_topic_which_has_none():
    """A corpus of one document: T = 1 is the mode, and its estimates are exact; those of two topics are not."""
    one = oracle.tiny_corpus([[0] * 40 + [1] * 40], 2)
    result = pmmh(one, Prior(0.1, 0.05), topics=TopicPrior(1, 4), starts=[1], inner=2, iterations=200, seed=3)
    assert result.mode == 1
    assert result.log_estimate_sd > 0.1


def test_the_trace_tells_every_step() -> None:
    for _, trace in in_one_go("uniform").trace.groupby("chain"):
        moved = trace[trace["accepted"]]
        assert_array_equal(moved["topics"], moved["proposed"])
        assert_array_equal(moved["log_estimate"], moved["log_estimate_proposed"])
        stayed = ~trace["accepted"].to_numpy()[1:]
        for name in ("topics", "log_estimate"):  # recycled, never made anew
            assert_array_equal(trace[name].to_numpy()[1:][stayed], trace[name].to_numpy()[:-1][stayed])
        assert trace["log_estimate_proposed"].is_unique
        assert trace["topics"].between(2, 9).all()


@pytest.mark.parametrize(
    ("accepted", "longest"),
    [([0, 0, 0, 0], 4), ([1, 1, 1, 1], 1), ([0, 1, 0, 0], 3), ([0, 0, 1, 0], 2), ([1, 0, 0, 0], 4)],
)
def test_longest_stay(accepted: list[int], longest: int) -> None:
    assert module._longest_stay(np.array(accepted, bool)) == longest


# -- errors in a worker -----------------------------------------------------------------------------


class Failing(Estimates):
    def make_all(self, keys: Any) -> Any:
        raise InputError(f"bad at {keys[0][0]} topics")


class Dying(Estimates):
    def make_all(self, keys: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("estimates", "line"),
    [
        (Failing, "bad at 2 topics"),
        (Dying, "a worker process died, perhaps for want of memory: fewer workers need less"),
    ],
)
def test_an_error_in_a_worker_is_one_line(
    estimates: type, line: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "Estimates", estimates)
    with pytest.raises(InputError, match=f"^{line}$"):
        pmmh(tiny(), PRIOR, topics=RANGE, starts=[2], iterations=5, workers=2)
    assert capfd.readouterr() == ("", "")  # the workers say nothing


# -- bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"starts": [5]}, "start at 5 topics is outside the range of 1 to 4$"),
        ({"starts": [1], "topics": TopicPrior.parse("poisson:3", 2, None)}, "is outside the range from 2 on$"),
        ({"starts": []}, "0 starts"),
        ({"workers": 0}, "0 workers"),
        ({"iterations": 0}, "0 iterations"),
        ({"fresh": 1}, "1 estimates at the mode"),
        ({"inner": 0}, "at least one inner sweep"),
        ({"sampler": "gibbs"}, "unknown sampler"),
        ({"z_start": "end"}, "unknown start"),
        ({"prior": Prior((0.1, 0.2), 0.1)}, "alpha must be one number"),
    ],
)
def test_bad_input(changes: dict[str, Any], message: str) -> None:
    options = {"corpus": tiny(), "prior": PRIOR, "topics": RANGE, "starts": [2], "iterations": 5}
    with pytest.raises(InputError, match=message):
        pmmh(**options | changes)


@pytest.mark.parametrize(
    ("text", "low", "high", "message"),
    [
        ("uniform", 1, None, "needs an upper limit"),
        ("uniform:3", 1, 5, "no parameter"),
        ("uniform", 0, 5, "range of at least two from 1"),
        ("uniform", 5, 5, "range of at least two"),
        ("poisson", 1, 5, "rate"),
        ("poisson:-1", 1, 5, "rate"),
        ("poisson:many", 1, 5, "is no number"),
        ("geometric:1", 1, 5, "between 0 and 1"),
        ("geometric:nan", 1, 5, "between 0 and 1"),
        ("normal:3", 1, 5, "unknown prior"),
    ],
)
def test_a_bad_prior_of_topics(text: str, low: int, high: int | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TopicPrior.parse(text, low, high)
