"""The pseudo-marginal estimate of m(T) [Chen & Doss 4.9]: importance sampling by the sweeps of a Gibbs sampler.

From z_0 run z_1, ..., z_m. Given z_{l-1}, z_l is a draw from g(z_{l-1}, .), so p(w, z_l | T) / g(z_{l-1}, z_l) has the
expectation m(T), and so has the mean of the m summands, for every m and every z_0 that knows nothing of the draws. Its
log is therefore too small on average. A z_l chosen with probability proportional to its summand belongs to the
estimate: E[estimate 1(z = .)] = p(w, z = . | T). So does the last one, the paper's choice, for every m and not only in
the limit: p(w, z_l) is what summand l puts in the place of z_l, and the sweeps that follow leave it as it is.

The grouped sampler has no g. It draws (theta, beta) given z_{l-1}, and z_l given these; the summand is then
p(w | theta, beta) p(theta, beta) / p(theta, beta | z_{l-1}, w), from which z_l has gone. Its variance is infinite as
soon as a count exceeds its prior parameter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np

from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.tempered import draw_prior
from bayestopics.jit import kernel
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.density import log_likelihood
from bayestopics.lda.state import Prior, State, from_assignments, random_start
from bayestopics.problems import InputError
from bayestopics.seeds import generator

CHOICES = ("weighted", "last")
PRIOR = "prior"  # as importance distribution, in the place of a sampler
STARTS = ("uniform", "pilot")

Summand = Callable[[State, np.random.Generator], float]  # does a sweep, and returns the log of its summand


@dataclass(frozen=True, eq=False)
class PseudoMarginal:
    """An estimate of m(T), and the z that belongs to it. (theta, beta) given z: `lda.parameters.draw_parameters`."""

    log_estimate: float
    log_summands: np.ndarray  # float64[m]
    assignments: np.ndarray  # int32[N]


def estimate(
    corpus: Corpus,
    topics: int,
    prior: Prior,
    *,
    inner: int,
    rng: np.random.Generator,
    sampler: str = "sparse",
    start: str | np.ndarray = "uniform",
    choose: str = "weighted",
) -> PseudoMarginal:
    """The mean (4.9) of `inner` summands, from a uniform z_0 or a given one.

    z is chosen with probability proportional to its summand, or is the last one, as in the paper; both are exact.
    """
    if inner < 1:
        raise InputError(f"an estimate needs at least one inner sweep, not {inner}")
    if choose not in CHOICES:
        raise InputError(f"unknown choice of z {choose!r}; known are {', '.join(CHOICES)}")
    state = _start(corpus, topics, prior, start, rng)
    sweep = _from_prior(corpus, prior) if sampler == PRIOR else _summand(corpus, sampler_by_name(sampler), state)
    log_summands = np.empty(inner)
    log_total, chosen = -math.inf, state.assignments
    for step in range(inner):
        log_summands[step] = sweep(state, rng)
        log_total = float(np.logaddexp(log_total, log_summands[step]))
        # of all so far each stands with probability summand / total: one z besides the current one is enough
        share = math.exp(log_summands[step] - log_total)
        if rng.random() < share or choose == "last":
            chosen = state.assignments.copy() if step < inner - 1 else state.assignments
    return PseudoMarginal(log_total - math.log(inner), log_summands, chosen)


def _start(corpus: Corpus, topics: int, prior: Prior, start: str | np.ndarray, rng: np.random.Generator) -> State:
    if isinstance(start, np.ndarray):
        return from_assignments(corpus, topics, prior, start)
    if start != "uniform":
        raise InputError(f"an estimate starts at a 'uniform' z or at a given one, not at {start!r}")
    return random_start(corpus, topics, prior, rng)


def _from_prior(corpus: Corpus, prior: Prior) -> Summand:
    def summand(state: State, rng: np.random.Generator) -> float:
        """log p(w | z_l), z_l from the prior whatever came before."""
        drawn = draw_prior(corpus, state.topics, prior, rng)
        state.assignments[:] = drawn.assignments
        return log_likelihood(drawn)

    return summand


def _summand(corpus: Corpus, module: ModuleType, state: State) -> Summand:
    joint = Joint(corpus, state)
    if not hasattr(module, "transition_density"):
        return _by_parameters(module, joint)

    def by_density(state: State, rng: np.random.Generator) -> float:
        """log p(w, z_l | T) - log g(z_{l-1}, z_l), a summand of (4.9)."""
        log_g = module.sweep(state, rng).log_transition
        return joint(state) - log_g

    return by_density


# -- log p(w, z), often --------------------------------------------------------------------------------


class Joint:
    """`lda.density.log_joint`, from tables: lG(k + a) - lG(a) = log a + log(a + 1) + ... + log(a + k - 1)."""

    def __init__(self, corpus: Corpus, state: State) -> None:
        lengths = corpus.document_lengths
        frequencies = np.bincount(corpus.terms, minlength=1)
        values, self._table_of = np.unique(state.alpha, return_inverse=True)  # a table for each different alpha
        self._alpha = np.array([_rising(alpha, lengths.max()) for alpha in values])
        self._eta = _rising(state.eta, frequencies.max())
        # sum_d lG(sum alpha) - lG(n_d + sum alpha) stays as it is, whatever z
        self._documents = -float(_rising(state.alpha.sum(), lengths.max())[lengths].sum())

    def __call__(self, state: State) -> float:
        counts = (state.document_topic, state.term_topic, state.topic_total)
        return self._documents + _log_joint(*counts, self._alpha, self._table_of, self._eta, state.eta)


def _rising(a: float, largest: int) -> np.ndarray:
    """lG(k + a) - lG(a) for k = 0, ..., largest."""
    return np.concatenate([[0.0], np.cumsum(np.log(a + np.arange(largest)))])


@kernel
def _log_joint(
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    alpha_tables: np.ndarray,
    table_of: np.ndarray,
    eta_table: np.ndarray,
    eta: float,
) -> float:
    """log p(w, z) without the constant of the documents' lengths."""
    documents, topics = document_topic.shape
    terms = len(term_topic)
    result = 0.0
    for d in range(documents):
        for t in range(topics):
            result += alpha_tables[table_of[t], document_topic[d, t]]
    for v in range(terms):
        for t in range(topics):
            result += eta_table[term_topic[v, t]]
    for t in range(topics):
        result += math.lgamma(terms * eta) - math.lgamma(topic_total[t] + terms * eta)
    return result


