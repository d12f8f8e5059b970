"""Leave-one-out score [Chen & Doss 5.2]: S(T) = [prod_d L(d)]^(1/D), L(d) = p(w_d | the other documents).

L(d) is the mean of p(w_d | beta, alpha) over draws of beta given the other documents: one chain a document, on the
corpus without it. The estimates are averaged before the log is taken. Each is made by left-to-right, in a new order of
the words, with beta drawn given z, or integrated out given z, which has the same mean and scatters less. The mean of
beta given z in place of a draw would not do: it is another model.

Chains of the single-site sampler run eight at a time, side by side. They visit the same tokens, but each leaves out
another document: a topic of its own, which no other document has, keeps that document's words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayestopics.base import processes
from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.problems import InputError
from bayestopics.base.progress import Progress, counted, counted_sweeps
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda import lanes, sampler_entry
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.lanes import CHAINS, Lanes
from bayestopics.lda.left_to_right import Others, given_beta, given_topics_of_others, log_mean_of_products
from bayestopics.lda.parameters import log_gamma_draws
from bayestopics.lda.state import Prior, State, check_assignments, from_assignments
from bayestopics.lda.uniforms import new_words
from bayestopics.predict import BETAS

BATCHES = 20  # of draws, for the standard error
DELTA = 1.0  # the delta method holds for log-estimates that scatter by less than this
ROUNDING = 1e-9
WARM_UP = "score/leave-one-out/warm-up"  # the name of its generator
TOO_LOW = "log L(d) is likely too low"
CORRELATED = 0.2  # batches with this lag-one correlation make the error too small by a fifth


@dataclass(frozen=True)
class Document:
    document: int
    tokens: int
    log_likelihood: float  # log L(d)
    standard_error: float | None  # Monte Carlo error of it, None with fewer than two draws


@dataclass(frozen=True)
class LeaveOneOutScore:
    log_score: float  # log S(T): mean over all documents of log L(d)
    standard_error: float | None  # Monte Carlo error of it
    sampling_error: float | None  # of it too, if not all documents were left out; None for one of many
    perplexity: float  # exp(-sum_d log L(d) / sum_d n_d): per word
    documents: list[Document]
    warnings: list[str]


@dataclass(frozen=True, eq=False)
class Plan:
    """All that the chain of a document depends on, but its number."""

    corpus: Corpus
    topics: int
    prior: Prior
    sampler: str
    sweeps: int
    burn_in: int
    thin: int
    particles: int
    beta: str
    seed: int
    start: np.ndarray | None = None  # assignments of the whole corpus


def score(
    corpus: Corpus,
    topics: int,
    prior: Prior,
    *,
    sampler: str = "single-site",
    sweeps: int = 200,
    burn_in: int = 200,
    thin: int = 5,
    particles: int = 10,
    beta: str = "integrated",
    warm_up: int = 0,
    documents: int | Sequence[int] | None = None,
    seed: int = 0,
    workers: int = 1,
    checkpoint: Checkpoint | None = None,
) -> LeaveOneOutScore:
    """log S(T), with its Monte Carlo error and, for a part of the documents, its sampling error.

    Of each chain `burn_in` sweeps are dropped and `sweeps` kept, and every `thin`-th of these gives an estimate, with
    `particles` particles. Chains start at random; with `warm_up` from a state of one chain of so many sweeps on the
    whole corpus. That state has seen the document, so burn-in is needed still, and it is shared: if the posterior has
    several modes, the errors, which take documents as independent, do not know of it.

    `documents` are all, so many evenly spaced ones, or those in a list. Results do not depend on `workers`.
    """
    if beta not in BETAS:
        raise InputError(f"unknown beta {beta!r}; it is {' or '.join(BETAS)}")
    if not 1 <= thin <= sweeps:
        raise InputError(f"no estimate from {sweeps} sweeps thinned to one in {thin}")
    if particles < 1 or workers < 1:
        raise InputError("there must be at least 1 particle and 1 worker")
    chosen = choose(corpus, documents)
    plan = Plan(corpus, topics, prior, sampler, sweeps, burn_in, thin, particles, beta, seed)
    checkpoint = checkpoint or NoCheckpoint()
    estimates: dict[int, np.ndarray] = checkpoint.load() or {}  # of the documents that are finished
    if warm_up:
        plan = replace(plan, start=_warm_start(plan, warm_up, checkpoint.part("warm-up")))
    # the longest first, for they take longest; an empty document has L(d) = 1 without a chain
    todo = [d for d in chosen[np.argsort(-corpus.document_lengths[chosen])].tolist() if corpus.document_lengths[d]]
    with Progress("leave one out", len(todo), "document", len(estimates)) as bar:
        for found in _finished(plan, [d for d in todo if d not in estimates], workers):
            estimates |= found
            bar.update(len(found))
            if checkpoint.due() or len(estimates) == len(todo):
                checkpoint.save(estimates)
    return summary(corpus, {d: estimates.get(d, np.zeros(sweeps // thin)) for d in chosen.tolist()})


def choose(corpus: Corpus, documents: int | Sequence[int] | None) -> np.ndarray:
    """The numbers of the documents to leave out, in ascending order."""
    count = corpus.document_count
    if documents is None:
        return np.arange(count)
    if isinstance(documents, int | np.integer):
        if not 1 <= documents <= count:
            raise InputError(f"cannot leave out {documents} of {count} documents")
        chosen = (2 * np.arange(documents) + 1) * count // (2 * documents)
    else:
        chosen = np.unique(np.array(documents, dtype=np.int64))
        if len(chosen) == 0 or chosen[0] < 0 or chosen[-1] >= count:
            raise InputError(f"documents to leave out are numbers from 0 to {count - 1}")
    if not np.any(corpus.document_lengths[chosen]):
        raise InputError("the documents to leave out have no words")
    return chosen


def groups(documents: Sequence[int], workers: int, most: int) -> list[Sequence[int]]:
    """At most so many documents each, long and short ones in every group; at least one for each worker."""
    number = max(-(-len(documents) // most), workers)
    return [documents[first::number] for first in range(number)]


def _finished(plan: Plan, documents: Sequence[int], workers: int) -> Iterator[dict[int, np.ndarray]]:
    """The estimates of groups of these documents, as they come."""
    workers = min(workers, len(documents))
    chunks = groups(documents, workers, CHAINS if sampler_entry(plan.sampler).side_by_side else 1)
    if workers <= 1:
        yield from (estimates_of(plan, chunk) for chunk in chunks)
        return
    with processes.pool(workers, plan) as submit:
        running = {submit(estimates_of, chunk) for chunk in chunks}
        while running:
            for future in processes.first_done(running):
                running.remove(future)
                yield future.result()


# -- the chains of a group of documents --------------------------------------------------------------


def _warm_start(plan: Plan, sweeps: int, checkpoint: Checkpoint) -> np.ndarray:
    rng, module, given = generator(plan.seed, WARM_UP), sampler_by_name(plan.sampler), (plan.topics, plan.prior)
    if (saved := checkpoint.load()) is None:
        done, state = 0, module.init(plan.corpus, *given, rng)
    else:
        done, assignments, rng.bit_generator.state = saved
        state = from_assignments(plan.corpus, *given, assignments)
    for i in counted_sweeps(range(sweeps), "warm-up", done):
        module.sweep(state, rng)
        if checkpoint.due():
            checkpoint.save((i + 1, state.assignments, rng.bit_generator.state))
    return state.assignments


def estimates_of(plan: Plan, documents: Sequence[int]) -> dict[int, np.ndarray]:
    """Logs of unbiased estimates of L(d), one a kept and thinned sweep, for at most eight documents.

    What those of one are does not depend on the others.
    """
    rngs = [generator(plan.seed, f"score/leave-one-out/{d}") for d in documents]
    start = _side_by_side if sampler_entry(plan.sampler).side_by_side else _one_by_one
    sweep_all, others = start(plan, documents, rngs)
    terms = [plan.corpus.terms[plan.corpus.documents == d] for d in documents]
    estimate, logs = {"integrated": _beta_integrated, "drawn": _beta_drawn}[plan.beta], []
    for sweep in counted(range(1 - plan.burn_in, plan.sweeps + 1), f"{len(documents)} documents", "sweep"):
        sweep_all()
        if sweep >= 1 and sweep % plan.thin == 0:
            chains = zip(others, terms, rngs, strict=True)
            logs.append([estimate(rest, rng.permutation(own), plan.particles, rng) for rest, own, rng in chains])
    return dict(zip(documents, np.array(logs).T, strict=True))


Generators = Sequence[np.random.Generator]
Chains = tuple[Callable[[], None], Sequence[State | Others]]  # a sweep of them all, and what it changes


def _one_by_one(plan: Plan, documents: Sequence[int], rngs: Generators) -> Chains:
    """A chain a document, on the corpus without it."""
    module, states = sampler_by_name(plan.sampler), []
    for document, rng in zip(documents, rngs, strict=True):
        kept = plan.corpus.documents != document
        rest = plan.corpus.select_tokens(kept)
        if plan.start is None:
            states.append(module.init(rest, plan.topics, plan.prior, rng))
        else:
            states.append(from_assignments(rest, plan.topics, plan.prior, plan.start[kept]))

    def sweep_all() -> None:
        for state, rng in zip(states, rngs, strict=True):
            if len(state.terms):
                module.sweep(state, rng)

    return sweep_all, states


def _side_by_side(plan: Plan, documents: Sequence[int], rngs: Generators) -> Chains:
    """The same by the single-site sampler, all chains at once."""
    corpus, topics, alpha = plan.corpus, plan.topics, plan.prior.alpha_vector(plan.topics)
    if plan.start is None:
        starts = [rng.integers(topics, size=corpus.token_count, dtype=np.int32) for rng in rngs]
    else:
        starts = [plan.start] * len(documents)
    state, words = leave_out(corpus, topics, plan.prior, starts, documents), np.ones((4, CHAINS), np.uint64)

    def sweep_all() -> None:
        for chain, rng in enumerate(rngs):
            words[:, chain] = new_words(rng)
        lanes.sweep(state, words)

    term_topic = state.term_topic.reshape(-1, topics + 1, CHAINS)[:, :topics]
    topic_total = state.topic_total.reshape(topics + 1, CHAINS)[:topics]
    chains = range(len(documents))
    return sweep_all, [Others(term_topic[:, :, c], topic_total[:, c], alpha, state.eta) for c in chains]


def leave_out(
    corpus: Corpus, topics: int, prior: Prior, starts: Sequence[np.ndarray], documents: Sequence[int]
) -> Lanes:
    """Chains on the corpus without a document each.

    Each has one topic more than it seems to. In its document that topic has alpha = 1 and all others 0, so that the
    words, which start there, stay there; elsewhere it has alpha = 0, and no word ever comes to it.
    """
    parted = []
    for document, start in zip(documents, starts, strict=True):
        check_assignments(corpus, topics, start)
        parted.append(np.where(corpus.documents == document, np.int32(topics), start))
    with_own = Prior((*prior.alpha_vector(topics), 1.0), prior.eta)
    state = lanes.init(corpus, [topics + 1] * len(documents), with_own, parted)
    alpha, alpha_of = np.repeat(state.alpha, 1 + len(documents), axis=0), state.alpha_of.copy()
    by_chain = alpha.reshape(1 + len(documents), topics + 1, CHAINS)
    by_chain[:, topics] = 0.0
    alpha_of[documents] = 1 + np.arange(len(documents))
    for chain, document in enumerate([*documents, *[documents[0]] * (CHAINS - len(documents))]):  # as `init` fills up
        by_chain[alpha_of[document], :topics, chain] = 0.0
        by_chain[alpha_of[document], topics, chain] = 1.0
    return replace(state, alpha=alpha, alpha_of=alpha_of)


def _beta_integrated(others: State | Others, terms: np.ndarray, particles: int, rng: np.random.Generator) -> float:
    """An estimate of p(w_d | z_-d, w_-d)."""
    return log_mean_of_products(given_topics_of_others(terms, others, particles, new_words(rng)))


def _beta_drawn(others: State | Others, terms: np.ndarray, particles: int, rng: np.random.Generator) -> float:
    """An estimate of p(w_d | beta, alpha), for a draw of beta given z_-d and w_-d."""
    kinds, rows = np.unique(terms, return_inverse=True)
    log_beta = draw_log_beta(others, kinds, rng)
    return log_mean_of_products(given_beta(rows, log_beta, others.alpha, particles, new_words(rng)))


def draw_log_beta(state: State | Others, terms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """log beta of these (different) terms; all others are drawn as one, since a Dirichlet's sums are Dirichlet."""
    shape = state.term_topic[terms] + state.eta
    absent = len(state.term_topic) - len(terms)
    if absent:
        others = state.topic_total - state.term_topic[terms].sum(axis=0) + absent * state.eta
        shape = np.vstack([shape, others])
    log_gamma = log_gamma_draws(shape, rng)
    return log_gamma[: len(terms)] - np.logaddexp.reduce(log_gamma, axis=0)


