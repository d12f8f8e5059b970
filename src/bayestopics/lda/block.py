"""What the two blocked samplers share: blocks, their weights (8), and putting drawn counts back on tokens.

A block consists of all tokens of one (document, term) pair. Blocks longer than MAX_BLOCK are cut into several, each
drawn exactly from its conditional given the rest. Words that occur once in a document are visited before its blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.lda.state import State, unsigned
from bayestopics.lda.uniforms import uniform

MAX_BLOCK = 512
LARGEST_BOUND = 1e260  # of the sums of products: numbers that underflow beside it do not matter


def scan_blocks(kernel: Callable[..., float], state: State, target: np.ndarray | None, words: np.ndarray) -> float:
    """Run a sweep over the blocks, forced to `target` if it is given.

    The kernel gets documents, terms, document_topic, term_topic, topic_total, alpha, eta (one number per topic),
    total_eta, assignments, target, words, with tokens in the order of `State.by_block`, and the starts of each
    document's blocks.
    """
    tokens, documents, terms, starts = state.by_block
    counts = (state.document_topic, state.term_topic, state.topic_total, state.alpha, np.full(state.topics, state.eta))
    assignments = state.assignments[tokens]
    goal = None if target is None else target[tokens].view(np.uint32)
    data = unsigned(documents, terms)
    total_eta = len(state.term_topic) * state.eta
    result = kernel(*data, *counts, total_eta, assignments.view(np.uint32), goal, words, starts)
    state.assignments[tokens] = assignments
    return result


@kernel
def block_end(documents: np.ndarray, terms: np.ndarray, start: int) -> int:
    """One past the last token of the block that starts here."""
    end = start + 1
    limit = min(len(terms), start + MAX_BLOCK)
    while end < limit and terms[end] == terms[start] and documents[end] == documents[start]:
        end += 1
    return end


@kernel
def largest_block(documents: np.ndarray, terms: np.ndarray) -> int:
    largest = start = 0
    while start < len(terms):
        end = block_end(documents, terms, start)
        largest = max(largest, end - start)
        start = end
    return largest


@kernel
def weights(
    size: int,
    by_document: np.ndarray,
    by_term: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    total_eta: float,
    inverse_total: np.ndarray,
    rows: np.ndarray,
    table: np.ndarray,
) -> float:
    """table[t, n] = q_t(n) r^n for n = 0..size, with q of (8); returns log r. `rows` holds two numbers per topic.

    The scale r > 0 changes no probability, because a block's counts add up to `size`; it keeps all sums of products
    within the range of doubles. With r = size / (e sum_t q_t(1)) they would be near 1 if the counts were Poisson; they
    are never smaller, because q_t(n) >= q_t(1)^n / n!. They may be far larger if alpha or eta is small, because then
    the tokens of a block attract each other; in this case r is searched. No sum exceeds prod_t sum_n table[t, n].
    """
    topics = len(alpha)
    first = 0.0
    for t in range(topics):
        rows[0, t] = (by_document[t] + alpha[t]) * (by_term[t] + eta) * inverse_total[t]
        first += rows[0, t]
    scale = size / (math.e * first)
    for t in range(topics):
        rows[0, t] *= scale
        rows[1, t] = 1.0 + rows[0, t]
        table[t, 0] = 1.0
        table[t, 1] = rows[0, t]
    for n in range(2, size + 1):
        more, part = n - 1.0, scale / n
        for t in range(topics):  # separate from the next loop, because the CPU does several topics of this one at once
            ratio = (by_document[t] + alpha[t] + more) * (by_term[t] + eta + more) / (topic_total[t] + total_eta + more)
            rows[0, t] *= ratio * part
            rows[1, t] += rows[0, t]
        for t in range(topics):
            table[t, n] = rows[0, t]
    bound = 1.0
    for t in range(topics):
        bound *= rows[1, t]
    if bound < LARGEST_BOUND:  # not if it is infinite, or nan
        return math.log(scale)
    _log_weights(size, by_document, by_term, topic_total, alpha, eta, total_eta, table)
    return _rescale(size, topics, math.log(scale), table)


@kernel
def _log_weights(
    size: int,
    by_document: np.ndarray,
    by_term: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    total_eta: float,
    table: np.ndarray,
) -> None:
    """table[t, n] = log q_t(n)."""
    for t in range(len(alpha)):
        table[t, 0] = 0.0
        for n in range(1, size + 1):
            more = n - 1.0
            ratio = (by_document[t] + alpha[t] + more) * (by_term[t] + eta + more) / (topic_total[t] + total_eta + more)
            table[t, n] = table[t, n - 1] + math.log(ratio / n)


@kernel
def _rescale(size: int, topics: int, log_scale: float, table: np.ndarray) -> float:
    """Turn log q_t(n) into q_t(n) r^n; returns log r. r is chosen so that prod_t sum_n q_t(n) r^n, which bounds every
    sum of products, is large but finite: between e^100 and e^400. `log_scale` is a first guess."""
    step, direction = 1.0, 0
    while True:
        bound = 0.0
        for t in range(topics):
            largest = 0.0
            for n in range(size + 1):
                largest = max(largest, table[t, n] + n * log_scale)
            total = 0.0
            for n in range(size + 1):
                total += math.exp(table[t, n] + n * log_scale - largest)
            bound += largest + math.log(total)
        wanted = 1 if bound < 100.0 else -1 if bound > 400.0 else 0
        if wanted == 0:
            break
        if direction == -wanted:  # the last step was too large
            step *= 0.5
        direction = wanted
        log_scale += wanted * step
    for t in range(topics):
        for n in range(size + 1):
            table[t, n] = math.exp(table[t, n] + n * log_scale)
    return log_scale


@kernel
def add_block(
    by: int,
    assignments: np.ndarray,
    start: int,
    end: int,
    by_document: np.ndarray,
    by_term: np.ndarray,
    topic_total: np.ndarray,
    inverse_total: np.ndarray,
    total_eta: float,
) -> None:
    """Take the block's tokens out of the counts (by = -1), or put them back at their topics (by = 1)."""
    for i in range(start, end):
        t = assignments[i]
        by_document[t] += by
        by_term[t] += by
        topic_total[t] += by
        inverse_total[t] = 1.0 / (topic_total[t] + total_eta)


