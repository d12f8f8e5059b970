"""Leave-one-out score [Chen & Doss 5.2]: S(T) = [prod_d L(d)]^(1/D), L(d) = p(w_d | the other documents).

There are two estimators. The bridge (`predict.bridge`) combines draws with and without the document. Left-to-right, the
published one, serves as a check: it needs only draws without the document, but its L(d) is too low as soon as few of
these draws carry the weight, and its error does not show that.

Left-to-right: L(d) is the mean of p(w_d | beta, alpha) over draws of beta given the other documents; for each document
d, one chain runs on the corpus without d. The estimates are averaged before the log is taken. Each is made by the
left-to-right algorithm, with the words in a new random order. Beta is drawn given z, or integrated out given z, which
has the same mean and less noise. Using the mean of beta given z instead would be wrong: it is a different model.

Chains of the single-site sampler run eight at a time, side by side. They visit the same tokens, but each leaves out a
different document: the words of this document are kept in an extra topic that no other document has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.guard import finite, not_finite, possible_log
from bayestopics.base.problems import InputError
from bayestopics.base.progress import Progress, counted, counted_sweeps
from bayestopics.base.seeds import generator
from bayestopics.base.wording import NAT, nats
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda import lanes, sampler_entry
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.lanes import CHAINS, Lanes
from bayestopics.lda.left_to_right import Others, given_beta, given_topics_of_others, log_mean_of_products
from bayestopics.lda.parameters import log_gamma_draws
from bayestopics.lda.state import Prior, State, check_assignments, from_assignments
from bayestopics.lda.uniforms import new_words
from bayestopics.predict import BETAS, ESTIMATORS
from bayestopics.predict.bridge import Bridge, Estimate, crew, estimate, jackknife, split, works

BATCHES = 20  # of draws, for the standard error
DELTA = 1.0  # nats: the delta method holds for log-estimates that scatter by less than this
ROUNDING = 1e-9
WARM_UP = "score/leave-one-out/warm-up"  # the name of its generator
TOO_LOW = "log L(d) is likely too low"
WIDE = 4.0  # nats between the bounds of the bridge: a warning
CORRELATED = 0.2  # with this lag-one correlation of the batches, the error is too small by a fifth


@dataclass(frozen=True)
class Document:
    document: int
    tokens: int
    log_likelihood: float  # log L(d)
    standard_error: float | None  # its Monte Carlo error; None with fewer than two draws
    lower: float | None = None  # by the bridge: bounds of log L(d), up to noise
    upper: float | None = None


@dataclass(frozen=True)
class LeaveOneOutScore:
    log_score: float  # log S(T): the mean of log L(d) over all documents
    standard_error: float | None  # its Monte Carlo error
    sampling_error: float | None  # its error because only some documents were left out; None if it was only one
    perplexity: float  # exp(-sum_d log L(d) / sum_d n_d): per word
    documents: list[Document]
    warnings: list[str]
    lower: float | None = None  # by the bridge: the log score if log L(d) is at its lower bound for all documents
    upper: float | None = None


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that the chain of a document depends on, except the document."""

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
    estimator: str = "bridge",
    sampler: str = "single-site",
    sweeps: int = 200,
    burn_in: int = 200,
    thin: int = 5,
    chains: int = 16,
    forget: int = 20,
    steps: int = 200,
    tolerance: float = 0.5,
    particles: int = 10,
    beta: str = "integrated",
    warm_up: int = 0,
    documents: int | Sequence[int] | None = None,
    seed: int = 0,
    workers: int = 1,
    checkpoint: Checkpoint | None = None,
) -> LeaveOneOutScore:
    """log S(T), with its Monte Carlo error and, if only some documents are left out, its sampling error.

    From each chain, `burn_in` sweeps are dropped and `sweeps` kept; every `thin`-th kept sweep is a draw.

    The bridge has `chains` chains on the whole corpus, a multiple of eight. From each draw, each document is taken out,
    `forget` sweeps follow without it, and it is put in again; both paths have `steps` steps. More chains and more draws
    give a smaller error; more steps bring the bounds closer together. A document is done as soon as its error is at
    most `tolerance` nats, which is decided after 1, 2, 4, ... draws. With too few sweeps to forget, the score is too
    high.

    Left-to-right has one chain for each document, and each draw gives an estimate with `particles` particles, with
    `beta` integrated or drawn. Its chains start at random or, with `warm_up`, from the last state of one chain of
    `warm_up` sweeps on the whole corpus. That state has seen the left-out document, so a burn-in is still needed. It is
    also shared by all documents: if the posterior has several modes, the errors are too small, because they treat the
    documents as independent.

    `documents` is how many documents to leave out, evenly spaced, or a list of their numbers; None means all. The
    results do not depend on `workers`.
    """
    if beta not in BETAS:
        raise InputError(f"unknown beta {beta!r}; choose from {', '.join(BETAS)}")
    if not 1 <= thin <= sweeps:
        raise InputError(f"thin must be from 1 to the number of sweeps, {sweeps}, not {thin}")
    if particles < 1 or workers < 1:
        raise InputError(f"at least 1 particle and 1 worker are needed, not {particles} and {workers}")
    if estimator not in ESTIMATORS:
        raise InputError(f"unknown estimator {estimator!r}; choose from {', '.join(ESTIMATORS)}")
    chosen, checkpoint = choose(corpus, documents), checkpoint or NoCheckpoint()
    # the longest documents first, because they take longest; an empty document has L(d) = 1 without a chain
    todo = [d for d in chosen[np.argsort(-corpus.document_lengths[chosen])].tolist() if corpus.document_lengths[d]]
    if estimator == "bridge":
        _check_bridge(chains, forget, steps, tolerance)
        bridge, groups = Bridge(corpus, topics, prior, sampler, forget, steps, seed), chains // CHAINS
        draws = range(burn_in + thin, burn_in + sweeps + 1, thin)
        made = works(bridge, todo, draws, groups, tolerance=tolerance, workers=workers, checkpoint=checkpoint)
        nothing = [np.zeros((2, chains))]
        return bridged(corpus, {d: estimate(made.get(d, nothing)) for d in chosen.tolist()})
    plan = Plan(corpus, topics, prior, sampler, sweeps, burn_in, thin, particles, beta, seed)
    if warm_up:
        plan = replace(plan, start=_warm_start(plan, warm_up, checkpoint.part("warm-up")))
    estimates = _left_to_right(plan, todo, workers, checkpoint)
    return summary(corpus, {d: estimates.get(d, np.zeros(sweeps // thin)) for d in chosen.tolist()})


def _check_bridge(chains: int, forget: int, steps: int, tolerance: float) -> None:
    if chains < 1 or chains % CHAINS:
        raise InputError(f"the bridge needs a multiple of {CHAINS} chains, not {chains}")
    if steps < 1:
        raise InputError(f"the bridge needs at least 1 step, not {steps}")
    if not (forget >= 0 and tolerance >= 0):
        raise InputError(f"the sweeps to forget and the tolerance cannot be negative, as {forget} and {tolerance}")


def choose(corpus: Corpus, documents: int | Sequence[int] | None) -> np.ndarray:
    """The numbers of the documents to leave out, in ascending order."""
    count = corpus.document_count
    if documents is None:
        return np.arange(count)
    if isinstance(documents, int | np.integer):
        if not 1 <= documents <= count:
            raise InputError(f"cannot leave out {documents} documents: the corpus has {count}")
        chosen = (2 * np.arange(documents) + 1) * count // (2 * documents)
    else:
        chosen = np.unique(np.array(documents, dtype=np.int64))
        if len(chosen) == 0 or chosen[0] < 0 or chosen[-1] >= count:
            raise InputError(f"the documents to leave out must be numbers from 0 to {count - 1}")
    if not np.any(corpus.document_lengths[chosen]):
        raise InputError("the documents to leave out have no words, so there is nothing to predict")
    return chosen


# -- the chains of a group of documents --------------------------------------------------------------


def _left_to_right(plan: Plan, todo: Sequence[int], workers: int, checkpoint: Checkpoint) -> dict[int, np.ndarray]:
    """The log-estimates of each document."""
    made: dict[int, np.ndarray] = checkpoint.load() or {}  # by document, for those that are finished
    missing = [d for d in todo if d not in made]
    chunks = split(missing, workers, CHAINS if sampler_entry(plan.sampler).side_by_side else 1)
    with (
        Progress("leave one out", len(todo), "document", len(made)) as bar,
        crew(min(workers, len(missing)), plan) as run,
    ):
        for found in run(estimates_of, [(chunk,) for chunk in chunks]):
            made |= found
            bar.update(len(found))
            if checkpoint.due() or len(made) == len(todo):
                checkpoint.save(made)
    return made


def _warm_start(plan: Plan, sweeps: int, checkpoint: Checkpoint) -> np.ndarray:
    rng, module, given = generator(plan.seed, WARM_UP), sampler_by_name(plan.sampler), (plan.topics, plan.prior)
    if (saved := checkpoint.load()) is None:
        done, state = 0, module.init(plan.corpus, *given, rng)
    else:
        done, assignments, rng.bit_generator.state = saved
        state = from_assignments(plan.corpus, *given, assignments)
    for i in counted_sweeps(range(sweeps), "warm-up", done):
        if not module.sweep(state, rng).sound:
            raise not_finite("the density of a sweep", i, state.assignments)
        if checkpoint.due():
            checkpoint.save((i + 1, state.assignments, rng.bit_generator.state))
    return state.assignments


def estimates_of(plan: Plan, documents: Sequence[int]) -> dict[int, np.ndarray]:
    """Logs of unbiased estimates of L(d), one for every `thin`-th kept sweep, for at most eight documents.

    The estimates of one document do not depend on the others.
    """
    rngs = [generator(plan.seed, f"score/leave-one-out/{d}") for d in documents]
    start = _side_by_side if sampler_entry(plan.sampler).side_by_side else _one_by_one
    sweep_all, others = start(plan, documents, rngs)
    terms = [plan.corpus.terms[plan.corpus.documents == d] for d in documents]
    estimate, logs = {"integrated": _beta_integrated, "drawn": _beta_drawn}[plan.beta], []
    for sweep in counted(range(1 - plan.burn_in, plan.sweeps + 1), f"{len(documents)} documents", "sweep"):
        done = plan.burn_in + sweep - 1
        if not sweep_all():
            raise not_finite(f"the density of a sweep without one of the documents {documents}", done, _plain(others))
        if sweep >= 1 and sweep % plan.thin == 0:
            chains = zip(others, terms, rngs, strict=True)
            logs.append([estimate(rest, rng.permutation(own), plan.particles, rng) for rest, own, rng in chains])
            if not possible_log(logs[-1]):
                raise not_finite(f"an estimate of log L(d) of the documents {documents}", done, _plain(others))
    return dict(zip(documents, np.array(logs).T, strict=True))


def _plain(chains: Sequence[State | Others]) -> list[State | dict[str, Any]]:
    """The chains in a form that can be kept."""
    return [one._asdict() if isinstance(one, Others) else one for one in chains]


Generators = Sequence[np.random.Generator]
# a function that sweeps all chains and returns whether their densities are finite; the states of the chains
Chains = tuple[Callable[[], bool], Sequence[State | Others]]


def _one_by_one(plan: Plan, documents: Sequence[int], rngs: Generators) -> Chains:
    """One chain per document, on the corpus without this document."""
    module, states = sampler_by_name(plan.sampler), []
    for document, rng in zip(documents, rngs, strict=True):
        kept = plan.corpus.documents != document
        rest = plan.corpus.select_tokens(kept)
        if plan.start is None:
            states.append(module.init(rest, plan.topics, plan.prior, rng))
        else:
            states.append(from_assignments(rest, plan.topics, plan.prior, plan.start[kept]))

    def sweep_all() -> bool:
        return all(module.sweep(s, rng).sound for s, rng in zip(states, rngs, strict=True) if len(s.terms))

    return sweep_all, states


def _side_by_side(plan: Plan, documents: Sequence[int], rngs: Generators) -> Chains:
    """The same for the single-site sampler, with all chains at once."""
    corpus, topics, alpha = plan.corpus, plan.topics, plan.prior.alpha_vector(plan.topics)
    if plan.start is None:
        starts = [rng.integers(topics, size=corpus.token_count, dtype=np.int32) for rng in rngs]
    else:
        starts = [plan.start] * len(documents)
    state, words = leave_out(corpus, topics, plan.prior, starts, documents), np.ones((4, CHAINS), np.uint64)

    def sweep_all() -> bool:
        for chain, rng in enumerate(rngs):
            words[:, chain] = new_words(rng)
        return finite(lanes.sweep(state, words))

    term_topic = state.term_topic.reshape(-1, topics + 1, CHAINS)[:, :topics]
    topic_total = state.topic_total.reshape(topics + 1, CHAINS)[:topics]
    chains = range(len(documents))
    return sweep_all, [Others(term_topic[:, :, c], topic_total[:, c], alpha, state.eta) for c in chains]


def leave_out(
    corpus: Corpus, topics: int, prior: Prior, starts: Sequence[np.ndarray], documents: Sequence[int]
) -> Lanes:
    """Chains that each leave out one document.

    Each chain has one extra topic. In its left-out document the extra topic has alpha = 1 and all others have alpha =
    0, so the words, which start in the extra topic, stay there. In all other documents the extra topic has alpha = 0,
    so no word ever enters it.
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
    """log beta of these (different) terms. All other terms are drawn as one, because sums of the parts of a Dirichlet
    vector are Dirichlet again."""
    shape = state.term_topic[terms] + state.eta
    absent = len(state.term_topic) - len(terms)
    if absent:
        others = state.topic_total - state.term_topic[terms].sum(axis=0) + absent * state.eta
        shape = np.vstack([shape, others])
    log_gamma = log_gamma_draws(shape, rng)
    return log_gamma[: len(terms)] - np.logaddexp.reduce(log_gamma, axis=0)


# -- all documents ---------------------------------------------------------------------------------


def bridged(corpus: Corpus, estimates: dict[int, Estimate]) -> LeaveOneOutScore:
    """The score from the estimates of the bridge. All documents share the chains, so the jackknife leaves a chain out
    for all of them; the gaps between the bounds are treated as independent."""
    lengths = corpus.document_lengths
    table = [
        Document(d, int(lengths[d]), one.log_likelihood, one.error, one.lower, one.upper)
        for d, one in estimates.items()
    ]
    share = lengths.mean() / sum(row.tokens for row in table)
    without = np.sum([one.without for one in estimates.values()], axis=0)
    error = share * float(np.hypot(jackknife(without), np.linalg.norm([one.gap_error for one in estimates.values()])))
    lower, upper = (share * sum(getattr(row, name) for row in table) for name in ("lower", "upper"))
    return _scored(corpus, table, error, _gaps([row for row in table if row.tokens]), float(lower), float(upper))


def _gaps(table: list[Document]) -> list[str]:
    gaps = np.array([row.upper - row.lower for row in table if row.upper is not None and row.lower is not None])
    doubts = []
    if wide := int(np.sum(gaps > WIDE)):
        doubts.append(
            f"For {wide} of {len(table)} documents the bounds of log L(d) are more than {WIDE:g} nats apart, at most "
            f"{nats(gaps.max())} ({NAT}), because few draws overlap; the error includes this. Use more chains "
            "(--chains), draws (--sweeps) or steps (--steps)."
        )
    if crossed := int(np.sum(gaps < -WIDE)):
        doubts.append(
            f"For {crossed} of {len(table)} documents the lower bound of log L(d) is above the upper one by more than "
            f"{WIDE:g} nats, at most by {nats(-gaps.min())} ({NAT}): the chains stay in different modes of the "
            "posterior. The error includes this. Use a longer burn-in (--burn-in) or more chains (--chains)."
        )
    return doubts


def summary(corpus: Corpus, estimates: dict[int, np.ndarray]) -> LeaveOneOutScore:
    """The score from the log-estimates of each document that was left out."""
    batches = {d: batch_log_means(logs) for d, logs in estimates.items()}
    lengths = corpus.document_lengths
    table = [Document(d, int(lengths[d]), log_mean(estimates[d]), log_error(batches[d])) for d in estimates]
    errors = [row.standard_error for row in table if row.standard_error is not None]
    error = None
    if len(errors) == len(table):
        error = float(np.sqrt(np.sum(np.square(errors))) * lengths.mean() / sum(row.tokens for row in table))
    return _scored(corpus, table, error, _doubts([batches[row.document] for row in table if row.tokens], error))


def _scored(
    corpus: Corpus, table: list[Document], error: float | None, doubts: list[str], *bounds: float
) -> LeaveOneOutScore:
    logs, tokens = np.array([row.log_likelihood for row in table]), np.array([row.tokens for row in table])
    # ratio estimator: log L(d) is nearly proportional to n_d, which is known for all documents; if all documents are
    # left out, it is the mean
    per_token = logs.sum() / tokens.sum()
    share = len(table) / corpus.document_count
    sampling_error = 0.0 if share == 1 else None
    if share < 1 and len(table) > 1:
        sampling_error = float(np.std(logs - per_token * tokens, ddof=1) * np.sqrt((1 - share) / len(table)))
    log_score, perplexity = float(per_token * corpus.document_lengths.mean()), float(np.exp(-per_token))
    return LeaveOneOutScore(log_score, error, sampling_error, perplexity, table, doubts, *bounds)


def log_mean(logs: np.ndarray) -> float:
    largest = logs.max()
    return float(largest + np.log(np.mean(np.exp(logs - largest))))


def batch_log_means(logs: np.ndarray) -> np.ndarray:
    """log of the mean of each of at most 20 batches of successive estimates."""
    return np.array([log_mean(batch) for batch in np.array_split(logs, min(BATCHES, len(logs)))])


def log_error(batches: np.ndarray) -> float | None:
    """Error of a log mean: the batches' scatter, divided by sqrt(batches) only where the delta method holds."""
    if len(batches) < 2:
        return None
    scatter = float(np.std(batches, ddof=1))
    return scatter / len(batches) ** 0.5 if scatter < DELTA else scatter


def _doubts(batches: list[np.ndarray], error: float | None) -> list[str]:
    if error is None:
        return [
            "There is only one estimate per document, so no standard error can be given. Use more sweeps (--sweeps) or "
            "a smaller --thin."
        ]
    doubts, documents, count = [], len(batches), len(batches[0])
    scatter = np.std(batches, axis=1, ddof=1)
    if wide := int(np.sum(scatter >= DELTA)):
        doubts.append(
            f"The log-estimates of {wide} of {documents} documents scatter by more than {DELTA:g} nat, at most by "
            f"{nats(scatter.max())} ({NAT}); their error is this scatter, and {TOO_LOW}. Use more particles "
            "(--particles) or more sweeps (--sweeps)."
        )
    if heavy := sum(np.max(logs) - log_mean(logs) > np.log(count / 2) for logs in batches):
        doubts.append(
            f"For {heavy} of {documents} documents one batch of draws carries more than half of the weight, so their "
            "estimates are not reliable. Use more sweeps (--sweeps)."
        )
    # E log X is below log E X by half the squared error; unlike the error, this does not average out over documents
    low = np.sum(scatter[scatter < DELTA] ** 2) / (2 * count * documents)
    if low > error:
        doubts.append(
            f"The log score is too low by about {low:.2g}, more than its standard error. Use more sweeps (--sweeps)."
        )
    # independent batches exceed two standard deviations in about 2 % of runs
    if lag_one_correlation(batches) > max(CORRELATED, 2 / np.sqrt(documents * count)):
        doubts.append(
            "Successive batches of sweeps are correlated, so the standard error is too small. Use more sweeps "
            "(--sweeps)."
        )
    return doubts


def lag_one_correlation(batches: Iterable[np.ndarray]) -> float:
    """The correlation of successive batches, pooled over all documents; 0 if nothing moves by more than rounding, as
    with one topic."""
    centred = np.array([logs - logs.mean() for logs in batches])
    variance = np.sum(centred[:, :-1] ** 2 + centred[:, 1:] ** 2) / 2
    return float(np.sum(centred[:, :-1] * centred[:, 1:]) / variance) if np.ptp(centred) > ROUNDING else 0.0
