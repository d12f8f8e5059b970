"""Harmonic mean estimators of the evidence (Newton & Raftery 1994) [Chen & Doss 1 and 5.1]: for comparison only.

1 / m(T) is the posterior mean of 1 / p(w | z), and also of 1 / p(w | beta, z). A chain hardly ever visits the states
that dominate these means, so both estimates of m(T) are far too large. The second has infinite variance once a count
exceeds eta.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from bayestopics.base.guard import finite, not_finite
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.density import log_likelihood
from bayestopics.lda.parameters import Parameters, draw_parameters
from bayestopics.lda.state import Prior, State


def log_likelihood_given_beta(state: State, parameters: Parameters) -> float:
    """log p(w | beta, z) = sum_tv m_tv log beta_tv."""
    return float(np.sum(state.term_topic * parameters.log_beta))


def repeat(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> tuple[float, float]:
    """Both estimates of log m(T), from `sweeps` kept sweeps."""
    return harmonic(corpus, topics, prior, sweeps=sweeps, burn_in=sweeps // 2, rng=rng)


def harmonic(
    corpus: Corpus,
    topics: int,
    prior: Prior,
    *,
    sweeps: int,
    burn_in: int,
    rng: np.random.Generator,
    sampler: str = "sparse",
) -> tuple[float, float]:
    """(HME-z, HME-psi): the two estimates of log m(T) from one chain."""
    module = sampler_by_name(sampler)
    state = module.init(corpus, topics, prior, rng)
    by_z, by_psi = np.empty(sweeps), np.empty(sweeps)
    for i in counted(range(-burn_in, sweeps), f"harmonic means, T={topics}", "sweep"):
        module.sweep(state, rng)
        if i >= 0:
            by_z[i] = log_likelihood(state)
            by_psi[i] = log_likelihood_given_beta(state, draw_parameters(state, rng))
            if not finite((by_z[i], by_psi[i])):
                raise not_finite("the log likelihood", burn_in + i, state)
    return harmonic_mean(by_z), harmonic_mean(by_psi)


def harmonic_mean(log_values: np.ndarray) -> float:
    """The log of the harmonic mean."""
    return float(np.log(len(log_values)) - logsumexp(-np.asarray(log_values)))
