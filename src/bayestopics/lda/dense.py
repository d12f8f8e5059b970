"""One token's topic from the dense conditional (5): the step that the collapsed samplers share."""

from __future__ import annotations

import numpy as np

from bayestopics.jit import kernel


@kernel
def draw_one(
    by_document: np.ndarray,
    by_term: np.ndarray,
    inverse_total: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    wanted: int,
    draw: float,
    cumulative: np.ndarray,
) -> tuple[int, float]:
    """(topic, its probability), the token already taken out of the counts.

    The topic is drawn with the uniform number `draw`, or is `wanted` if that is not negative.
    """
    topics = len(alpha)
    mass = 0.0
    for t in range(topics):
        mass += (by_document[t] + alpha[t]) * (by_term[t] + eta) * inverse_total[t]  # (5)
        cumulative[t] = mass
    new = wanted
    if new < 0:
        threshold = draw * mass
        new = 0
        while cumulative[new] <= threshold and new < topics - 1:
            new += 1
    return new, (by_document[new] + alpha[new]) * (by_term[new] + eta) * inverse_total[new] / mass
