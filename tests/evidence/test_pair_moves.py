"""Paths that split a topic or merge two: their weights have the law that makes the moves exact.

Against the sums over all 2^n labels, with short paths, so that W scatters. For every function g of W and of the labels
at the end x, E[exp(W) g(W, x)] of splits is Z E[g(W, x)] of merges from exact draws of x, where Z is the sum of the
two-topic density over all labels (Crooks 1999).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, gammaln
from scipy.stats import norm

import oracle
from bayestopics.evidence import pair_moves as module
from bayestopics.evidence.pair_moves import Labels, Pair
from bayestopics.lda.state import Prior

FALSE_ALARM = 1e-6
DOCUMENTS, TERMS, TERM_COUNT, PRIOR = [0, 0, 3, 3, 3], [0, 1, 1, 1, 3], 4, Prior(0.4, 0.3)
PATHS, TRIES = 2500, 1500


@pytest.fixture(autouse=True)
def _short_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAUNCH", 2)
    monkeypatch.setattr(module, "STEPS", (2, 3))


def pair() -> Pair:
    return Pair(np.array(DOCUMENTS, np.int32), np.array(TERMS, np.int32), TERM_COUNT, 0.4, 0.3)


def log_two(labels: np.ndarray) -> np.ndarray:
    """The log density of each row of labels as two topics, without the documents' normalisers; from the definition."""
    corpus = oracle.tiny_corpus([[0, 1], [], [], [1, 1, 3]], TERM_COUNT)
    assert (corpus.documents.tolist(), corpus.terms.tolist()) == (DOCUMENTS, TERMS)
    lengths = corpus.document_lengths
    normaliser = np.sum(gammaln(0.8) - gammaln(lengths + 0.8))
    return oracle.log_joint(corpus, labels, 2, PRIOR) - normaliser


ALL = oracle.all_assignments(len(TERMS), 2)
LOGS = log_two(ALL)
LOG_SUM = float(np.logaddexp.reduce(LOGS))
Paths = tuple[np.ndarray, np.ndarray]


def splits(rng: np.random.Generator) -> Paths:
    """Rows of ALL in which paths end, and their weights W - log Z."""
    found = [pair().split(rng) for _ in range(PATHS)]
    return oracle.index_of(np.array([labels for labels, _ in found]), 2), np.array([w for _, w in found]) - LOG_SUM


def merges(rng: np.random.Generator) -> Paths:
    """Rows of ALL from which paths start, drawn from the law of two topics, and their weights W - log Z."""
    rows = rng.choice(len(ALL), size=PATHS, p=np.exp(LOGS - LOG_SUM))
    return rows, np.array([pair().merge(ALL[row].astype(bool), rng) for row in rows]) - LOG_SUM


@cache
def right() -> tuple[Paths, Paths]:
    """Splits and merges as they are, once for all tests."""
    rng = np.random.default_rng(1)
    return splits(rng), merges(rng)


def check_equal(one: np.ndarray, other: np.ndarray) -> None:
    """Means of columns of independent rows agree: z statistics, Bonferroni. Columns that hardly vary are left out."""
    lively = [np.count_nonzero(column) > 50 for column in np.hstack([one, other[: len(one)]]).T]
    columns = np.array(lively[: one.shape[1]]) & np.array(lively[one.shape[1] :])
    variance = one.var(axis=0, ddof=1) / len(one) + other.var(axis=0, ddof=1) / len(other)
    z = ((one.mean(axis=0) - other.mean(axis=0)) / np.sqrt(variance))[columns]
    assert 2 * norm.sf(np.abs(z)).min() * len(z) > FALSE_ALARM, f"largest |z| is {np.abs(z).max():.1f}"


