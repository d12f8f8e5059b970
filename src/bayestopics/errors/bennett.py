"""Bennett's (1976) ratio of two normalising constants, from draws at both ends."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_expit, logsumexp


def bennett(lower: np.ndarray, upper: np.ndarray) -> float:
    """log Z_upper / Z_lower, from equally many log-weights log(p_upper / p_lower) of draws from both ends.

    It is the root r of sum_lower expit(x - r) = sum_upper expit(r - x). No other function of these weights has a
    smaller asymptotic variance. The sums are compared by their logs: where the two ends are far apart, both are tiny.
    """
    low, high = min(lower.min(), upper.min()) - 1.0, max(lower.max(), upper.max()) + 1.0
    if low == high - 2.0:  # one topic: nothing varies
        return float(lower.flat[0])

    def difference(r: float) -> float:
        return float(logsumexp(log_expit(lower - r)) - logsumexp(log_expit(r - upper)))

    return float(brentq(difference, low, high, xtol=1e-10))
