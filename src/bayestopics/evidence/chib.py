"""Chib's (1995) estimator of the evidence [Chen & Doss 5.1]: for comparison only.

m(T) = p(w, z*) / p(z* | w) at any z*; in (5.1) beta* cancels, because p(w, beta, z) / p(beta | z, w) = p(w, z). The
denominator is estimated by the mean of the transition density g(z_i, z*) over a chain of z_i; on a corpus of some size
no z_i comes near z*, so the estimate is far off.

The text does not say whether the chain of z_i goes on from the pilot run that gives z*. Here it does, so that both have
the same labels; `chib_independent` has the other reading.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from bayestopics.base.guard import not_finite, possible_log
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import Prior, from_assignments


@dataclass(frozen=True)
class Chib:
    log_evidence: float
    one_labelling: float  # log_evidence + log T!: correct if the chain never leaves the labelling of z*


def repeat(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> float:
    """One estimate of log m(T), from `sweeps` kept sweeps."""
    return chib(corpus, topics, prior, sweeps=sweeps, pilot=max(1, sweeps // 3), rng=rng).log_evidence


def chib(
    corpus: Corpus,
    topics: int,
    prior: Prior,
    *,
    sweeps: int,
    pilot: int,
    rng: np.random.Generator,
    sampler: str = "sparse",
    continued: bool = True,
) -> Chib:
    """The estimate at a z* that takes each token's most frequent topic in a pilot run. The chain continues from there,
    or, if not `continued`, has a random start of its own."""
    module = sampler_by_name(sampler)
    state = module.init(corpus, topics, prior, rng)
    votes = np.zeros((corpus.token_count, topics), np.int32)
    tokens = np.arange(corpus.token_count)
    for number in counted(range(pilot), f"Chib, pilot, T={topics}", "sweep"):
        if not module.sweep(state, rng).sound:
            raise not_finite("the density of a sweep", number, state)
        votes[tokens, state.assignments] += 1
    chosen = votes.argmax(axis=1)
    if not continued:
        state = module.init(corpus, topics, prior, rng)
    log_g = np.empty(sweeps)
    for i in counted(range(sweeps), f"Chib, T={topics}", "sweep"):
        module.sweep(state, rng)
        log_g[i] = module.transition_density(state, chosen)
        if not possible_log(log_g[i]):
            raise not_finite("the transition density", i, state)
    log_posterior = logsumexp(log_g) - np.log(sweeps)  # nu(z* | w)
    estimate = log_joint(from_assignments(corpus, topics, prior, chosen)) - float(log_posterior)
    return Chib(estimate, estimate + math.lgamma(topics + 1))
