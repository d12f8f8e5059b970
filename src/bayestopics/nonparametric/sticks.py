"""The sticks of a Dirichlet process under q: pi_k = b_k prod_{l<k} (1 - b_l), b_k ~ Beta(u_k, v_k).

Sticks are ordered by size. Every update of u and v [Wang & Blei, section 2.3] is linear, with one rate for all, so
u_k = 1 + size_k and v_k = a + (the sizes after k) hold in any order: only sizes are kept, components never move, and
after a change of order u and v are simply computed anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, psi

from bayestopics.lda.parameters import log_gamma_draws


@dataclass(frozen=True, eq=False)
class Sticks:
    """`order` lists the components, largest first; u and v are in that order."""

    order: np.ndarray  # int64[K]
    u: np.ndarray  # float64[K]
    v: np.ndarray  # float64[K]

    @classmethod
    def of(cls, sizes: np.ndarray, concentration: float) -> Sticks:
        order = np.argsort(-sizes, kind="stable")
        return cls(order, 1.0 + sizes[order], concentration + _after(sizes[order]))

    def mean_weights(self) -> tuple[np.ndarray, float]:
        """E[pi] of every component, and of all that are still unseen."""
        total = self.u + self.v
        left = np.cumprod(np.concatenate(([1.0], self.v / total)))
        return self._by_component(self.u / total * left[:-1]), float(left[-1])

    def draw(self, counts: np.ndarray, beyond: float, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        """pi given `counts` more draws of each component and `beyond` of unseen ones, and what it leaves to those.

        The conditional is Beta(u_k + s_k, v_k + sum_{j>k} s_j). Two gammas a stick: with a small v a Beta variable
        would round to 1, and leave nothing.
        """
        ordered = counts[self.order].astype(np.float64)
        log_taken = log_gamma_draws(self.u + ordered, rng)
        log_passed = log_gamma_draws(self.v + _after(ordered) + beyond, rng)
        log_both = np.logaddexp(log_taken, log_passed)
        log_left = np.concatenate(([0.0], np.cumsum(log_passed - log_both)))
        return self._by_component(np.exp(log_taken - log_both + log_left[:-1])), float(np.exp(log_left[-1]))

    def _by_component(self, ordered: np.ndarray) -> np.ndarray:
        values = np.empty(len(ordered))
        values[self.order] = ordered
        return values


@dataclass(frozen=True, eq=False)
class ClosedSticks:
    """Of a truncated q: the last stick takes all that is left. `order` is of T components, u and v of T - 1 sticks."""

    order: np.ndarray
    u: np.ndarray
    v: np.ndarray
    concentration: float

    @classmethod
    def of(cls, sizes: np.ndarray, concentration: float, order: np.ndarray | None = None) -> ClosedSticks:
        order = np.argsort(-sizes, kind="stable") if order is None else order
        u, v = 1.0 + sizes[order], concentration + _after(sizes[order])
        return cls(order, u[:-1], v[:-1], concentration)

    def expected_logs(self) -> np.ndarray:
        """E[log pi] of every component."""
        digamma_total = psi(self.u + self.v)
        taken = np.append(psi(self.u) - digamma_total, 0.0)
        left = np.concatenate(([0.0], np.cumsum(psi(self.v) - digamma_total)))
        values = np.empty(len(self.order))
        values[self.order] = taken + left
        return values

    def mean_weights(self) -> np.ndarray:
        total = self.u + self.v
        left = np.cumprod(np.concatenate(([1.0], self.v / total)))
        values = np.empty(len(self.order))
        values[self.order] = np.append(self.u / total, 1.0) * left
        return values

    def divergence(self) -> float:
        """KL(q(b) | p(b)), summed over the sticks."""
        return float(np.sum(beta_divergence(self.u, self.v, self.concentration)))


def beta_divergence(u: np.ndarray, v: np.ndarray, concentration: float) -> np.ndarray:
    """KL(Beta(u, v) | Beta(1, concentration))."""
    digamma_total = psi(u + v)
    expected = (u - 1.0) * (psi(u) - digamma_total) + (v - concentration) * (psi(v) - digamma_total)
    return betaln(1.0, concentration) - betaln(u, v) + expected


def best_closed_sticks(sizes: np.ndarray, concentration: float, before: np.ndarray) -> ClosedSticks:
    """By size, unless the order `before` gives the higher bound: possible where the concentration is above 1.

    The bound given the sizes is, but for a constant, sum_k log B(u_k, v_k).
    """
    candidates = [ClosedSticks.of(sizes, concentration), ClosedSticks.of(sizes, concentration, before)]
    return max(candidates, key=lambda sticks: float(np.sum(betaln(sticks.u, sticks.v))))


def _after(ordered: np.ndarray) -> np.ndarray:
    """The sum of what comes after each; added from the end, so that small sizes are not lost."""
    return np.concatenate((np.cumsum(ordered[:0:-1])[::-1], np.zeros(min(1, len(ordered)))))
