"""q(theta_k) = Dirichlet(lambda_k) of the components, and their sizes: arrays that grow, shrink and fade.

We keep what the data added to the prior, lambda_kv - eta, as `weight` times a stored array. Fading all of it
[Wang & Blei 11] is then one multiplication, and the cost of an update depends only on its batch.

Only a few of many components have ever had a given term. `present` lists these components for each term, for callers
that must not look at all of them. It is made when it is first needed, and `add_tokens` updates it. The lists are
sorted, so that they are the same after the array was read from a file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayestopics.base.jit import kernel

SMALLEST_WEIGHT = 1e-100  # below it, the weight is multiplied into the array, because additions are divided by it
GROWTH = 1.5


class Present(NamedTuple):
    """The components whose stored number is not 0; for term v they are components[v, : lengths[v]]."""

    lengths: np.ndarray  # int64[V]
    components: np.ndarray  # uint32[V, room]


class Lists(NamedTuple):
    """lambda - eta of some terms, where it is not 0: row r has the entries starts[r] .. ends[r] - 1, in no order.

    Each row has room for one more component per token that is drawn from it; see `place_in_list`.
    """

    starts: np.ndarray  # int64[rows]
    ends: np.ndarray  # int64[rows]
    components: np.ndarray  # int64[room]
    excess: np.ndarray  # float64[room]


class Components:
    """`count` components; `sizes` counts documents (DP mixture) or tables (HDP), `totals` counts tokens."""

    def __init__(self, term_count: int, eta: float, count: int = 0) -> None:
        self.eta = eta
        self.count = count
        self.weight = 1.0
        self._stored = np.zeros((term_count, count))
        self._totals = np.zeros(count)
        self._sizes = np.zeros(count)
        self._present: Present | None = None

    @property
    def term_count(self) -> int:
        return len(self._stored)

    @property
    def stored(self) -> np.ndarray:
        """V x count; this array times `weight` is lambda - eta."""
        return self._stored[:, : self.count]

    @property
    def totals(self) -> np.ndarray:
        return self._totals[: self.count]

    @property
    def sizes(self) -> np.ndarray:
        return self._sizes[: self.count]

    # -- reading ------------------------------------------------------------------------------------

    def rows(self, terms: np.ndarray, room: int = 0) -> np.ndarray:
        """lambda of these terms (rows), followed by `room` further components that have only the prior."""
        rows = np.empty((len(terms), self.count + room))
        _fill_rows(terms, self.stored, self.weight, self.eta, rows)
        return rows

    def present(self) -> Present:
        if self._present is None:
            lengths = np.count_nonzero(self.stored, axis=1)
            self._present = Present(lengths, np.empty((self.term_count, lengths.max(initial=1)), np.uint32))
            _list_present(self.stored, self._present.components)
        return self._present

    def lists(self, terms: np.ndarray, tokens: np.ndarray) -> Lists:
        """lambda - eta of these terms (rows), each row with room for this many tokens."""
        present = self.present()
        starts = np.concatenate(([0], np.cumsum(present.lengths[terms] + tokens)))
        lists = Lists(starts[:-1], starts[:-1].copy(), np.empty(starts[-1], np.int64), np.empty(starts[-1]))
        _fill_lists(terms, *present, self.stored, self.weight, *lists)
        return lists

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
        """lambda <- lambda + rho (eta - lambda), and the same for the sizes [11]."""
        keep = 1.0 - rate
        self.totals[:] *= keep
        self.sizes[:] *= keep
        if keep * self.weight < SMALLEST_WEIGHT:
            self.stored[:] *= keep * self.weight
            self.weight = 1.0
            self._present = None  # some entries may be 0 now
        else:
            self.weight *= keep

    def grow(self, born: int) -> None:
        """Add `born` empty components."""
        needed = self.count + born
        if needed > len(self._sizes):
            room = max(needed, int(GROWTH * len(self._sizes)))
            self._stored = _widened(self._stored, room)
            self._totals, self._sizes = _widened(self._totals, room), _widened(self._sizes, room)
        self._stored[:, self.count : needed] = 0.0
        self._totals[self.count : needed] = 0.0
        self._sizes[self.count : needed] = 0.0
        self.count = needed

    def add_tokens(self, terms: np.ndarray, z: np.ndarray) -> None:
        """Add one token of each term to lambda of its component z; tokens with a negative z are left out."""
        amount, done = 1.0 / self.weight, 0
        while True:
            present = self.present()
            done = _add_tokens(done, terms, z, amount, *present, self.stored, self.totals)
            if done == len(z):
                break
            longer = np.empty((self.term_count, int(GROWTH * present.components.shape[1]) + 1), np.uint32)
            longer[:, : present.components.shape[1]] = present.components
            self._present = Present(present.lengths, longer)

    def keep(self, chosen: np.ndarray) -> None:
        """Keep only the components where `chosen` is true, and shrink the arrays."""
        self._stored = self.stored[:, chosen]
        self._totals, self._sizes = self.totals[chosen], self.sizes[chosen]
        self.count = len(self._sizes)
        self._present = None

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


# -- kernels ------------------------------------------------------------------------------------------


@kernel
def _fill_rows(terms: np.ndarray, stored: np.ndarray, weight: float, eta: float, rows: np.ndarray) -> None:
    count = stored.shape[1]
    for r in range(len(terms)):
        for k in range(count):
            rows[r, k] = eta + weight * stored[terms[r], k]
        rows[r, count:] = eta


@kernel
def _list_present(stored: np.ndarray, components: np.ndarray) -> None:
    for v in range(len(stored)):
        length = 0
        for k in range(stored.shape[1]):
            if stored[v, k] != 0.0:
                components[v, length] = k
                length += 1


@kernel
def _fill_lists(
    terms: np.ndarray,
    lengths: np.ndarray,
    present: np.ndarray,
    stored: np.ndarray,
    weight: float,
    starts: np.ndarray,
    ends: np.ndarray,
    components: np.ndarray,
    excess: np.ndarray,
) -> None:
    for r in range(len(terms)):
        v = terms[r]
        for j in range(lengths[v]):
            components[starts[r] + j] = present[v, j]
            excess[starts[r] + j] = weight * stored[v, present[v, j]]
        ends[r] = starts[r] + lengths[v]


@kernel
def _add_tokens(
    start: int,
    terms: np.ndarray,
    z: np.ndarray,
    amount: float,
    lengths: np.ndarray,
    present: np.ndarray,
    stored: np.ndarray,
    totals: np.ndarray,
) -> int:
    """Add the tokens from `start` on; returns the first that was not added because a list had no room."""
    for i in range(start, len(z)):
        v, k = terms[i], z[i]
        if k < 0:
            continue
        if stored[v, k] == 0.0:
            if lengths[v] == present.shape[1]:
                return i
            j = lengths[v]
            while j > 0 and present[v, j - 1] > k:
                present[v, j] = present[v, j - 1]
                j -= 1
            present[v, j] = k
            lengths[v] += 1
        stored[v, k] += amount
        totals[k] += 1.0
    return len(z)


@kernel
def place_in_list(r: int, k: int, lists: Lists) -> int:
    """The entry of component k in row r. A component without one gets an entry of 0; entries never move."""
    starts, ends, components, excess = lists
    free = ends[r]
    for j in range(starts[r], ends[r]):
        if components[j] == k:
            return j
        if excess[j] == 0.0:
            free = j
    if free == ends[r]:
        ends[r] += 1
    components[free], excess[free] = k, 0.0
    return free