# -- all documents ---------------------------------------------------------------------------------


def summary(corpus: Corpus, estimates: dict[int, np.ndarray]) -> LeaveOneOutScore:
    """The score from the log-estimates of each document that was left out."""
    batches = {d: batch_log_means(logs) for d, logs in estimates.items()}
    lengths = corpus.document_lengths
    table = [Document(d, int(lengths[d]), log_mean(estimates[d]), log_error(batches[d])) for d in estimates]
    logs, tokens = np.array([row.log_likelihood for row in table]), np.array([row.tokens for row in table])
    # ratio estimator: log L(d) is nearly proportional to n_d, known for all documents. For all of them it is the mean
    per_token = logs.sum() / tokens.sum()
    share = len(table) / corpus.document_count
    sampling_error = 0.0 if share == 1 else None
    if share < 1 and len(table) > 1:
        sampling_error = float(np.std(logs - per_token * tokens, ddof=1) * np.sqrt((1 - share) / len(table)))
    errors = [row.standard_error for row in table if row.standard_error is not None]
    error = None
    if len(errors) == len(table):
        error = float(np.sqrt(np.sum(np.square(errors))) * lengths.mean() / tokens.sum())
    doubts = _doubts([batches[row.document] for row in table if row.tokens], error)
    return LeaveOneOutScore(
        float(per_token * lengths.mean()), error, sampling_error, float(np.exp(-per_token)), table, doubts
    )


