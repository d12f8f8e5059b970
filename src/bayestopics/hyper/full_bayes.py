"""Full Bayes: alpha and eta sampled with the topics [George & Doss, section 6, the closing idea].

After each sweep of z, log alpha and log eta are drawn from their conditionals given z, with theta and beta integrated
out, by slice sampling (Neal 2003). Their prior is uniform in log h between two ends, so the density of the draws of
log h is proportional to the marginal likelihood m(h): tempering should search where this density is largest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.guard import finite, not_finite
from bayestopics.base.problems import InputError
from bayestopics.base.progress import counted_sweeps
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.given_z import of_alpha, of_eta, slice_step
from bayestopics.lda.state import Prior, State
from bayestopics.lda.urns import ENDS, check_model

MODE_DRAWS = 1000  # number of draws for the density estimate


@dataclass(frozen=True, eq=False)
class FullBayes:
    draws: np.ndarray  # float64[n, 2]: alpha and eta of every kept sweep
    last: State

    @property
    def mode(self) -> np.ndarray:
        """The draw of (alpha, eta) at which a kernel estimate of the density of the logs is largest."""
        from statsmodels.nonparametric.kernel_density import KDEMultivariate  # here, because it imports slowly

        logs = np.log(self.draws[:: max(1, len(self.draws) // MODE_DRAWS)])
        if np.any(logs.std(axis=0) == 0):
            return np.exp(np.median(logs, axis=0))
        density = KDEMultivariate(logs, "cc", bw="normal_reference", rng=np.random.default_rng(0))  # none is drawn
        return np.exp(logs[np.argmax(density.pdf(logs))])

    @property
    def deviations(self) -> np.ndarray:
        """A robust standard deviation of the logs: half the range of the middle 68 % of the draws."""
        return np.diff(np.quantile(np.log(self.draws), [0.16, 0.84], axis=0), axis=0)[0] / 2

    @property
    def steps(self) -> np.ndarray:
        """Standard deviations of the logs given z, from the curvature at the last draw."""
        last = self.last
        of_topics = of_alpha(last.document_topic, last.document_topic.sum(axis=1))
        given = of_topics, of_eta(last.term_topic, last.topic_total)
        return np.array([_deviation(density, x) for density, x in zip(given, np.log(self.draws[-1]), strict=True)])


def full_bayes(
    corpus: Corpus,
    topics: int,
    *,
    sweeps: int,
    burn_in: int,
    rng: np.random.Generator,
    sampler: str = "single-site",
    start: Prior = Prior(0.5, 0.5),  # noqa: B008 (frozen)
    alphas: tuple[float, float] = ENDS,
    etas: tuple[float, float] = ENDS,
    checkpoint: Checkpoint | None = None,
) -> FullBayes:
    """Run a chain of (z, alpha, eta): `burn_in` sweeps are dropped and `sweeps` kept; alpha and eta stay within
    their ranges.

    During the first half of the burn-in alpha and eta do not change: a random z looks as if alpha were infinite, and a
    chain that follows it there is slow to come back.
    """
    check_model(corpus, topics, start)
    if sweeps < 1 or burn_in < 0:
        raise InputError(f"at least 1 sweep is needed, and a burn-in of 0 or more, not {sweeps} and {burn_in}")
    module, checkpoint = sampler_by_name(sampler), checkpoint or NoCheckpoint()
    if (saved := checkpoint.load()) is None:
        start = Prior(float(np.clip(start.alpha, *alphas)), float(np.clip(start.eta, *etas)))
        done, state, draws = 0, module.init(corpus, topics, start, rng), np.empty((sweeps, 2))
    else:
        done, state, draws, rng.bit_generator.state = saved
    for i in counted_sweeps(range(-burn_in, sweeps), "full Bayes", done):
        module.sweep(state, rng)
        if i >= -(burn_in // 2):
            state = _draw_prior(state, corpus.document_lengths, alphas, etas, rng)
        if not finite((state.alpha[0], state.eta)):
            raise not_finite("alpha or eta", burn_in + i, state)
        if i >= 0:
            draws[i] = state.alpha[0], state.eta
        if checkpoint.due():
            checkpoint.save((burn_in + i + 1, state, draws, rng.bit_generator.state))
    return FullBayes(draws, state)


def _draw_prior(
    state: State, lengths: np.ndarray, alphas: tuple[float, float], etas: tuple[float, float], rng: np.random.Generator
) -> State:
    """The same z, with alpha and eta drawn given z."""
    alpha = np.exp(slice_step(of_alpha(state.document_topic, lengths), np.log(state.alpha[0]), alphas, rng))
    eta = np.exp(slice_step(of_eta(state.term_topic, state.topic_total), np.log(state.eta), etas, rng))
    return replace(state, alpha=np.full(state.topics, alpha), eta=float(eta))


def _deviation(log_density: Callable[[float], float], x: float, step: float = 0.01) -> float:
    bend = (log_density(x + step) - 2 * log_density(x) + log_density(x - step)) / step**2
    return float(1 / np.sqrt(-bend)) if bend < 0 else np.inf
