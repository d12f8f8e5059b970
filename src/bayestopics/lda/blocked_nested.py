"""Blocked collapsed Gibbs by nested simulation [Zhang & Sisson, 3.2.2].

All tokens of a (document, term) pair are drawn at once from the joint conditional of their counts (8). The topics are
the leaves of a binary tree; the constants h of (9) are summed up the tree, and a node's count is split between its
children on the way down (11). A block that occurs once is a single-site draw.

The tree is laid out for the cache: level 0 has the topics; node j of the next level joins the nodes j and j + half of
the level below, so that every level is a run of memory (which topics share a node does not change the law).
"""

from __future__ import annotations

import math

import numpy as np

from bayestopics.corpus.corpus import Corpus
from bayestopics.jit import kernel
from bayestopics.lda.block import (
    add_block,
    block_end,
    count_block,
    largest_block,
    log_block,
    settle,
    weights,
)
from bayestopics.lda.dense import draw_one
from bayestopics.lda.state import Prior, State, random_start
from bayestopics.lda.transition import Info
from bayestopics.lda.uniforms import NO_WORDS, new_words, uniform


def init(corpus: Corpus, topics: int, prior: Prior, rng: np.random.Generator) -> State:
    return random_start(corpus, topics, prior, rng)


def sweep(state: State, rng: np.random.Generator) -> Info:
    """Update every block once, in place."""
    return Info(_sweep(*state.arrays(), state.assignments, False, new_words(rng)))


def transition_density(state: State, target: np.ndarray) -> float:
    """log g(z, target), on tokens. The state stays as it is."""
    return _sweep(*state.copy().arrays(), state.target(target), True, NO_WORDS)


@kernel
def _levels(topics: int) -> np.ndarray:
    """Offsets of the levels: level l is the nodes offsets[l] .. offsets[l + 1] - 1."""
    offsets = [0, topics]
    width = topics
    while width > 1:
        width = (width + 1) // 2
        offsets.append(offsets[-1] + width)
    return np.array(offsets)


@kernel
def _up(size: int, offsets: np.ndarray, table: np.ndarray) -> float:
    """table[c, node] = h of the node's topics at c (9), for the levels above the leaves; returns h_{1:T}(size)."""
    for level in range(len(offsets) - 2):
        low, high = offsets[level], offsets[level + 1]
        width, half = high - low, offsets[level + 2] - high
        pairs = width - half  # a node without a partner goes up alone
        for c in range(1, size + 1):
            for j in range(pairs):  # h(0) = 1 at every node
                table[c, high + j] = table[c, low + j] + table[c, low + half + j]
            for n in range(1, c):
                for j in range(pairs):
                    table[c, high + j] += table[n, low + j] * table[c - n, low + half + j]
            for j in range(pairs, half):
                table[c, high + j] = table[c, low + j]
    return table[size, offsets[-2]]


@kernel
def _down(
    size: int, offsets: np.ndarray, table: np.ndarray, counts: np.ndarray, sizes: np.ndarray, words: np.ndarray
) -> None:
    """Split the root's count down to the leaves (11). `sizes` has a number a node, all zero before and after."""
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
            threshold = uniform(words) * table[c, high + j]
            n = 0
            cumulative = table[c, low + half + j]
            while cumulative <= threshold and n < c:
                n += 1
                cumulative += table[n, low + j] * (table[c - n, low + half + j] if n < c else 1.0)
            sizes[low + j] = n
            sizes[low + half + j] = c - n
    for t in range(offsets[1]):
        counts[t] = sizes[t]
        sizes[t] = 0


@kernel
def _sweep(
    documents: np.ndarray,
    terms: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    assignments: np.ndarray,
    target: np.ndarray,
    forced: bool,
    words: np.ndarray,
) -> float:
    """One sweep over the blocks, drawn, or forced to `target`; returns log g on tokens."""
    topics = len(alpha)
    total_eta = term_topic.shape[0] * eta
    inverse_total = 1.0 / (topic_total + total_eta)
    offsets = _levels(topics)
    table = np.empty((largest_block(documents, terms) + 1, offsets[-1]))
    counts = np.zeros(topics, np.int64)
    sizes = np.zeros(offsets[-1], np.int64)
    cumulative = np.empty(topics)
    log_g = 0.0
    start = 0
    while start < len(terms):
        end = block_end(documents, terms, start)
        size = end - start
        by_document, by_term = document_topic[documents[start]], term_topic[terms[start]]
        add_block(-1, assignments, start, end, by_document, by_term, topic_total, inverse_total, total_eta)
        if size == 1:
            wanted = target[start] if forced else -1
            new, chance = draw_one(by_document, by_term, inverse_total, alpha, eta, wanted, uniform(words), cumulative)
            assignments[start] = new
            log_g += math.log(chance)
        else:
            rest = (by_document, by_term, topic_total, alpha, eta, total_eta)
            log_scale = weights(size, *rest, inverse_total, table)
            constant = _up(size, offsets, table)
            if forced:
                count_block(target, start, end, counts)
            else:
                _down(size, offsets, table, counts, sizes, words)
            log_g += log_block(counts, size, table, log_scale, constant, *rest)
            settle(assignments, start, end, counts, target, forced, words)
        add_block(1, assignments, start, end, by_document, by_term, topic_total, inverse_total, total_eta)
        start = end
    return log_g
