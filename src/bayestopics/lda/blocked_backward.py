"""Blocked collapsed Gibbs by backward simulation [Zhang & Sisson, 3.2.1].

All tokens of a (document, term) pair are drawn at once from the joint conditional of their counts (8). The constants
h_{1:k}(c) of (9) are summed forward over the topics; then the counts are drawn backward from the last topic (10).
"""

from __future__ import annotations

import numpy as np

from bayestopics.base.jit import kernel, sum_kernel
from bayestopics.lda.block import (
    add_block,
    block_end,
    count_block,
    largest_block,
    log_block,
    scan_blocks,
    settle,
    weights,
)
from bayestopics.lda.dense import visit_tokens
from bayestopics.lda.state import State, random_start
from bayestopics.lda.transition import Info
from bayestopics.lda.uniforms import NO_WORDS, new_words, uniform

init = random_start


def sweep(state: State, rng: np.random.Generator) -> Info:
    """Update every block once, in place."""
    return Info(scan_blocks(_sweep, state, None, new_words(rng)))


def transition_density(state: State, target: np.ndarray) -> float:
    """log g(z, target), as a density on tokens. The state is unchanged."""
    return scan_blocks(_sweep, state.copy(), state.target(target), NO_WORDS)


@sum_kernel
def _forward(size: int, topics: int, table: np.ndarray, constants: np.ndarray) -> None:
    """constants[k, c] = h_{1:k+1}(c) for c = 0..size (9)."""
    for c in range(size + 1):
        constants[0, c] = table[0, c]
    for k in range(1, topics):
        for c in range(size + 1):
            total = 0.0
            for n in range(c + 1):
                total += table[k, n] * constants[k - 1, c - n]
            constants[k, c] = total


@kernel
def _backward(
    size: int, topics: int, table: np.ndarray, constants: np.ndarray, counts: np.ndarray, words: np.ndarray
) -> None:
    """Draw counts[k] for k = topics-1, ..., 1 (10); the first topic gets the rest."""
    left = size
    k = topics - 1
    while k > 0 and left > 0:
        threshold = uniform(words) * constants[k, left]
        n = 0
        cumulative = table[k, 0] * constants[k - 1, left]
        while cumulative <= threshold and n < left:
            n += 1
            cumulative += table[k, n] * constants[k - 1, left - n]
        counts[k] = n
        left -= n
        k -= 1
    counts[0] += left


@kernel
def _sweep(
    documents: np.ndarray,
    terms: np.ndarray,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    eta: np.ndarray,
    total_eta: float,
    assignments: np.ndarray,
    target: np.ndarray | None,
    words: np.ndarray,
    starts: np.ndarray,
) -> float:
    """One sweep over the blocks, drawn, or forced to `target`; returns log g on tokens."""
    topics = len(alpha)
    largest = largest_block(documents, terms)
    table = np.empty((topics, largest + 1))
    constants = np.empty((topics, largest + 1))
    counts, inverse_total, rows = np.zeros(topics, np.int64), np.empty(topics), np.empty((2, topics))
    log_g = 0.0
    for d in range(len(document_topic)):
        first, start, last = starts[2 * d], starts[2 * d + 1], starts[2 * d + 2]
        model = (document_topic, term_topic, topic_total, alpha, eta, total_eta)
        log_g += visit_tokens(first, start, documents, terms, *model, assignments, target, words)
        inverse_total[:] = 1.0 / (topic_total + total_eta)
        while start < last:
            end = block_end(documents, terms, start)
            size = end - start
            by_document, by_term = document_topic[d], term_topic[terms[start]]
            add_block(-1, assignments, start, end, by_document, by_term, topic_total, inverse_total, total_eta)
            rest = (by_document, by_term, topic_total, alpha, eta[0], total_eta)
            log_scale = weights(size, *rest, inverse_total, rows, table)
            _forward(size, topics, table, constants)
            constant = constants[topics - 1, size]
            if target is None:
                _backward(size, topics, table, constants, counts, words)
            else:
                count_block(target, start, end, counts)
            log_g += log_block(counts, size, table, log_scale, constant, *rest)
            settle(assignments, start, end, counts, target, words)
            add_block(1, assignments, start, end, by_document, by_term, topic_total, inverse_total, total_eta)
            start = end
    return log_g
