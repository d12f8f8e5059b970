"""Algorithm 2, stochastic and batch: rates, births and deaths of both truncation-free methods [Wang & Blei]."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sparse

from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric import FIRST_PASSES
from bayestopics.nonparametric.components import Components
from bayestopics.nonparametric.sticks import Sticks
from bayestopics.nonparametric.stream import Bags, Learner

PRUNE_EVERY = 20_000  # documents [section 3]
LARGEST_LOG10 = 290.0  # for a product of doubles


class TruncationFree(Learner):
    """Starts without components. They are born by sampling and die when they hold less than one document or token.

    From the second pass on, the rate is S / n: the old fades by this share, and the batch is added as it is, because
    it counts n / S times. The first pass, over `documents` (n) or without end if that is not given, is either
    - "sequential": nothing fades, so that after the pass all documents have the same weight; or
    - "fading": the rate is S / n_t and the batch counts n_t / S times, with n_t documents seen. Document i then has
      about the weight i / n after the pass: half of the data are forgotten.
    """

    def __init__(self, components: Components, settings: dict[str, Any], rng: np.random.Generator) -> None:
        if settings["first_pass"] not in FIRST_PASSES:
            raise InputError(f"unknown first_pass {settings['first_pass']!r}; known are {', '.join(FIRST_PASSES)}")
        super().__init__(components, settings, rng)

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
        self._learn(bags, self._draw(self.components, bags))

    def _learn(self, bags: Bags, drawn: Any) -> None:
        self.components.fade(self._rate(len(bags)))
        self._add(self.components, bags, drawn)
        if self._passes(PRUNE_EVERY, len(bags)):
            self.components.keep(self._alive())

    def _passes(self, every: int, batch: int) -> bool:
        """Whether the number of documents seen passes a multiple of `every` with this batch."""
        return self.documents_seen // every > (self.documents_seen - batch) // every

    def _in_first_pass(self, batch: int) -> bool:
        """Whether the first of the last `batch` documents belonged to it."""
        documents = self.settings["documents"]
        return documents is None or self.documents_seen - batch < documents

    def _rate(self, batch: int) -> float:
        documents = self.settings["documents"]
        if self.settings["first_pass"] == "sequential" and self._in_first_pass(batch):
            return 0.0
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
