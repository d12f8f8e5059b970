"""Bennett's (1976) ratio of two normalising constants, from draws at both ends."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit


def bennett(lower: np.ndarray, upper: np.ndarray) -> float:
    """log Z_upper / Z_lower, from equally many log-weights log(p_upper / p_lower) of draws from both ends.

    It is the root r of sum_lower expit(x - r) = sum_upper expit(r - x). No other function of these weights has a
    smaller asymptotic variance.
    """
    low, high = min(lower.min(), upper.min()) - 1.0, max(lower.max(), upper.max()) + 1.0
    if low == high - 2.0:  # one topic: nothing varies
        return float(lower.flat[0])
    return float(brentq(lambda r: expit(lower - r).sum() - expit(r - upper).sum(), low, high, xtol=1e-10))
