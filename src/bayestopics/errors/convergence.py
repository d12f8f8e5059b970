"""R-hat and the effective sample size of several chains (Vehtari, Gelman, Simpson, Carpenter & Buerkner, 2021).

The numbers are those of ArviZ, with which the tests compare them; but to import ArviZ takes a second, and every command
needs them.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

SHORTEST = 4  # draws: each chain is split in two halves


def rhat(chains: np.ndarray, ranks: bool = True) -> float:
    """R-hat of the halves of all chains (chains x draws). With `ranks`, the larger one of two: of the ranks of the
    draws, and of the ranks of their distances from the median."""
    halves = _halves(chains)
    if not ranks:
        return _rhat(halves)
    return max(_rhat(_normal_scores(halves)), _rhat(_normal_scores(np.abs(halves - np.median(halves)))))


def bulk_effective_sample_size(chains: np.ndarray) -> float:
    """Of the ranks of the draws (chains x draws): the number of independent draws that tell as much about the mean."""
    return _effective_sample_size(_normal_scores(_halves(chains)))


def most_effective(draws: int) -> float:
    """The largest effective sample size that is believed from so many draws: their autocorrelation time is not known
    well enough for more."""
    return float(draws * np.log10(draws))


def _halves(chains: np.ndarray) -> np.ndarray:
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _rhat(chains: np.ndarray) -> float:
    draws = chains.shape[1]
    between, within = chains.mean(axis=1).var(ddof=1), chains.var(axis=1, ddof=1).mean()
    return float(np.sqrt(between / within + (draws - 1) / draws))


def _normal_scores(values: np.ndarray) -> np.ndarray:
    """The normal quantiles of the ranks; equal values share their mean rank."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[where].reshape(values.shape)
    return np.asarray(ndtri((ranks - 3 / 8) / (values.size + 1 / 4)))


def _effective_sample_size(chains: np.ndarray) -> float:
    draws = chains.shape[1]
    covariances = _autocovariances(chains).mean(axis=0)
    within = covariances[0] * draws / (draws - 1)
    total = covariances[0] + (chains.mean(axis=1).var(ddof=1) if len(chains) > 1 else 0.0)
    rho = 1 - (within - covariances) / total
    rho[0] = 1.0
    # Geyer's initial monotone sequence: sums of two neighbours, up to the first that is not positive
    pairs = rho[: 2 * (max(draws - 3, 0) // 2) + 2].reshape(-1, 2).sum(axis=1)
    end = int(np.argmax(pairs <= 0)) if np.any(pairs <= 0) else len(pairs) - 1
    last = rho[2 * end] if pairs[end] >= 0 else max(rho[2 * end], 0.0)
    time = 2 * np.minimum.accumulate(pairs[:end]).sum() + last - 1
    return float(chains.size / max(time, chains.size / most_effective(chains.size)))


def _autocovariances(chains: np.ndarray) -> np.ndarray:
    """Of each chain at every lag, by Fourier transforms."""
    draws = chains.shape[1]
    spectrum = np.fft.rfft(chains - chains.mean(axis=1, keepdims=True), 2 * draws, axis=1)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, 2 * draws, axis=1)[:, :draws] / draws)
