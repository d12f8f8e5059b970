"""Split-merge moves for the HDP by direct assignment [Rana, Phung & Venkatesh 2013, section 3.3].

A split takes the tokens of one topic apart: two seeds start the halves, and in random order each other token joins
half s with probability proportional to (n_ds + a beta_k / 2) (m_sv + eta) / (m_s + V eta), over the tokens placed so
far. A merge undoes that. Two variants accept it:
- `exact`: Metropolis-Hastings. beta_k is split in a random proportion; the choice of topics and seeds, the
  allocation, the proportion's density and its Jacobian are all in the ratio. The order of the tokens is drawn alike
  both ways, and cancels.
- `paper`: beta is drawn anew from its conditional, and the ratio is p(w, z' | beta') / p(w, z | beta) over the
  probability of the allocation. It leaves out all the rest, so that its stationary law is not the posterior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayestopics.jit import kernel
from bayestopics.lda.state import unsigned
from bayestopics.lda.uniforms import NO_WORDS, new_words, uniform
from bayestopics.nonparametric.hdp_state import SHORT, HdpState, fitted, log_documents, log_rising, rising
from bayestopics.nonparametric.top_level import draw_weights
from bayestopics.problems import InputError

VARIANTS = ("exact", "paper")
CHOICES = ("uniform", "words")


class Move(NamedTuple):
    split: bool  # or a merge
    accepted: bool
    log_ratio: float  # accepted with probability min(1, exp(log_ratio)); an upper bound where that was enough to
    # reject it, and -inf if there was nothing to split or merge


class Selection(NamedTuple):
    first: int  # the topic to split, or the first to merge
    second: int  # the same, or the second to merge
    seeds: tuple[int, int] | None = None  # a token of each half, in this order; None: to be drawn


@dataclass(frozen=True, eq=False)
class Halves:
    """The tokens of one topic in two halves, in the order in which they were placed: the seeds first."""

    tokens: np.ndarray  # int64[n]
    side: np.ndarray  # int8[n]: 0 or 1
    in_document: np.ndarray  # int32[D, 2]
    in_term: np.ndarray  # int32[V, 2]
    total: np.ndarray  # int64[2]
    log_allocation: float  # the log of the probability that the tokens went where they went


def split_merge(
    state: HdpState, rng: np.random.Generator, variant: str = "exact", choice: str = "uniform"
) -> tuple[HdpState, Move]:
    """Propose one split or merge, and make it if it is accepted.

    `choice`: "uniform" splits or merges with equal chance, a random topic or a random pair; "words" takes two random
    tokens, and splits their topic if it is the same, else merges their topics.
    """
    check(variant, choice)
    state = fitted(state)
    split, selection = (_select_words if choice == "words" else _select_uniform)(state, rng)
    if selection is None:
        return state, Move(split, False, -math.inf)
    if variant == "paper":
        move = _paper_move(state, selection, split, rng)
    elif split:
        move = _split(state, selection, choice, rng)
    else:
        move = _merge(state, selection, choice, rng)
    return state, move


def _split(state: HdpState, selection: Selection, choice: str, rng: np.random.Generator) -> Move:
    halves, whole = _halves(state, selection, True, rng), float(state.alpha[selection.first])
    share = rng.beta(*tables_expected(halves, whole / 2))
    log_ratio = split_log_ratio(state, halves, whole, share, state.topics, choice)
    accepted = bool(np.log1p(-rng.random()) < log_ratio)
    if accepted:
        _make(state, selection, halves, True, share)
    return Move(True, accepted, log_ratio)


def _merge(state: HdpState, selection: Selection, choice: str, rng: np.random.Generator) -> Move:
    """The allocation can only lower the ratio: most merges are rejected without it, from the counts alone."""
    pair = [selection.first, selection.second]
    counts = (state.document_topic[:, pair], state.term_topic[:, pair], state.topic_total[pair])
    unplaced = Halves(np.empty(0, np.int64), np.empty(0, np.int8), *counts, log_allocation=0.0)
    whole = float(state.alpha[pair].sum())
    share = float(state.alpha[pair[0]]) / whole
    bound = -split_log_ratio(state, unplaced, whole, share, state.topics - 1, choice)
    log_uniform = np.log1p(-rng.random())
    if log_uniform >= bound:
        return Move(False, False, bound)
    halves = _halves(state, selection, False, rng)
    log_ratio = bound + halves.log_allocation
    accepted = bool(log_uniform < log_ratio)
    if accepted:
        _make(state, selection, halves, False, share)
    return Move(False, accepted, log_ratio)


def check(variant: str, choice: str) -> None:
    if variant not in VARIANTS or choice not in CHOICES:
        known = f"variants are {' and '.join(VARIANTS)}, choices {' and '.join(CHOICES)}"
        raise InputError(f"unknown split-merge {variant!r}, {choice!r}: {known}")


# -- which topics, which seeds ----------------------------------------------------------------------


def _select_uniform(state: HdpState, rng: np.random.Generator) -> tuple[bool, Selection | None]:
    """A split or a merge, with equal chance even where it is impossible; of any topic, or any ordered pair."""
    split, active = bool(rng.random() < 0.5), state.active
    first, second = _two(len(active), rng) if len(active) > 1 else (0, 0)
    if split:
        return split, Selection(active[first], active[first]) if state.topic_total[active[first]] > 1 else None
    return split, Selection(active[first], active[second]) if len(active) > 1 else None


def _select_words(state: HdpState, rng: np.random.Generator) -> tuple[bool, Selection | None]:
    """Two different tokens; their topics say which move it is."""
    if len(state.assignments) < 2:
        return True, None
    seeds = _two(len(state.assignments), rng)
    first, second = state.assignments[list(seeds)]
    return bool(first == second), Selection(first, second, seeds)


def _two(size: int, rng: np.random.Generator) -> tuple[int, int]:
    """Two different numbers of 0 .. size - 1, in random order."""
    first, second = int(rng.integers(size)), int(rng.integers(size - 1))
    return first, second + (second >= first)


def log_selection(halves: Halves, topics: int, choice: str) -> float:
    """log of the probability to select the merge over that to select the split of one of `topics` topics.

    By words both take the same two tokens, in the same order. Else the split takes the topic (1 / K) and two seeds
    in order (1 / (n (n - 1))), the merge an ordered pair of K + 1 topics and a seed of each (1 / (n_1 n_2)).
    """
    if choice == "words":
        return 0.0
    first, second = map(float, halves.total)
    split = topics * (first + second) * (first + second - 1.0)
    merge = (topics + 1.0) * topics * first * second
    return math.log(split) - math.log(merge)


# -- the halves -------------------------------------------------------------------------------------


def _halves(state: HdpState, selection: Selection, split: bool, rng: np.random.Generator) -> Halves:
    """Place the tokens in random order: by drawing (a split), or where they are (a merge)."""
    first, second, seeds = selection
    size = state.topic_total[first] + (0 if split else state.topic_total[second])
    tokens = _members(state.assignments, first, second, size)
    if seeds is not None:
        places = np.searchsorted(tokens, seeds)
    elif split:
        places = np.array(_two(len(tokens), rng))
    else:
        parts = [np.flatnonzero(state.assignments[tokens] == topic) for topic in (first, second)]
        places = np.array([part[rng.integers(len(part))] for part in parts])
    _shuffle(tokens, places[0], places[1], new_words(rng))
    side = np.zeros(len(tokens), np.int8) if split else (state.assignments[tokens] == second).astype(np.int8)
    side[:2] = 0, 1
    prior = state.alpha[first] / 2 if split else (state.alpha[first] + state.alpha[second]) / 2
    return place(state, tokens, side, prior, rng if split else None)


@kernel
def _members(assignments: np.ndarray, first: int, second: int, size: int) -> np.ndarray:
    """The tokens of two topics, which may be the same; `size` of them."""
    tokens, found = np.empty(size + 1, np.int64), 0
    for i in range(len(assignments)):
        tokens[found] = i  # without a branch: most tokens are overwritten by the next
        found += (assignments[i] == first) | (assignments[i] == second)
    return tokens[:size]


@kernel
def _shuffle(tokens: np.ndarray, first: int, second: int, words: np.ndarray) -> None:
    """Bring these two to the front, and the others behind them into random order."""
    tokens[0], tokens[first] = tokens[first], tokens[0]
    second = first if second == 0 else second
    tokens[1], tokens[second] = tokens[second], tokens[1]
    for i in range(len(tokens) - 1, 2, -1):
        j = 2 + int(uniform(words) * (i - 1))
        tokens[i], tokens[j] = tokens[j], tokens[i]


def place(
    state: HdpState, tokens: np.ndarray, side: np.ndarray, prior: float, rng: np.random.Generator | None
) -> Halves:
    """Place tokens[2:] one after the other: drawn into `side`, or without a generator as `side` says."""
    in_document = np.zeros((len(state.document_topic), 2), np.int32)
    in_term = np.zeros((len(state.term_topic), 2), np.int32)
    total = np.zeros(2, np.int64)
    words = NO_WORDS if rng is None else new_words(rng)
    documents, terms = unsigned(state.documents, state.terms)
    data = (documents, terms, float(prior), state.eta, state.total_eta)
    log_allocation = _allocate(tokens, side, rng is not None, *data, in_document, in_term, total, words)
    return Halves(tokens, side, in_document, in_term, total, log_allocation)


@kernel
def _allocate(
    tokens: np.ndarray,
    side: np.ndarray,
    drawn: bool,
    documents: np.ndarray,
    terms: np.ndarray,
    prior: float,
    eta: float,
    total_eta: float,
    in_document: np.ndarray,
    in_term: np.ndarray,
    total: np.ndarray,
    words: np.ndarray,
) -> float:
    """Sequential allocation (Dahl 2005); returns its log probability. The two seeds go where `side` has them."""
    log_q, product = 0.0, 1.0  # its log is taken only before it underflows
    for i in range(len(tokens)):
        d, v = documents[tokens[i]], terms[tokens[i]]
        s = side[i]
        if i >= 2:
            zero = (in_document[d, 0] + prior) * (in_term[v, 0] + eta) * (total[1] + total_eta)
            one = (in_document[d, 1] + prior) * (in_term[v, 1] + eta) * (total[0] + total_eta)
            if drawn:
                s = np.int8(uniform(words) * (zero + one) >= zero)
                side[i] = s
            product *= (one if s == 1 else zero) / (zero + one)
            if product < 1e-100:
                log_q += math.log(product)
                product = 1.0
        in_document[d, s] += 1
        in_term[v, s] += 1
        total[s] += 1
    return log_q + math.log(product)


def tables_expected(halves: Halves, prior: float) -> tuple[float, float]:
    """The expected number of tables of each half, with weight `prior`: the proportion is a Beta of them."""
    zero, one = _tables_expected(halves.in_document, float(prior))
    return float(zero), float(one)


@kernel
def _tables_expected(in_document: np.ndarray, prior: float) -> np.ndarray:
    tables = np.zeros(2)
    for d in range(len(in_document)):
        for s in range(2):
            for i in range(in_document[d, s]):
                tables[s] += prior / (prior + i)
    return tables


# -- acceptance -------------------------------------------------------------------------------------


def split_log_ratio(state: HdpState, halves: Halves, whole: float, share: float, topics: int, choice: str) -> float:
    """log of the Metropolis-Hastings ratio of a split of one of `topics` topics; of the merge it is the negative.

    `whole` = a beta_k, of which the first half takes `share`.
    """
    log_beta = math.log(whole / state.concentration)
    parts = (whole * share, whole * (1 - share))
    log_target = _log_counts_ratio(halves.in_document, halves.in_term, halves.total, *parts, state.eta, state.total_eta)
    log_target += math.log(state.gamma) - log_beta - math.log(share) - math.log1p(-share)  # gamma^K prod 1 / beta_k
    log_jacobian = log_beta  # d(beta_1, beta_2) = beta_k d(beta_k, share)
    log_proposal = halves.log_allocation + _log_beta_density(share, *tables_expected(halves, whole / 2))
    return log_target + log_jacobian - log_proposal + log_selection(halves, topics, choice)


def _log_beta_density(x: float, a: float, b: float) -> float:
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return constant + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)


@kernel
def _log_rising_ratio(first: float, zero: int, second: float, one: int, whole: float) -> float:
    """log of rising(first, zero) rising(second, one) / rising(whole, zero + one)."""
    if zero + one <= SHORT:
        return math.log(rising(first, zero) * rising(second, one) / rising(whole, zero + one))
    return log_rising(first, zero) + log_rising(second, one) - log_rising(whole, zero + one)


@kernel
def _log_words_ratio(in_term: np.ndarray, total: np.ndarray, eta: float, total_eta: float) -> float:
    """log of p(w | split) / p(w | one topic)."""
    result = -_log_rising_ratio(total_eta, total[0], total_eta, total[1], total_eta)
    for v in range(len(in_term)):
        zero, one = in_term[v]
        if zero > 0 and one > 0:  # else it is the same topic's count
            result += _log_rising_ratio(eta, zero, eta, one, eta)
    return result


@kernel
def _log_counts_ratio(
    in_document: np.ndarray,
    in_term: np.ndarray,
    total: np.ndarray,
    first: float,
    second: float,
    eta: float,
    total_eta: float,
) -> float:
    """log of p(w, z | split) / p(w, z | one topic), with weights a beta of `first`, `second` and their sum."""
    result = _log_words_ratio(in_term, total, eta, total_eta)
    for d in range(len(in_document)):
        zero, one = in_document[d]
        if zero + one > 0:
            result += _log_rising_ratio(first, zero, second, one, first + second)
    return result


def _paper_move(state: HdpState, selection: Selection, split: bool, rng: np.random.Generator) -> Move:
    """The paper's rule: make the move, redraw all of beta, and go back if it is rejected."""
    halves = _halves(state, selection, split, rng)
    before = log_documents(state), state.alpha.copy(), state.alpha_new.copy()
    label = _make(state, selection, halves, split, 0.5)
    draw_weights(state, rng)
    log_words = _log_words_ratio(halves.in_term, halves.total, state.eta, state.total_eta)
    log_ratio = log_documents(state) - before[0] + (log_words - halves.log_allocation) * (1 if split else -1)
    accepted = bool(np.log1p(-rng.random()) < log_ratio)
    if not accepted:
        _make(state, Selection(selection.first, label), halves, not split, 0.5)
        state.alpha[:], state.alpha_new[:] = before[1:]
    return Move(split, accepted, log_ratio)


# -- making a move ----------------------------------------------------------------------------------


def _make(state: HdpState, selection: Selection, halves: Halves, split: bool, share: float) -> int:
    """Split a topic, giving `share` of its weight to the first half, or merge two; returns the second half's label."""
    first, second = selection.first, selection.second
    of_halves = (halves.in_document, halves.in_term, halves.total)
    if split:
        if second == first:
            second = int(np.flatnonzero(state.topic_total == 0)[0])
        whole = state.alpha[first]
        state.alpha[first], state.alpha[second] = whole * share, whole * (1 - share)
        counts: list[tuple[Any, Any]] = [(half[..., 0], half[..., 1]) for half in of_halves]
    else:
        state.alpha[first], state.alpha[second] = state.alpha[first] + state.alpha[second], 0.0
        counts = [(half.sum(axis=-1), 0) for half in of_halves]
    for array, (zero, one) in zip((state.document_topic, state.term_topic, state.topic_total), counts, strict=True):
        array[..., first], array[..., second] = zero, one
    state.assignments[halves.tokens[halves.side == 1]] = second if split else first
    return second
