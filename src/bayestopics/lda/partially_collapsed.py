"""Partially collapsed Gibbs (Magnusson, Jonsson, Villani & Broman 2018): beta given z, then z given beta.

A sweep draws every topic from Dirichlet(eta + m_t), and then every token from the weights (n_dt + alpha_t) beta_tv,
with theta integrated out. It leaves p(z, beta | w), and so p(z | w), invariant. Given beta the documents are
independent: threads or machines share them. Each document and each term has its own random generator in each sweep, so
the bits do not depend on who does what.

The weights of a token have two parts. n_dt beta_tv is a short list, of the topics of the document. alpha_t beta_tv is
the same for every token of the term; it is drawn by a tree of two levels, from sums over classes of topics. If the list
is not much shorter than T, both parts are summed together, by class, several topics at a time.

beta is kept in single precision (in double if alpha is tiny): a weight has a relative error of 6e-8, and a weight that
is too small for its type is 0. That is rounding; nothing else is approximated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bayestopics.base.atomic import atomic_add
from bayestopics.base.jit import free_kernel, kernel, sum_kernel
from bayestopics.base.threads import in_threads
from bayestopics.corpus.tiny import tiny_corpus
from bayestopics.lda.classes import CLASSES, LAST_CLASS, add_classes
from bayestopics.lda.gamma_draws import log_gamma_draw
from bayestopics.lda.state import Prior, State, random_start, unsigned
from bayestopics.lda.transition import Info
from bayestopics.lda.uniforms import split_words, uniform

PARALLEL_FROM = 20_000  # tokens: below, starting the threads costs more than they save
SPARSE_FROM = 16  # a list of topics is slower than all topics side by side until it is so many times shorter
TINY_ALPHA = 1e-6  # below, a weight that single precision cannot hold may matter
SUM_OVER = 512  # terms: topics are summed piece by piece, in an order that does not depend on the threads
NO_TERM = np.uint32(2**32 - 1)

init = random_start


def sweep(state: State, rng: np.random.Generator) -> Info:
    """Draw the topics, then every assignment, in place."""
    seeds = rng.integers(2**64, size=3, dtype=np.uint64)
    topics = draw_topics(state.term_topic, state.topic_total, state.alpha, state.eta, seeds)
    counts = (state.document_topic, state.term_topic, state.topic_total)
    draw_assignments(state.terms, state.assignments, state.offsets(), 0, topics, counts, seeds[2])
    return Info(None)


def compile_rest() -> None:
    """Compile the kernels for a tiny alpha, which are in double precision."""
    rng = np.random.default_rng(0)
    sweep(init(tiny_corpus(), 2, Prior(TINY_ALPHA / 2, 0.5), rng), rng)


@dataclass(frozen=True, eq=False)
class Topics:
    """One draw of the topics, and what the tokens need of it."""

    beta: np.ndarray  # float32 or float64[V, T]; zeros fill T up to a multiple of CLASSES, as in alpha
    alpha: np.ndarray  # of the same kind[T]
    dense: np.ndarray  # float64[V, CLASSES]: sums of alpha_t beta_tv over the topics of each class


# -- the topics given z -----------------------------------------------------------------------------------------


def draw_topics(
    term_topic: np.ndarray, topic_total: np.ndarray, alpha: np.ndarray, eta: float, seeds: np.ndarray
) -> Topics:
    """beta_t from Dirichlet(eta + m_t), by gamma variables: all of one term first, then their sums by topic."""
    terms, topics = term_topic.shape
    kind, width = np.float32 if alpha.min() >= TINY_ALPHA else np.float64, -(-topics // CLASSES) * CLASSES
    beta, dense, wide = np.empty((terms, width), kind), np.empty((terms, CLASSES)), np.zeros(width, kind)
    wide[:topics] = alpha
    sums = np.zeros((-(-terms // SUM_OVER), topics))
    least = math.exp(eta * math.log(np.finfo(kind).tiny)) if eta < 1.0 else 0.0
    empty = np.flatnonzero(topic_total == 0)

    def draw(first: int, last: int) -> None:
        _draw_terms(first, last, term_topic, topic_total, eta, least, seeds[0], beta, sums)

    def draw_empty(first: int, last: int) -> None:
        _draw_empty_topics(empty[first:last], eta, seeds[1], beta)

    def finish(first: int, last: int) -> None:
        _finish_terms(first, last, 1.0 / scale, wide, beta, dense)

    parallel = term_topic.size >= PARALLEL_FROM
    in_threads(draw, len(sums), parallel)
    in_threads(draw_empty, len(empty), parallel)
    scale = sums.sum(axis=0)
    scale[empty] = 1.0
    in_threads(finish, terms, parallel)
    return Topics(*_read_only(beta, wide, dense))


@free_kernel
def _draw_terms(
    first: int,
    last: int,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    eta: float,
    least: float,
    seed: np.uint64,
    beta: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Gamma variables of shape m_tv + eta, for pieces first..last-1 of the terms; not for empty topics.

    A topic with a token has a variable of shape above 1, beside which those too small for a number are nothing.
    """
    terms, topics = term_topic.shape
    for piece in range(first, last):
        for v in range(piece * SUM_OVER, min((piece + 1) * SUM_OVER, terms)):
            words = split_words(seed, v)
            for t in range(topics):
                if topic_total[t] > 0:
                    draw = math.exp(log_gamma_draw(term_topic[v, t] + eta, least, words))
                    beta[v, t] = draw
                    sums[piece, t] += draw


