"""The density of the hidden part of the model as a function of h = (alpha, eta), with one "side" for each of the two.

The log density is the sum of a function of alpha and a function of eta. Each is linear in a few numbers that summarise
a draw, called its row. The chain stores the rows; any estimate at any h needs nothing else.

- psi = (theta, beta, z), as in the paper: log nu_h(psi) depends on psi only through the sum of log theta and the sum of
  log beta [George & Doss 2.2]; the other terms do not depend on h.
- z alone, with theta and beta integrated out: log p(w, z | h) depends on the counts. As a function of log alpha it is
  as smooth as log-gamma, so a few Chebyshev coefficients give it to nearly full precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import digamma, gammaln, polygamma

from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.parameters import Parameters
from bayestopics.lda.state import State

DIGITS = 14  # an interpolated value has at least this many correct digits


class Side(Protocol):
    """log density = constant(x) + row @ weights(x)."""

    @property
    def length(self) -> int:
        """The length of a row."""

    def basis(self, x: np.ndarray, derivative: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """(constants[p], weights[length, p]) at p values of x, or their first or second derivatives with respect to
        log x."""


@dataclass(frozen=True)
class DirichletSide:
    """`number` vectors of `parts` parts, each Dirichlet(x, ..., x); a row is the sum of the logs of all parts."""

    number: int
    parts: int
    length: int = 1

    def basis(self, x: np.ndarray, derivative: int = 0) -> tuple[np.ndarray, np.ndarray]:
        n, k = self.number, self.parts
        slope = n * k * (digamma(k * x) - digamma(x))
        if derivative == 0:
            return n * (gammaln(k * x) - k * gammaln(x)), (x - 1)[None]
        if derivative == 1:
            return slope * x, x[None]
        bend = n * k * (k * polygamma(1, k * x) - polygamma(1, x))
        return bend * x**2 + slope * x, x[None]

    def slope(self, x: float, sum_of_logs: float) -> float:
        """The derivative of the log density with respect to log x."""
        constants, weights = self.basis(np.array([x]), 1)
        return float(constants[0] + sum_of_logs * weights[0, 0])


@dataclass(eq=False)
class UrnSide:
    """Draws from urns of `parts` colours with x balls of each: a sum of log Dirichlet-multinomial densities.

    A row is the Chebyshev series of this sum, as a function of log x between two ends.
    """

    parts: int
    ends: tuple[float, float]

    @cached_property
    def middle(self) -> float:
        return float(np.log(self.ends[0] * self.ends[1])) / 2

    @cached_property
    def half(self) -> float:
        return float(np.log(self.ends[1] / self.ends[0])) / 2

    @cached_property
    def length(self) -> int:
        # the nearest singularities of log-gamma(exp(u)) have the imaginary part pi, which decides by which factor the
        # series falls from term to term
        height = np.pi / max(self.half, 1e-3)
        return int(np.ceil(DIGITS * np.log(10) / np.log(height + np.sqrt(height**2 + 1)))) + 1

    @cached_property
    def x(self) -> np.ndarray:
        """The nodes."""
        return np.exp(self.middle + self.half * chebyshev.chebpts1(self.length))

    @cached_property
    def _to_series(self) -> np.ndarray:
        return np.linalg.inv(chebyshev.chebvander(chebyshev.chebpts1(self.length), self.length - 1)).T

    @cached_property
    def _derivatives(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The series of the polynomials and of their first and second derivatives, one row per polynomial."""
        slopes = np.zeros((self.length, self.length))
        slopes[:, :-1] = chebyshev.chebder(np.eye(self.length)).T / self.half
        return np.eye(self.length), slopes, slopes @ slopes

    @cached_property
    def _urns(self) -> np.ndarray:
        """The series of lG(c + x) - lG(x), one column for each c = 0, 1, ...; `of_counts` adds columns as needed."""
        return np.zeros((self.length, 1))

    def of_counts(self, counts: np.ndarray) -> np.ndarray:
        """What the counts of all colours in all urns, in any order, add to the row."""
        how_often = np.bincount(counts.ravel())
        if len(how_often) > self._urns.shape[1]:
            c = np.arange(2 * len(how_often))[:, None]
            self._urns = np.ascontiguousarray(self._series(gammaln(c + self.x) - gammaln(self.x)).T)
        # einsum, not `@`: the bits of a BLAS product depend on its number of threads
        return np.einsum("kc,c->k", self._urns[:, : len(how_often)], how_often)

    def of_totals(self, totals: np.ndarray) -> np.ndarray:
        """What the totals of the urns add to the row."""
        each = gammaln(self.parts * self.x) - gammaln(totals[:, None] + self.parts * self.x)
        return self._series(each.sum(axis=0)[None])[0]

    def _series(self, values: np.ndarray) -> np.ndarray:
        """The series of functions with these values at the nodes `x`, one row per function."""
        return np.einsum("nk,kc->nc", values, self._to_series)

    def basis(self, x: np.ndarray, derivative: int = 0) -> tuple[np.ndarray, np.ndarray]:
        u = (np.log(x) - self.middle) / self.half
        if np.any(np.abs(u) > 1 + 1e-9):
            raise ValueError(f"the series holds only between {self.ends[0]:g} and {self.ends[1]:g}")
        polynomials = np.cos(np.arange(self.length)[:, None] * np.arccos(np.clip(u, -1, 1)))
        return np.zeros(len(x)), self._derivatives[derivative] @ polynomials


@dataclass(frozen=True)
class Sides:
    """The sides of alpha and eta, and a function that makes their rows from a draw."""

    alpha: Side
    eta: Side
    rows: Callable[[State, Parameters | None], tuple[np.ndarray, np.ndarray]]


def of_parameters(corpus: Corpus, topics: int) -> Sides:
    """psi = (theta, beta, z): rows are A = sum log theta and B = sum log beta."""

    def rows(state: State, parameters: Parameters | None) -> tuple[np.ndarray, np.ndarray]:
        assert parameters is not None
        return np.array([parameters.log_theta.sum()]), np.array([parameters.log_beta.sum()])

    return Sides(DirichletSide(corpus.document_count, topics), DirichletSide(topics, corpus.term_count), rows)


def of_assignments(corpus: Corpus, topics: int, alphas: tuple[float, float], etas: tuple[float, float]) -> Sides:
    """z alone, for alpha and eta between these ends."""
    alpha, eta = UrnSide(topics, alphas), UrnSide(corpus.term_count, etas)
    documents = alpha.of_totals(corpus.document_lengths)  # the same in every draw

    def rows(state: State, parameters: Parameters | None) -> tuple[np.ndarray, np.ndarray]:
        of_eta = eta.of_counts(state.term_topic) + eta.of_totals(state.topic_total)
        return alpha.of_counts(state.document_topic) + documents, of_eta

    return Sides(alpha, eta, rows)
