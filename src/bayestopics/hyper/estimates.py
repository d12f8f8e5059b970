"""Estimates from a tempered chain, at any h: the marginal likelihood, posterior expectations, the best h, their errors.

[George & Doss, sections 2.2 and 2.3.] A term of an average is nu_h(psi_i) over the mixture (hat) or over
nu_{L_i}(psi_i) / zeta_{L_i} (tilde), as a log. There are two regions around the best h, which are not to be taken for
each other: the ellipse is Monte Carlo error and shrinks as the chain grows; the region is about h itself, from the
curvature of log m(h).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import chi2, f

from bayestopics.hyper.prior_density import gradient, log_prior, second_derivatives
from bayestopics.hyper.tempering import TemperedChain, log_mixture

KINDS = ("hat", "tilde")


@dataclass(frozen=True, eq=False)
class Terms:
    """Of the averages over a chain: log weights that every h shares, and A, B of every sweep."""

    chain: TemperedChain
    log_denominator: np.ndarray  # float64[n]

    @classmethod
    def of(cls, chain: TemperedChain, kind: str = "hat") -> Terms:
        """(2.10) has the mixture below, (2.17) the density of the point where the chain was."""
        if kind == "hat":
            return cls(chain, log_mixture(chain))
        alpha, eta = chain.grid.points[chain.index].T
        return cls(chain, log_prior(chain.sizes, alpha, eta, chain.a, chain.b) - chain.log_zeta[chain.index])

    def at(self, alpha: float, eta: float, part: slice = slice(None)) -> np.ndarray:
        """The logs of the terms at h, one a sweep."""
        a, b = self.chain.a[part], self.chain.b[part]
        return log_prior(self.chain.sizes, alpha, eta, a, b) - self.log_denominator[part]

    def log_mean(self, alpha: float, eta: float, part: slice = slice(None)) -> float:
        """log M(h), but for a constant."""
        logs = self.at(alpha, eta, part)
        return float(logsumexp(logs) - np.log(len(logs)))

    def batches(self) -> list[slice]:
        """J = sqrt(n) of equal length; the first sweeps that fit in none are left out."""
        n = len(self.chain)
        count, length = isqrt(n), n // isqrt(n)
        first = n - count * length
        return [slice(first + k * length, first + (k + 1) * length) for k in range(count)]


# -- surfaces ------------------------------------------------------------------------------------------


def surface(
    chain: TemperedChain, alphas: np.ndarray, etas: np.ndarray, kind: str = "hat"
) -> tuple[np.ndarray, np.ndarray]:
    """(log M, relative standard error of M by batch means), each alphas x etas; log M is less its largest."""
    terms = Terms.of(chain, kind)
    batches = terms.batches()
    values, errors = np.empty((len(alphas), len(etas))), np.empty((len(alphas), len(etas)))
    for i, alpha in enumerate(alphas):
        for j, eta in enumerate(etas):
            logs = terms.at(alpha, eta)
            largest = logs.max()
            weights = np.exp(logs - largest)
            mean = weights.mean()
            means = weights[batches[0].start :].reshape(len(batches), -1).mean(axis=1)
            values[i, j] = largest + np.log(mean)
            errors[i, j] = means.std(ddof=1) / np.sqrt(len(batches)) / mean
    return values - values.max(), errors


def expectation(chain: TemperedChain, points: np.ndarray, functional: int = 0, kind: str = "hat") -> np.ndarray:
    """I-hat (2.14) or I-tilde of a functional at each h."""
    terms, values = Terms.of(chain, kind), chain.functionals[:, functional]
    return np.array([_weighted(terms.at(h[0], h[1]), values) for h in points])


def bands(
    chain: TemperedChain, points: np.ndarray, functional: int = 0, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(lower, I-hat, upper): a band that covers the whole function with this probability [section 2.3]."""
    terms, values = Terms.of(chain), chain.functionals[:, functional]
    whole = expectation(chain, points, functional)
    batches = terms.batches()
    away = [
        max(
            abs(_weighted(terms.at(h[0], h[1], part), values[part]) - centre)
            for h, centre in zip(points, whole, strict=True)
        )
        for part in batches
    ]
    length = batches[0].stop - batches[0].start
    quantile = np.sort(away)[max(0, int(np.ceil(level * len(away))) - 1)]  # S_[.95 J]
    half = quantile * np.sqrt(length / len(chain))
    return whole - half, whole, whole + half


