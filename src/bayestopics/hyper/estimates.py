"""Estimates from a tempered chain at any h: the marginal likelihood, posterior expectations, and their errors.

[George & Doss, sections 2.2 and 2.3.] The estimates are averages over the sweeps i of the chain. A term of such an
average is nu_h(x_i) divided by the mixture ("hat") or by nu_{L_i}(x_i) / zeta_{L_i} ("tilde"); all terms are kept as
logs. On a grid of one point both are B_n(h) (2.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
from scipy.special import logsumexp

from bayestopics.errors import mcse
from bayestopics.errors.batch_means import Method
from bayestopics.hyper.tempering import TemperedChain, log_mixture

KINDS = ("hat", "tilde")
ALL = slice(None)


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of the averages over a chain: the denominators, which do not depend on h, and the chain itself."""

    chain: TemperedChain
    log_denominator: np.ndarray  # float64[n]

    @classmethod
    def of(cls, chain: TemperedChain, kind: str = "hat") -> Terms:
        """The denominator is the mixture in (2.10), and the density at the chain's grid point in (2.17)."""
        if kind == "hat":
            return cls(chain, log_mixture(chain))
        row, column = np.divmod(chain.index, len(chain.grid.etas))
        alphas, etas = chain.alpha.basis(np.array(chain.grid.alphas)), chain.eta.basis(np.array(chain.grid.etas))
        of_alpha = alphas[0][row] + np.einsum("nk,kn->n", chain.of_alpha, alphas[1][:, row])
        of_eta = etas[0][column] + np.einsum("nk,kn->n", chain.of_eta, etas[1][:, column])
        return cls(chain, of_alpha + of_eta - chain.log_zeta[chain.index])

    def at(self, alpha: float, eta: float, part: slice = ALL) -> np.ndarray:
        """The logs of the terms at h, one per sweep."""
        return self.of_alpha(alpha, part=part) + self.of_eta(eta, part=part) - self.log_denominator[part]

    def of_alpha(self, alpha: float, derivative: int = 0, part: slice = ALL) -> np.ndarray:
        """What alpha adds to the log density of every sweep, or its derivatives with respect to log alpha."""
        constant, weights = self.chain.alpha.basis(np.array([alpha]), derivative)
        return constant + np.einsum("nk,k->n", self.chain.of_alpha[part], weights[:, 0])

    def of_eta(self, eta: float, derivative: int = 0, part: slice = ALL) -> np.ndarray:
        constant, weights = self.chain.eta.basis(np.array([eta]), derivative)
        return constant + np.einsum("nk,k->n", self.chain.of_eta[part], weights[:, 0])

    def log_mean(self, alpha: float, eta: float, part: slice = ALL) -> float:
        """log M(h), up to a constant."""
        logs = self.at(alpha, eta, part)
        return float(logsumexp(logs) - np.log(len(logs)))

    def batches(self, count: int | None = None) -> list[slice]:
        """J = sqrt(n) batches of equal length, or `count` of them; the first sweeps are left out if they do not fit."""
        n = len(self.chain)
        count = isqrt(n) if count is None else count
        length = n // count
        first = n - count * length
        return [slice(first + k * length, first + (k + 1) * length) for k in range(count)]


def surface(
    chain: TemperedChain, alphas: np.ndarray, etas: np.ndarray, kind: str = "hat", method: Method = "batch-means"
) -> tuple[np.ndarray, np.ndarray]:
    """(log M minus its largest value, relative standard error of M), each alphas x etas."""
    terms = Terms.of(chain, kind)
    values, errors = np.empty((len(alphas), len(etas))), np.empty((len(alphas), len(etas)))
    of_etas = [terms.of_eta(eta) - terms.log_denominator for eta in etas]
    for i, alpha in enumerate(alphas):
        of_alpha = terms.of_alpha(alpha)
        for j, of_eta in enumerate(of_etas):
            logs = of_alpha + of_eta
            largest = logs.max()
            weights = np.exp(logs - largest)
            mean = weights.mean()
            values[i, j] = largest + np.log(mean)
            errors[i, j] = mcse(weights, method) / mean
    return values - values.max(), errors


def expectation(chain: TemperedChain, points: np.ndarray, functional: int = 0, kind: str = "hat") -> np.ndarray:
    """I-hat (2.14) or I-tilde of a functional at each h."""
    terms, values = Terms.of(chain, kind), chain.functionals[:, functional]
    return np.array([_weighted(terms.at(h[0], h[1])[None], values[None])[0] for h in points])


def bands(
    chain: TemperedChain, points: np.ndarray, functional: int = 0, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(lower, I-hat, upper): a band that covers the whole function with this probability [section 2.3]."""
    terms, values = Terms.of(chain), chain.functionals[:, functional]
    batches = terms.batches()
    shape = (len(batches), batches[0].stop - batches[0].start)
    batched = values[batches[0].start :].reshape(shape)
    whole, furthest = np.empty(len(points)), np.zeros(len(batches))
    for i, h in enumerate(points):
        logs = terms.at(h[0], h[1])
        whole[i] = _weighted(logs[None], values[None])[0]
        of_batches = _weighted(logs[batches[0].start :].reshape(shape), batched)
        np.maximum(furthest, np.abs(of_batches - whole[i]), out=furthest)
    quantile = np.sort(furthest)[max(0, int(np.ceil(level * len(furthest))) - 1)]  # S_[.95 J]
    half = quantile * np.sqrt(shape[1] / len(chain))
    return whole - half, whole, whole + half


def _weighted(logs: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Means of the values, weighted by exp(logs), along the last axis."""
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray((weights * values).sum(axis=1) / weights.sum(axis=1))
