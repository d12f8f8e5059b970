"""The gradient and the second derivative of log m(h), from draws of z at one h, and the Newton step that they give.

By Fisher's identity the gradient is the posterior mean of the derivative of log p(w, z | h), and by Louis' identity
(1982, J. R. Statist. Soc. B 44, 226-233) the second derivative is the mean of the second derivative plus the covariance
of the first:

    d log m / dx = E[s],    d2 log m / dx2 = E[ds/dx] + Var(s),    s = d log p(w, z | h) / dx,    x = log h,

all given w, at h. Both need the counts of z only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtri, digamma, polygamma

from bayestopics.corpus.corpus import Corpus
from bayestopics.errors.pooled import agreement, hotelling, into_batches, pooled
from bayestopics.hyper.best import imprecision
from bayestopics.lda.state import Prior, State

CLEAR = 3.0  # the information is clearly positive if its smallest eigenvalue is more than so many of its own errors
LEVEL = 0.95
NEGLIGIBLE = 0.25  # part of the Monte Carlo deviation
ROUNDING = 1e-9  # of a score: the error of chains that do not vary


def of_counts(x: float | np.ndarray, counts: np.ndarray) -> np.ndarray:
    """float64[2, ...]: the first and second derivatives of lG(count + x) - lG(x) with respect to log x."""
    first = x * (digamma(counts + x) - digamma(x))
    return np.array([first, first + x**2 * (polygamma(1, counts + x) - polygamma(1, x))])


class OfEta:
    """The first and second derivatives of log p(w | z, eta) with respect to log eta, at one eta."""

    def __init__(self, corpus: Corpus, eta: float) -> None:
        often = np.bincount(corpus.terms, minlength=1).max()
        self.of_term = of_counts(eta, np.arange(often + 1))
        self.total_eta = corpus.term_count * eta

    def __call__(self, state: State) -> np.ndarray:
        """float64[2]."""
        return _sum(self.of_term, state.term_topic) - of_counts(self.total_eta, state.topic_total).sum(axis=1)


class Derivatives:
    """The first and second derivatives of log p(w, z | h) with respect to (log alpha, log eta), at one h."""

    def __init__(self, corpus: Corpus, topics: int, h: np.ndarray) -> None:
        alpha, eta = h.tolist()
        self.of_document = of_counts(alpha, np.arange(corpus.document_lengths.max() + 1))
        self.of_eta = OfEta(corpus, eta)
        # lG(T alpha) - lG(n_d + T alpha), the same in every draw
        self.documents = -of_counts(topics * alpha, corpus.document_lengths).sum(axis=1)

    def __call__(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """(float64[2], float64[2, 2])."""
        of_alpha = _sum(self.of_document, state.document_topic) + self.documents
        first, second = np.array([of_alpha, self.of_eta(state)]).T
        return first, np.diag(second)


class AsymmetricDerivatives:
    """The same with respect to (log alpha_1, ..., log alpha_T, log eta): every topic has its own alpha."""

    def __init__(self, corpus: Corpus, topics: int, h: np.ndarray) -> None:
        alpha, eta = h[:-1], float(h[-1])
        self.of_document = of_counts(alpha[:, None], np.arange(corpus.document_lengths.max() + 1))
        self.of_eta = OfEta(corpus, eta)
        # lG(A) - lG(n_d + A), A = sum_t alpha_t, the same in every draw; d log A / d log alpha_t is the share of t in A
        first, second = -of_counts(float(alpha.sum()), corpus.document_lengths).sum(axis=1)
        shares = np.append(alpha / alpha.sum(), 0.0)
        self.documents = first * shares
        self.bend = first * np.diag(shares) + (second - first) * np.outer(shares, shares)

    def __call__(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """(float64[T + 1], float64[T + 1, T + 1])."""
        of_alpha = np.einsum("ktc,tc->kt", self.of_document, by_topic(state, self.of_document.shape[2]))
        first, second = np.append(of_alpha, self.of_eta(state)[:, None], axis=1)
        return first + self.documents, np.diag(second) + self.bend


def by_topic(state: State, counts: int) -> np.ndarray:
    """float64[T, counts]: in how many documents each topic has 0, 1, 2, ... tokens."""
    places = state.document_topic + counts * np.arange(state.topics)
    return np.bincount(places.ravel(), minlength=counts * state.topics).reshape(state.topics, counts).astype(float)


def derivatives(corpus: Corpus, topics: int, h: np.ndarray) -> Derivatives | AsymmetricDerivatives:
    """At h = (alpha, eta), or h = (alpha_1, ..., alpha_T, eta)."""
    return (Derivatives if len(h) == 2 else AsymmetricDerivatives)(corpus, topics, h)


def prior_at(h: np.ndarray) -> Prior:
    alpha = tuple(h[:-1].tolist())
    return Prior(alpha[0] if len(alpha) == 1 else alpha, float(h[-1]))


def _sum(table: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The sum over all counts of their columns in the table."""
    how_often = np.bincount(counts.ravel())
    # einsum, not `@`: the bits of a BLAS product depend on its number of threads
    return np.einsum("kc,c->k", table[:, : len(how_often)], how_often)


