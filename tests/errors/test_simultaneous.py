"""Bands for a whole function."""

import numpy as np
import pytest
from scipy.stats import t

from bayestopics.errors.simultaneous import half_width


def test_at_one_point_it_is_a_t_interval():
    """Guards against a normal quantile, and against the deviation of a unit for that of the mean."""
    units = np.random.default_rng(1).normal(3.0, 2.0, (6, 1))
    half = t.ppf(0.975, 5) * units.std(ddof=1) / np.sqrt(6)
    assert half_width(units) == pytest.approx(half, rel=0.03)  # 4,000 draws
    assert half_width(units, 0.5) == pytest.approx(half * t.ppf(0.75, 5) / t.ppf(0.975, 5), rel=0.03)


def test_points_that_move_together_need_no_wider_band():
    """Guards against a correction for many points that forgets their correlation; independent ones need it."""
    one = np.random.default_rng(2).normal(size=(30, 1))
    assert half_width(np.repeat(one, 50, axis=1)) == pytest.approx(half_width(one))
    many = np.random.default_rng(3).normal(size=(30, 50))
    assert half_width(many) > 1.4 * half_width(one)


def test_it_covers_a_function_as_often_as_it_says():
    """Of 300 bands of 95 %, fewer than 273 or more than 296 would be a false alarm in 1 % of seeds. The functions are
    a + b x + c x^2 with random coefficients."""
    powers = np.vander(np.linspace(-1, 1, 9), 3).T
    covered = 0
    for seed in range(300):
        units = np.random.default_rng([4, seed]).normal(size=(16, 3)) @ powers
        covered += np.abs(units.mean(axis=0)).max() < half_width(units)
    assert 273 <= covered <= 296


def test_one_unit_has_no_band():
    with pytest.raises(ValueError, match="at least 2 units"):
        half_width(np.zeros((1, 3)))
