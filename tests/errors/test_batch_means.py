"""Batch means against AR(1) chains, for which every expectation and coverage below is computed exactly.

An AR(1) chain x_t = rho x_{t-1} + e_t with Gaussian e_t has asymptotic variance 1 / (1 - rho)^2. Both
estimators are quadratic forms in it, so their mean and variance at finite n are traces, and the coverage of
their intervals is the sign probability of a quadratic form (Imhof 1961). Nothing is tuned by hand.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad
from scipy.linalg import toeplitz
from scipy.signal import lfilter
from scipy.stats import binom, norm, t
from statsmodels.regression.linear_model import OLS

from bayestopics.errors import batch_means, effective_sample_size, interval, mcse, overlapping_batch_means
from bayestopics.errors.batch_means import Method

N = 900  # draws in a chain
B = 30  # batch length, and the number of batches
REPLICATES = 2000
FALSE_ALARM = 1e-5  # two-sided, of each statistical assertion, over seeds
MEAN = 3.0

RHOS = [0.0, 0.5, 0.9]
METHODS: list[Method] = ["batch-means", "overlapping"]
ESTIMATORS = {"batch-means": batch_means, "overlapping": overlapping_batch_means}
DEGREES = {"batch-means": B - 1, "overlapping": 1.5 * (N / B - 1)}


@cache
def autoregressive_chains(rho: float) -> NDArray[np.float64]:
    """Independent stationary AR(1) chains, one a column."""
    noise = np.random.default_rng([20101034, int(10 * rho)]).standard_normal((N, REPLICATES))
    noise[0] /= np.sqrt(1 - rho**2)  # the first draw is from the stationary distribution
    return MEAN + lfilter([1.0], [1.0, -rho], noise, axis=0)


class Truth(NamedTuple):
    mean: float  # of the estimate of sigma^2
    variance: float  # of the same
    coverage: float  # of the 95 % interval


@cache
def exact_truth(rho: float, method: Method) -> Truth:
    """Mean and variance of the estimator and coverage of its interval, for AR(1) chains of N draws."""
    starts = range(0, N, B) if method == "batch-means" else range(N - B + 1)
    deviation = np.full((len(starts), N), -1 / N)  # rows: batch mean minus overall mean
    for row, start in enumerate(starts):
        deviation[row, start : start + B] += 1 / B
    constant = B / (N / B - 1) if method == "batch-means" else N * B / ((N - B) * (N - B + 1))
    root = np.linalg.cholesky(toeplitz(rho ** np.arange(N) / (1 - rho**2)))  # chain = root @ normal
    factor = deviation @ root
    form = constant * factor.T @ factor  # the estimate is normal' form normal
    overall = root.mean(axis=0)
    quantile = t.ppf(0.975, DEGREES[method])
    # the interval misses when (mean - mu)^2 - quantile^2 estimate / N > 0
    miss = probability_positive(np.linalg.eigvalsh(np.outer(overall, overall) - quantile**2 * form / N))
    return Truth(np.trace(form), 2 * np.square(form).sum(), 1 - miss)


def probability_positive(weights: NDArray[np.float64]) -> float:
    """P(sum_i weights_i chi^2_1 > 0), Imhof (1961), equation 3.2."""
    weights = weights / np.abs(weights).max()

    def integrand(u: float) -> float:
        angle = 0.5 * np.arctan(weights * u).sum()
        return np.sin(angle) / u * np.exp(-0.25 * np.log1p((weights * u) ** 2).sum())

    return 0.5 + quad(integrand, 0, np.inf, limit=500)[0] / np.pi


def covers_as_often_as(coverage: float, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> bool:
    """Whether the number of intervals that hold the mean is between the binomial quantiles."""
    least, most = binom.interval(1 - FALSE_ALARM, REPLICATES, coverage)
    return bool(least <= np.sum((lower <= MEAN) & (upper >= MEAN)) <= most)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("method", METHODS)
def test_estimates_have_their_exact_mean(rho: float, method: Method) -> None:
    """Mean over the replicates, in standard errors computed exactly. False-alarm rate 1e-5 a case."""
    truth = exact_truth(rho, method)
    estimates = ESTIMATORS[method](autoregressive_chains(rho))
    score = (estimates.mean() - truth.mean) / np.sqrt(truth.variance / REPLICATES)
    assert abs(score) < norm.isf(FALSE_ALARM / 2)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("method", METHODS)
def test_bias_is_of_order_one_over_batch_length(rho: float, method: Method) -> None:
    """The exact mean is the known asymptotic variance less (1/b) sum_k |k| gamma_k. No randomness.

    What is left is one more such bias, of the overall mean that stands in for mu: (1/n) sum_k |k| gamma_k.
    Twice that is allowed, for the terms of higher order.
    """
    asymptotic_variance = 1 / (1 - rho) ** 2
    lag_moment = 2 * rho / (1 - rho**2) / (1 - rho) ** 2  # sum_k |k| gamma_k
    expected = asymptotic_variance - lag_moment / B
    assert abs(exact_truth(rho, method).mean - expected) <= 2 * lag_moment / N + 1e-9


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("method", METHODS)
def test_interval_coverage(rho: float, method: Method) -> None:
    """95 % intervals hold the mean as often as computed. False-alarm rate at most 1e-5 a case."""
    lower, upper = interval(autoregressive_chains(rho), method=method)
    assert covers_as_often_as(exact_truth(rho, method).coverage, lower, upper)


def test_computed_coverage() -> None:
    """The standard of test_interval_coverage is itself right. No randomness.

    For independent draws in whole batches Student's t is exact, and 3/2 (n/b - 1) degrees of freedom are very
    nearly so for overlapping batches. At rho = 0.9 a batch of 30 draws is 1.6 integrated autocorrelation
    times long, and the intervals fall short of 95 %: they cover 90.0 % and 89.6 %.
    """
    coverage = {method: [exact_truth(rho, method).coverage for rho in RHOS] for method in METHODS}
    assert_allclose(coverage["batch-means"][0], 0.95, atol=1e-7)
    assert_allclose(coverage["batch-means"], [0.950, 0.945, 0.900], atol=5e-4)
    assert_allclose(coverage["overlapping"], [0.950, 0.944, 0.896], atol=5e-4)


def test_independent_standard_error_fails_coverage() -> None:
    """Negative control: std / sqrt(n) ignores the autocorrelation and must fail the coverage test.

    It covers 35 % at rho = 0.9; that it should pass has a probability below 1e-300.
    """
    chains = autoregressive_chains(0.9)
    half_width = norm.isf(0.025) * chains.std(axis=0, ddof=1) / np.sqrt(N)
    centre = chains.mean(axis=0)
    for method in METHODS:
        assert not covers_as_often_as(exact_truth(0.9, method).coverage, centre - half_width, centre + half_width)


@pytest.mark.parametrize(("n", "batches"), [(900, None), (890, None), (103, 7), (4, None), (9, 9)])
def test_batch_means_equal_a_loop(n: int, batches: int | None) -> None:
    chain = autoregressive_chains(0.5)[:n, 0]
    count = batches or int(np.sqrt(n))
    length = n // count
    kept = chain[n - count * length :]
    means = [np.mean(kept[j * length : (j + 1) * length]) for j in range(count)]
    expected = length * sum((mean - np.mean(kept)) ** 2 for mean in means) / (count - 1)
    assert_allclose(batch_means(chain, batches), expected, rtol=1e-10)


@pytest.mark.parametrize(("n", "length"), [(900, None), (890, None), (103, 7), (4, None), (10, 5), (10, 1)])
def test_overlapping_batch_means_equal_a_loop(n: int, length: int | None) -> None:
    chain = autoregressive_chains(0.9)[:n, 0]
    b = length or int(np.sqrt(n))
    total = sum((np.mean(chain[j : j + b]) - np.mean(chain)) ** 2 for j in range(n - b + 1))
    expected = n * b / ((n - b) * (n - b + 1)) * total
    assert_allclose(overlapping_batch_means(chain, length), expected, rtol=1e-10)


@pytest.mark.parametrize("rho", RHOS)
def test_overlapping_batch_means_match_bartlett(rho: float) -> None:
    """Newey-West with b-1 lags is the same sum with the 2(b-1) incomplete batches at the two ends added."""
    chain = autoregressive_chains(rho)[:, 0]
    fit = OLS(chain, np.ones(N)).fit(cov_type="HAC", cov_kwds={"maxlags": B - 1})
    bartlett = N * fit.cov_params()[0, 0]
    batch_sums = np.convolve(chain - chain.mean(), np.ones(B))
    ends = np.square(np.r_[batch_sums[: B - 1], batch_sums[1 - B :]]).sum() / (N * B)
    complete = overlapping_batch_means(chain) * (N - B) * (N - B + 1) / N**2
    assert_allclose(complete + ends, bartlett, rtol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_what_follows_from_the_variance(method: Method) -> None:
    chain = autoregressive_chains(0.5)[:, 0]
    variance = ESTIMATORS[method](chain)
    error = np.sqrt(variance / N)
    half_width = t.ppf(0.95, DEGREES[method]) * error
    assert_allclose(mcse(chain, method), error, rtol=1e-12)
    assert_allclose(effective_sample_size(chain, method), N * chain.var(ddof=1) / variance, rtol=1e-12)
    ends = [chain.mean() - half_width, chain.mean() + half_width]
    assert_allclose(interval(chain, level=0.9, method=method), ends, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_trailing_shape_is_columnwise(method: Method) -> None:
    surface = autoregressive_chains(0.5)[:, :6].reshape(N, 2, 3)
    for function in (mcse, effective_sample_size, interval):
        whole = np.asarray(function(surface, method=method))
        single = np.array([[function(surface[:, i, j], method=method) for j in range(3)] for i in range(2)])
        expected = np.moveaxis(single, -1, 0) if function is interval else single
        assert whole.dtype == np.float64
        assert_allclose(whole, expected, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_huge_offset_changes_nothing(method: Method) -> None:
    offset = 1e9
    far = autoregressive_chains(0.9)[:, :5] + offset
    near = far - offset  # exact, so that both chains hold the same rounded draws
    assert_allclose(mcse(far, method), mcse(near, method), rtol=1e-12)
    assert_allclose(effective_sample_size(far, method), effective_sample_size(near, method), rtol=1e-12)
    moved = np.subtract(interval(far, method=method), offset)
    assert_allclose(moved, interval(near, method=method), rtol=0, atol=2 * np.spacing(offset))


@pytest.mark.parametrize("method", METHODS)
def test_constant_chain(method: Method) -> None:
    chain = np.column_stack([np.full(N, 0.1), autoregressive_chains(0.0)[:, 0]])
    assert mcse(chain, method)[0] == 0
    assert_array_equal(np.isnan(effective_sample_size(chain, method)), [True, False])
    lower, upper = interval(chain, method=method)
    assert lower[0] == upper[0] == 0.1


def test_chain_with_equal_batch_means_has_infinite_sample_size() -> None:
    assert effective_sample_size(np.tile([1.0, -1.0], N // 2)) == np.inf


@pytest.mark.parametrize("chain", [0.0, [], [1.0, 2.0, 3.0], np.zeros((3, 5))])
def test_short_chains_are_refused(chain: ArrayLike) -> None:
    for function in (batch_means, overlapping_batch_means, mcse, effective_sample_size, interval):
        with pytest.raises(ValueError, match="at least 4 draws"):
            function(chain)


@pytest.mark.parametrize("batches", [-1, 0, 1, 11])
def test_impossible_batches_are_refused(batches: int) -> None:
    with pytest.raises(ValueError, match="between 2 and n = 10 batches"):
        batch_means(np.arange(10), batches)


@pytest.mark.parametrize("length", [-1, 0, 6, 10])
def test_impossible_batch_lengths_are_refused(length: int) -> None:
    with pytest.raises(ValueError, match="from 1 to n/2 = 5"):
        overlapping_batch_means(np.arange(10), length)


def test_unknown_method_and_level_are_refused() -> None:
    with pytest.raises(ValueError, match="batch-means"):
        mcse(np.arange(10), "spectral")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="level"):
        interval(np.arange(10), level=95)
