"""Splits and merges for the HDP that are found by annealing (Karagiannis & Andrieu 2013).

A topic with weight A = a beta_k is the same as two halves with weights x A and (1 - x) A and the same words, for any x,
because Dirichlet parameters add up. A path leads from such tied halves to two topics with words of their own:
    pi_b(x, labels) ~ h(x) p(labels | x) [ gamma / (x (1 - x) h(x)) p(words | two topics) / p(words | one topic) ]^b,
where p(labels | x) is the Polya urn of each document and h is the density of Beta(1/2, 1/2). (With a uniform h the
bracket would have an infinite variance at b = 0.) A split draws x and labels at b = 0 and takes them to b = 1; a merge
takes the present ones back. Either way the product of the ratios of neighbouring
densities, W, estimates the probability of two topics over that of one (annealed importance sampling; Neal 2001), and
with W in its place the move is exact, because a path and its reverse cancel.

At each b there is a sweep over the tokens, forward or backward, and an update of x, before or after it, all with equal
chance; so each step is its own reverse. x is drawn given numbers of tables: Beta(s_1 + (1 - b) / 2, s_2 + (1 - b) / 2).

Pairs to merge are ranked by what their merge costs in log p(words), which is the same however the pair came about.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.lda.uniforms import new_words, uniform
from bayestopics.nonparametric.antoniak import draw_tables
from bayestopics.nonparametric.hdp_state import HdpState, fitted, log_rising
from bayestopics.nonparametric.split_merge import Move, Selection, make, members_of, place
from bayestopics.nonparametric.top_level import SMALLEST_WEIGHT

STEPS = (25, 100, 400)  # lengths of a path, one of which is chosen at random


def annealed_split_merge(state: HdpState, rng: np.random.Generator) -> tuple[HdpState, Move]:
    """Propose to split a random topic or, with equal chance, to merge two; make the move if it is accepted."""
    state = fitted(state)
    return state, (_split if rng.random() < 0.5 else _merge)(state, rng)


def _split(state: HdpState, rng: np.random.Generator) -> Move:
    topic = int(rng.choice(state.active))
    pair = Pair.of(state, topic, topic)
    if len(pair.tokens) < 2:
        return Move(True, False, -math.inf)
    path = Path(pair)
    log_weight = path.split(ladder(rng), rng)
    if path.labels.all() or not path.labels.any():
        return Move(True, False, -math.inf)
    halves = path.by_term.astype(state.term_topic.dtype)
    after = np.column_stack((np.delete(state.term_topic[:, state.active], state.active == topic, axis=1), halves))
    last = after.shape[1] - 1
    log_ratio = log_weight + log_selection(after, state.eta, last - 1, last)
    accepted = math.log1p(-rng.random()) < log_ratio
    if accepted:
        _move(state, Selection(True, topic, topic, (-1, -1)), pair, path)
    return Move(True, accepted, log_ratio)


def _merge(state: HdpState, rng: np.random.Generator) -> Move:
    if state.topics < 2:
        return Move(False, False, -math.inf)
    active, counts = state.active, state.term_topic[:, state.active]
    pairs, shares = merge_shares(counts, state.eta)
    columns = rng.permutation(pairs[rng.choice(len(pairs), p=shares)])  # which half is the first is open
    first, second = active[columns].tolist()
    pair = Pair.of(state, first, second)
    path = Path(pair)
    path.begin((state.assignments[pair.tokens] == second).astype(np.int8), state.alpha[[first, second]] / pair.whole)
    log_ratio = -path.merge(ladder(rng), rng) - log_selection(counts, state.eta, *columns)
    accepted = math.log1p(-rng.random()) < log_ratio
    if accepted:
        path.begin((state.assignments[pair.tokens] == second).astype(np.int8), path.share)
        _move(state, Selection(False, first, second, (-1, -1)), pair, path)
    return Move(False, accepted, log_ratio)


def _move(state: HdpState, selection: Selection, pair: Pair, path: Path) -> None:
    halves = place(state, pair.tokens, path.labels, pair.whole / 2, None)
    make(state, selection, halves, float(path.share[0]))


# -- which pair ---------------------------------------------------------------------------------------


def log_selection(counts: np.ndarray, eta: float, first: int, second: int) -> float:
    """The log of the probability to select the merge of two columns, in this order, over that to select the split."""
    pairs, shares = merge_shares(counts, eta)
    wanted = sorted((first, second))
    chosen = shares[np.flatnonzero((pairs == wanted).all(axis=1))[0]]
    return math.log(chosen / 2) + math.log(counts.shape[1] - 1)  # one of the K topics before the split


def merge_shares(counts: np.ndarray, eta: float) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of columns, and the probability of each: that of rank r is proportional to 1 / ((r + 1) (r + 2)).

    The cheapest has rank 0; pairs with the same cost share a rank, because columns have no order.
    """
    first, second = np.triu_indices(counts.shape[1], 1)
    costs = _merge_costs(np.ascontiguousarray(counts.T.astype(np.int64)), eta, first, second)
    rank = np.unique(np.round(costs, 6), return_inverse=True)[1]  # sums in another order differ in the last digits
    weights = 1.0 / ((rank + 1.0) * (rank + 2.0))
    return np.column_stack((first, second)), weights / weights.sum()