# -- the grouped sampler ---------------------------------------------------------------------------------


def _by_parameters(module: ModuleType, joint: Joint) -> Summand:
    def summand(state: State, rng: np.random.Generator) -> float:
        """log p(w | theta, beta) + log p(w, z_{l-1}) - log p(w, z_{l-1} | theta, beta).

        This is the summand above: p(theta, beta) / p(theta, beta | z, w) = p(w, z) / p(w, z | theta, beta).
        """
        log_joint, in_document, in_term = joint(state), state.document_topic.copy(), state.term_topic.copy()
        info = module.sweep(state, rng)
        theta, beta = info.parameters.log_theta, info.parameters.log_beta
        return info.log_likelihood + log_joint - _log_complete(in_document, theta) - _log_complete(in_term, beta)

    return summand


@kernel
def _log_complete(counts: np.ndarray, log_shares: np.ndarray) -> float:
    result = 0.0
    for i in range(counts.shape[0]):
        for t in range(counts.shape[1]):
            result += counts[i, t] * log_shares[i, t]
    return result


# -- many estimates ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Estimates:
    """Independent estimates, each known by a stream, T and a number: these and the seed decide all of its bits."""

    corpus: Corpus
    prior: Prior
    inner: int
    seed: int
    sampler: str = "sparse"
    start: str = "uniform"
    pilot_sweeps: int = 200
    choose: str = "weighted"
    _pilots: dict[int, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.sampler != PRIOR:
            sampler_by_name(self.sampler)
        if self.start not in STARTS:
            raise InputError(f"unknown start of z {self.start!r}; known are {', '.join(STARTS)}")
        if self.choose not in CHOICES:
            raise InputError(f"unknown choice of z {self.choose!r}; known are {', '.join(CHOICES)}")
        if self.inner < 1 or self.pilot_sweeps < 1:
            raise InputError(f"nothing to do with {self.inner} inner sweeps and a pilot of {self.pilot_sweeps}")

    def make(self, topics: int, number: int, stream: str = "") -> PseudoMarginal:
        return estimate(
            self.corpus,
            topics,
            self.prior,
            inner=self.inner,
            rng=generator(self.seed, f"pseudo-marginal/{stream}/{topics}/{number}"),
            sampler=self.sampler,
            start=self.pilot(topics) if self.start == "pilot" else self.start,
            choose=self.choose,
        )

    def pilot(self, topics: int) -> np.ndarray:
        """The end of a run from a uniform z, with a generator of its own: one fixed z_0 for each T."""
        if topics not in self._pilots:
            rng = generator(self.seed, f"pseudo-marginal/{topics}/pilot")
            state = random_start(self.corpus, topics, self.prior, rng)
            for _ in range(self.pilot_sweeps):
                sampler_by_name(self.sampler).sweep(state, rng)
            self._pilots[topics] = state.assignments
        return self._pilots[topics]


def warm(sampler: str) -> None:
    """Compile the kernels, or take them from the cache, so that no timing holds a compilation."""
    tokens = np.array([0, 1])
    corpus = Corpus.from_counts(tokens, tokens, np.array([2, 1]), document_count=2, term_count=2)
    estimate(corpus, 2, Prior(0.5, 0.5), inner=1, rng=np.random.default_rng(0), sampler=sampler)
    if sampler != PRIOR and hasattr(module := sampler_by_name(sampler), "warm"):
        module.warm()