def nameless(rows: np.ndarray) -> np.ndarray:
    """1(row is this one) for the splits into two halves, whichever of them is numbered 1: a merge draws the number."""
    half = np.minimum(rows, len(ALL) - 1 - rows)
    return half[:, None] == np.arange(len(ALL) // 2)


def functions(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """g(W, x), bounded by exp(-W)."""
    small = np.stack([np.exp(-weights), expit(-weights), weights < 0], axis=1)
    return np.hstack([small, nameless(rows) * np.minimum(1.0, np.exp(-weights))[:, None]])


def check_crooks(found: tuple[Paths, Paths]) -> None:
    (ends, forward), (starts, backward) = found
    check_equal(functions(ends, forward) * np.exp(forward)[:, None], functions(starts, backward))


def test_densities_are_those_of_one_topic_and_of_two() -> None:
    assert_allclose([Labels(pair(), row.astype(np.int8)).log_density() for row in ALL], LOGS, rtol=1e-12)
    assert_allclose(pair().log_one(), LOGS[0], rtol=1e-12)  # all in one half


def test_the_rise_of_a_sweep_is_that_of_the_densities() -> None:
    rng = np.random.default_rng(2)
    logits = rng.normal(size=len(TERMS))
    labels = Labels(pair(), rng.integers(2, size=len(TERMS)).astype(np.int8))

    def log_ratio() -> float:
        log_q = np.log(expit(np.where(labels.of_tokens == 1, logits, -logits))).sum()
        return float(LOGS[oracle.index_of(labels.of_tokens.astype(int), 2)] - log_q)

    for b in (0.1, 0.5, 1.0) * 20:
        before = log_ratio()
        rise = labels.sweep(b, logits, rng)
        assert_allclose(rise, log_ratio() - before, atol=1e-12)


def test_the_weight_of_a_split_is_unbiased() -> None:
    """Also of each partition: E[exp(W) 1(x)] is the density of x."""
    ends, weights = right()[0]
    oracle.check_unbiased(weights, 0.0)
    exact = np.exp(LOGS - LOG_SUM)
    expected = np.array([exact[row] + exact[-1 - row] for row in range(len(ALL) // 2)])
    likely = expected > 0.01
    ratios = (nameless(ends) * np.exp(weights)[:, None])[:, likely]
    z = (ratios.mean(axis=0) - expected[likely]) / (ratios.std(axis=0, ddof=1) / np.sqrt(PATHS))
    assert 2 * norm.sf(np.abs(z)).min() * len(z) > FALSE_ALARM


def test_the_inverse_weight_of_a_merge_is_unbiased() -> None:
    oracle.check_unbiased(-right()[1][1], 0.0)


def test_splits_and_merges_undo_each_other() -> None:
    check_crooks(right())


@pytest.mark.parametrize("broken", [False, True])
def test_sweeps_are_reversible(broken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """pi(x) P(x, y) = pi(y) P(y, x) at b = 1, with ties between tokens; not so if all sweeps go forward."""
    if broken:
        monkeypatch.setattr(Labels, "sweep", one_way(Labels.sweep))
    rng, tied = np.random.default_rng(7), Pair(np.zeros(3, np.int32), np.array([0, 0, 1], np.int32), 2, 0.5, 0.5)
    starts = [Labels(tied, row.astype(np.int8)) for row in oracle.all_assignments(3, 2)]
    law = np.exp([one.log_density() for one in starts])
    counts = np.zeros((8, 8))
    for x, start in enumerate(starts):
        for _ in range(TRIES):
            labels = Labels(tied, start.of_tokens.copy())
            labels.sweep(1.0, np.zeros(3), rng)
            counts[x, oracle.index_of(labels.of_tokens.astype(int), 2)] += 1
    chances = counts / TRIES
    flow, variance = law[:, None] * chances, law[:, None] ** 2 * chances * (1 - chances) / TRIES
    seen = np.triu((counts > 5) & (counts.T > 5), 1)
    z = (flow - flow.T)[seen] / np.sqrt(variance + variance.T)[seen]
    with pytest.raises(AssertionError, match="largest") if broken else nullcontext():
        assert 2 * norm.sf(np.abs(z)).min() * len(z) > FALSE_ALARM, f"largest |z| is {np.abs(z).max():.1f}"


def test_a_pair_may_be_a_single_token() -> None:
    rng = np.random.default_rng(5)
    one = Pair(np.array([7], np.int32), np.array([2], np.int32), TERM_COUNT, 0.4, 0.3)
    found = [one.split(rng) for _ in range(200)]
    assert_allclose([weight for _, weight in found], np.log(2) + one.log_one())  # both labels have the same density
    assert {int(labels[0]) for labels, _ in found} == {0, 1}


@pytest.mark.parametrize("alpha", [1e-50, 1e6])
@pytest.mark.parametrize("eta", [1e-50, 1e6])
def test_weights_are_numbers_for_every_prior(alpha: float, eta: float) -> None:
    rng = np.random.default_rng(6)
    corpus = oracle.random_corpus(rng, 60, 5, 8)
    extreme = Pair(corpus.documents, corpus.terms, 8, alpha, eta)
    labels, weight = extreme.split(rng)
    assert np.isfinite(weight)
    assert np.isfinite(extreme.merge(labels == 1, rng))


# -- negative controls --------------------------------------------------------------------------------


def unnormalised(logits: np.ndarray, labels: np.ndarray) -> float:
    return float(logits[labels == 1].sum())


def one_way(sweep: Callable[..., float]) -> Callable[..., float]:
    """Sweeps go forward only: they still keep the law, but the way back is not the way there."""

    def forward(self: Labels, b: float, logits: np.ndarray, rng: np.random.Generator, shares: Any = None) -> float:
        class Forward:
            def integers(self, *arguments: Any, **options: Any) -> Any:
                return 1 if arguments == (2,) else rng.integers(*arguments, **options)

        return sweep(self, b, logits, Forward(), shares)

    return forward


@pytest.mark.parametrize("fault", ["reference", "numbers"])
def test_broken_paths_are_refused(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference without its normaliser; labels that keep their numbers, where the reference prefers one way."""
    monkeypatch.setattr(Pair, "reference", lambda self, rng: np.array([3.0, -3.0, 2.0, -2.0, 1.0]))
    with monkeypatch.context() as patch:
        if fault == "reference":
            patch.setattr(module, "_log_reference", unnormalised)
        else:
            merge = Pair.merge
            patch.setattr(Pair, "merge", lambda self, present, rng: merge(self, ordered(present), Fixed(rng)))
        with pytest.raises(AssertionError, match="largest"):
            check_crooks((splits(np.random.default_rng(8)), merges(np.random.default_rng(9))))
    check_crooks((splits(np.random.default_rng(8)), merges(np.random.default_rng(9))))


def ordered(present: np.ndarray) -> np.ndarray:
    """Numbered such that the first token has label 0."""
    return present ^ present[0]


class Fixed:
    """Never changes the numbers of the labels."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng, self._calls = rng, 0

    def integers(self, *arguments: Any, **options: Any) -> Any:
        self._calls += 1  # the length of the path; then the numbering
        return 0 if self._calls == 2 else self._rng.integers(*arguments, **options)

    def random(self, *arguments: Any) -> Any:
        return self._rng.random(*arguments)
