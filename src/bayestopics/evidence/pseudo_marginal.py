"""The pseudo-marginal estimate of m(T) [Chen & Doss 4.9]: importance sampling by the sweeps of a Gibbs sampler.

Run a chain z_0, z_1, ..., z_m. Given z_{l-1}, z_l is a draw from the transition density g(z_{l-1}, .). So the summand
p(w, z_l | T) / g(z_{l-1}, z_l) has the expectation m(T), and so has the mean of the m summands, for every m and every
z_0 that is independent of the draws. The log of the mean is therefore too small on average.

The estimate comes with a z such that E[estimate 1(z = .)] = p(w, z = . | T). One such z is a z_l chosen with
probability proportional to its summand. Another is the last z_m, the paper's choice; this holds for every m and not
only in the limit, because weighting by summand l turns the law of z_l into p(w, z_l), and the sweeps that follow leave
this law unchanged.

The grouped sampler has no g. It draws (theta, beta) given z_{l-1}, and then z_l given (theta, beta). Its summand is
p(w | theta, beta) p(theta, beta) / p(theta, beta | z_{l-1}, w), which does not contain z_l. Its variance is infinite
as soon as a count exceeds its prior parameter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import numpy as np

from bayestopics.base.guard import not_finite, possible_log
from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.tiny import tiny_corpus
from bayestopics.evidence.tempered import draw_prior
from bayestopics.lda import SAMPLERS, lanes, sampler_entry
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.density import log_likelihood
from bayestopics.lda.lanes import CHAINS, Lanes
from bayestopics.lda.state import Prior, State, from_assignments, random_start
from bayestopics.lda.uniforms import new_words

CHOICES = ("weighted", "last")
PRIOR = "prior"  # the prior as importance distribution, instead of a sampler
STARTS = ("uniform", "pilot")
SWEEPS = 50

Summand = Callable[[State, np.random.Generator], float]  # makes a sweep, and returns the log of its summand


@dataclass(frozen=True, eq=False)
class PseudoMarginal:
    """An estimate of m(T), and the z that comes with it. For (theta, beta) given z see
    `lda.parameters.draw_parameters`."""

    log_estimate: float
    log_summands: np.ndarray  # float64[m]
    assignments: np.ndarray  # int32[N]

    def after(self, inner: int) -> float:
        """The log-estimate from the first `inner` sweeps alone: the same bits as an estimate with m = `inner`."""
        return float(np.logaddexp.accumulate(self.log_summands)[inner - 1]) - math.log(inner)


def repeat(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> float:
    """One estimate of log m(T), from `sweeps` summands."""
    return estimate(corpus, topics, prior, inner=sweeps, rng=rng).log_estimate


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

    The z that comes with it is chosen with probability proportional to its summand ("weighted"), or is the last one, as
    in the paper ("last"); both are exact.
    """
    _check(inner, choose)
    state = _start(corpus, topics, prior, start, rng)
    sweep = _from_prior(corpus, prior) if sampler == PRIOR else _summand(corpus, sampler, state)
    log_summands = np.empty(inner)
    log_total, chosen = -math.inf, state.assignments
    for step in range(inner):
        log_summands[step] = sweep(state, rng)
        if not possible_log(log_summands[step]):
            raise not_finite(f"a log summand of the estimate of m({topics})", step, state)
        log_total = float(np.logaddexp(log_total, log_summands[step]))
        # each z so far is the chosen one with probability summand / total, so only one z has to be kept
        share = math.exp(log_summands[step] - log_total)
        if rng.random() < share or choose == "last":
            chosen = state.assignments.copy() if step < inner - 1 else state.assignments
    return PseudoMarginal(log_total - math.log(inner), log_summands, chosen)


def _check(inner: int, choose: str) -> None:
    if inner < 1:
        raise InputError(f"an estimate needs at least one inner sweep, not {inner}")
    if choose not in CHOICES:
        raise InputError(f"unknown choice of z {choose!r}; choose from {', '.join(CHOICES)}")


def _start(corpus: Corpus, topics: int, prior: Prior, start: str | np.ndarray, rng: np.random.Generator) -> State:
    if isinstance(start, np.ndarray):
        return from_assignments(corpus, topics, prior, start)
    if start != "uniform":
        raise InputError(f"an estimate starts at a 'uniform' z or at a given one, not at {start!r}")
    return random_start(corpus, topics, prior, rng)


def _from_prior(corpus: Corpus, prior: Prior) -> Summand:
    def summand(state: State, rng: np.random.Generator) -> float:
        """log p(w | z_l), with z_l drawn from the prior, independently of what came before."""
        drawn = draw_prior(corpus, state.topics, prior, rng)
        state.assignments[:] = drawn.assignments
        return log_likelihood(drawn)

    return summand


def _summand(corpus: Corpus, sampler: str, state: State) -> Summand:
    joint, module = Joint(corpus, state), sampler_by_name(sampler)
    if not sampler_entry(sampler).transition_density:
        return _by_parameters(module, joint)

    def by_density(state: State, rng: np.random.Generator) -> float:
        """log p(w, z_l | T) - log g(z_{l-1}, z_l), a summand of (4.9)."""
        log_g = module.sweep(state, rng).log_transition
        return joint(state).item() - log_g

    return by_density


