"""Integrated autocorrelation time of AR(1) chains, for which it is (1 + rho) / (1 - rho)."""

import numpy as np
import pytest
from scipy.signal import lfilter

from bayestopics.errors import autocorrelation_time

N, REPLICATES = 20_000, 40


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 0.98])
def test_autoregressive_chains(rho):
    """The mean over 40 chains, within 4.9 standard errors (false-alarm rate 1e-6) and 3 % of truncation bias."""
    rng = np.random.default_rng(int(100 * rho))
    chains = lfilter([1.0], [1.0, -rho], rng.standard_normal((REPLICATES, N + 1000)), axis=1)[:, 1000:]
    times = np.array([autocorrelation_time(chain) for chain in chains])
    exact = (1 + rho) / (1 - rho)
    error = times.std(ddof=1) / np.sqrt(REPLICATES)
    assert abs(times.mean() - exact) < 4.9 * error + 0.03 * exact


def test_scale_and_shift_do_not_matter_and_a_constant_has_no_time():
    chain = np.random.default_rng(1).standard_normal(500).cumsum()
    assert autocorrelation_time(1e3 * chain - 7) == pytest.approx(autocorrelation_time(chain))
    assert np.isnan(autocorrelation_time(np.ones(10)))


def test_the_sequence_of_pairs_is_positive_and_falls():
    """Guards against a forgotten cut: Geyer's sum by a loop over lags, where pairs rise again before they end."""
    chain = np.sin(np.arange(56) * np.pi / 4) + 0.1 * np.arange(56)
    away = chain - chain.mean()
    rho = [sum(away[i] * away[i + k] for i in range(56 - k)) / (away @ away) for k in range(56)]
    total, last, rises = -1.0, np.inf, 0
    for k in range(0, 56, 2):
        pair = rho[k] + rho[k + 1]
        if pair <= 0:
            break
        rises += pair > last
        last = min(last, pair)
        total += 2 * last
    assert rises > 0  # or the test would say nothing
    assert autocorrelation_time(chain) == pytest.approx(total, rel=1e-9)
