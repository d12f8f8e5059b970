"""Split-merge moves for the HDP by direct assignment [Rana, Phung & Venkatesh 2013, section 3.3].

A split divides the tokens of one topic: two seeds start the halves, and every other token, in random order, joins
half s with probability proportional to (n_ds + a beta_k / 2) (m_sv + eta) / (m_s + V eta), counted over the tokens
placed so far. A merge is the reverse. There are two rules of acceptance:
- `exact`: Metropolis-Hastings. beta_k is split in a random proportion. The ratio includes the choice of topics and
  seeds, the allocation, the density of the proportion and its Jacobian. The order of the tokens has the same
  probability in both directions and cancels.
- `paper`: beta is drawn anew from its conditional, and the ratio is p(w, z' | beta') / p(w, z | beta) divided by the
  probability of the allocation. It leaves out all the rest, so its stationary distribution is not the posterior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.lda.uniforms import NO_WORDS, uniform
from bayestopics.nonparametric.hdp_state import SHORT, HdpState, fitted, log_documents, log_rising, rising
from bayestopics.nonparametric.top_level import draw_weights

NO_TOKENS, NO_SIDES = np.empty(0, np.int64), np.empty(0, np.int8)
CHOICES = ("uniform", "words")
RULES = ("exact", "paper")  # variants of these moves; `annealed_split` has another


class Move(NamedTuple):
    split: bool  # or a merge
    accepted: bool
    log_ratio: float  # accepted with probability min(1, exp(log_ratio)); an upper bound if that was enough to
    # reject the move, and -inf if there was nothing to split or merge


class Selection(NamedTuple):
    split: bool  # or a merge
    first: int  # the topic to split, or the first to merge; -1 if there is none
    second: int  # the same topic, or the second to merge
    seeds: tuple[int, int]  # one token of each half, in this order; -1 if not drawn yet


@dataclass(frozen=True, eq=False)
class Halves:
    """The tokens of one topic in two halves, in the order in which they were placed, the seeds first."""

    tokens: np.ndarray  # int64[n]
    side: np.ndarray  # int8[n]: 0 or 1
    documents: np.ndarray  # int64[d]: the documents with any of the tokens, in any order
    in_document: np.ndarray  # int32[d, 2]: how many tokens they have in each half
    in_term: np.ndarray  # int32[V, 2]
    total: np.ndarray  # int64[2]
    tables: tuple[float, float]  # expected tables of each half: the proportion is drawn from Beta(tables)
    log_allocation: float  # the log probability that the tokens went where they went


def split_merge(
    state: HdpState, rng: np.random.Generator, variant: str = "exact", choice: str = "uniform"
) -> tuple[HdpState, Move]:
    """Propose one split or merge, and make it if it is accepted.

    With `choice` "uniform", a split of a random topic or a merge of a random pair is proposed with equal chance. With
    "words", two random tokens are drawn: if they share a topic it is split, otherwise their topics are merged.
    """
    check(variant, choice)
    state = fitted(state)
    words = _words(rng)
    selection = Selection(*_select(state.topic_total, state.assignments, choice == "words", words))
    if selection.first < 0:
        return state, Move(selection.split, False, -math.inf)
    if variant == "paper":
        return state, _paper_move(state, selection, words, rng)
    return state, (_split if selection.split else _merge)(state, selection, choice, words, rng)


def _words(rng: np.random.Generator) -> np.ndarray:
    """The same as `new_words`, but faster: its range check would take long compared with a move on a small corpus."""
    return rng.bit_generator.random_raw(4)


def _split(state: HdpState, selection: Selection, choice: str, words: np.ndarray, rng: np.random.Generator) -> Move:
    halves, whole = _halves(state, selection, words), float(state.alpha[selection.first])
    share = rng.beta(*halves.tables)
    log_ratio = split_log_ratio(state, halves, whole, share, state.topics, choice)
    accepted = math.log1p(-rng.random()) < log_ratio
    if accepted:
        make(state, selection, halves, share)
    return Move(True, accepted, log_ratio)


def _merge(state: HdpState, selection: Selection, choice: str, words: np.ndarray, rng: np.random.Generator) -> Move:
    """The allocation can only lower the ratio. So many merges are rejected without it, from the counts alone, and
    others while the tokens are being placed."""
    first, second = selection.first, selection.second
    one_side, whole = float(state.alpha[first]), float(state.alpha[first] + state.alpha[second])
    share, counts = one_side / whole, (state.document_topic, state.term_topic, state.topic_total)
    unplaced = Halves(NO_TOKENS, NO_SIDES, *_pair(*counts, first, second, whole / 2), log_allocation=0.0)
    bound = -split_log_ratio(state, unplaced, whole, share, state.topics - 1, choice)
    log_uniform = math.log1p(-rng.random())
    if log_uniform >= bound:
        return Move(False, False, bound)
    halves = _halves(state, selection, words, least=log_uniform - bound)
    log_ratio = bound + halves.log_allocation
    accepted = log_uniform < log_ratio
    if accepted:
        make(state, selection, halves, share)
    return Move(False, accepted, log_ratio)


@kernel
def _pair(
    document_topic: np.ndarray, term_topic: np.ndarray, topic_total: np.ndarray, first: int, second: int, prior: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[float, float]]:
    """documents, in_document, in_term, total and tables of two topics, as in `Halves`."""
    documents, found = np.empty(len(document_topic), np.int64), 0
    in_document, in_term = np.empty((len(document_topic), 2), np.int32), np.empty((len(term_topic), 2), np.int32)
    for d in range(len(document_topic)):
        zero, one = document_topic[d, first], document_topic[d, second]
        documents[found], in_document[found, 0], in_document[found, 1] = d, zero, one  # the next overwrites zeros
        found += zero + one > 0
    for v in range(len(term_topic)):
        in_term[v, 0], in_term[v, 1] = term_topic[v, first], term_topic[v, second]
    total = np.array([topic_total[first], topic_total[second]])
    in_document = in_document[:found]
    return documents[:found], in_document, in_term, total, tables_expected(in_document, prior)


def check(variant: str, choice: str) -> None:
    if variant not in RULES or choice not in CHOICES:
        known = f"variants are {' and '.join(RULES)}; choices are {' and '.join(CHOICES)}"
        raise InputError(f"unknown split-merge variant {variant!r} or choice {choice!r}: {known}")


# -- which topics, which seeds ----------------------------------------------------------------------


@kernel
def _select(
    topic_total: np.ndarray, assignments: np.ndarray, by_words: bool, words: np.ndarray
) -> tuple[bool, int, int, tuple[int, int]]:
    """By words: draw two different tokens, whose topics decide the kind of move. Otherwise: a split of any topic or a
    merge of any ordered pair, with equal chance even where it is impossible."""
    if by_words:
        if len(assignments) < 2:
            return True, -1, -1, (-1, -1)
        seeds = _two(len(assignments), words)
        first, second = int(assignments[seeds[0]]), int(assignments[seeds[1]])
        return first == second, first, second, seeds
    split, active = uniform(words) < 0.5, np.flatnonzero(topic_total)
    if len(active) == 1:
        first = active[0] if split and topic_total[active[0]] > 1 else -1
        return split, first, first, (-1, -1)
    pair = _two(len(active), words)
    first, second = active[pair[0]], active[pair[1]]
    if split:
        first = first if topic_total[first] > 1 else -1
        second = first
    return split, first, second, (-1, -1)


@kernel
def _two(size: int, words: np.ndarray) -> tuple[int, int]:
    """Two different numbers from 0 .. size - 1, in random order."""
    first, second = int(uniform(words) * size), int(uniform(words) * (size - 1))
    return first, second + (second >= first)


def log_selection(halves: Halves, topics: int, choice: str) -> float:
    """The log of the probability to select the merge, divided by that to select the split of one of `topics` topics.

    By words, both select the same two tokens in the same order. Otherwise the split selects the topic (1 / K) and two
    seeds in order (1 / (n (n - 1))), and the merge an ordered pair of K + 1 topics and a seed of each (1 / (n_1 n_2)).
    """
    if choice == "words":
        return 0.0
    first, second = map(float, halves.total)
    split = topics * (first + second) * (first + second - 1.0)
    merge = (topics + 1.0) * topics * first * second
    return math.log(split) - math.log(merge)


# -- the halves -------------------------------------------------------------------------------------


def _halves(state: HdpState, selection: Selection, words: np.ndarray, least: float = -math.inf) -> Halves:
    """Place the tokens in random order: drawn into halves (a split), or where they are (a merge); see `place`."""
    split, first, second, seeds = selection
    size = state.topic_total[first] + (0 if split else state.topic_total[second])
    tokens = members_of(state.assignments, state.document_offsets, state.document_topic, first, second, size)
    side = _in_random_order(tokens, state.assignments, state.topic_total, first, second, seeds, words)
    prior = state.alpha[first] / 2 if split else (state.alpha[first] + state.alpha[second]) / 2
    return place(state, tokens, side, prior, words if split else None, least)


@kernel
def members_of(
    assignments: np.ndarray, offsets: np.ndarray, document_topic: np.ndarray, first: int, second: int, size: int
) -> np.ndarray:
    """The `size` tokens of two topics, which may be the same. Documents that have neither topic are skipped."""
    tokens, found = np.empty(size + 1, np.int64), 0
    for d in range(len(document_topic)):
        if document_topic[d, first] > 0 or document_topic[d, second] > 0:
            for i in range(offsets[d], offsets[d + 1]):
                tokens[found] = i  # no branch: most entries are overwritten by the next token
                found += (assignments[i] == first) | (assignments[i] == second)
    return tokens[:size]


@kernel
def _in_random_order(
    tokens: np.ndarray,
    assignments: np.ndarray,
    topic_total: np.ndarray,
    first: int,
    second: int,
    seeds: tuple[int, int],
    words: np.ndarray,
) -> np.ndarray:
    """Bring two seeds, one of each topic, to the front and shuffle the other tokens behind them, in place; returns
    which of the two topics each token has."""
    size, side = len(tokens), np.zeros(len(tokens), np.int8)
    if seeds[0] >= 0:
        places = int(np.searchsorted(tokens, seeds[0])), int(np.searchsorted(tokens, seeds[1]))
    elif first == second:
        places = _two(size, words)
    else:
        zero, one = int(uniform(words) * topic_total[first]), int(uniform(words) * topic_total[second])
        places = _nth(zero, tokens, assignments, first), _nth(one, tokens, assignments, second)
    tokens[0], tokens[places[0]] = tokens[places[0]], tokens[0]
    other = places[0] if places[1] == 0 else places[1]  # where the second seed is now
    tokens[1], tokens[other] = tokens[other], tokens[1]
    for i in range(size - 1, 2, -1):
        j = 2 + int(uniform(words) * (i - 1))
        tokens[i], tokens[j] = tokens[j], tokens[i]
    if first != second:
        for i in range(size):
            side[i] = assignments[tokens[i]] == second
    side[0], side[1] = 0, 1
    return side


@kernel
def _nth(number: int, tokens: np.ndarray, assignments: np.ndarray, topic: int) -> int:
    """The place of the token that has this many tokens of its topic before it."""
    for place in range(len(tokens)):
        if assignments[tokens[place]] == topic:
            if number == 0:
                return place
            number -= 1
    return -1


def place(
    state: HdpState,
    tokens: np.ndarray,
    side: np.ndarray,
    prior: float,
    words: np.ndarray | None,
    least: float = -math.inf,
) -> Halves:
    """Place tokens[2:] one after the other: with `words` their sides are drawn, without it `side` already has them.

    It stops as soon as the log probability falls below `least`; the exact value is then not known.
    """
    sizes = len(state.document_topic), len(state.term_topic)
    weights = float(prior), state.eta, state.total_eta
    drawn, words = words is not None, NO_WORDS if words is None else words
    return Halves(
        tokens, side, *_place(tokens, side, state.documents, state.terms, *sizes, *weights, drawn, words, least)
    )


@kernel
def _place(
    tokens: np.ndarray,
    side: np.ndarray,
    documents: np.ndarray,
    terms: np.ndarray,
    document_count: int,
    term_count: int,
    prior: float,
    eta: float,
    total_eta: float,
    drawn: bool,
    words: np.ndarray,
    least: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[float, float], float]:
    """The other fields of `Halves`. Counts are kept only for the documents that matter, so that they fit a cache."""
    row_of, row = np.full(document_count, -1, np.int32), np.empty(len(tokens), np.uint32)
    term, found, count = np.empty(len(tokens), np.uint32), np.empty(len(tokens), np.int64), 0
    for i in range(len(tokens)):
        d, term[i] = documents[tokens[i]], terms[tokens[i]]
        if row_of[d] < 0:
            row_of[d] = count
            found[count] = d
            count += 1
        row[i] = row_of[d]
    in_document, in_term = np.zeros((count, 2), np.int32), np.zeros((term_count, 2), np.int32)
    log_q = _allocate(side, row, term, in_document, in_term, prior, eta, total_eta, drawn, words, least)
    ones = side.sum()
    total, tables = np.array([len(side) - ones, ones]), tables_expected(in_document, prior)
    return found[:count], in_document, in_term, total, tables, log_q


@kernel
def _allocate(
    side: np.ndarray,
    row: np.ndarray,
    term: np.ndarray,
    in_document: np.ndarray,
    in_term: np.ndarray,
    prior: float,
    eta: float,
    total_eta: float,
    drawn: bool,
    words: np.ndarray,
    least: float,
) -> float:
    """Sequential allocation (Dahl 2005); returns its log probability. The two seeds go where `side` has them."""
    log_q, product = 0.0, 1.0  # the log of the product is taken now and then
    total_zero, total_one = total_eta, total_eta
    for i in range(len(side)):
        d, v, s = row[i], term[i], side[i]
        if i >= 2:
            zero = (in_document[d, 0] + prior) * (in_term[v, 0] + eta) * total_one
            one = (in_document[d, 1] + prior) * (in_term[v, 1] + eta) * total_zero
            if drawn:
                s = np.int8(uniform(words) * (zero + one) >= zero)
                side[i] = s
            product *= (one if s == 1 else zero) / (zero + one)
            if product < 1e-10:
                log_q += math.log(product)
                product = 1.0
                if log_q < least:
                    return log_q
        in_document[d, s] += 1
        in_term[v, s] += 1
        if s == 1:
            total_one += 1.0
        else:
            total_zero += 1.0
    return log_q + math.log(product)


@kernel
def tables_expected(in_document: np.ndarray, prior: float) -> tuple[float, float]:
    """The expected number of tables of each half, with weight `prior`."""
    zero, one = 0.0, 0.0
    for d in range(len(in_document)):
        zero += _tables(in_document[d, 0], prior)
        one += _tables(in_document[d, 1], prior)
    return zero, one


@kernel
def _tables(count: int, prior: float) -> float:
    """The sum over i < count of prior / (prior + i); the first term is 1."""
    tables = 1.0 if count > 0 else 0.0
    for i in range(1, count):
        tables += prior / (prior + i)
    return tables


# -- acceptance -------------------------------------------------------------------------------------


def split_log_ratio(state: HdpState, halves: Halves, whole: float, share: float, topics: int, choice: str) -> float:
    """The log Metropolis-Hastings ratio of a split of one of `topics` topics; for the merge it is the negative.

    `whole` = a beta_k, of which the first half takes `share`.
    """
    log_beta = math.log(whole / state.concentration)
    parts = (whole * share, whole * (1 - share))
    log_target = _log_counts_ratio(halves.in_document, halves.in_term, halves.total, *parts, state.eta, state.total_eta)
    log_target += math.log(state.gamma) - log_beta - math.log(share) - math.log1p(-share)  # gamma^K prod 1 / beta_k
    log_jacobian = log_beta  # d(beta_1, beta_2) = beta_k d(beta_k, share)
    log_proposal = halves.log_allocation + _log_beta_density(share, *halves.tables)
    return log_target + log_jacobian - log_proposal + log_selection(halves, topics, choice)


def _log_beta_density(x: float, a: float, b: float) -> float:
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return constant + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)


@kernel
def _log_rising_ratios(counts: np.ndarray, first: float, second: float, whole: float) -> float:
    """The sum over rows of log( rising(first, zero) rising(second, one) / rising(whole, zero + one) )."""
    total, product = 0.0, 1.0  # the log of the product is taken only before it leaves the range of doubles
    for i in range(len(counts)):
        zero, one = counts[i]
        if zero + one > SHORT:
            total += log_rising(first, zero) + log_rising(second, one) - log_rising(whole, zero + one)
        elif zero + one > 0:
            product *= rising(first, zero) * rising(second, one) / rising(whole, zero + one)
            if not 1e-100 < product < 1e100:
                total += math.log(product)
                product = 1.0
    return total + math.log(product)


@kernel
def _log_words_ratio(in_term: np.ndarray, total: np.ndarray, eta: float, total_eta: float) -> float:
    """log( p(w | split) / p(w | one topic) )."""
    of_totals = log_rising(total_eta, total[0]) + log_rising(total_eta, total[1])
    return _log_rising_ratios(in_term, eta, eta, eta) + log_rising(total_eta, total[0] + total[1]) - of_totals


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
    """log( p(w, z | split) / p(w, z | one topic) ); the weights a beta are `first`, `second` and their sum."""
    of_documents = _log_rising_ratios(in_document, first, second, first + second)
    return _log_words_ratio(in_term, total, eta, total_eta) + of_documents


def _paper_move(state: HdpState, selection: Selection, words: np.ndarray, rng: np.random.Generator) -> Move:
    """The paper's rule: make the move, redraw all of beta, and undo both if the move is rejected."""
    split, halves = selection.split, _halves(state, selection, words)
    before = log_documents(state), state.alpha.copy(), state.alpha_new.copy()
    label = make(state, selection, halves, 0.5)
    draw_weights(state, rng)
    log_words = _log_words_ratio(halves.in_term, halves.total, state.eta, state.total_eta)
    log_ratio = log_documents(state) - before[0] + (log_words - halves.log_allocation) * (1 if split else -1)
    accepted = math.log1p(-rng.random()) < log_ratio
    if not accepted:
        make(state, selection._replace(split=not split, second=label), halves, 0.5)
        state.alpha[:], state.alpha_new[:] = before[1:]
    return Move(split, accepted, log_ratio)


# -- making a move ----------------------------------------------------------------------------------


def make(state: HdpState, selection: Selection, halves: Halves, share: float) -> int:
    """Split a topic, giving `share` of its weight to the first half, or merge two; returns the second half's label."""
    split, first, second, _ = selection
    if split:
        if second == first:
            second = int(np.flatnonzero(state.topic_total == 0)[0])
        whole = state.alpha[first]
        state.alpha[first], state.alpha[second] = whole * share, whole * (1 - share)
    else:
        state.alpha[first], state.alpha[second] = state.alpha[first] + state.alpha[second], 0.0
    pair = [first, second]
    state.document_topic[halves.documents[:, None], pair] = _after(halves.in_document, split)
    state.term_topic[:, pair] = _after(halves.in_term, split)
    state.topic_total[pair] = _after(halves.total, split)
    state.assignments[halves.tokens[halves.side == 1]] = second if split else first
    return second


def _after(halves: np.ndarray, split: bool) -> np.ndarray:
    """The counts of both topics after a split, or after a merge, which puts all tokens in the first."""
    return halves if split else halves.sum(axis=-1, keepdims=True) * np.array([1, 0])
