"""Monte Carlo error of a mean over several independent chains, from the means of their batches.

All batches of all chains are compared with the mean over everything ("globally centred"), so that chains that differ
more than their own batches widen the error [Argon & Andradottir 2006, Replicated batch means for steady-state
simulations, Naval Research Logistics 53, 508-524; Gupta & Vats 2020, arXiv:2007.04229]. Few long batches are enough:
with 32 of them in all, the radius of a 95 % ellipse is 7 % larger than with infinitely many.
"""

from __future__ import annotations

import numpy as np
from scipy.special import fdtrc, fdtri

FEWEST_EACH, IN_ALL = 3, 32  # batches of each chain, and of all chains
EACH_NUMBER = 3  # for the mean of many numbers, there are this many batches for each number
FEWEST = 4  # an ellipse needs at least this many batches or chains
DISAGREE = 0.01  # the chains disagree if the p-value of `agreement` is smaller


def batches_each(chains: int, p: int = 2) -> int:
    """The number of batches of each chain, for the means of p numbers."""
    return max(FEWEST_EACH, -(-max(IN_ALL, EACH_NUMBER * p) // chains))


def into_batches(chains: np.ndarray, count: int) -> np.ndarray:
    """float64[m, count, ...]: the means of `count` batches of equal length of each chain (m x n x ...). The first
    draws are left out if they do not fit."""
    length = chains.shape[1] // count
    if length == 0:
        raise ValueError(f"chains of {chains.shape[1]} draws have no {count} batches")
    kept = chains[:, chains.shape[1] - count * length :]
    return np.asarray(kept.reshape(len(chains), count, length, *chains.shape[2:]).mean(axis=2))


def pooled(batches: np.ndarray, center: np.ndarray | None = None) -> tuple[np.ndarray, int]:
    """(covariance of the mean of everything, number of means that it is computed from), from the batch means of each
    chain (m x batches x p); the center is their mean unless another is given.

    If the chains disagree, their batches are not independent draws of one law: then the means of the chains count
    alone, as long as there are enough. If there are too few for p numbers, the correlations are still those of the
    batches, and the deviations of the chains, where they are larger.
    """
    p, p_value = batches.shape[2], agreement(batches)
    disagree = p_value is not None and p_value < DISAGREE and len(batches) >= FEWEST
    of_chains = _covariance(batches.mean(axis=1), center) if disagree else None
    if of_chains is not None and len(batches) > p + 1:
        return of_chains, len(batches)
    of_batches = _covariance(batches.reshape(-1, p), center)
    if of_chains is None:
        return of_batches, batches.shape[0] * batches.shape[1]
    wider = np.sqrt(np.maximum(1.0, np.diag(of_chains) / np.diag(of_batches)))
    return of_batches * np.outer(wider, wider), len(batches)


def _covariance(means: np.ndarray, center: np.ndarray | None) -> np.ndarray:
    """Of the mean of independent means (n x p)."""
    away = means - (means.mean(axis=0) if center is None else center)
    # einsum, not `@`: the bits of a BLAS product depend on its number of threads
    return np.asarray(np.einsum("bi,bj->ij", away, away) / (len(means) - 1) / len(means))


def agreement(batches: np.ndarray) -> float | None:
    """The p-value of the hypothesis that the means of the chains differ by no more than their batches say; None if
    there are fewer than two chains, or too few batches.

    Wilks' lambda compares the scatter between the chains with the scatter within them. It has an F distribution if the
    batch means are normal, exactly for two numbers, and nearly for more [Rao; Anderson, An Introduction to Multivariate
    Statistical Analysis, section 8.5].
    """
    chains, each, p = batches.shape
    between_degrees, within_degrees = chains - 1, chains * (each - 1)
    if chains < 2 or within_degrees <= p:
        return None
    means = batches.mean(axis=1)
    inside, outside = batches - means[:, None], means - means.mean(axis=0)
    within = np.einsum("cbi,cbj->ij", inside, inside)
    between = each * np.einsum("ci,cj->ij", outside, outside)
    (_, log_within), (_, log_both) = np.linalg.slogdet(within), np.linalg.slogdet(within + between)
    if np.isneginf(log_within):  # chains that do not vary
        return None if np.isneginf(log_both) else 0.0
    # never above 0, but for rounding, where a number hardly varies
    return _wilks(min(float(log_within - log_both), 0.0), p, between_degrees, within_degrees)


def _wilks(log_lambda: float, p: int, q: int, within: int) -> float:
    """The probability that Wilks' lambda is smaller, by Rao's F."""
    below = p**2 + q**2 - 5
    power = np.sqrt((p**2 * q**2 - 4) / below) if below > 0 else 1.0
    first = p * q
    second = power * (within + q - (p + q + 1) / 2) - first / 2 + 1
    root = np.exp(log_lambda / power)
    return float(fdtrc(first, second, (1 - root) / root * second / first))


def hotelling(count: int, level: float, p: int = 2) -> float:
    """The quantile of Hotelling's T^2 for the mean of `count` vectors of p numbers."""
    return float(p * (count - 1) / (count - p) * fdtri(p, count - p, level))
