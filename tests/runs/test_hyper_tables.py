"""The tables of `hyper`: alpha and eta under their own names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bayestopics.hyper.grid import Grid
from bayestopics.runs import hyper

GRID = Grid((0.1, 0.2), (3.0, 4.0, 5.0))


class Chain:
    """At four points of the grid."""

    grid, index = GRID, np.array([0, 2, 3, 5])

    def __len__(self) -> int:
        return len(self.index)


def test_the_trace_has_alpha_and_eta_of_every_sweep() -> None:
    """Guards sides that are swapped, and sweeps that are not counted from 0."""
    table = hyper._trace(Chain())  # type: ignore[arg-type]
    assert table["sweep"].tolist() == [0, 1, 2, 3]
    assert table["alpha"].tolist() == [0.1, 0.1, 0.2, 0.2]
    assert table["eta"].tolist() == [3.0, 5.0, 3.0, 5.0]


def test_the_surface_has_each_value_at_its_own_h(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a transposed surface, and errors for values: here both say where they are."""

    def surface(chain: Any, alphas: np.ndarray, etas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.add.outer(1000 * alphas, etas), np.subtract.outer(alphas, etas)

    monkeypatch.setattr(hyper, "surface", surface)
    table = hyper._surface(Chain())  # type: ignore[arg-type]
    assert len(table) == hyper.FINE**2
    np.testing.assert_allclose(table["log_m"], 1000 * table["alpha"] + table["eta"])
    np.testing.assert_allclose(table["error"], table["alpha"] - table["eta"])
    assert (table["alpha"].min(), table["alpha"].max()) == pytest.approx((0.1, 0.2))
    assert (table["eta"].min(), table["eta"].max()) == pytest.approx((3.0, 5.0))


def test_chains_are_numbered_and_the_surface_is_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards chains that cannot be told apart."""
    first, second = Chain(), Chain()
    seen: list[Any] = []
    monkeypatch.setattr(hyper, "_surface", lambda chain: seen.append(chain))
    found = hyper.tables_of(SimpleNamespace(chains=[first, second]))  # type: ignore[arg-type]
    assert found["trace"]["chain"].tolist() == [0] * 4 + [1] * 4
    assert seen == [first]


def test_a_path_of_em_counts_its_steps() -> None:
    """Guards alpha for eta."""
    table = hyper._path([[0.5, 0.1], [0.4, 0.2]])
    assert table.to_dict("list") == {"step": [0, 1], "alpha": [0.5, 0.4], "eta": [0.1, 0.2]}
