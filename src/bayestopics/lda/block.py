"""What the two blocked samplers share: blocks, their weights (8), and putting drawn counts back on tokens.

A block is all tokens of one (document, term) pair; the corpus keeps them side by side. Longer runs than MAX_BLOCK are
cut into several blocks, each an exact conditional draw given the rest.
"""

from __future__ import annotations

import math

import numpy as np

from bayestopics.jit import kernel
from bayestopics.lda.uniforms import uniform

MAX_BLOCK = 512  # keeps every table within the range of doubles (see `weights`)


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
    inverse_total: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    total_eta: float,
    table: np.ndarray,
) -> None:
    """table[n, t] = q_t(n) r^n for n = 0..size, with q of (8).

    r = size / (e sum_t q_t(1)) leaves every probability as it is, because all of a block's counts add up to `size`.
    The normalising constant is then near 1 / sqrt(2 pi size), and the constants of smaller counts below
    exp(size / e): both far inside the range of doubles for size <= MAX_BLOCK.
    """
    topics = len(alpha)
    table[0, :topics] = 1.0
    first = 0.0
    for t in range(topics):
        table[1, t] = (by_document[t] + alpha[t]) * (by_term[t] + eta) * inverse_total[t]
        first += table[1, t]
    scale = size / (math.e * first)
    for t in range(topics):
        table[1, t] *= scale
    for n in range(2, size + 1):
        more = n - 1.0
        for t in range(topics):
            ratio = (by_document[t] + alpha[t] + more) * (by_term[t] + eta + more) / (topic_total[t] + total_eta + more)
            table[n, t] = table[n - 1, t] * ratio * (scale / n)


@kernel
def take_out(
    assignments: np.ndarray,
    start: int,
    end: int,
    by_document: np.ndarray,
    by_term: np.ndarray,
    topic_total: np.ndarray,
    inverse_total: np.ndarray,
    total_eta: float,
) -> None:
    """Remove the block's tokens from the counts."""
    for i in range(start, end):
        t = assignments[i]
        by_document[t] -= 1
        by_term[t] -= 1
        topic_total[t] -= 1
        inverse_total[t] = 1.0 / (topic_total[t] + total_eta)


@kernel
def put_back(
    assignments: np.ndarray,
    start: int,
    end: int,
    by_document: np.ndarray,
    by_term: np.ndarray,
    topic_total: np.ndarray,
    inverse_total: np.ndarray,
    total_eta: float,
) -> None:
    """Add the block's tokens to the counts of their new topics."""
    for i in range(start, end):
        t = assignments[i]
        by_document[t] += 1
        by_term[t] += 1
        topic_total[t] += 1
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
    target: np.ndarray,
    forced: bool,
    words: np.ndarray,
) -> None:
    """Give the block's tokens these counts of topics, in uniformly random order, or `target`; zero the counts."""
    i = start
    for t in range(len(counts)):
        for _ in range(counts[t]):
            assignments[i] = t
            i += 1
        counts[t] = 0
    if forced:
        assignments[start:end] = target[start:end]
        return
    for i in range(end - start - 1, 0, -1):
        j = int(uniform(words) * (i + 1))
        assignments[start + i], assignments[start + j] = assignments[start + j], assignments[start + i]


@kernel
def log_block(counts: np.ndarray, size: int, table: np.ndarray, constant: float) -> float:
    """log density of one arrangement of tokens with these counts: (8), less log of size! / prod counts!."""
    result = -math.log(constant) - math.lgamma(size + 1.0)
    for t in range(len(counts)):
        if counts[t] > 0:
            result += math.log(table[counts[t], t]) + math.lgamma(counts[t] + 1.0)
    return result
