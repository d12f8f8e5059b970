"""R-hat and effective sample sizes: the numbers of ArviZ."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bayestopics.errors.convergence import bulk_effective_sample_size, rhat

with warnings.catch_warnings():  # ArviZ announces its next major version at every import
    warnings.simplefilter("ignore", FutureWarning)
    import arviz


def chains(count: int, draws: int, memory: float, apart: float, whole: bool) -> np.ndarray:
    """Autoregressive chains, some of them with other means, perhaps with many equal values."""
    rng = np.random.default_rng([count, draws])
    made = np.zeros((count, draws))
    for step in range(1, draws):
        made[:, step] = memory * made[:, step - 1] + rng.normal(size=count)
    made += apart * np.arange(count)[:, None]
    return np.round(made) if whole else made


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("apart", [0.0, 2.0])
@pytest.mark.parametrize("memory", [-0.9, 0.0, 0.5, 0.99])
@pytest.mark.parametrize(("count", "draws"), [(1, 100), (2, 4), (2, 9), (3, 50), (4, 201), (4, 1000)])
def test_they_are_those_of_arviz(count: int, draws: int, memory: float, apart: float, whole: bool) -> None:
    made = chains(count, draws, memory, apart, whole)
    assert bulk_effective_sample_size(made) == pytest.approx(arviz.ess(made), rel=1e-9)
    if count > 1:
        assert rhat(made) == pytest.approx(arviz.rhat(made), rel=1e-9)
        assert rhat(made, ranks=False) == pytest.approx(arviz.rhat(made, method="split"), rel=1e-9)
