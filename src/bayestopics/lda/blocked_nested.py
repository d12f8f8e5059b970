"""Blocked collapsed Gibbs by nested simulation [Zhang & Sisson, 3.2.2].

All tokens of a (document, term) pair are drawn at once from the joint conditional of their counts (8). The topics are
the leaves of a binary tree; the constants h of (9) are summed up the tree, and a node's count is split between its
children on the way down (11). A block that occurs once is a single-site draw.

Level 0 of the tree has the topics; node j of the next level joins the nodes j and j + half of the level below. Which
topics share a node does not change the distribution.
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


@kernel
def _levels(topics: int) -> np.ndarray:
    """Offsets of the levels: level l is the nodes offsets[l] .. offsets[l + 1] - 1."""
    offsets = [0, topics]
    width = topics
    while width > 1:
        width = (width + 1) // 2
        offsets.append(offsets[-1] + width)
    return np.array(offsets)


@sum_kernel
def _up(size: int, offsets: np.ndarray, table: np.ndarray) -> float:
    """table[node, c] = h of the node's topics at c (9), for the levels above the leaves; returns h_{1:T}(size)."""
    for level in range(len(offsets) - 2):
        low, high = offsets[level], offsets[level + 1]
        width, half = high - low, offsets[level + 2] - high
        for j in range(half):
            left, right, node = low + j, low + half + j, high + j
            if j + half >= width:  # a node without a partner moves up alone
                for c in range(size + 1):
                    table[node, c] = table[left, c]
                continue
            for c in range(size + 1):
                total = 0.0
                for n in range(c + 1):
                    total += table[left, n] * table[right, c - n]
                table[node, c] = total
    return table[offsets[-2], size]


@kernel
def _down(
    size: int, offsets: np.ndarray, table: np.ndarray, counts: np.ndarray, sizes: np.ndarray, words: np.ndarray
) -> None:
    """Split the root's count down to the leaves (11). `sizes` has one number per node, all zero before and after."""
    sizes[offsets[-2]] = size
    for level in range(len(offsets) - 3, -1, -1):
        low, high = offsets[level], offsets[level + 1]
        width, half = high - low, offsets[level + 2] - high
        for j in range(half):
            c = sizes[high + j]
            if c == 0:
                continue
            sizes[high + j] = 0
            if j + half >= width:
                sizes[low + j] = c
                continue
            threshold = uniform(words) * table[high + j, c]
            n = 0
            cumulative = table[low + half + j, c]
            while cumulative <= threshold and n < c:
                n += 1
                cumulative += table[low + j, n] * table[low + half + j, c - n]
            sizes[low + j] = n
            sizes[low + half + j] = c - n
    for t in range(offsets[1]):
        counts[t] = sizes[t]
        sizes[t] = 0


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
    offsets = _levels(topics)
    table = np.empty((offsets[-1], largest + 1))
    sizes = np.zeros(offsets[-1], np.int64)
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
            constant = _up(size, offsets, table)
            if target is None:
                _down(size, offsets, table, counts, sizes, words)
            else:
                count_block(target, start, end, counts)
            log_g += log_block(counts, size, table, log_scale, constant, *rest)
            settle(assignments, start, end, counts, target, words)
            add_block(1, assignments, start, end, by_document, by_term, topic_total, inverse_total, total_eta)
            start = end
    return log_g
