"""The best h = (alpha, eta), where M-hat(h) is largest, and two different regions around it.

The "ellipse" shows the Monte Carlo error of the best h; it shrinks as the chain gets longer. The "region" shows how
well the corpus determines h itself, from the curvature of log m(h) at its maximum; it shrinks as the corpus gets
larger. Both are ellipses in log h, so that neither reaches zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isqrt
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import chdtri

from bayestopics.errors.pooled import FEWEST, batches_each, hotelling, pooled
from bayestopics.hyper.estimates import ALL, Terms
from bayestopics.hyper.tempering import TemperedChain

EDGE = 1e-4  # in log h: a point nearer to the edge than this is on the edge
FEWEST_BATCHES = 12  # correlated batches are joined, but not to fewer than this
WIDEST = float(np.log(10))  # if a region reaches further than this in log h, log m is not nearly quadratic in it
PART = 0.5  # nor if log m falls by less than this part of what a parabola would, on the way to an end of the region
CORRELATED = 0.25  # a correlation between the best h of successive batches up to this is ignored


@dataclass(frozen=True)
class Ellipse:
    """{h: x' log_covariance^-1 x <= radius_squared, x = log h - log center}, h = (alpha, eta)."""

    center: tuple[float, float]
    log_covariance: tuple[tuple[float, float], tuple[float, float]]
    radius_squared: float
    level: float

    @classmethod
    def around(cls, h: np.ndarray, log_covariance: np.ndarray, radius_squared: float, level: float) -> Ellipse | None:
        """None if the covariance is not positive definite."""
        if not np.all(np.linalg.eigvalsh(log_covariance) > 0):
            return None
        rows = tuple((float(row[0]), float(row[1])) for row in log_covariance)
        return cls((float(h[0]), float(h[1])), rows, radius_squared, level)  # type: ignore[arg-type]

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of alpha and eta, from the covariance of their logs by the delta method."""
        return np.outer(self.center, self.center) * np.array(self.log_covariance)

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations of alpha and eta."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def extent(self) -> np.ndarray:
        """float64[2, 2]: the smallest and the largest alpha, and eta, in it."""
        half = np.sqrt(self.radius_squared * np.diag(self.log_covariance))
        return np.array(self.center)[:, None] * np.exp(np.outer(half, (-1, 1)))

    @property
    def wide(self) -> bool:
        """It reaches further than `WIDEST`, so it is no region: log m is flat, or not nearly quadratic."""
        return bool(np.any(np.sqrt(self.radius_squared * np.diag(self.log_covariance)) > WIDEST))

    @property
    def tips(self) -> np.ndarray:
        """float64[2, 2, 2]: log h where alpha is smallest and largest in it, and where eta is."""
        covariance = np.array(self.log_covariance)
        away = np.sqrt(self.radius_squared) * covariance / np.sqrt(np.diag(covariance))[:, None]
        return np.log(self.center) + np.stack([-away, away], axis=1)

    def covers(self, h: np.ndarray) -> bool:
        away = np.log(h) - np.log(self.center)
        return bool(away @ np.linalg.solve(np.array(self.log_covariance), away) <= self.radius_squared)

    def outline(self, points: int = 100) -> np.ndarray:
        """float64[points, 2]: its edge."""
        angle = np.linspace(0, 2 * np.pi, points)
        circle = np.sqrt(self.radius_squared) * np.array([np.cos(angle), np.sin(angle)])
        return np.asarray(self.center) * np.exp((np.linalg.cholesky(np.array(self.log_covariance)) @ circle).T)

    def summary(self) -> dict[str, Any]:
        """Its fields, the covariance of alpha and eta, and the smallest and largest alpha and eta inside it."""
        extent = dict(zip(("alpha", "eta"), self.extent.tolist(), strict=True))
        return {**asdict(self), "covariance": self.covariance.tolist(), **extent}


@dataclass(frozen=True)
class Best:
    alpha: float
    eta: float
    on_edge: bool  # it is on the edge of the grid, and the true best h may lie beyond
    ellipse: Ellipse | None  # Monte Carlo error of (alpha, eta)
    batches_on_edge: float  # the share of the batches whose own best h is on the edge
    batch_correlation: float  # between the best h of successive batches; above `CORRELATED`, the ellipse is too small
    region: Ellipse | None  # how well the corpus determines h itself
    batches: int  # the number of batches or chains that the ellipse is computed from

    @property
    def precision(self) -> float | None:
        """The Monte Carlo error, as a part of the uncertainty of h itself."""
        if self.ellipse is None or self.region is None:
            return None
        return imprecision(np.array(self.ellipse.log_covariance), np.array(self.region.log_covariance))


def best(chain: TemperedChain, level: float = 0.95) -> Best:
    """The h that maximises log M-hat inside the grid, its Monte Carlo ellipse from batches [Theorem 1.3], and the
    region of h.

    The paper uses sqrt(n) batches. Where h moves slowly these are not independent, and their ellipse is far too small;
    then pairs of batches are joined, as long as enough batches remain.
    """
    terms = Terms.of(chain)
    h, edge = maximise(terms)
    estimates, edges, correlation = _of_batches(terms, h)
    ellipse, count = None, len(estimates)
    if not edge and count >= FEWEST:
        # Sigma / n: the best h of batches of length n / J vary by Sigma J / n around that of the whole chain
        away = np.log(estimates / h)
        ellipse = Ellipse.around(h, away.T @ away / (count - 1) / count, hotelling(count, level), level)
    region = None if edge else _region(terms, h, level)
    return Best(float(h[0]), float(h[1]), edge, ellipse, float(edges.mean()), correlation, region, count)


def _of_batches(terms: Terms, h: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The best h of every batch, whether it is on the edge, and the correlation between successive batches."""
    count = isqrt(len(terms.chain))
    while True:
        parts = [maximise(terms, part, h) for part in terms.batches(count)]
        estimates, edges = np.array([one for one, _ in parts]), np.array([on for _, on in parts])
        correlation = max(_with_next(side) for side in estimates.T)
        if correlation < CORRELATED or count // 2 < FEWEST_BATCHES:
            return estimates, edges, correlation
        count //= 2


def _with_next(values: np.ndarray) -> float:
    away = values - values.mean()
    return float(away[1:] @ away[:-1] / (away @ away)) if len(values) > 2 and away @ away > 0 else 0.0


def best_of_chains(chains: Sequence[TemperedChain], level: float = 0.95) -> Best:
    """The geometric mean of the best h of independent chains; its ellipse from the pooled batches of all chains.

    The covariance of the region is the mean of the chains' own, plus the covariance of their best h: if the chains stay
    in different modes of z, h is not known better than that.
    """
    terms = [Terms.of(chain) for chain in chains]
    found = [maximise(one) for one in terms]
    logs, edges = np.log([h for h, _ in found]), np.array([on for _, on in found])
    h, ellipse, region, count = np.exp(logs.mean(axis=0)), None, None, len(chains)
    if not edges.any():
        apart = np.cov(logs.T) if len(chains) > 1 else np.zeros((2, 2))
        each = batches_each(len(chains))
        tops = [
            [maximise(one, part, top)[0] for part in one.batches(each)]
            for one, (top, _) in zip(terms, found, strict=True)
        ]
        covariance, count = pooled(np.log(tops), logs.mean(axis=0))
        ellipse = Ellipse.around(h, covariance, hotelling(count, level), level)
        own = [_region(one, top, level) for one, (top, _) in zip(terms, found, strict=True)]
        if all(one is not None for one in own):
            covariance = np.mean([one.log_covariance for one in own if one is not None], axis=0) + apart
            region = Ellipse.around(h, covariance, float(chdtri(2, 1 - level)), level)
    return Best(float(h[0]), float(h[1]), bool(edges.any()), ellipse, float(edges.mean()), 0.0, region, count)


def bent(region: Ellipse, chains: Sequence[TemperedChain]) -> list[str]:
    """The names among alpha and eta at whose ends in the region log M-hat, in chains whose grids reach from the center
    to there, has fallen less than `PART` of what it would on a parabola."""
    terms, center, names = [Terms.of(chain) for chain in chains], np.array(region.center), []
    for name, ends in zip(("alpha", "eta"), np.exp(region.tips), strict=True):
        falls = [
            [one.log_mean(*center) - one.log_mean(*h) for one in terms if _between([center, h], one.chain.ends)]
            for h in ends
        ]
        if any(some and np.median(some) < PART * region.radius_squared / 2 for some in falls):
            names.append(name)
    return names


def _between(points: Sequence[np.ndarray], ends: tuple[tuple[float, float], tuple[float, float]]) -> bool:
    low, high = np.array(ends).T
    return all(np.all((low <= h) & (h <= high)) for h in points)


def imprecision(monte_carlo: np.ndarray, own: np.ndarray) -> float:
    """The largest Monte Carlo deviation, in standard deviations of h itself, over all directions of log h; from both
    covariances."""
    root = np.linalg.cholesky(np.linalg.inv(own))
    return float(np.sqrt(np.linalg.eigvalsh(root.T @ monte_carlo @ root)[-1]))


def maximise(terms: Terms, part: slice = ALL, start: np.ndarray | None = None) -> tuple[np.ndarray, bool]:
    """The h that maximises log M-hat between the ends, searched from the best grid point; and whether it is at an
    end."""
    grid = terms.chain.grid

    def objective(log_h: np.ndarray) -> tuple[float, np.ndarray]:
        alpha, eta = np.exp(log_h)
        logs = terms.at(alpha, eta, part)
        largest = logs.max()
        weights = np.exp(logs - largest)
        slopes = np.array([terms.of_alpha(alpha, 1, part), terms.of_eta(eta, 1, part)])
        return -(largest + np.log(weights.mean())), -np.einsum("sn,n->s", slopes, weights) / weights.sum()

    if start is None:
        start = grid.points[int(np.argmax([terms.log_mean(h[0], h[1], part) for h in grid.points]))]
    bounds = np.log(terms.chain.ends)
    # TNC, not L-BFGS-B: for two numbers, starting BLAS threads takes longer than the work itself
    found = minimize(objective, np.log(start), jac=True, bounds=bounds, method="TNC")
    h = np.exp(found.x)
    return h, bool(at_ends(h, terms.chain.ends).any())


def at_ends(h: np.ndarray, ends: tuple[tuple[float, float], tuple[float, float]]) -> np.ndarray:
    """bool[2]: whether alpha and eta are at one of their ends."""
    return np.asarray(np.any(np.abs(np.log(h)[:, None] - np.log(ends)) < EDGE, axis=1))


def curvature(terms: Terms, h: np.ndarray) -> np.ndarray:
    """Second derivatives of log M-hat with respect to log h: the weighted mean of the second derivatives plus the
    weighted covariance of the first."""
    logs = terms.at(h[0], h[1])
    weights = np.exp(logs - logs.max())
    first = np.array([terms.of_alpha(h[0], 1), terms.of_eta(h[1], 1)])
    second = np.array([terms.of_alpha(h[0], 2), terms.of_eta(h[1], 2)])
    shares = weights / weights.sum()
    away = first - np.einsum("sn,n->s", first, shares)[:, None]
    return np.diag(np.einsum("sn,n->s", second, shares)) + np.einsum("sn,tn,n->st", away, away, shares)


def _region(terms: Terms, h: np.ndarray, level: float) -> Ellipse | None:
    bend = curvature(terms, h)
    if not np.all(np.linalg.eigvalsh(-bend) > 0):
        return None
    return Ellipse.around(h, np.linalg.inv(-bend), float(chdtri(2, 1 - level)), level)
