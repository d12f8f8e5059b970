"""A rectangular grid of h = (alpha, eta), and the neighbours of its points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayestopics.base.problems import InputError


@dataclass(frozen=True)
class Grid:
    """Point number j is (alphas[j // len(etas)], etas[j % len(etas)]). A grid of one point gives a plain chain."""

    alphas: tuple[float, ...]
    etas: tuple[float, ...]

    def __post_init__(self) -> None:
        for name, values in (("alpha", self.alphas), ("eta", self.etas)):
            if not values or min(values) <= 0 or list(values) != sorted(set(values)):
                raise InputError(f"{name} on a grid must be positive and rising, not {values}")

    @classmethod
    def spanning(cls, alphas: tuple[float, float], etas: tuple[float, float], shape: tuple[int, int]) -> Grid:
        """A grid with shape[0] alphas and shape[1] etas between two ends each, evenly spaced in their logs."""
        sides = [np.geomspace(*ends, count).tolist() for ends, count in ((alphas, shape[0]), (etas, shape[1]))]
        return cls(tuple(sides[0]), tuple(sides[1]))

    def __len__(self) -> int:
        return len(self.alphas) * len(self.etas)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.alphas), len(self.etas)

    @property
    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The first and the last alpha and eta: the hull of the points."""
        return (self.alphas[0], self.alphas[-1]), (self.etas[0], self.etas[-1])

    @property
    def points(self) -> np.ndarray:
        """float64[J, 2]: alpha and eta."""
        return np.array([(alpha, eta) for alpha in self.alphas for eta in self.etas])

    def neighbours(self, number: int) -> np.ndarray:
        """The points around a point: 8 in the interior, 5 at a side, 3 in a corner."""
        row, column = divmod(number, len(self.etas))
        rows = range(max(row - 1, 0), min(row + 2, len(self.alphas)))
        columns = range(max(column - 1, 0), min(column + 2, len(self.etas)))
        found = [r * len(self.etas) + c for r in rows for c in columns]
        return np.array([j for j in found if j != number])
