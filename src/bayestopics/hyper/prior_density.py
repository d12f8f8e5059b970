"""The prior density nu_h(psi) of psi = (theta, beta, z) as a function of h = (alpha, eta) [George & Doss 2.2].

With symmetric priors all that it needs to know of psi is A = sum log theta and B = sum log beta; what else there is
does not depend on h, and cancels wherever it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from bayestopics.lda.parameters import Parameters


@dataclass(frozen=True)
class Sizes:
    """Of a corpus and its model."""

    documents: int
    topics: int
    terms: int


def sums_of_logs(parameters: Parameters) -> tuple[float, float]:
    """(A, B)."""
    return float(parameters.log_theta.sum()), float(parameters.log_beta.sum())


def log_prior(sizes: Sizes, alpha: Any, eta: Any, a: Any, b: Any) -> Any:
    """log nu_h(psi), but for a term free of h; all arguments broadcast."""
    documents = sizes.documents * (gammaln(sizes.topics * alpha) - sizes.topics * gammaln(alpha))
    topics = sizes.topics * (gammaln(sizes.terms * eta) - sizes.terms * gammaln(eta))
    return documents + (alpha - 1) * a + topics + (eta - 1) * b


def gradient(sizes: Sizes, alpha: float, eta: float, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of log nu_h by alpha and by eta."""
    by_alpha = sizes.documents * sizes.topics * (digamma(sizes.topics * alpha) - digamma(alpha)) + a
    by_eta = sizes.topics * sizes.terms * (digamma(sizes.terms * eta) - digamma(eta)) + b
    return by_alpha, by_eta


def second_derivatives(sizes: Sizes, alpha: float, eta: float) -> tuple[float, float]:
    """Second derivatives of log nu_h by alpha and by eta: they do not know psi, and there is no mixed one."""
    of_alpha = sizes.topics * polygamma(1, sizes.topics * alpha) - polygamma(1, alpha)
    of_eta = sizes.terms * polygamma(1, sizes.terms * eta) - polygamma(1, eta)
    return float(sizes.documents * sizes.topics * of_alpha), float(sizes.topics * sizes.terms * of_eta)