# -- the estimate ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Estimate:
    """Gradient and information of log m at x = log h, and the Newton step from there."""

    x: np.ndarray
    gradient: np.ndarray
    information: np.ndarray  # minus the second derivative of log m
    upwards: np.ndarray  # the same, but where it is not clearly positive, as much as it may be
    clearness: float  # the smallest eigenvalue of the information, over its Monte Carlo error
    step: np.ndarray  # towards the top
    covariance: np.ndarray  # Monte Carlo covariance of the step
    count: int  # the number of batches or chains that the covariance is computed from
    agreement: float | None  # p-value of `errors.pooled.agreement`
    of_chains: np.ndarray  # float64[m, p]: the steps of the single chains

    @property
    def clear(self) -> bool:
        return self.clearness > CLEAR

    @property
    def imprecision(self) -> float:
        """The largest Monte Carlo deviation of x + step, in standard deviations of h itself, over all directions."""
        return imprecision(self.covariance, np.linalg.inv(self.information))

    def of(self, order: np.ndarray) -> Estimate:
        """The same, with its parameters in another order."""
        square = np.ix_(order, order)
        vectors = {"x": self.x, "gradient": self.gradient, "step": self.step}
        matrices = {"information": self.information, "upwards": self.upwards, "covariance": self.covariance}
        moved = {name: one[order] for name, one in vectors.items()} | {n: one[square] for n, one in matrices.items()}
        return replace(self, **moved, of_chains=self.of_chains[:, order])

    @property
    def settled(self) -> bool:
        """The step is within its own error; or so short that what the quadratic approximation leaves out is negligible.

        In standard deviations of h, that is about half the square of the step, times the skewness of m.
        """
        p = len(self.x)
        # chains that disagree, and are few, have no joint quantile; that of normal deviates is smaller
        radius = hotelling(self.count, LEVEL, p) if self.count > p else float(chdtri(p, 1 - LEVEL))
        if self.step @ np.linalg.solve(self.covariance, self.step) <= radius:
            return True
        return self.clear and float(self.step @ self.information @ self.step) / 2 <= NEGLIGIBLE * self.imprecision


def second_derivative(bend: np.ndarray, away: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """E[ds/dx] + Var(s) [Louis 1982]: `bend` is E[ds/dx], and `away` (... x n x p) is s less its mean, for n states
    with these shares of the posterior."""
    return np.asarray(bend + np.einsum("...nk,...nl,n->...kl", away, away, shares))


def estimate(x: np.ndarray, scores: np.ndarray, bends: np.ndarray, apart: bool = False) -> Estimate:
    """From the scores of m chains (m x n x p) at x, and the means of ds/dx over their batches (m x batches x p x p).

    With `apart`, Var(s) is that within the chains: chains in different modes of z, none of which visits the others,
    say nothing about the variance between modes.
    """
    chains, each = bends.shape[:2]
    gradient = scores.mean(axis=(0, 1))
    center = scores.mean(axis=1, keepdims=True) if apart else gradient
    away = (scores - center).reshape(chains, each, -1, len(x))
    length = away.shape[2]
    curved = second_derivative(bends, away, np.full(length, 1 / length))  # one matrix per batch
    information = -curved.mean(axis=(0, 1))
    values, vectors = np.linalg.eigh(information)
    weakest = np.einsum("cbkl,k,l->cb", curved, vectors[:, 0], vectors[:, 0])
    error = max(float(np.sqrt(pooled(weakest[:, :, None])[0][0, 0])), ROUNDING)
    clear = bool(values[0] > CLEAR * error)
    # where the information is not clearly positive, take as much as it may be: the step still leads upwards
    larger = np.maximum(np.abs(values), CLEAR * error)
    matrix = information if clear else (vectors * larger) @ vectors.T
    step = np.linalg.solve(matrix, gradient)
    means = into_batches(scores, each)
    # the score at x + step to first order, so that the error of the information counts too
    moved = means + np.einsum("cbkl,l->cbk", curved, step) if clear else means
    inverse = np.linalg.inv(matrix)
    inside, count = pooled(moved)
    inside = inside + ROUNDING**2 * np.eye(len(x))
    covariance, of_chains = inverse @ inside @ inverse, moved.mean(axis=1) - moved.mean(axis=(0, 1))
    tops = step + np.einsum("kl,cl->ck", inverse, of_chains)
    clearness = float(values[0]) / error
    return Estimate(x, gradient, information, matrix, clearness, step, covariance, count, agreement(moved), tops)