def _weighted(logs: np.ndarray, values: np.ndarray) -> float:
    weights = np.exp(logs - logs.max())
    return float(weights @ values / weights.sum())


# -- the best h ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ellipse:
    """{h: (h - centre)' covariance^-1 (h - centre) <= radius_squared}, h = (alpha, eta)."""

    center: tuple[float, float]
    covariance: tuple[tuple[float, float], tuple[float, float]]
    radius_squared: float
    level: float

    def covers(self, h: np.ndarray) -> bool:
        away = np.asarray(h) - self.center
        return bool(away @ np.linalg.solve(np.array(self.covariance), away) <= self.radius_squared)


@dataclass(frozen=True)
class Best:
    alpha: float
    eta: float
    on_edge: bool  # of the grid: then it may be anywhere beyond
    ellipse: Ellipse | None  # Monte Carlo error of (alpha, eta)
    batches_on_edge: float  # the share of the batches whose own best is on the edge
    region: Ellipse | None  # for h itself


def best(chain: TemperedChain, level: float = 0.95) -> Best:
    """argmax of log M-hat inside the grid, its Monte Carlo ellipse from batches [Theorem 1.3], and the region of h."""
    terms = Terms.of(chain)
    h, edge = _maximise(terms)
    parts = [_maximise(terms, part, h) for part in terms.batches()]
    estimates, edges = np.array([one for one, _ in parts]), np.array([on for _, on in parts])
    ellipse = None
    if not edge and len(parts) > 3:
        count = len(parts)
        # Sigma / n: batches of length n / J vary by Sigma J / n around the whole chain's argmax
        covariance = (estimates - h).T @ (estimates - h) / (count - 1) / count
        radius = 2 * (count - 1) / (count - 2) * f.ppf(level, 2, count - 2)  # Hotelling
        ellipse = _ellipse(h, covariance, float(radius), level)
    region = None
    curvature = _curvature(terms, h[0], h[1])
    if not edge and np.all(np.linalg.eigvalsh(-curvature) > 0):
        region = _ellipse(h, np.linalg.inv(-curvature), float(chi2.ppf(level, 2)), level)
    return Best(float(h[0]), float(h[1]), edge, ellipse, float(edges.mean()), region)


def _ellipse(h: np.ndarray, covariance: np.ndarray, radius_squared: float, level: float) -> Ellipse | None:
    if not np.all(np.linalg.eigvalsh(covariance) > 0):
        return None
    rows = tuple((float(row[0]), float(row[1])) for row in covariance)
    return Ellipse((float(h[0]), float(h[1])), rows, radius_squared, level)  # type: ignore[arg-type]


def _maximise(terms: Terms, part: slice = slice(None), start: np.ndarray | None = None) -> tuple[np.ndarray, bool]:
    """(argmax of log M-hat in the hull of the grid, is it on the hull's edge), from the best point of the grid."""
    grid, sizes = terms.chain.grid, terms.chain.sizes
    a, b = terms.chain.a[part], terms.chain.b[part]

    def objective(log_h: np.ndarray) -> tuple[float, np.ndarray]:
        alpha, eta = np.exp(log_h)
        logs = terms.at(alpha, eta, part)
        largest = logs.max()
        weights = np.exp(logs - largest)
        by_alpha, by_eta = gradient(sizes, alpha, eta, weights @ a / weights.sum(), weights @ b / weights.sum())
        return -(largest + np.log(weights.mean())), -np.array([by_alpha * alpha, by_eta * eta])

    if start is None:
        values = [terms.log_mean(h[0], h[1], part) for h in grid.points]
        start = grid.points[int(np.argmax(values))]
    bounds = np.log([(grid.alphas[0], grid.alphas[-1]), (grid.etas[0], grid.etas[-1])])
    found = minimize(objective, np.log(start), jac=True, bounds=bounds, method="L-BFGS-B")
    edge = bool(np.any(np.isclose(found.x[:, None], bounds, rtol=0, atol=1e-6)))
    return np.exp(found.x), edge


def _curvature(terms: Terms, alpha: float, eta: float) -> np.ndarray:
    """The matrix of second derivatives of log M-hat: E[second derivative] + covariance of the gradient, weighted."""
    chain = terms.chain
    logs = terms.at(alpha, eta)
    weights = np.exp(logs - logs.max())
    sums = np.cov(np.array([chain.a, chain.b]), aweights=weights, ddof=0)  # the gradient is A and B, and a constant
    return np.diag(second_derivatives(chain.sizes, alpha, eta)) + sums
