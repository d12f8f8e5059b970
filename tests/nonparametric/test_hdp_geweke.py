"""Getting it right (Geweke 2004) for the HDP: (z, beta, w) drawn from the model, and along a chain, must agree."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import f as fisher

from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric import hdp_blocked, hdp_gibbs, split_merge
from bayestopics.nonparametric.hdp_state import HdpPrior, HdpState, from_assignments

LENGTHS, TERMS, PRIOR = [5, 4, 1, 0], 3, HdpPrior(0.8, 1.5, 0.4)
DOCUMENTS = np.repeat(np.arange(len(LENGTHS)), LENGTHS).astype(np.int32)
VOCABULARY = tuple(str(v) for v in range(TERMS))
INDEPENDENT, ITERATIONS, BATCHES = 10_000, 4_000, 80
FALSE_ALARM = 1e-6  # of one test, over seeds
STATISTICS = ["topics", "largest topic", "squared document-topic counts", "squared topic-term counts", "log p(w | z)"]
STATISTICS += ["beta_u", "squared beta", "beta times counts"]

Step = Callable[[HdpState, np.random.Generator], HdpState]


def draw_model(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """z and beta by the Chinese restaurant franchise: tables of a document, dishes of tables, beta given the tables."""
    dish_tables: list[int] = []
    z = []
    for length in LENGTHS:
        sizes: list[int] = []
        dishes: list[int] = []
        for i in range(length):
            table = choose([*sizes, PRIOR.concentration], rng)
            if table == len(sizes):
                dish = choose([*dish_tables, PRIOR.gamma], rng)
                dish_tables += [0] * (dish == len(dish_tables))
                dish_tables[dish] += 1
                sizes.append(0)
                dishes.append(dish)
            sizes[table] += 1
            z.append(dishes[table])
            assert sum(sizes) == i + 1
    return np.array(z), rng.dirichlet([*dish_tables, PRIOR.gamma])


def choose(weights: list[float], rng: np.random.Generator) -> int:
    threshold = rng.random() * sum(weights)
    for i, weight in enumerate(weights):
        threshold -= weight
        if threshold < 0:
            return i
    return len(weights) - 1


def draw_terms(z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    laws = rng.dirichlet(np.full(TERMS, PRIOR.eta), size=z.max() + 1).cumsum(axis=1)
    return np.sum(laws[z, :-1] <= rng.random(len(z))[:, None], axis=1, dtype=np.int32)


def statistics(z: np.ndarray, beta: np.ndarray, terms: np.ndarray) -> list[float]:
    """The STATISTICS depend neither on labels nor on the order of the tokens. z has topics 0 .. K - 1."""
    topics = len(beta) - 1
    by_document = np.bincount(DOCUMENTS * topics + z, minlength=len(LENGTHS) * topics)
    by_term = np.bincount(z * TERMS + terms, minlength=TERMS * topics)
    sizes = np.bincount(z)
    words = np.sum(gammaln(by_term + PRIOR.eta)) - topics * TERMS * gammaln(PRIOR.eta)
    words += np.sum(gammaln(TERMS * PRIOR.eta) - gammaln(sizes + TERMS * PRIOR.eta))
    squares = [float(np.square(counts).sum()) for counts in (by_document, by_term)]
    return [topics, sizes.max(), *squares, words, beta[-1], np.square(beta[:-1]).sum(), beta[:-1] @ sizes]


@cache
def marginal_conditional() -> np.ndarray:
    rng, rows = np.random.default_rng(2004), []
    for _ in range(INDEPENDENT):
        z, beta = draw_model(rng)
        rows.append(statistics(z, beta, draw_terms(z, rng)))
    return np.array(rows)


def successive_conditional(step: Step, rng: np.random.Generator) -> np.ndarray:
    (z, beta), rows = draw_model(rng), []
    for _ in range(ITERATIONS):
        terms = draw_terms(z, rng)
        order = np.lexsort((terms, DOCUMENTS))  # a corpus has its tokens sorted
        corpus = Corpus(DOCUMENTS, terms[order], len(LENGTHS), VOCABULARY)
        state = step(from_assignments(corpus, PRIOR, z[order], beta), rng)
        _, z = np.unique(state.assignments, return_inverse=True)
        beta = state.beta
        rows.append(statistics(z, beta, corpus.terms))
    return np.array(rows)


def check_right(step: Step, seed: int) -> None:
    """Hotelling's T^2 of all statistics, with the covariance of batch means for the chain."""
    chain, independent = successive_conditional(step, np.random.default_rng(seed)), marginal_conditional()
    means = chain.reshape(BATCHES, -1, chain.shape[1]).mean(axis=1)
    covariance = np.cov(means.T) / BATCHES + np.cov(independent.T) / INDEPENDENT
    difference = chain.mean(axis=0) - independent.mean(axis=0)
    t_squared, k = difference @ np.linalg.solve(covariance, difference), len(difference)
    p_value = fisher.sf(t_squared * (BATCHES - k) / (k * (BATCHES - 1)), k, BATCHES - k)
    each = dict(zip(STATISTICS, np.round(difference / np.sqrt(np.diag(covariance)), 1), strict=True))
    assert p_value > FALSE_ALARM, f"p = {p_value:.1g}; standardised differences: {each}"


def plain_with_moves(state: HdpState, rng: np.random.Generator) -> HdpState:
    return split_merge.split_merge(hdp_gibbs.sweep(state, rng), rng)[0]


def blocked_with_moves(state: HdpState, rng: np.random.Generator) -> HdpState:
    return split_merge.split_merge(hdp_blocked.sweep(state, rng), rng, choice="words")[0]


@pytest.mark.parametrize("step", [plain_with_moves, blocked_with_moves], ids=lambda step: step.__name__)
def test_joint_simulations_agree(step: Step) -> None:
    check_right(step, seed=1)


def test_joint_simulations_disagree_without_the_jacobian(monkeypatch: pytest.MonkeyPatch) -> None:
    right = split_merge.split_log_ratio

    def wrong(state: HdpState, halves: split_merge.Halves, whole: float, *others: float) -> float:
        return right(state, halves, whole, *others) - np.log(whole / state.concentration)

    monkeypatch.setattr(split_merge, "split_log_ratio", wrong)
    with pytest.raises(AssertionError, match="standardised"):
        check_right(plain_with_moves, seed=2)