@kernel
def count_block(assignments: np.ndarray, start: int, end: int, counts: np.ndarray) -> None:
    """counts[t] += tokens of the block in topic t."""
    for i in range(start, end):
        counts[assignments[i]] += 1


@kernel
def settle(
    assignments: np.ndarray,
    start: int,
    end: int,
    counts: np.ndarray,
    target: np.ndarray | None,
    words: np.ndarray,
) -> None:
    """Assign topics with these counts to the block's tokens in uniformly random order, or `target`; then zero the
    counts."""
    i = start
    for t in range(len(counts)):
        for _ in range(counts[t]):
            assignments[i] = t
            i += 1
        counts[t] = 0
    if target is not None:
        assignments[start:end] = target[start:end]
        return
    for i in range(end - start - 1, 0, -1):
        j = int(uniform(words) * (i + 1))
        assignments[start + i], assignments[start + j] = assignments[start + j], assignments[start + i]


@kernel
def log_block(
    counts: np.ndarray,
    size: int,
    table: np.ndarray,
    log_scale: float,
    constant: float,
    by_document: np.ndarray,
    by_term: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    total_eta: float,
) -> float:
    """log density of one arrangement of the tokens with these counts: log of (8), minus log of
    size! / prod counts!."""
    result = 0.0
    for t in range(len(counts)):
        count = counts[t]
        if count == 0:
            continue
        if table[t, count] > 1e-290:
            result += math.log(table[t, count]) + math.lgamma(count + 1.0)
            continue
        result += math.lgamma(count + 1.0)
        for n in range(count):  # a forced target may be so improbable that its weight underflows
            ratio = (by_document[t] + alpha[t] + n) * (by_term[t] + eta + n) / (topic_total[t] + total_eta + n)
            result += math.log(ratio / (n + 1.0)) + log_scale
    return result - (math.log(constant) + math.lgamma(size + 1.0))
