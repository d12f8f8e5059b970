"""What the stochastic mean-field methods at a truncation level share [Wang & Blei, section 3; Wang, Paisley & Blei]."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.special import gammaln, psi

from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric.components import Components
from bayestopics.nonparametric.sticks import ClosedSticks, best_closed_sticks
from bayestopics.nonparametric.stream import Bags, Learner, checked

KAPPA, TAU = 0.6, 1.0  # rho_t = (tau + t)^-kappa [section 3]
START_LENGTH = 100.0  # words per document that the random start stands for, as in the code of Wang, Paisley & Blei


# sums over the documents: kinds x components, the size of each component, and the documents' part of the bound
Ascent = Callable[[ClosedSticks], tuple[np.ndarray, np.ndarray, float]]


class Truncated(Learner):
    """Starts with `truncation` random components; `documents` (n) is the size of the corpus.

    The rate is rho_t = (1 + t)^-0.6, but at least S / n. t is 1 for the first batch: with t = 0 it would wipe out the
    random start. A batch counts n / S times.
    """

    def __init__(
        self, term_count: int, rng: np.random.Generator, eta: float, truncation: int, settings: dict[str, Any]
    ) -> None:
        documents = settings["documents"]
        checked(eta=eta, terms=term_count, documents=documents)
        if truncation < 2:
            raise InputError(f"the truncation must be at least 2, not {truncation}")
        super().__init__(random_components(term_count, eta, truncation, documents, rng), settings, rng)

    def sticks(self) -> ClosedSticks:
        return ClosedSticks.of(self.components.sizes, self.top_concentration())

    def mean_weights(self) -> tuple[np.ndarray, float]:
        return self.sticks().mean_weights(), 0.0

    @abstractmethod
    def _ascent(self, bags: Bags) -> Ascent:
        """The result of one iteration over all documents, given the sticks; see `Ascent`."""

    def fit(
        self,
        corpus: Corpus,
        iterations: int,
        tolerance: float = 1e-6,
        held_out: Corpus | sparse.csr_array | None = None,
    ) -> np.ndarray:
        """Algorithm 1: coordinate ascent; returns the bound after every iteration, which never falls.

        It stops when the bound gains less than `tolerance` nats per document.
        """
        bags = Bags.of(corpus, self.term_count)
        local, sticks, bounds = self._ascent(bags), self.sticks(), np.empty(0)
        for _ in range(iterations):
            kind_sums, sizes, bound = local(sticks)
            bounds = np.append(bounds, bound - component_divergence(self.components) - sticks.divergence())
            self._replace(bags.kinds, kind_sums, sizes)
            sticks = best_closed_sticks(self.components.sizes, self.top_concentration(), sticks.order)
            self.documents_seen += len(bags)
            self.updates += 1
            self._record(held_out)
            if len(bounds) > 1 and bounds[-1] - bounds[-2] < tolerance * len(bags):
                break
        return bounds

    def _step(self, bags: Bags, kind_sums: np.ndarray, sizes: np.ndarray) -> None:
        """The stochastic update [11] from a batch's sums: kinds x components, and the size of each component."""
        scale = self.settings["documents"] / len(bags)
        rate = min(1.0, max((TAU + self.updates) ** -KAPPA, 1.0 / scale))
        components = self.components
        components.fade(rate)
        _add_rows(components.stored, bags.kinds, rate * scale / components.weight, kind_sums)
        components.totals[:] += rate * scale * kind_sums.sum(axis=0)
        components.sizes[:] += rate * scale * sizes

    def _replace(self, kinds: np.ndarray, kind_sums: np.ndarray, sizes: np.ndarray) -> None:
        """The batch update [10]: the sums of the whole corpus replace the old ones."""
        components = self.components
        components.fade(1.0)
        components.stored[kinds] = kind_sums
        components.totals[:] = kind_sums.sum(axis=0)
        components.sizes[:] = sizes


def random_components(
    term_count: int, eta: float, truncation: int, documents: int, rng: np.random.Generator
) -> Components:
    """lambda = eta + Gamma(1, 1) variables, scaled to a corpus of this size; all components are equally large."""
    components = Components(term_count, eta, truncation)
    mean = documents * START_LENGTH / (truncation * term_count)
    components.stored[:] = mean * rng.standard_gamma(1.0, (term_count, truncation))
    components.totals[:] = components.stored.sum(axis=0)
    components.sizes[:] = documents / truncation
    return components


def expected_log_rows(components: Components, kinds: np.ndarray) -> np.ndarray:
    """E[log theta] of these terms: kinds x components."""
    return _expected_logs(components.stored, kinds, components.weight, components.eta, psi(components.row_totals()))


def component_divergence(components: Components) -> float:
    """KL(q(theta) | p(theta)), summed over the components."""
    eta, terms = components.eta, components.term_count
    parameters, totals = components.rows(np.arange(terms)), components.row_totals()
    expected = (parameters - eta) * (psi(parameters) - psi(totals))
    constants = gammaln(totals) - gammaln(terms * eta)
    return float(np.sum(constants) + np.sum(expected - gammaln(parameters) + gammaln(eta)))


# -- digamma ------------------------------------------------------------------------------------------


@kernel
def digamma(x: float) -> float:
    """psi(x), x > 0: psi(x + 6) by its asymptotic series, minus 1 / x + ... + 1 / (x + 5), which is one fraction.

    The terms are taken in pairs, 1 / (x + i) + 1 / (x + 5 - i) = (2 x + 5) / (y + i (5 - i)) with y = x (x + 5).
    """
    y = x * (x + 5.0)
    fraction = (2.0 * x + 5.0) * ((y + 4.0) * (y + 6.0) + y * (2.0 * y + 10.0)) / (y * (y + 4.0) * (y + 6.0))
    x += 6.0
    inverse = 1.0 / x
    square = inverse * inverse
    series = 1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square * (1 / 132))))
    return math.log(x) - 0.5 * inverse - square * series - fraction


@kernel
def _expected_logs(
    stored: np.ndarray, kinds: np.ndarray, weight: float, eta: float, digamma_totals: np.ndarray
) -> np.ndarray:
    result = np.empty((len(kinds), len(digamma_totals)))
    for i in range(len(kinds)):
        row = stored[kinds[i]]
        for k in range(len(digamma_totals)):
            result[i, k] = digamma(weight * row[k] + eta) - digamma_totals[k]
    return result


@kernel
def _add_rows(stored: np.ndarray, kinds: np.ndarray, amount: float, sums: np.ndarray) -> None:
    for i in range(len(kinds)):
        row = stored[kinds[i]]
        for k in range(sums.shape[1]):
            row[k] += amount * sums[i, k]
