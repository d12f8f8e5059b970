"""Estimates from a tempered chain at any h: the marginal likelihood, posterior expectations, and their errors.

[George & Doss, sections 2.2 and 2.3.] The estimates are averages over the sweeps i of the chain. A term of such an
average is nu_h(x_i) divided by the mixture ("hat") or by nu_{L_i}(x_i) / zeta_{L_i} ("tilde"); all terms are kept as
logs. On a grid of one point both are B_n(h) (2.1). Such averages have a finite variance only where (2.3) holds; see
`needs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
from scipy.special import logsumexp

from bayestopics.base.problems import InputError
from bayestopics.errors import mcse
from bayestopics.errors.batch_means import Method
from bayestopics.errors.pooled import batches_each, into_batches, pooled
from bayestopics.hyper.sides import DirichletSide
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
        """The logs of the terms at h, one per sweep. Refuses an h where no estimate has a finite variance (2.3)."""
        low = needs(self.chain)
        if alpha <= low[0] or eta <= low[1]:
            raise InputError(
                f"an estimate at (alpha, eta) = ({alpha:g}, {eta:g}) has no finite variance: with this grid, alpha "
                f"must be above {low[0]:g} and eta above {low[1]:g}; take a grid that begins lower"
            )
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


def needs(chain: TemperedChain, kind: str = "hat") -> tuple[float, float]:
    """What alpha and eta have to exceed, so that the terms have a finite variance: half the value at which the draws
    were made [2.3, remark 3]. The mixture ("hat") has a finite variance if one of its points gives one, so its lowest
    point counts; "tilde" needs it at every point where the chain may be. z alone has finitely many values: no limit.
    """
    if not isinstance(chain.alpha, DirichletSide):
        return 0.0, 0.0
    which = 0 if kind == "hat" else -1
    return chain.grid.alphas[which] / 2, chain.grid.etas[which] / 2


def finite_variance(chain: TemperedChain, h: np.ndarray, kind: str = "hat") -> bool:
    """Whether M-hat, or M-tilde, has a finite variance at h."""
    return bool(np.all(h > np.array(needs(chain, kind))))


def surface(
    chain: TemperedChain,
    alphas: np.ndarray,
    etas: np.ndarray,
    kind: str = "hat",
    method: Method = "batch-means",
    chains: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(log M minus its largest value, relative standard error of M), each alphas x etas. If the chain is joined from
    `chains` independent ones, the error is from their long batches, and `method` does not matter."""
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
            errors[i, j] = (mcse(weights, method) if chains is None else _pooled_error(weights, chains)) / mean
    return values - values.max(), errors


def _pooled_error(weights: np.ndarray, chains: int) -> float:
    batches = into_batches(weights.reshape(chains, -1), batches_each(chains))
    return float(np.sqrt(pooled(batches[:, :, None])[0][0, 0]))


def expectation(chain: TemperedChain, points: np.ndarray, functional: int = 0, kind: str = "hat") -> np.ndarray:
    """I-hat (2.14) or I-tilde of a functional at each h."""
    terms, values = Terms.of(chain, kind), chain.functionals[:, functional]
    return np.array([weighted(terms.at(h[0], h[1])[None], values[None])[0] for h in points])


def weighted(logs: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Means of the values, weighted by exp(logs), along the last axis."""
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray((weights * values).sum(axis=1) / weights.sum(axis=1))