@free_kernel
def _draw_empty_topics(which: np.ndarray, eta: float, seed: np.uint64, beta: np.ndarray) -> None:
    """Topics without tokens, whose gamma variables may all be too small for a number: by their logs."""
    logs = np.empty(len(beta))
    for t in which:
        words = split_words(seed, t)
        for v in range(len(logs)):
            logs[v] = log_gamma_draw(eta, 0.0, words)
        logs -= logs.max()
        log_sum = math.log(np.exp(logs).sum())
        for v in range(len(logs)):
            beta[v, t] = math.exp(logs[v] - log_sum)


@free_kernel
def _finish_terms(
    first: int, last: int, scale: np.ndarray, alpha: np.ndarray, beta: np.ndarray, dense: np.ndarray
) -> None:
    """Divide by the sums of the topics; sum alpha_t beta_tv over the topics of each class."""
    for v in range(first, last):
        row = beta[v]
        for t in range(len(scale)):
            row[t] *= scale[t]
        for t in range(len(scale), len(row)):
            row[t] = 0.0
        add_classes(alpha, row, dense[v])


# -- z given the topics -----------------------------------------------------------------------------------------


def draw_assignments(
    terms: np.ndarray,
    assignments: np.ndarray,
    offsets: np.ndarray,
    first_document: int,
    topics: Topics,
    counts: tuple[np.ndarray, np.ndarray, np.ndarray],
    seed: np.uint64,
) -> None:
    """Draw every token in turn within its document; threads share the documents.

    The tokens are those of a part of the documents, from `first_document` on. `counts` are document_topic, term_topic
    and topic_total, or empty arrays to be left alone.
    """
    document_topic, term_topic, topic_total = counts
    terms, assignments = unsigned(*_read_only(terms), assignments)
    longest = term_topic.shape[1] // SPARSE_FROM  # list of topics that is used
    tables = (topics.alpha, topics.beta, topics.dense, longest, seed, first_document)

    def draw(first: int, last: int) -> None:
        kept = (document_topic, term_topic, topic_total.reshape(1, -1))
        _draw_documents(first, last, offsets, terms, *tables, assignments, *kept)

    in_threads(draw, len(offsets) - 1, len(terms) >= PARALLEL_FROM)


def _read_only(*arrays: np.ndarray) -> list[np.ndarray]:
    """Views that cannot be written, as arrays from another machine cannot: numba compiles for one kind only."""
    views = [array.view() for array in arrays]
    for view in views:
        view.setflags(write=False)
    return views


