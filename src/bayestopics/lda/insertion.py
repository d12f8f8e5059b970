"""A document joins or leaves the corpus of eight chains along a path, side by side; the weights of the paths bridge
p(z_-d | w_-d) and p(z | w).

On the way in, each word in turn gets a topic from its conditional, with alpha multiplied by a large factor; the product
of their normalising constants is the first weight. Then the factor goes down to 1 along a ladder: each step multiplies
the weight by p(z_d | new alpha) / p(z_d | old alpha), and a sweep of the document's words at the new alpha follows. A
large alpha ties no word to the topics of the others, so that the document finds its few topics gradually. Words that
join one by one at the final alpha are bound by the topics of the first ones.

The way out is the same path backwards: sweeps visit the words in the opposite order, and the words leave in the
opposite order. So each path has P(path out) = P(path in) exp(W) / L(d) [Crooks 1999], with W its log-weight and
L(d) = m(w) / m(w_-d), if paths in start from p(z_-d | w_-d) and paths out from p(z | w). The topics of the other
documents are fixed along a path.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.lanes import CHAINS, Lanes, _add_up, _aligned, _draw, _put, _sweep, _take

TOP = 0.2  # the largest alpha on the ladder, relative to the length of the document


@dataclass(frozen=True, eq=False)
class Traveller:
    """The words of a document, in the order in which they join, and their topics."""

    document: int
    terms: np.ndarray  # uint32[n_d]
    assignments: np.ndarray  # int32[n_d, CHAINS]

    def reversed(self) -> Traveller:
        return Traveller(self.document, self.terms[::-1].copy(), self.assignments[::-1].copy())


def traveller(corpus: Corpus, document: int, state: Lanes, rng: np.random.Generator) -> Traveller:
    """The words of the document in a random order."""
    order = rng.permutation(np.flatnonzero(corpus.documents == document))
    return Traveller(document, state.terms[order], state.assignments[order])


def ladder(alpha: np.ndarray, length: int, steps: int) -> np.ndarray:
    """The factors of alpha, from the largest down to 1; a single 1 if alpha is large already."""
    largest = TOP * length / alpha.max()
    return np.geomspace(largest, 1.0, steps + 1) if largest > 1.0 else np.ones(1)


def put_in(state: Lanes, own: Traveller, factors: np.ndarray, words: np.ndarray) -> np.ndarray:
    """The document joins the counts, and its topics are drawn in place; returns the log-weight of each chain's path."""
    return _put_in(own.terms, own.assignments, factors, words.copy(), *_arguments(state, own))


def take_out(state: Lanes, own: Traveller, factors: np.ndarray, words: np.ndarray) -> np.ndarray:
    """The document leaves the counts; returns the log-weight of each chain's path, as seen from the way in."""
    back = own.reversed()
    return _take_out(back.terms, back.assignments, factors, words.copy(), *_arguments(state, own))


def _arguments(state: Lanes, own: Traveller) -> tuple[Any, ...]:
    room = _aligned((3, len(state.topic_total)), np.float64)
    counts = (state.document_topic, state.term_topic, state.topic_total)
    return (own.document, *counts, state.alpha[0], state.eta, len(state.term_topic) * state.eta, room)