@kernel
def _merge_costs(counts: np.ndarray, eta: float, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """log p(words | two topics) - log p(words | one) of each pair of rows."""
    topics, terms = counts.shape
    totals, most = np.zeros(topics, np.int64), 0
    for k in range(topics):
        totals[k] = counts[k].sum()
        most = max(most, counts[k].max())
    table = np.zeros(2 * most + 1)  # log eta (eta + 1) .. (eta + n - 1)
    for n in range(2 * most):
        table[n + 1] = table[n] + math.log(eta + n)
    costs = np.empty(len(first))
    for p in range(len(first)):
        one, other, cost = counts[first[p]], counts[second[p]], 0.0
        for v in range(terms):
            cost += table[one[v]] + table[other[v]] - table[one[v] + other[v]]
        a, b = totals[first[p]], totals[second[p]]
        cost += log_rising(terms * eta, a + b) - log_rising(terms * eta, a) - log_rising(terms * eta, b)
        costs[p] = cost
    return costs


# -- the path -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pair:
    """The tokens of one topic, or of two; documents are numbered from 0."""

    tokens: np.ndarray  # int64[n]
    documents: np.ndarray  # int32[n]
    terms: np.ndarray  # int32[n]
    document_count: int
    term_count: int
    whole: float  # a beta of both
    gamma: float
    eta: float

    @classmethod
    def of(cls, state: HdpState, first: int, second: int) -> Pair:
        chosen = np.unique([first, second])
        size = int(state.topic_total[chosen].sum())
        counts = (state.assignments, state.document_offsets, state.document_topic)
        tokens = members_of(*counts, first, second, size)
        numbers, documents = np.unique(state.documents[tokens], return_inverse=True)
        terms, whole = state.terms[tokens].astype(np.int32), float(state.alpha[chosen].sum())
        sizes = (len(numbers), len(state.term_topic))
        return cls(tokens, documents.astype(np.int32), terms, *sizes, whole, state.gamma, state.eta)


def ladder(rng: np.random.Generator) -> np.ndarray:
    """Powers b from 0 to 1, closer to each other near both ends."""
    even = np.linspace(0.0, 1.0, STEPS[rng.integers(len(STEPS))] + 1)
    return even * even * (3.0 - 2.0 * even)


class Path:
    """Labels 0 and 1 of the tokens of a pair, and `share` = (x, 1 - x)."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair

    def begin(self, labels: np.ndarray, share: np.ndarray) -> None:
        """Count these labels."""
        pair, self.labels, self.share = self.pair, labels, share
        sizes = ((pair.documents, pair.document_count), (pair.terms, pair.term_count))
        self.by_document, self.by_term = (
            np.bincount(2 * index.astype(np.int64) + labels, minlength=2 * size).reshape(size, 2)
            for index, size in sizes
        )
        self.total = np.bincount(labels, minlength=2)
        costs = _merge_costs(np.ascontiguousarray(self.by_term.T), pair.eta, np.array([0]), np.array([1]))
        self._log_words = float(costs[0])

    @property
    def log_ratio(self) -> float:
        """The log of the bracket in pi_b."""
        return float(self._log_words + math.log(self.pair.gamma * math.pi) - np.log(self.share).sum() / 2)

    def split(self, powers: np.ndarray, rng: np.random.Generator) -> float:
        """Draw tied halves and take them to two topics; returns log W."""
        share = self._share(np.array([0.5, 0.5]), rng)
        weights = self.pair.whole * share
        first = rng.beta(weights[0], weights[1], size=self.pair.document_count)[self.pair.documents]
        self.begin((rng.random(len(first)) >= first).astype(np.int8), share)
        log_weight = 0.0
        for before, after in itertools.pairwise(powers):
            log_weight += (after - before) * self.log_ratio
            if after < 1.0:
                self.step(after, rng)
        return log_weight

    def merge(self, powers: np.ndarray, rng: np.random.Generator) -> float:
        """Take two topics to tied halves; returns log W of the path in the other direction."""
        log_weight = 0.0
        for before, after in zip(powers[-2::-1], powers[:0:-1], strict=True):
            log_weight += (after - before) * self.log_ratio
            if before > 0.0:
                self.step(before, rng)
        return log_weight

    def step(self, b: float, rng: np.random.Generator) -> None:
        pair, words = self.pair, new_words(rng)
        x_first, forward = rng.random(2) < 0.5
        if x_first:
            self._draw_share(b, words, rng)
        data = (pair.documents, pair.terms, self.by_document, self.by_term, self.total)
        self._log_words += _sweep(*data, pair.whole * self.share, pair.eta, self.labels, b, forward, words)
        if not x_first:
            self._draw_share(b, words, rng)

    def _draw_share(self, b: float, words: np.ndarray, rng: np.random.Generator) -> None:
        tables = _tables(self.by_document, self.pair.whole * self.share, words)
        self.share = self._share(tables + (1.0 - b) / 2, rng)

    @staticmethod
    def _share(shapes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(x, 1 - x) with x ~ Beta(shapes), by logs of gamma variables, which do not underflow."""
        logs = np.log(rng.standard_gamma(shapes + 1.0)) - rng.standard_exponential(2) / shapes
        share = np.exp(logs - logs.max())
        return np.maximum(share / share.sum(), SMALLEST_WEIGHT)


@kernel
def _tables(by_document: np.ndarray, weights: np.ndarray, words: np.ndarray) -> np.ndarray:
    tables = np.zeros(2)
    for d in range(len(by_document)):
        for half in range(2):
            tables[half] += draw_tables(by_document[d, half], weights[half], words)
    return tables


@kernel
def _sweep(
    documents: np.ndarray,
    terms: np.ndarray,
    by_document: np.ndarray,
    by_term: np.ndarray,
    totals: np.ndarray,
    weights: np.ndarray,
    eta: float,
    labels: np.ndarray,
    b: float,
    forward: bool,
    words: np.ndarray,
) -> float:
    """One sweep at b; returns by how much log p(words | two topics) - log p(words | one) rose."""
    total_eta, tokens, rise = len(by_term) * eta, len(labels), 0.0
    for step in range(tokens):
        i = step if forward else tokens - 1 - step
        d, v, old = documents[i], terms[i], labels[i]
        by_document[d, old] -= 1
        by_term[v, old] -= 1
        totals[old] -= 1
        ratio = (by_term[v, 1] + eta) * (totals[0] + total_eta) / ((by_term[v, 0] + eta) * (totals[1] + total_eta))
        log_words = math.log(ratio)
        urn = (by_document[d, 0] + weights[0]) / (by_document[d, 1] + weights[1])
        new = 1 if uniform(words) * (1.0 + urn * math.exp(-b * log_words)) < 1.0 else 0
        rise += (new - old) * log_words
        labels[i] = new
        by_document[d, new] += 1
        by_term[v, new] += 1
        totals[new] += 1
    return rise
