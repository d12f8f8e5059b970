"""q(theta_k) = Dirichlet(lambda_k) of the components, and their sizes: arrays that grow, shrink and fade.

What the data added to the prior is kept, lambda_kv - eta, as `weight` times a stored array: then fading all of it
[Wang & Blei 11] is one multiplication, and an update costs what its batch costs.
"""

from __future__ import annotations

import numpy as np

SMALLEST_WEIGHT = 1e-100  # then it is multiplied into the array: what is added is divided by it
GROWTH = 1.5


class Components:
    """`count` components; `sizes` are documents (DP mixture) or tables (HDP), `totals` are tokens."""

    def __init__(self, term_count: int, eta: float, count: int = 0) -> None:
        self.eta = eta
        self.count = count
        self.weight = 1.0
        self._stored = np.zeros((term_count, count))
        self._totals = np.zeros(count)
        self._sizes = np.zeros(count)

    @property
    def term_count(self) -> int:
        return len(self._stored)

    @property
    def stored(self) -> np.ndarray:
        """V x count; times `weight` it is lambda - eta."""
        return self._stored[:, : self.count]

    @property
    def totals(self) -> np.ndarray:
        return self._totals[: self.count]

    @property
    def sizes(self) -> np.ndarray:
        return self._sizes[: self.count]

    # -- reading ------------------------------------------------------------------------------------

    def rows(self, terms: np.ndarray, room: int = 0) -> np.ndarray:
        """lambda of these terms (rows), with `room` more components that have only the prior."""
        rows = np.full((len(terms), self.count + room), self.eta)
        rows[:, : self.count] += self.weight * self._stored[terms, : self.count]
        return rows

    def row_totals(self, room: int = 0) -> np.ndarray:
        """sum_v lambda_kv."""
        totals = np.full(self.count + room, self.term_count * self.eta)
        totals[: self.count] += self.totals
        return totals

    def means(self) -> np.ndarray:
        """E[theta]: V x count, columns sum to one."""
        return (self.weight * self.stored + self.eta) / self.row_totals()

    # -- changing -----------------------------------------------------------------------------------

    def fade(self, rate: float) -> None:
        """lambda <- lambda + rho (eta - lambda), and the sizes with it [11]."""
        keep = 1.0 - rate
        self.totals[:] *= keep
        self.sizes[:] *= keep
        if keep * self.weight < SMALLEST_WEIGHT:
            self.stored[:] *= keep * self.weight
            self.weight = 1.0
        else:
            self.weight *= keep

    def grow(self, born: int) -> None:
        """`born` more components, empty."""
        needed = self.count + born
        if needed > len(self._sizes):
            room = max(needed, int(GROWTH * len(self._sizes)))
            self._stored = _widened(self._stored, room)
            self._totals, self._sizes = _widened(self._totals, room), _widened(self._sizes, room)
        self._stored[:, self.count : needed] = 0.0
        self._totals[self.count : needed] = 0.0
        self._sizes[self.count : needed] = 0.0
        self.count = needed

    def keep(self, chosen: np.ndarray) -> None:
        """Only the components where `chosen` is true; the arrays shrink with them."""
        self._stored = self.stored[:, chosen]
        self._totals, self._sizes = self.totals[chosen], self.sizes[chosen]
        self.count = len(self._sizes)

    # -- saving -------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "stored": self.stored,
            "totals": self.totals,
            "sizes": self.sizes,
            "weight": np.array(self.weight),
            "eta": np.array(self.eta),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Components:
        components = cls(len(arrays["stored"]), float(arrays["eta"]))
        components._stored = np.array(arrays["stored"], order="C")
        components._totals, components._sizes = arrays["totals"].copy(), arrays["sizes"].copy()
        components.weight, components.count = float(arrays["weight"]), len(components._sizes)
        return components


def _widened(array: np.ndarray, room: int) -> np.ndarray:
    widened = np.zeros((*array.shape[:-1], room))
    widened[..., : array.shape[-1]] = array
    return widened