@kernel
def _put_in(
    terms: np.ndarray,
    assignments: np.ndarray,
    factors: np.ndarray,
    words: np.ndarray,
    d: int,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    total_eta: float,
    room: np.ndarray,
) -> np.ndarray:
    cells = len(topic_total)
    most = cells // CHAINS
    scaled = (factors[0] * alpha).reshape(1, cells)
    prior = scaled[0]
    here, factor, running = room[0], room[1], room[2]  # as in `lanes`
    for k in range(cells):
        here[k] = 0.0
        factor[k] = prior[k] / (topic_total[k] + total_eta)
    nobody, whole, product = np.full(CHAINS, -1, np.int32), np.empty(CHAINS), np.ones(CHAINS)
    total_alpha, log_weight = _total(prior), np.zeros(CHAINS)
    for n in range(len(terms)):
        row = terms[n] * most
        _add_up(term_topic, row, most, eta, factor, running)
        for chain in range(CHAINS):
            log_weight[chain] += math.log(running[cells - CHAINS + chain] / (n + total_alpha))
        _draw(running, most, words, assignments, n)
        state = (term_topic, row, here, topic_total, prior, total_eta, factor)
        _put(assignments, n, *state, product, running, most, eta, nobody, whole, False)
        product[:] = 1.0
    for k in range(cells):
        document_topic[d, k] = here[k]
    alone, same = np.full(len(terms), d, np.uint32), np.zeros(d + 1, np.uint32)
    for step in range(1, len(factors)):
        _tilt(document_topic[d], alpha, factors[step - 1], factors[step], len(terms), log_weight)
        if step + 1 < len(factors):
            prior[:] = factors[step] * alpha
            counts = (document_topic, term_topic, topic_total)
            _sweep(alone, terms, assignments, *counts, scaled, same, eta, total_eta, words, room)
    return log_weight


@kernel
def _take_out(
    terms: np.ndarray,
    assignments: np.ndarray,
    factors: np.ndarray,
    words: np.ndarray,
    d: int,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    total_eta: float,
    room: np.ndarray,
) -> np.ndarray:
    """The words are in the order in which they leave."""
    cells = len(topic_total)
    most = cells // CHAINS
    scaled = np.empty((1, cells))
    prior = scaled[0]
    log_weight = np.zeros(CHAINS)
    alone, same = np.full(len(terms), d, np.uint32), np.zeros(d + 1, np.uint32)
    for step in range(len(factors) - 1, 0, -1):
        _tilt(document_topic[d], alpha, factors[step - 1], factors[step], len(terms), log_weight)
        if step > 1:
            prior[:] = factors[step - 1] * alpha
            counts = (document_topic, term_topic, topic_total)
            _sweep(alone, terms, assignments, *counts, scaled, same, eta, total_eta, words, room)
    prior[:] = factors[0] * alpha
    here, factor, running = room[0], room[1], room[2]
    for k in range(cells):
        here[k] = document_topic[d, k]
        factor[k] = (here[k] + prior[k]) / (topic_total[k] + total_eta)
    left, whole, total_alpha = np.empty(CHAINS, np.int32), np.empty(CHAINS), _total(prior)
    for i in range(len(terms)):
        row = terms[i] * most
        _take(assignments, i, term_topic, row, here, topic_total, prior, total_eta, factor, left, whole)
        _add_up(term_topic, row, most, eta, factor, running)
        for chain in range(CHAINS):
            log_weight[chain] += math.log(running[cells - CHAINS + chain] / (len(terms) - 1 - i + total_alpha))
    document_topic[d] = 0
    return log_weight


@kernel
def _total(alpha: np.ndarray) -> float:
    """The sum over topics; all chains have the same."""
    total = 0.0
    for k in range(0, len(alpha), CHAINS):
        total += alpha[k]
    return total


@kernel
def _tilt(
    counts: np.ndarray, alpha: np.ndarray, before: float, after: float, length: int, log_weight: np.ndarray
) -> None:
    """log_weight += log p(z_d | after alpha) - log p(z_d | before alpha)"""
    total = _total(alpha)
    common = math.lgamma(after * total) - math.lgamma(after * total + length)
    common -= math.lgamma(before * total) - math.lgamma(before * total + length)
    log_weight += common
    for k in range(len(counts)):
        if counts[k] > 0:
            new, old, n = after * alpha[k], before * alpha[k], counts[k]
            gain = math.lgamma(new + n) - math.lgamma(new) - math.lgamma(old + n) + math.lgamma(old)
            log_weight[k % CHAINS] += gain
