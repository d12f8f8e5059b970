"""Batch means pooled over chains: coverage on a chain with known mean, agreement, and what is done without it."""

import numpy as np
import pytest
from scipy.stats import binom

from bayestopics.errors.pooled import DISAGREE, IN_ALL, agreement, batches_each, hotelling, into_batches, pooled


def autoregressive(rng: np.random.Generator, chains: int, length: int, rho: float) -> np.ndarray:
    """m stationary AR(1) chains of two numbers with mean zero."""
    draws = rng.normal(size=(chains, length, 2)) * np.sqrt(1 - rho**2)
    draws[:, 0] /= np.sqrt(1 - rho**2)
    for i in range(1, length):
        draws[:, i] += rho * draws[:, i - 1]
    return draws


def inside(mean: np.ndarray, covariance: np.ndarray, count: int) -> bool:
    return bool(mean @ np.linalg.solve(covariance, mean) <= hotelling(count, 0.95))


def test_ellipses_cover() -> None:
    """400 times 8 chains of 400 draws with autocorrelation 0.8, batches of 100: 95 % cover, or it is one false alarm in
    10,000 (each side). With 2 draws in a batch far fewer would; but then the chains disagree, and count alone."""
    rng, covered, short, mended = np.random.default_rng(1), 0, 0, 0
    for _ in range(400):
        chains = autoregressive(rng, 8, 400, 0.8)
        mean = chains.mean(axis=(0, 1))
        covered += inside(mean, *pooled(into_batches(chains, batches_each(8))))
        batches = into_batches(chains, 200)
        mended += inside(mean, *pooled(batches))
        short += inside(mean, np.cov(batches.reshape(-1, 2).T) / 1600, 1600)
    low, high = binom.ppf([1e-4, 1 - 1e-4], 400, 0.95)
    assert low <= covered <= high
    assert short < 0.8 * 400
    assert mended > 0.9 * 400


@pytest.mark.parametrize("p", [1, 2, 5])
def test_chains_of_one_law_agree_as_often_as_the_test_says(p: int) -> None:
    """1000 times: p-values below 1 %, 10 % and 50 % are as many, or it is one false alarm in 10,000 (each side)."""
    rng = np.random.default_rng(2)
    found = np.array([agreement(rng.normal(size=(6, 5, p)) @ rng.normal(size=(p, p))) for _ in range(1000)])
    for share in (0.01, 0.1, 0.5):
        low, high = binom.ppf([1e-4, 1 - 1e-4], 1000, share)
        assert low <= np.count_nonzero(found < share) <= high


def test_chains_in_different_modes() -> None:
    """Told by a small p-value; then the means of the chains count alone, and the error is as large as their scatter."""
    rng = np.random.default_rng(3)
    batches = rng.normal(size=(8, 4, 2)) * 0.1 + rng.normal(size=(8, 1, 2))
    p_value = agreement(batches)
    assert p_value is not None
    assert p_value < DISAGREE
    covariance, count = pooled(batches)
    assert count == 8
    np.testing.assert_allclose(covariance, np.cov(batches.mean(axis=1).T) / 8)
    assert pooled(batches[:3])[1] == 12  # with three chains, the batches are all there is
    assert agreement(batches[:1]) is None
    still = np.zeros((4, 3, 1))
    assert agreement(still) is None
    still[0] = 1.0
    assert agreement(still) == 0.0


def test_pieces() -> None:
    assert [batches_each(chains) for chains in (1, 4, 8, 40)] == [IN_ALL, 8, 4, 3]
    np.testing.assert_allclose(into_batches(np.arange(14.0).reshape(2, 7), 3), [[1.5, 3.5, 5.5], [8.5, 10.5, 12.5]])
    with pytest.raises(ValueError, match="no 9 batches"):
        into_batches(np.zeros((2, 7)), 9)
    values = np.arange(24.0).reshape(3, 4, 2)
    covariance, count = pooled(values, np.zeros(2))
    flat = values.reshape(-1, 2)
    np.testing.assert_allclose(covariance, flat.T @ flat / 11 / 12)
    assert count == 12
    assert hotelling(10**7, 0.95) == pytest.approx(5.99, abs=0.01)
    assert hotelling(10, 0.95) == pytest.approx(2 * 9 / 8 * 4.459, abs=0.01)


def test_few_chains_that_disagree_about_many_numbers() -> None:
    """Four chains and six numbers: the deviations of the chains, and a covariance that can be inverted."""
    rng = np.random.default_rng(2)
    batches = rng.normal(size=(4, 10, 6))
    assert pooled(batches)[1] == 40
    batches[:, :, 2] += np.array([0.0, 3.0, -2.0, 5.0])[:, None]
    covariance, count = pooled(batches)
    of_chains = batches.mean(axis=1).var(axis=0, ddof=1) / 4
    assert count == 4
    assert covariance[2, 2] == pytest.approx(of_chains[2])
    assert np.all(np.diag(covariance) >= of_chains - 1e-12)
    assert np.linalg.eigvalsh(covariance)[0] > 0


def test_many_numbers_need_more_batches() -> None:
    assert [batches_each(8, p) for p in (2, 10, 11, 21, 101)] == [4, 4, 5, 8, 38]


def test_numbers_that_hardly_vary_have_a_p_value() -> None:
    """Two numbers that are the same up to rounding: determinants are zero or noise, and the result is a probability."""
    rng, found = np.random.default_rng(1), []
    for scale in (1.0, 1e-9, 1e-160):
        for _ in range(100):
            one = scale * rng.integers(3, size=(4, 4, 1)).astype(float)
            found.append(agreement(np.concatenate([one, one], axis=2)))
    assert all(one is None or 0 <= one <= 1 for one in found)
