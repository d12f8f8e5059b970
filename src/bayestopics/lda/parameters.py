"""Draws of theta and beta given z: independent Dirichlets, in log space.

A gamma variable with a shape below one can underflow, so its log is drawn: log G(a) = log G(a + 1) + log(U) / a.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayestopics.lda.state import State


@dataclass(frozen=True, eq=False)
class Parameters:
    log_theta: np.ndarray  # float64[D, T]: rows are log probabilities of topics
    log_beta: np.ndarray  # float64[V, T]: columns are log probabilities of terms


def draw_parameters(state: State, rng: np.random.Generator) -> Parameters:
    """(theta, beta) from their conditional given z [Zhang & Sisson 3]."""
    log_theta = log_gamma_draws(state.document_topic + state.alpha, rng)
    log_beta = log_gamma_draws(state.term_topic + state.eta, rng)
    return Parameters(_normalised(log_theta, axis=1), _normalised(log_beta, axis=0))


def _normalised(log_weights: np.ndarray, axis: int) -> np.ndarray:
    """Logs of weights that sum to one along the axis (scipy's logsumexp is slow on small arrays)."""
    log_weights = log_weights - log_weights.max(axis=axis, keepdims=True)
    return log_weights - np.log(np.exp(log_weights).sum(axis=axis, keepdims=True))


def log_gamma_draws(shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Logs of gamma variables with these shapes; they are finite for every positive shape."""
    small = shape < 1.0
    draws = np.log(rng.standard_gamma(shape + small))
    # 1 - U lies in (0, 1], so its log is finite
    draws[small] += np.log1p(-rng.random(np.count_nonzero(small))) / shape[small]
    return draws