@free_kernel
def _draw_documents(
    first: int,
    last: int,
    offsets: np.ndarray,
    terms: np.ndarray,
    alpha: np.ndarray,
    beta: np.ndarray,
    dense: np.ndarray,
    longest: int,
    seed: np.uint64,
    first_document: int,
    assignments: np.ndarray,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
) -> None:
    topics, counting = term_topic.shape[1], len(term_topic) > 0
    here = np.zeros(topics, np.int64)  # n_dt
    weight = alpha.copy()  # n_dt + alpha_t
    held, place = np.empty(topics, np.uint32), np.empty(topics, np.int64)  # topics of the document; where each is
    sums = np.empty(CLASSES)
    moved = np.zeros(topics, np.int64)  # what is added to topic_total in the end
    for d in range(first, last):
        many = 0
        for i in range(offsets[d], offsets[d + 1]):
            t = assignments[i]
            if here[t] == 0:
                held[many], place[t] = t, many
                many += 1
            here[t] += 1
        for k in range(many):
            weight[held[k]] = here[held[k]] + alpha[held[k]]
        words = split_words(seed, first_document + d)
        current = NO_TERM
        for i in range(offsets[d], offsets[d + 1]):
            v, old = terms[i], assignments[i]
            row = beta[v]
            here[old] -= 1
            if many <= longest:
                listed, current = _listed(here, row, held, many), NO_TERM
                threshold = uniform(words) * (listed + _total(dense[v]))
                new = _draw_listed(threshold, old, listed, here, row, held, many, alpha, dense[v])
            else:
                own = (here[old] + alpha[old]) * row[old]
                weight[old] = 0.0  # the topic that it has comes first: most tokens stay
                if v == current:
                    sums[old & LAST_CLASS] = _class(weight, row, old & LAST_CLASS)
                else:
                    current = v
                    add_classes(weight, row, sums)
                new = _draw_by_classes(uniform(words) * (own + _total(sums)) - own, old, weight, row, sums)
                sums[old & LAST_CLASS] += own
            if new != old:
                if here[old] == 0:  # the document has lost the topic
                    many -= 1
                    held[place[old]], place[held[many]] = held[many], place[old]
                if here[new] == 0:
                    held[many], place[new] = new, many
                    many += 1
                assignments[i] = new
                if counting:
                    atomic_add(term_topic, v, old, -1)
                    atomic_add(term_topic, v, new, 1)
                moved[old] -= 1
                moved[new] += 1
            weight[old] = here[old] + alpha[old]
            here[new] += 1
            weight[new] = here[new] + alpha[new]
            sums[new & LAST_CLASS] += row[new]
        if counting:
            document_topic[d] = 0
        for k in range(many):
            t = held[k]
            if counting:
                document_topic[d, t] = here[t]
            here[t], weight[t] = 0, alpha[t]
    for t in range(topics):
        atomic_add(topic_total, 0, t, moved[t])


@kernel
def _draw_by_classes(threshold: float, old: int, weight: np.ndarray, row: np.ndarray, sums: np.ndarray) -> int:
    """The topic at which the running sum of the weights reaches the threshold: first the class, then the topic."""
    if threshold < 0.0:
        return old
    new, at = old, 0
    while at < CLASSES - 8:  # eight classes at a time, and then one by one
        eight = _sum_of_eight(sums, at)
        if threshold < eight:
            break
        threshold -= eight
        at += 8
    while at < CLASSES - 1 and threshold >= sums[at]:
        threshold -= sums[at]
        at += 1
    for t in range(at, len(row), CLASSES):
        part = weight[t] * row[t]
        if part > 0.0:  # rounding may lead beyond the last topic that has a weight
            new = t
            threshold -= part
            if threshold < 0.0:
                break
    return new


@kernel
def _listed(here: np.ndarray, row: np.ndarray, held: np.ndarray, many: int) -> float:
    """The sum of n_dt beta_tv over the topics of the document."""
    total = 0.0
    for k in range(many):
        total += here[held[k]] * row[held[k]]
    return total


@kernel
def _draw_listed(
    threshold: float,
    old: int,
    listed: float,
    here: np.ndarray,
    row: np.ndarray,
    held: np.ndarray,
    many: int,
    alpha: np.ndarray,
    dense: np.ndarray,
) -> int:
    """The topic at which the running sum of the weights reaches the threshold: the list, then the classes of alpha."""
    if threshold >= listed:
        return _draw_by_classes(threshold - listed, old, alpha, row, dense)
    threshold -= here[old] * row[old]
    new = old
    if threshold >= 0.0:
        for k in range(many):
            t = held[k]
            if t != old and here[t] * row[t] > 0.0:
                new = t
                threshold -= here[t] * row[t]
                if threshold < 0.0:
                    break
    return new


@kernel
def _sum_of_eight(sums: np.ndarray, at: int) -> float:
    first, second = (sums[at] + sums[at + 1]) + (sums[at + 2] + sums[at + 3]), sums[at + 4] + sums[at + 5]
    return first + (second + (sums[at + 6] + sums[at + 7]))


@sum_kernel
def _total(sums: np.ndarray) -> float:
    total = 0.0
    for at in range(CLASSES):
        total += sums[at]
    return total


@sum_kernel
def _class(weight: np.ndarray, row: np.ndarray, at: int) -> float:
    """What `add_classes` gives for one class."""
    total = 0.0
    for t in range(at, len(row), CLASSES):
        total += weight[t] * row[t]
    return total