# -- log p(w, z), fast ---------------------------------------------------------------------------------


class Joint:
    """`lda.density.log_joint` from tables of lG(k + a) - lG(a) = log a + log(a + 1) + ... + log(a + k - 1).

    The result is float64[chains]: one number for a `State`, one per chain for `Lanes`.
    """

    def __init__(self, corpus: Corpus, state: State | Lanes) -> None:
        self._chains = CHAINS if isinstance(state, Lanes) else 1
        lengths = corpus.document_lengths
        frequencies = np.bincount(corpus.terms, minlength=1)
        alpha = state.alpha.reshape(state.topic_total.shape)  # the same in all documents
        values, self._table_of = np.unique(alpha, return_inverse=True)  # one table for each different alpha
        self._alpha = np.array([_rising(value, lengths.max()) for value in values])
        self._eta = _rising(state.eta, frequencies.max())
        # sum_d lG(sum alpha) - lG(n_d + sum alpha) does not depend on z
        totals = self._by_chain(alpha)
        self._documents = -np.array([_rising(total, lengths.max())[lengths].sum() for total in totals])

    def __call__(self, state: State | Lanes) -> np.ndarray:
        counts = (state.document_topic, state.term_topic, state.topic_total)
        return self._documents + self._by_chain(_log_joint(*counts, self._alpha, self._table_of, self._eta, state.eta))

    def _by_chain(self, of_topics: np.ndarray) -> np.ndarray:
        return of_topics.reshape(-1, self._chains).sum(axis=0)


def _rising(a: float, largest: int) -> np.ndarray:
    """lG(k + a) - lG(a) for k = 0, ..., largest; all 0 for a = 0, which marks a topic that a chain does not have."""
    return np.concatenate([[0.0], np.cumsum(np.log(a + np.arange(largest)))]) if a > 0 else np.zeros(largest + 1)


@kernel
def _log_joint(
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    alpha_tables: np.ndarray,
    table_of: np.ndarray,
    eta_table: np.ndarray,
    eta: float,
) -> np.ndarray:
    """What each topic adds to log p(w, z), without the constant of the documents' lengths."""
    documents, topics = document_topic.shape
    terms = len(term_topic)
    result = np.empty(topics)
    for t in range(topics):
        result[t] = math.lgamma(terms * eta) - math.lgamma(topic_total[t] + terms * eta)
    for d in range(documents):
        for t in range(topics):
            result[t] += alpha_tables[table_of[t], document_topic[d, t]]
    for v in range(terms):
        for t in range(topics):
            result[t] += eta_table[term_topic[v, t]]
    return result


# -- the grouped sampler ---------------------------------------------------------------------------------


def _by_parameters(module: ModuleType, joint: Joint) -> Summand:
    def summand(state: State, rng: np.random.Generator) -> float:
        """log p(w | theta, beta) + log p(w, z_{l-1}) - log p(w, z_{l-1} | theta, beta).

        This is the summand above: p(theta, beta) / p(theta, beta | z, w) = p(w, z) / p(w, z | theta, beta).
        """
        log_joint, in_document, in_term = joint(state).item(), state.document_topic.copy(), state.term_topic.copy()
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


# -- side by side ------------------------------------------------------------------------------------------


def estimate_together(
    corpus: Corpus,
    topics: Sequence[int],
    prior: Prior,
    *,
    inner: int,
    rngs: Sequence[np.random.Generator],
    start: Sequence[np.ndarray] | None = None,
    choose: str = "weighted",
) -> list[PseudoMarginal]:
    """At most CHAINS estimates, as `estimate` makes them with the single-site sampler, each with its own T, generator
    and start.

    No estimate depends on the others. Together they take a third of the time.
    """
    _check(inner, choose)
    for many in topics:
        prior.alpha_vector(many)  # refuses impossible numbers of topics before anything is drawn
    if start is None:
        sizes = zip(topics, rngs, strict=True)
        start = [rng.integers(topics, size=corpus.token_count, dtype=np.int32) for topics, rng in sizes]
    state = lanes.init(corpus, topics, prior, start)
    joint, chosen = Joint(corpus, state), state.assignments if choose == "last" else state.assignments.copy()
    log_summands, log_total = np.empty((inner, CHAINS)), np.full(CHAINS, -math.inf)
    words, uniforms = np.ones((4, CHAINS), np.uint64), np.ones(CHAINS)
    for step in range(inner):
        for chain, rng in enumerate(rngs):
            words[:, chain], uniforms[chain] = new_words(rng), rng.random()
        log_g = lanes.sweep(state, words)
        log_summands[step] = joint(state) - log_g  # a summand of (4.9)
        if not possible_log(log_summands[step]):
            raise not_finite(f"a log summand of the estimates of m({list(topics)})", step, state.assignments)
        log_total = np.logaddexp(log_total, log_summands[step])
        if choose == "weighted":
            _take(state.assignments, uniforms < np.exp(log_summands[step] - log_total), chosen)
    return [
        PseudoMarginal(
            float(log_total[chain]) - math.log(inner), log_summands[:, chain].copy(), chosen[:, chain].copy()
        )
        for chain in range(len(topics))
    ]


