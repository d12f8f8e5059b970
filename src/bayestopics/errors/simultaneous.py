"""A band for a whole function of Monte Carlo means: as wide at every point, and for all points at once.

The errors of the means at two points are correlated. Their joint law is taken to be normal, with the covariance that
independent units (batches or chains) show; the error at one point is then a Student t. Draws from this law give the
quantile of the largest error over all points. [Multiplier bootstrap: Gine & Zinn 1990, Annals of Probability 18,
851-869.]
"""

from __future__ import annotations

import numpy as np

DRAWS = 4000  # they know a quantile of 95 % to about 1 % of the half-width
BLOCK = 500  # draws whose values at all points are held in memory at once


def half_width(units: np.ndarray, level: float = 0.95) -> float:
    """The half-width of a band around the mean of the units (units x points)."""
    count = len(units)
    if count < 2:
        raise ValueError(f"a band needs at least 2 units, not {count}")
    away = (units - units.mean(axis=0)) / np.sqrt(count * (count - 1))
    rng = np.random.default_rng(0)  # always the same draws: the band is a function of the units
    largest = []
    for _ in range(DRAWS // BLOCK):
        # einsum, not `@`: the bits of a BLAS product depend on its number of threads
        errors = np.einsum("du,up->dp", rng.standard_normal((BLOCK, count)), away)
        largest.append(np.abs(errors).max(axis=1) / np.sqrt(rng.chisquare(count - 1, BLOCK) / (count - 1)))
    return float(np.quantile(np.concatenate(largest), level))