def log_mean(logs: np.ndarray) -> float:
    largest = logs.max()
    return float(largest + np.log(np.mean(np.exp(logs - largest))))


def batch_log_means(logs: np.ndarray) -> np.ndarray:
    """log of the mean of each of (at most) 20 batches of neighbouring estimates."""
    return np.array([log_mean(batch) for batch in np.array_split(logs, min(BATCHES, len(logs)))])


def log_error(batches: np.ndarray) -> float | None:
    """Error of a log mean: the batches' scatter, over sqrt(batches) only where the delta method holds."""
    if len(batches) < 2:
        return None
    scatter = float(np.std(batches, ddof=1))
    return scatter / len(batches) ** 0.5 if scatter < DELTA else scatter


def _doubts(batches: list[np.ndarray], error: float | None) -> list[str]:
    if error is None:
        return ["a single estimate a document has no standard error"]
    doubts, documents, count = [], len(batches), len(batches[0])
    scatter = np.std(batches, axis=1, ddof=1)
    if wide := int(np.sum(scatter >= DELTA)):
        about = f"{wide} of {documents} documents: log-estimates scatter by {scatter.max():.3g} at most, over {DELTA:g}"
        doubts.append(f"{about}; their error is this scatter, and {TOO_LOW}")
    if heavy := sum(np.max(logs) - log_mean(logs) > np.log(count / 2) for logs in batches):
        doubts.append(f"{heavy} of {documents} documents: one batch of draws carries over half of the weight")
    # E log X is below log E X by half the squared error; unlike the error, that does not average out over documents
    low = np.sum(scatter[scatter < DELTA] ** 2) / (2 * count * documents)
    if low > error:
        doubts.append(f"the log score is too low by about {low:.2g}, more than its standard error: run longer")
    # independent batches exceed two standard deviations in about 2 % of runs
    if lag_one_correlation(batches) > max(CORRELATED, 2 / np.sqrt(documents * count)):
        doubts.append("neighbouring batches of sweeps are correlated: the standard error is too small; run longer")
    return doubts


def lag_one_correlation(batches: Iterable[np.ndarray]) -> float:
    """Of neighbouring batches, all documents pooled; 0 if nothing moves by more than rounding, as with one topic."""
    centred = np.array([logs - logs.mean() for logs in batches])
    variance = np.sum(centred[:, :-1] ** 2 + centred[:, 1:] ** 2) / 2
    return float(np.sum(centred[:, :-1] * centred[:, 1:]) / variance) if np.ptp(centred) > ROUNDING else 0.0
