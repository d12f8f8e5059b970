"""Full Bayes: alpha and eta sampled with the topics [George & Doss, section 6, the closing idea].

After each sweep of z, log alpha and log eta are drawn from their conditionals given z, theta and beta summed out, by
slice sampling (Neal 2003). Their prior is uniform in the logs between two ends, so the density of the draws in the logs
is the marginal likelihood m(h) but for a constant: where it is largest is where tempering should look.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from tqdm import tqdm

from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.urns import ENDS, Urns
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.state import Prior, State
from bayestopics.problems import InputError

WIDTH = 0.5  # the first step of a slice, in logs


@dataclass(frozen=True, eq=False)
class FullBayes:
    draws: np.ndarray  # float64[n, 2]: alpha and eta of every kept sweep
    last: State

    @property
    def center(self) -> np.ndarray:
        """exp of the mean of the logs of alpha and eta."""
        return np.exp(np.log(self.draws).mean(axis=0))

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations of the logs."""
        return np.log(self.draws).std(axis=0)


def full_bayes(
    corpus: Corpus,
    topics: int,
    *,
    sweeps: int,
    burn_in: int,
    rng: np.random.Generator,
    sampler: str = "single-site",
    start: Prior = Prior(0.5, 0.5),  # noqa: B008 (frozen)
) -> FullBayes:
    """A chain of (z, alpha, eta): `burn_in` sweeps are dropped, `sweeps` kept."""
    if topics < 2 or sweeps < 1 or burn_in < 0:
        raise InputError(f"nothing to do with {topics} topics, {sweeps} sweeps and {burn_in} of burn-in")
    module = sampler_by_name(sampler)
    state, lengths = module.init(corpus, topics, start, rng), corpus.document_lengths
    draws = np.empty((sweeps, 2))
    for i in tqdm(range(-burn_in, sweeps), desc="full Bayes", unit="sweep", disable=None, leave=False):
        module.sweep(state, rng)
        alpha = np.exp(slice_step(of_alpha(state, lengths), np.log(state.alpha[0]), rng))
        eta = np.exp(slice_step(of_eta(state), np.log(state.eta), rng))
        state = replace(state, alpha=np.full(topics, alpha), eta=float(eta))
        if i >= 0:
            draws[i] = alpha, eta
    return FullBayes(draws, state)


def of_alpha(state: State, lengths: np.ndarray) -> Callable[[float], float]:
    """log p(z | alpha) as a function of log alpha."""
    counts, sizes = (np.unique(values, return_counts=True) for values in (state.document_topic, lengths))
    urns = Urns(*counts, *sizes, state.topics)
    return lambda log_alpha: urns.log_density(np.exp(log_alpha))


def of_eta(state: State) -> Callable[[float], float]:
    """log p(w | z, eta) as a function of log eta."""
    counts, totals = (np.unique(values, return_counts=True) for values in (state.term_topic, state.topic_total))
    urns = Urns(*counts, *totals, len(state.term_topic))
    return lambda log_eta: urns.log_density(np.exp(log_eta))


def slice_step(log_density: Callable[[float], float], x: float, rng: np.random.Generator) -> float:
    """One draw by slice sampling: stepping out within the ends of the prior, then shrinking."""
    low, high = np.log(ENDS)
    level = log_density(x) + np.log1p(-rng.random())
    left = x - WIDTH * rng.random()
    right = left + WIDTH
    while left > low and log_density(left) > level:
        left -= WIDTH
    while right < high and log_density(right) > level:
        right += WIDTH
    left, right = max(left, low), min(right, high)
    while True:
        proposed = left + (right - left) * rng.random()
        if log_density(proposed) >= level:
            return float(proposed)
        if proposed < x:
            left = proposed
        else:
            right = proposed
