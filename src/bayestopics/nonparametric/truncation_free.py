"""Algorithm 2, stochastic and batch: rates, births and deaths of both truncation-free methods [Wang & Blei]."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sparse

from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric.components import Components
from bayestopics.nonparametric.sticks import Sticks
from bayestopics.nonparametric.stream import Bags, Learner

PRUNE_EVERY = 20_000  # documents [section 3]
LARGEST_LOG10 = 290.0  # for a product of doubles


class TruncationFree(Learner):
    """Starts without components. They are born by sampling and die when they hold less than one document or token.

    The rate is S / n_t, and the batch counts n_t / S times. Here n_t is the number of documents seen, at most
    `documents` (n) if that is given. The product of both is 1: the old fades by S / n_t, and the new is added as it is.
    With n / S instead of n_t / S, the first batches would have all the weight. From the second pass on, the rate is at
    its floor, S / n.
    """

    @abstractmethod
    def _draw(self, components: Components, bags: Bags) -> Any:
        """Draw the local variables of a batch from q(z) of [6]."""

    @abstractmethod
    def _add(self, components: Components, bags: Bags, drawn: Any, first: int = 0) -> None:
        """Add what was drawn to the sums of the components from `first` on; components that do not exist are born."""

    @abstractmethod
    def _alive(self) -> np.ndarray:
        """bool[count]: which components hold at least one document or token."""

    def mean_weights(self) -> tuple[np.ndarray, float]:
        return Sticks.of(self.components.sizes, self.top_concentration()).mean_weights()

    def used_components(self) -> int:
        return int(np.count_nonzero(self._alive()))

    def _update(self, bags: Bags) -> None:
        drawn = self._draw(self.components, bags)
        self.components.fade(self._rate(len(bags)))
        self._add(self.components, bags, drawn)
        if self.documents_seen // PRUNE_EVERY > (self.documents_seen - len(bags)) // PRUNE_EVERY:
            self.components.keep(self._alive())

    def _rate(self, batch: int) -> float:
        documents = self.settings["documents"]
        seen = self.documents_seen if documents is None else min(self.documents_seen, documents)
        return min(1.0, batch / seen)

    def fit(self, corpus: Corpus, iterations: int, held_out: Corpus | sparse.csr_array | None = None) -> None:
        """Algorithm 2 on a corpus that fits in memory.

        q does not change while documents are drawn one by one, and is then computed anew from all of them [10]. The
        exception are components born in the same iteration, which grow at once; else every document would have its own.
        """
        bags = Bags.of(corpus, self.term_count)
        for _ in range(iterations):
            self.documents_seen += len(bags)
            frozen, old = self.components, self.components.count
            fresh = Components(self.term_count, frozen.eta, old)
            for d in range(len(bags)):
                document = bags.document(d)
                drawn = self._draw(frozen, document)
                self._add(fresh, document, drawn)
                self._add(frozen, document, drawn, old)
            self.components = fresh
            self.components.keep(self._alive())
            self.updates += 1
            self._record(held_out)


def without_gaps(z: np.ndarray, old: int) -> np.ndarray:
    """z with the numbers from `old` on renumbered, so that those in use are consecutive."""
    born = np.unique(z[z >= old])
    numbers = np.arange(max(old, int(z.max(initial=-1)) + 1))
    numbers[born] = old + np.arange(len(born))
    return numbers[z]


def factors_of_a_product(smallest: float, largest: float) -> int:
    """How many numbers between smallest and largest can be multiplied without leaving the range of a double."""
    return max(1, int(LARGEST_LOG10 / max(abs(math.log10(smallest)), math.log10(max(largest, 10.0)))))
