"""Standard errors of Markov chain averages by batch means and overlapping batch means.

Axis 0 of `chain` is time. Further axes are allowed, such as a grid of functionals; the results have their shape,
and are scalars for a one-dimensional chain. A draw that is not finite makes its result nan.

Both estimates of the variance are too small by about (1/b) sum_k |k| gamma_k, over all integers k, where b is the
batch length and gamma_k the autocovariance at lag k. So with positive autocorrelation the errors and intervals are
too small, unless b is many autocorrelation times long.

Flegal & Jones (2010), Batch means and spectral variance estimators in Markov chain Monte Carlo,
Annals of Statistics 38, 1034-1070. George & Doss (2018), Journal of Machine Learning Research 18(162).
"""

from math import isqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]
Method = Literal["batch-means", "overlapping"]

SHORTEST_CHAIN = 4  # the shortest with two batches of two draws


def batch_means(chain: ArrayLike, batches: int | None = None) -> Floats:
    """Asymptotic variance sigma^2 of sqrt(n) (mean - mu), from J non-overlapping batches.

    J is floor(sqrt(n)) unless `batches` is given (George & Doss: J = sqrt(n)). The batches have equal length
    b = floor(n / J); the first n mod J draws belong to no batch.
    """
    _, deviations = _centre(chain)
    n = len(deviations)
    batches = isqrt(n) if batches is None else batches
    if not 2 <= batches <= n:
        raise ValueError(f"batch means need between 2 and n = {n} batches, not {batches}")
    length = n // batches
    batched = deviations[n % batches :].reshape(batches, length, *deviations.shape[1:])
    # b/(J-1) sum_j (Ybar_j - Ybar)^2
    return length * batched.mean(axis=1).var(axis=0, ddof=1)


def overlapping_batch_means(chain: ArrayLike, batch_length: int | None = None) -> Floats:
    """Asymptotic variance sigma^2 of sqrt(n) (mean - mu), from all n-b+1 overlapping batches of length b.

    b is floor(sqrt(n)) unless `batch_length` is given; at least two batches must fit side by side.
    """
    _, deviations = _centre(chain)
    n = len(deviations)
    b = isqrt(n) if batch_length is None else batch_length
    if not 1 <= b <= n // 2:
        raise ValueError(f"overlapping batch means need a batch length from 1 to n/2 = {n // 2}, not {b}")
    sums = np.concatenate([np.zeros_like(deviations[:1]), np.cumsum(deviations, axis=0)])
    means = (sums[b:] - sums[:-b]) / b
    # n b / ((n-b)(n-b+1)) sum_j (Ybar_j - Ybar)^2  [Flegal & Jones 2010]
    return n * b / ((n - b) * (n - b + 1)) * np.square(means).sum(axis=0)


def mcse(chain: ArrayLike, method: Method = "batch-means") -> Floats:
    """Monte Carlo standard error of the mean, sqrt(sigma^2 / n)."""
    chain = np.asarray(chain, dtype=np.float64)
    return np.sqrt(_asymptotic_variance(chain, method) / len(chain))


def effective_sample_size(chain: ArrayLike, method: Method = "batch-means") -> Floats:
    """Number of independent draws whose mean would be as precise: n s^2 / sigma^2, with the sample variance s^2.

    A constant chain gives nan, because it says nothing about its own precision. A chain that varies while all
    its batch means agree exactly gives inf.
    """
    _, deviations = _centre(chain)
    n = len(deviations)
    sample_variance = np.square(deviations).sum(axis=0) / (n - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return n * sample_variance / _asymptotic_variance(chain, method)


def interval(chain: ArrayLike, level: float = 0.95, method: Method = "batch-means") -> tuple[Floats, Floats]:
    """Lower and upper end of a confidence interval for the mean of the stationary distribution.

    It is the mean -+ t mcse, with a Student t quantile of J-1 degrees of freedom for batch means. Overlapping batch
    means have 2/3 of the variance (Meketon & Schmeiser 1984), hence 3/2 (n/b - 1) degrees of freedom.
    """
    if not 0 < level < 1:
        raise ValueError(f"the level of an interval lies between 0 and 1, not {level}")
    mean, deviations = _centre(chain)
    n = len(deviations)
    degrees = isqrt(n) - 1 if method == "batch-means" else 1.5 * (n / isqrt(n) - 1)
    half_width = stdtrit(degrees, (1 + level) / 2) * mcse(chain, method)
    return mean - half_width, mean + half_width


def _asymptotic_variance(chain: ArrayLike, method: Method) -> Floats:
    if method == "batch-means":
        return batch_means(chain)
    if method == "overlapping":
        return overlapping_batch_means(chain)
    raise ValueError(f'method is "batch-means" or "overlapping", not {method!r}')


def _centre(chain: ArrayLike) -> tuple[Floats, Floats]:
    """Mean and deviations from it; refuses chains that are too short for any estimate.

    The first draw is subtracted before the mean is taken, so that a large offset costs no precision and a
    constant chain has deviations of exactly zero.
    """
    draws = np.atleast_1d(np.asarray(chain, dtype=np.float64))
    if len(draws) < SHORTEST_CHAIN:
        raise ValueError(f"a standard error needs at least {SHORTEST_CHAIN} draws; the chain has {len(draws)}")
    deviations = draws - draws[0]
    shift = deviations.mean(axis=0)
    deviations -= shift
    return draws[0] + shift, deviations