@kernel
def _take(assignments: np.ndarray, chains: np.ndarray, chosen: np.ndarray) -> None:
    """Copy the assignments of these chains into `chosen`."""
    for i in range(len(assignments)):
        for chain in range(CHAINS):
            chosen[i, chain] = assignments[i, chain] if chains[chain] else chosen[i, chain]


# -- many estimates ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inner:
    """How an estimate is made."""

    sweeps: int = SWEEPS  # m
    sampler: str = "single-site"  # or "prior", for draws from the prior
    start: str = "uniform"  # z_0: "uniform" (random topics), or "pilot" (the end of a pilot run)
    pilot_sweeps: int = 200
    choose: str = "weighted"  # which z comes with the estimate
    shorter: tuple[int, ...] = ()  # smaller m, for which the estimate from the first m sweeps is reported too

    def __post_init__(self) -> None:
        if self.sampler != PRIOR and not sampler_entry(self.sampler).estimates_evidence:
            able = ", ".join(name for name, entry in SAMPLERS.items() if entry.estimates_evidence)
            raise InputError(f"the sampler {self.sampler!r} cannot estimate the evidence; choose from {able}")
        if self.start not in STARTS:
            raise InputError(f"unknown start of z {self.start!r}; choose from {', '.join(STARTS)}")
        if self.sampler == PRIOR and self.start != "uniform":
            raise InputError("draws from the prior have no start, so a pilot run is of no use to them")
        _check(self.sweeps, self.choose)
        if self.pilot_sweeps < 1:
            raise InputError(f"a pilot run needs at least 1 sweep, not {self.pilot_sweeps}")
        if not all(1 <= few <= self.sweeps for few in self.shorter):
            raise InputError(f"an estimate of {self.sweeps} sweeps does not begin with {list(self.shorter)} sweeps")

    @property
    def side_by_side(self) -> bool:
        return self.sampler != PRIOR and sampler_entry(self.sampler).side_by_side

    @property
    def together(self) -> int:
        """How many estimates are made at once."""
        return CHAINS if self.side_by_side else 1

    def settings(self) -> dict[str, Any]:
        return {"estimate": "gibbs", "inner": self.sweeps, "sampler": self.sampler, "z_start": self.start}

    def estimates(self, corpus: Corpus, prior: Prior, seed: int, assignments: bool) -> Estimates:
        """If the assignments are not needed the last z is taken, which avoids copies."""
        return Estimates(corpus, prior, self if assignments else replace(self, choose="last"), seed)

    def compile(self) -> None:
        compile_estimates(self.sampler)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Independent estimates. Each is identified by a stream, T and a number, which, with the seed, decide its bits."""

    corpus: Corpus
    prior: Prior
    inner: Inner
    seed: int
    _pilots: dict[int, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    def make(self, topics: int, number: int, stream: str = "") -> PseudoMarginal:
        return self.make_all([(topics, number, stream)])[0]

    def make_all(self, keys: Sequence[tuple[int, int, str]]) -> list[PseudoMarginal]:
        """The estimates with these (T, number, stream); at most `inner.together` of them."""
        sizes = [topics for topics, _, _ in keys]
        rngs = [generator(self.seed, f"pseudo-marginal/{stream}/{topics}/{number}") for topics, number, stream in keys]
        pilots = [self.pilot(topics) for topics in sizes] if self.inner.start == "pilot" else None
        work: dict[str, Any] = {"inner": self.inner.sweeps, "choose": self.inner.choose}
        if self.inner.side_by_side:
            return estimate_together(self.corpus, sizes, self.prior, rngs=rngs, start=pilots, **work)
        starts: list[Any] = [self.inner.start] * len(keys) if pilots is None else list(pilots)
        return [
            estimate(self.corpus, topics, self.prior, rng=rng, sampler=self.inner.sampler, start=start, **work)
            for topics, rng, start in zip(sizes, rngs, starts, strict=True)
        ]

    def pilot(self, topics: int) -> np.ndarray:
        """The end of a pilot run from a uniform z, with a generator of its own: one fixed z_0 for each T."""
        if topics not in self._pilots:
            rng = generator(self.seed, f"pseudo-marginal/{topics}/pilot")
            state = random_start(self.corpus, topics, self.prior, rng)
            for _ in range(self.inner.pilot_sweeps):
                sampler_by_name(self.inner.sampler).sweep(state, rng)
            self._pilots[topics] = state.assignments
        return self._pilots[topics]


def compile_estimates(sampler: str) -> None:
    """Compile the kernels, or load them from the cache, so that no timing includes compilation."""
    Estimates(tiny_corpus(), Prior(0.5, 0.5), Inner(1, sampler), seed=0).make(2, 0)
    if sampler != PRIOR and hasattr(module := sampler_by_name(sampler), "compile_rest"):
        module.compile_rest()
