"""The sticks of a Dirichlet process under q: pi_k = b_k prod_{l<k} (1 - b_l), b_k ~ Beta(u_k, v_k).

Sticks are ordered by size. Every update of u and v [Wang & Blei, section 2.3] is linear, with one rate for all, so
u_k = 1 + size_k and v_k = a + (the sizes after k) hold in any order. So only the sizes are kept, components never move,
and after a change of order u and v are simply computed again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, psi

from bayestopics.base.jit import kernel
from bayestopics.lda.uniforms import uniform


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
        """E[pi] of every component, and of all unseen components together."""
        total = self.u + self.v
        left = np.cumprod(np.concatenate(([1.0], self.v / total)))
        weights = np.empty(len(left) - 1)
        weights[self.order] = self.u / total * left[:-1]
        return weights, float(left[-1])


@dataclass(frozen=True, eq=False)
class ClosedSticks:
    """Sticks of a truncated q: the last takes all that is left. `order` has T components, u and v have T - 1 sticks."""

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
    """The order by size, unless the order `before` gives a higher bound; it can if the concentration is above 1.

    Given the sizes, the bound is sum_k log B(u_k, v_k) up to a constant.
    """
    candidates = [ClosedSticks.of(sizes, concentration), ClosedSticks.of(sizes, concentration, before)]
    return max(candidates, key=lambda sticks: float(np.sum(betaln(sticks.u, sticks.v))))


def _after(ordered: np.ndarray) -> np.ndarray:
    """The sum of the sizes after each; added from the end, so that small sizes are not lost."""
    return np.concatenate((np.cumsum(ordered[:0:-1])[::-1], np.zeros(min(1, len(ordered)))))


# -- draws, for kernels --------------------------------------------------------------------------------


@kernel
def _normal(words: np.ndarray) -> float:
    """A normal variable by Marsaglia's polar method, which uses one of its two numbers."""
    while True:
        x, y = 2.0 * uniform(words) - 1.0, 2.0 * uniform(words) - 1.0
        radius = x * x + y * y
        if 0.0 < radius < 1.0:
            return x * math.sqrt(-2.0 * math.log(radius) / radius)


@kernel
def _gamma_above_one(shape: float, words: np.ndarray) -> float:
    """A gamma variable with a shape of at least 1 (Marsaglia & Tsang 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = _normal(words)
        cube = (1.0 + c * x) ** 3
        if cube > 0.0:
            rest, square = 1.0 - uniform(words), x * x
            squeezed = rest < 1.0 - 0.0331 * square * square  # theirs: implies the next line, without logs
            if squeezed or math.log(rest) < 0.5 * square + d - d * cube + d * math.log(cube):
                return d * cube


@kernel
def draw_log_gamma(shape: float, words: np.ndarray) -> float:
    """The log of a gamma variable; log G(a) = log G(a + 1) + log(U) / a for small shapes."""
    if shape >= 1.0:
        return math.log(_gamma_above_one(shape, words))
    return math.log(_gamma_above_one(shape + 1.0, words)) + math.log(1.0 - uniform(words)) / shape


@kernel
def draw_weights(
    order: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    tables: np.ndarray,
    concentration: float,
    words: np.ndarray,
    weights: np.ndarray,
) -> float:
    """Draw pi given `tables`, that is, s_k more draws of every component; returns the weight left to unseen ones.

    The sticks are Beta(u_k + s_k, v_k + sum_{j>k} s_j), the conjugate conditional. (The exponents printed in S.2.2 of
    Wang & Blei are different.) What they leave is Dirichlet(s, a), with s of the components not yet on the sticks.
    A Beta variable is made from two gammas and never subtracted from 1: with a small v it rounds to 1 and would leave
    nothing.
    """
    old, slots = len(order), len(tables)
    after = 0
    for k in range(slots):
        after += tables[k]
    left = 1.0
    for j in range(old):
        k = order[j]
        after -= tables[k]
        taken, shape = _gamma_above_one(u[j] + tables[k], words), v[j] + after
        passed = _gamma_above_one(shape, words) if shape >= 1.0 else math.exp(draw_log_gamma(shape, words))
        weights[k] = left * (taken / (taken + passed))
        left *= passed / (taken + passed)
    unseen = draw_log_gamma(concentration, words)
    largest = unseen
    for k in range(old, slots):
        weights[k] = draw_log_gamma(float(tables[k]), words) if tables[k] > 0 else -np.inf
        largest = max(largest, weights[k])
    total = math.exp(unseen - largest)
    for k in range(old, slots):
        weights[k] = math.exp(weights[k] - largest)
        total += weights[k]
    for k in range(old, slots):
        weights[k] *= left / total
    return left * math.exp(unseen - largest) / total
