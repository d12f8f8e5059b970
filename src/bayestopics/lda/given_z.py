"""Draws of alpha and eta given the assignments z, with theta and beta integrated out.

The prior is uniform in log alpha and in log eta between two ends. One draw is one step of slice sampling (Neal 2003),
which leaves the conditional as it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.lda.urns import ENDS, Urns

Ends = tuple[float, float]
WIDTH = 0.5  # the first width of a slice, in log h


def of_alpha(document_topic: np.ndarray, lengths: np.ndarray) -> Callable[[float], float]:
    """log p(z | alpha) as a function of log alpha; one column of counts per topic."""
    urns = Urns(*_how_often(document_topic), *_how_often(lengths), document_topic.shape[1])
    return lambda log_alpha: urns.log_density(np.exp(log_alpha))


def of_eta(term_topic: np.ndarray, topic_total: np.ndarray) -> Callable[[float], float]:
    """log p(w | z, eta) as a function of log eta; one column of counts per topic."""
    urns = Urns(*_how_often(term_topic), *_how_often(topic_total), len(term_topic))
    return lambda log_eta: urns.log_density(np.exp(log_eta))


def draw_alpha(
    document_topic: np.ndarray, lengths: np.ndarray, alpha: float, rng: np.random.Generator, ends: Ends = ENDS
) -> float:
    """alpha given z. With one topic z says nothing about alpha, so it is drawn from its prior."""
    if document_topic.shape[1] == 1:
        return float(np.exp(rng.uniform(*np.log(ends))))
    return float(np.exp(slice_step(of_alpha(document_topic, lengths), np.log(alpha), ends, rng)))


def draw_eta(
    term_topic: np.ndarray, topic_total: np.ndarray, eta: float, rng: np.random.Generator, ends: Ends = ENDS
) -> float:
    """eta given z and the words."""
    return float(np.exp(slice_step(of_eta(term_topic, topic_total), np.log(eta), ends, rng)))


def _how_often(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different counts, and how often each occurs; without 0, which adds nothing to a density."""
    times = _histogram(np.atleast_2d(counts), counts.max(initial=0))
    values = np.flatnonzero(times)
    return values, times[values]


@kernel
def _histogram(counts: np.ndarray, largest: int) -> np.ndarray:
    times = np.zeros(largest + 1, np.int64)
    for row in range(len(counts)):
        for column in range(counts.shape[1]):
            if counts[row, column] > 0:  # most are 0
                times[counts[row, column]] += 1
    return times


def slice_step(
    log_density: Callable[[float], float], x: float, ends: tuple[float, float], rng: np.random.Generator
) -> float:
    """One draw by slice sampling: stepping out within the ends of the prior, then shrinking."""
    low, high = np.log(ends)
    level = log_density(x) + np.log1p(-rng.random())
    left = x - WIDTH * rng.random()
    right = left + WIDTH
    while left > low and log_density(left) > level:
        left -= WIDTH
    while right < high and log_density(right) > level:
        right += WIDTH
    left, right = max(left, low), min(right, high)
    while True:
        proposed = left + (right - left) * rng.random()
        if log_density(proposed) >= level:
            return float(proposed)
        if proposed < x:
            left = proposed
        else:
            right = proposed
