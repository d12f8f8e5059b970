"""PMMH over the number of topics: the exact posterior of T, z and the parameters.

Where estimates are not what is tested they come from a table. The negative controls break the chain, and the same check
refuses it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

import oracle
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence import pmmh as module
from bayestopics.evidence import pseudo_marginal
from bayestopics.evidence.pmmh import Chain, Made
from bayestopics.evidence.pseudo_marginal import Joint
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.parameters import draw_parameters
from bayestopics.lda.state import Prior, from_assignments
from pmmh_oracle import (
    PRIOR,
    RANGE,
    check_means,
    check_posterior,
    exact,
    expectation,
    from_table,
    noise,
    one_term,
    pmmh,
    posterior,
    run,
    table,
    tiny,
)

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


@pytest.mark.parametrize("reach", [2, 9])
def test_proposals_further_away_leave_the_exact_posterior(reach: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check_posterior(run(from_table, monkeypatch, reach=reach))


@pytest.mark.parametrize("reach", [1, 2])
def test_a_walk_without_boundary_correction_is_refused(reach: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "log_proposal", lambda prior, topics, reach: 0.0)
    with pytest.raises(AssertionError, match="largest"):
        check_posterior(run(from_table, monkeypatch, reach=reach))


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
