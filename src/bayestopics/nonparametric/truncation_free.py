"""Rates, births and deaths of the truncation-free methods [Wang & Blei, sections 2.3 and 3]."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from bayestopics.nonparametric.sticks import Sticks
from bayestopics.nonparametric.stream import Learner

PRUNE_EVERY = 20_000  # documents [section 3]


class TruncationFree(Learner):
    """Starts without components; they are born by sampling, and die when they hold less than one document or token.

    The rate is S / n_t and the batch counts n_t / S times, n_t being the documents seen, at most `documents` (n) if
    that is given. The product is 1: the old fades by S / n_t, the new is added as it is. With n / S instead of n_t / S
    the first batches would have all the weight. From the second pass on the rate is at its floor, S / n.
    """

    @property
    def concentration(self) -> float:
        return float(self.settings["concentration"])

    def sticks(self) -> Sticks:
        return Sticks.of(self.components.sizes, self.concentration)

    def mean_weights(self) -> tuple[np.ndarray, float]:
        return self.sticks().mean_weights()

    def used_components(self) -> int:
        return int(np.count_nonzero(self._alive()))

    @abstractmethod
    def _alive(self) -> np.ndarray:
        """bool[count]: which components hold at least one document or token."""

    def _rate(self, batch: int) -> float:
        documents = self.settings["documents"]
        seen = self.documents_seen if documents is None else min(self.documents_seen, documents)
        return min(1.0, batch / seen)

    def _bury_the_dead(self, batch: int) -> None:
        if self.documents_seen // PRUNE_EVERY > (self.documents_seen - batch) // PRUNE_EVERY:
            self.components.keep(self._alive())
