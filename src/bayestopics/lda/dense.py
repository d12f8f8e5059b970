"""Draws tokens one after the other from the dense conditional [Zhang & Sisson 5]; all collapsed samplers use it.

The weight of topic t is (minor_t + prior_t) * factor[t], where `factor[t]` = (major_t + prior_t) / (m_t + V eta) is
kept for the document (or term) that is being visited. Counts include the token; the weight of its own topic is
corrected afterwards, and rows are written only when the token moves.
"""

from __future__ import annotations

import math

import numpy as np

from bayestopics.base.jit import kernel, sum_kernel
from bayestopics.lda.uniforms import uniform

# If the difference of two sums is less than this share of them, it has lost three of its sixteen digits, and the terms
# are summed again.
CANCELLED = 1e-3


@sum_kernel
def _mass(b: int, minor_topic: np.ndarray, minor_prior: np.ndarray, factor: np.ndarray) -> float:
    mass = 0.0
    for t in range(len(factor)):
        mass += (minor_topic[b, t] + minor_prior[t]) * factor[t]
    return mass


@kernel
def _mass_of_others(b: int, minor_topic: np.ndarray, minor_prior: np.ndarray, factor: np.ndarray, old: int) -> float:
    mass = 0.0
    for t in range(len(factor)):
        if t != old:
            mass += (minor_topic[b, t] + minor_prior[t]) * factor[t]
    return mass


@kernel
def visit_tokens(
    start: int,
    end: int,
    major: np.ndarray,
    minor: np.ndarray,
    major_topic: np.ndarray,
    minor_topic: np.ndarray,
    topic_total: np.ndarray,
    major_prior: np.ndarray,
    minor_prior: np.ndarray,
    total_eta: float,
    assignments: np.ndarray,
    target: np.ndarray | None,
    words: np.ndarray,
) -> float:
    """Draw the topics of tokens start..end-1 in turn, or force them to their targets; returns the log of the
    probability of these choices.

    It is all one function, because numba's calls and slices take longer than a draw.
    """
    topics = len(topic_total)
    factor = np.empty(topics)
    log_g = 0.0
    product = 1.0  # of the chosen conditionals: its log is taken only before it underflows
    current = -1
    for i in range(start, end):
        a, b = major[i], minor[i]
        if a != current:
            current = a
            for t in range(topics):
                factor[t] = (major_topic[a, t] + major_prior[t]) / (topic_total[t] + total_eta)
        old = assignments[i]
        own = (major_topic[a, old] - 1 + major_prior[old]) / (topic_total[old] - 1 + total_eta)
        chosen = (minor_topic[b, old] - 1 + minor_prior[old]) * own
        with_token = _mass(b, minor_topic, minor_prior, factor)
        others = with_token - (minor_topic[b, old] + minor_prior[old]) * factor[old]
        if others < CANCELLED * with_token:
            others = _mass_of_others(b, minor_topic, minor_prior, factor, old)
        mass = others + chosen  # of (5), without the token
        new = int(old)
        if target is not None:
            new = int(target[i])
        else:
            threshold = uniform(words) * mass - chosen  # the topic that it has comes first: most tokens stay
            if threshold >= 0.0:
                for t in range(topics):
                    if t != old:
                        new = t
                        threshold -= (minor_topic[b, t] + minor_prior[t]) * factor[t]
                        if threshold < 0.0:
                            break
        if new != old:
            chosen = (minor_topic[b, new] + minor_prior[new]) * factor[new]
            assignments[i] = new
            minor_topic[b, old] -= 1
            major_topic[a, old] -= 1
            topic_total[old] -= 1
            factor[old] = own
            minor_topic[b, new] += 1
            major_topic[a, new] += 1
            topic_total[new] += 1
            factor[new] = (major_topic[a, new] + major_prior[new]) / (topic_total[new] + total_eta)
        product *= chosen / mass
        if product < 1e-100:
            log_g += math.log(product)
            product = 1.0
    return log_g + math.log(product)
