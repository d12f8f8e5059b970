"""Evidence by sequential Monte Carlo (Del Moral, Doucet & Jasra 2006) along p(z) p(w | z)^b.

This is annealed importance sampling with many particles, which are resampled when their weights become unequal. The
estimate stays unbiased, and the work goes to the particles with large weights.
"""

from __future__ import annotations

import numpy as np

from bayestopics.base.guard import finite, not_finite
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.annealing import check_ladder, ladder_of_its_own
from bayestopics.evidence.tempered import Tempered, draw_prior
from bayestopics.lda.state import Prior

PARTICLES = 10
RESAMPLE_BELOW = 0.5  # effective number of particles, as a share of all


def repeat(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> float:
    """One estimate of log m(T); the sweeps are divided among the particles."""
    ladder = ladder_of_its_own(corpus, topics, prior, max(2, sweeps // PARTICLES), rng)
    return smc(corpus, topics, prior, ladder, PARTICLES, rng)


def smc(
    corpus: Corpus, topics: int, prior: Prior, ladder: np.ndarray, particles: int, rng: np.random.Generator
) -> float:
    """One estimate of log m(T)."""
    check_ladder(ladder)
    cloud = [Tempered(draw_prior(corpus, topics, prior, rng)) for _ in range(particles)]
    log_weights, log_evidence = np.zeros(particles), 0.0
    for step in counted(range(len(ladder) - 1), f"SMC, T={topics}", "step"):
        rise = ladder[step + 1] - ladder[step]
        log_weights += [rise * particle.log_likelihood for particle in cloud]
        if not finite(log_weights):
            raise not_finite("the log weight of a particle", step, [particle.state for particle in cloud])
        weights = np.exp(log_weights - log_weights.max())
        if weights.sum() ** 2 / np.sum(weights**2) < RESAMPLE_BELOW * particles:
            log_evidence += float(log_weights.max() + np.log(weights.mean()))
            cloud = _resampled(cloud, weights / weights.sum(), rng)
            log_weights[:] = 0.0
        if ladder[step + 1] < 1.0:
            for particle in cloud:
                particle.sweep(ladder[step + 1], rng)
    return log_evidence + float(log_weights.max() + np.log(np.mean(np.exp(log_weights - log_weights.max()))))


def _resampled(cloud: list[Tempered], shares: np.ndarray, rng: np.random.Generator) -> list[Tempered]:
    """Systematic resampling: particle i is kept about `particles * shares[i]` times."""
    positions = (rng.random() + np.arange(len(cloud))) / len(cloud)
    chosen = np.minimum(np.searchsorted(np.cumsum(shares), positions, side="right"), len(cloud) - 1)
    used: set[int] = set()
    following = []
    for i in chosen:
        following.append(Tempered(cloud[i].state.copy()) if i in used else cloud[i])
        used.add(int(i))
    return following
