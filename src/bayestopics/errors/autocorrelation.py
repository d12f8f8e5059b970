"""Integrated autocorrelation time: how many draws of a chain are worth one independent draw."""

from __future__ import annotations

import numpy as np


def autocorrelation_time(chain: np.ndarray) -> float:
    """1 + 2 sum_k rho_k, truncated by Geyer's (1992) initial monotone sequence.

    For a reversible chain, sums of two neighbouring autocorrelations are positive and decreasing. So the first sum that
    is not positive ends the series, and no sum may exceed the one before. A systematic scan is not reversible; for it
    this is a rule of thumb. The result is nan for a chain that does not move, and too small for a chain shorter than
    about fifty autocorrelation times.
    """
    from statsmodels.tsa.stattools import acf  # here, because it takes a second to import

    if np.ptp(chain) == 0:
        return float("nan")
    rho = acf(chain, nlags=len(chain) - 1, fft=True)
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2).sum(axis=1)
    end = np.argmax(pairs <= 0) if np.any(pairs <= 0) else len(pairs)
    return float(max(2 * np.minimum.accumulate(pairs[:end]).sum() - 1, 1 / len(chain)))
