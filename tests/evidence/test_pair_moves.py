"""Paths that split a topic or merge two: their weights have the law that makes the moves exact.

Against the sums over all 2^n labels, with short paths, so that W scatters. For every function g of W and of the labels
at the end x, E[exp(W) g(W, x)] of splits is Z E[g(W, x)] of merges from exact draws of x, where Z is the sum of the
two-topic density over all labels, divided by the density of one topic (Crooks 1999).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, gammaln
from scipy.stats import norm

import oracle
from bayestopics.evidence import pair_moves as module
from bayestopics.evidence.pair_moves import Pair, Path
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
LOG_Z = LOG_SUM - LOGS[0]
KINDS = ("tied", "reference")
Paths = tuple[np.ndarray, np.ndarray]


def only(kind: str) -> Any:
    """All paths start from this kind of distribution."""
    logits = {"tied": lambda self, rng: None, "reference": lambda self, rng: self._reference(rng)}[kind]
    return patch.object(Pair, "_path", lambda self, rng: Path(self, logits(self, rng)))


def splits(rng: np.random.Generator, kind: str) -> Paths:
    """Rows of ALL in which paths end, and their weights W - log Z."""
    with only(kind):
        found = [pair().split(rng) for _ in range(PATHS)]
    return oracle.index_of(np.array([labels for labels, _ in found]), 2), np.array([w for _, w in found]) - LOG_Z


def merges(rng: np.random.Generator, kind: str) -> Paths:
    """Rows of ALL from which paths start, drawn from the law of two topics, and their weights W - log Z."""
    rows = rng.choice(len(ALL), size=PATHS, p=np.exp(LOGS - LOG_SUM))
    with only(kind):
        return rows, np.array([pair().merge(ALL[row].astype(bool), rng) for row in rows]) - LOG_Z


@cache
def right(kind: str) -> tuple[Paths, Paths]:
    """Splits and merges as they are, once for all tests."""
    rng = np.random.default_rng(1)
    return splits(rng, kind), merges(rng, kind)


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


def at(labels: np.ndarray, logits: np.ndarray | None = None, of: Pair | None = None) -> Path:
    path = Path(of or pair(), logits)
    path.begin(labels.astype(np.int8))
    return path


def test_densities_are_those_of_one_topic_and_of_two() -> None:
    assert_allclose([at(row)._log_density() for row in ALL], LOGS, rtol=1e-12)
    assert_allclose(Path(pair(), np.zeros(len(TERMS))).log_total, LOGS[0], rtol=1e-12)


def test_tied_halves_together_are_one_topic() -> None:
    assert_allclose(np.logaddexp.reduce([at(row)._log_start() for row in ALL]), LOGS[0], rtol=1e-12)


def test_tied_halves_are_drawn_from_their_law() -> None:
    rng, path = np.random.default_rng(3), Path(pair(), None)
    counts = np.zeros(len(ALL))
    for _ in range(TRIES):
        path.draw(rng)
        counts[oracle.index_of(path.labels.astype(int), 2)] += 1
    law = np.exp([at(row)._log_start() - LOGS[0] for row in ALL])
    likely = law > 0.01
    z = (counts / TRIES - law)[likely] / np.sqrt(law * (1 - law) / TRIES)[likely]
    assert 2 * norm.sf(np.abs(z)).min() * len(z) > FALSE_ALARM


@pytest.mark.parametrize("kind", KINDS)
def test_a_sweep_keeps_log_p_less_log_q(kind: str) -> None:
    rng = np.random.default_rng(2)
    logits = rng.normal(size=len(TERMS)) if kind == "reference" else None
    path = at(rng.integers(2, size=len(TERMS)), logits)
    for b in (0.1, 0.5, 1.0) * 20:
        path.sweep(b, rng)
        assert_allclose(path.log_ratio, at(path.labels, logits).log_ratio, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_weight_of_a_split_is_unbiased(kind: str) -> None:
    """Also of each partition: E[exp(W) 1(x)] is the density of x."""
    ends, weights = right(kind)[0]
    oracle.check_unbiased(weights, 0.0)
    exact = np.exp(LOGS - LOG_SUM)
    expected = np.array([exact[row] + exact[-1 - row] for row in range(len(ALL) // 2)])
    likely = expected > 0.01
    ratios = (nameless(ends) * np.exp(weights)[:, None])[:, likely]
    z = (ratios.mean(axis=0) - expected[likely]) / (ratios.std(axis=0, ddof=1) / np.sqrt(PATHS))
    assert 2 * norm.sf(np.abs(z)).min() * len(z) > FALSE_ALARM


@pytest.mark.parametrize("kind", KINDS)
def test_the_inverse_weight_of_a_merge_is_unbiased(kind: str) -> None:
    oracle.check_unbiased(-right(kind)[1][1], 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_splits_and_merges_undo_each_other(kind: str) -> None:
    check_crooks(right(kind))


@pytest.mark.parametrize("broken", [False, True])
def test_sweeps_are_reversible(broken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """pi(x) P(x, y) = pi(y) P(y, x) at b = 1, with ties between tokens; not so if all sweeps go forward."""
    if broken:
        monkeypatch.setattr(Path, "sweep", one_way(Path.sweep))
    rng, three = np.random.default_rng(7), Pair(np.zeros(3, np.int32), np.array([0, 0, 1], np.int32), 2, 0.5, 0.5)
    starts = oracle.all_assignments(3, 2)
    law = np.exp([at(row, of=three)._log_density() for row in starts])
    counts = np.zeros((8, 8))
    for x, start in enumerate(starts):
        for _ in range(TRIES):
            path = at(start, of=three)
            path.sweep(1.0, rng)
            counts[x, oracle.index_of(path.labels.astype(int), 2)] += 1
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
    assert_allclose([weight for _, weight in found], np.log(2))  # both labels have the density of one topic
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


def one_way(sweep: Callable[..., None]) -> Callable[..., None]:
    """Sweeps go forward only: they still keep the law, but the way back is not the way there."""

    def forward(self: Path, b: float, rng: np.random.Generator, shares: Any = None) -> None:
        class Forward:
            def integers(self, *arguments: Any, **options: Any) -> Any:
                return 1 if arguments == (2,) else rng.integers(*arguments, **options)

        sweep(self, b, Forward(), shares)

    return forward


def unnormalised(self: Path) -> float:
    assert self._logits is not None
    return float(self._logits[self.labels == 1].sum())


def whole(self: Path) -> float:
    """Tied halves with alpha in place of alpha / 2."""
    together = self._of_terms(self._by_term.sum(axis=1), self._totals.sum())
    return self._of_documents(self._pair.alpha) + together


@pytest.mark.parametrize(("kind", "fault"), [("reference", "start"), ("reference", "numbers"), ("tied", "start")])
def test_broken_paths_are_refused(kind: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference without its normaliser; labels that keep their numbers, where the reference prefers one way; halves
    that are not half as large."""
    monkeypatch.setattr(Pair, "_reference", lambda self, rng: np.array([3.0, -3.0, 2.0, -2.0, 1.0]))

    def found() -> tuple[Paths, Paths]:
        return splits(np.random.default_rng(8), kind), merges(np.random.default_rng(9), kind)

    with monkeypatch.context() as broken:
        if fault == "start":
            broken.setattr(Path, "_log_start", unnormalised if kind == "reference" else whole)
        else:
            merge = Pair.merge
            broken.setattr(Pair, "merge", lambda self, present, rng: merge(self, ordered(present), Fixed(rng)))
        with pytest.raises(AssertionError, match="largest"):
            check_crooks(found())
    check_crooks(found())


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
