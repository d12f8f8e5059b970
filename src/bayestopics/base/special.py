"""Special functions that compiled kernels need and numba does not have."""

from __future__ import annotations

import math

from bayestopics.base.jit import kernel


@kernel
def digamma(x: float) -> float:
    """The derivative of log Gamma at x > 0: by recurrence to 10 and beyond, then by its asymptotic series."""
    result = 0.0
    while x < 10.0:
        result -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    # Bernoulli numbers B_2k / 2k; the first that is left out is below 1e-15 at 10
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * (691 / 32760 - y / 12))))))
    return result + math.log(x) - 0.5 / x - series
