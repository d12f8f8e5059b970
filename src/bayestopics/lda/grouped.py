"""The grouped (two-block) sampler: (theta, beta) given z, then all of z given (theta, beta) [Zhang & Sisson 3].

Given (theta, beta), the documents are independent, so they are drawn in parallel. Each has its own random generator, so
the result does not depend on the number of threads. The sampler has no closed-form transition density on z alone.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from bayestopics.base.jit import kernel, parallel_kernel
from bayestopics.lda.parameters import draw_parameters
from bayestopics.lda.state import State, random_start, recount
from bayestopics.lda.transition import Info
from bayestopics.lda.uniforms import split_words, uniform

PARALLEL_FROM = 20_000  # tokens: below, starting the threads costs more than they save


init = random_start


def sweep(state: State, rng: np.random.Generator) -> Info:
    """Draw the parameters, then every assignment, in place."""
    parameters = draw_parameters(state, rng)
    log_theta, log_beta = parameters.log_theta, parameters.log_beta
    # only ratios within a row matter, so each row is scaled until its largest entry is 1
    theta_top, beta_top = log_theta.max(axis=1), log_beta.max(axis=1)
    theta, beta = np.exp(log_theta - theta_top[:, None]), np.exp(log_beta - beta_top[:, None])
    log_factors = _log_factors(state.document_topic, theta_top) + _log_factors(state.term_topic, beta_top)
    seed = rng.integers(2**64, dtype=np.uint64)
    draw = _draw_in_parallel if len(state.terms) >= PARALLEL_FROM else _draw_in_turn
    log_masses = np.empty(len(theta))
    draw(state.offsets(), state.terms, theta, beta, log_theta, log_beta, seed, state.assignments, log_masses)
    recount(*state.arrays())
    return Info(None, parameters, float(log_masses.sum()) + log_factors)


def _log_factors(counts: np.ndarray, tops: np.ndarray) -> float:
    """What the factors add to log p(w | theta, beta), over all tokens."""
    return float(counts.sum(axis=1) @ tops)


def compile_rest() -> None:
    """Compile the parallel kernel, which small corpora do not use."""
    one, none = np.ones((1, 1)), np.zeros((1, 1))
    token = np.zeros(1, np.int32)
    token.setflags(write=False)  # like the terms of a corpus
    _draw_in_parallel(np.array([0, 1]), token, one, one, none, none, np.uint64(1), token.copy(), np.empty(1))


@parallel_kernel
def _draw_in_parallel(
    offsets: np.ndarray,
    terms: np.ndarray,
    theta: np.ndarray,
    beta: np.ndarray,
    log_theta: np.ndarray,
    log_beta: np.ndarray,
    seed: np.uint64,
    assignments: np.ndarray,
    log_masses: np.ndarray,
) -> None:
    for d in prange(len(offsets) - 1):
        log_masses[d] = _draw_document(d, offsets, terms, theta, beta, log_theta, log_beta, seed, assignments)


@kernel
def _draw_in_turn(
    offsets: np.ndarray,
    terms: np.ndarray,
    theta: np.ndarray,
    beta: np.ndarray,
    log_theta: np.ndarray,
    log_beta: np.ndarray,
    seed: np.uint64,
    assignments: np.ndarray,
    log_masses: np.ndarray,
) -> None:
    for d in range(len(offsets) - 1):
        log_masses[d] = _draw_document(d, offsets, terms, theta, beta, log_theta, log_beta, seed, assignments)


@kernel
def _draw_document(
    d: int,
    offsets: np.ndarray,
    terms: np.ndarray,
    theta: np.ndarray,
    beta: np.ndarray,
    log_theta: np.ndarray,
    log_beta: np.ndarray,
    seed: np.uint64,
    assignments: np.ndarray,
) -> float:
    """Draw the document's assignments; returns the log of the product of sum_t theta_dt beta_vt over its tokens."""
    topics = theta.shape[1]
    words = split_words(seed, d)
    cumulative = np.empty(topics)
    log_mass, product = 0.0, 1.0
    for i in range(offsets[d], offsets[d + 1]):
        v = terms[i]
        mass = 0.0
        for t in range(topics):
            mass += theta[d, t] * beta[v, t]
            cumulative[t] = mass
        if mass < 1e-250:  # every product underflows, or nearly: compute again from the logs
            largest, mass = _from_logs(log_theta[d], log_beta[v], cumulative)
            log_mass += largest - log_theta[d].max() - log_beta[v].max()
        product *= mass
        if not 1e-50 < product < 1e50:  # take one log for many tokens
            log_mass += np.log(product)
            product = 1.0
        threshold = uniform(words) * mass
        new = 0
        while cumulative[new] <= threshold and new < topics - 1:
            new += 1
        assignments[i] = new
    return log_mass + np.log(product)


@kernel
def _from_logs(log_theta: np.ndarray, log_beta: np.ndarray, cumulative: np.ndarray) -> tuple[float, float]:
    """Cumulative weights, scaled so that the largest is 1; returns its log and their sum."""
    largest = np.max(log_theta + log_beta)
    mass = 0.0
    for t in range(len(cumulative)):
        mass += np.exp(log_theta[t] + log_beta[t] - largest)
        cumulative[t] = mass
    return largest, mass
