"""Draws of sticks and gammas inside kernels, and the means of sticks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import beta, gamma, kstest

from bayestopics.lda.uniforms import new_words
from bayestopics.nonparametric.sticks import Sticks, draw_log_gamma, draw_weights

FALSE_ALARM = 1e-6  # of each statistical assertion, over seeds
SIZES, TABLES, A = np.array([1.2, 2.5]), np.array([3, 1, 2, 0, 4]), 0.4


@pytest.mark.parametrize("shape", [0.05, 0.4, 1.0, 1.7, 30.0, 1e5])
def test_gammas(shape: float) -> None:
    words = new_words(np.random.default_rng(1))
    draws = np.exp([draw_log_gamma(shape, words) for _ in range(20_000)])
    assert kstest(draws, gamma(shape).cdf).pvalue > FALSE_ALARM
    assert kstest(draws, gamma(1.05 * shape).cdf).pvalue < FALSE_ALARM or shape < 0.1  # a control


def test_weights_given_tables() -> None:
    """Component 1 is first on the stick, then 0; 2, 3 and 4 are new, and 3 is not in use."""
    sticks, words = Sticks.of(SIZES, A), new_words(np.random.default_rng(2))
    draws = np.empty((20_000, 6))
    for row in draws:
        row[5] = draw_weights(sticks.order, sticks.u, sticks.v, TABLES, A, words, row[:5])
    assert_allclose(draws.sum(axis=1), 1.0)
    left = 1 - draws[:, 1]
    laws = [
        (draws[:, 1], beta(1 + 2.5 + 1, A + 1.2 + 3 + 6)),  # u + s, v + all tables after it
        (draws[:, 0] / left, beta(1 + 1.2 + 3, A + 6)),
        (draws[:, 4] / draws[:, 2:].sum(axis=1), beta(4, 2 + A)),  # Dirichlet(2, 4, a) of what is left
        (draws[:, 5] / draws[:, 2:].sum(axis=1), beta(A, 6)),
    ]
    for values, law in laws:
        assert kstest(values, law.cdf).pvalue > FALSE_ALARM
    assert np.all(draws[:, 3] == 0)
    assert kstest(draws[:, 1], beta(1 + 2.5 + 1, 1 + 1.2 + 3 + 6).cdf).pvalue < FALSE_ALARM  # v - a + 1, as printed


def test_small_concentrations_leave_something() -> None:
    """With a = 1e-3 most sticks are 1 to within rounding: what is left is small, and not 0 (in 52 % of draws)."""
    sticks, words = Sticks.of(SIZES, 1e-3), new_words(np.random.default_rng(3))
    weights = np.empty(2)
    arrays = (sticks.order, sticks.u, sticks.v, np.zeros(2, int))
    left = [draw_weights(*arrays, 1e-3, words, weights) for _ in range(20_000)]
    assert np.median(left) < 1e-100
    assert np.mean(np.array(left) > 0) > 0.5


def test_means() -> None:
    weights, unseen = Sticks.of(SIZES, A).mean_weights()
    first, second = 3.5 / (3.5 + A + 1.2), 2.2 / (2.2 + A)
    assert_allclose(weights, [(1 - first) * second, first])
    assert_allclose(unseen, (1 - first) * (1 - second))
    assert Sticks.of(np.empty(0), A).mean_weights()[1] == 1.0
