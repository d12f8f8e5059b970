"""Models that choose their own number of topics: one chain of a sampler, or one stream of a variational method.

Both can be killed and continue from a checkpoint with the same bits. `runs.hdp` runs several and summarises them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.guard import finite, not_finite
from bayestopics.base.problems import InputError
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.tiny import tiny_corpus
from bayestopics.nonparametric import BIRTHS, FIRST_PASSES, METHODS, MODELS, VARIANTS
from bayestopics.nonparametric.concentrations import ConcentrationPriors
from bayestopics.nonparametric.dp_mixture import collapsed
from bayestopics.nonparametric.hdp_chain import HDP_SWEEPS, step, tally
from bayestopics.nonparametric.hdp_held_out import left_to_right, left_to_right_of_states
from bayestopics.nonparametric.hdp_memoized import MemoizedHDP
from bayestopics.nonparametric.hdp_state import HdpPrior, from_arrays, log_joint, random_start, to_arrays
from bayestopics.nonparametric.learners import learner_of

MOVES = {"gibbs": 0, "split-merge": 1}  # default number of moves after a sweep, as in the paper
STATES = 20  # states of a chain over which held-out probabilities are averaged
PARTICLES = 60  # left-to-right particles per document, over all states; each costs K times half its squared length
LARGE = 0.01  # share of the tokens: nobody would miss a smaller topic
STARTS = (1, 20, 5, 60)  # topics that the chains start with, in turn: below and above most answers


@dataclass(frozen=True)
class HdpSettings:
    """The settings of a run, checked to make sense together."""

    model: str = "hdp"
    method: str = "gibbs"
    variant: str = "exact"  # of split-merge
    moves: int | None = None  # split-merge moves after a sweep; None means MOVES
    sampler: str = "plain"  # kind of sweep: "blocked" draws all tokens of a word in a document at once
    eta: float = 0.1
    gamma: float = 1.0  # of the top level
    concentration: float = 1.0  # of the documents; a DP mixture has none
    resample: bool = False  # also sample both, starting from these values, with Gamma(1, 1) priors
    sweeps: int | None = None  # sweeps to keep, or passes over the documents; None means METHODS
    burn_in: int = 500  # sweeps to drop (samplers)
    batch_size: int = 100  # documents per batch (variational methods)
    births: str | None = None  # truncation-free: of BIRTHS; None means the first
    first_pass: str | None = None  # truncation-free: of FIRST_PASSES; None means the first
    heldout: float | None = None  # share of the documents to hold out, from the end

    def __post_init__(self) -> None:
        known = {"model": MODELS, "method": tuple(METHODS), "variant": VARIANTS, "sampler": tuple(HDP_SWEEPS)}
        for name, names in known.items():
            if getattr(self, name) not in names:
                raise InputError(f"unknown {name} {getattr(self, name)!r}; known are {', '.join(names)}")
        if self.sampled and self.model != "hdp":
            raise InputError(
                f"method {self.method} needs model hdp; a {self.model} has the methods truncation-free and truncated"
            )
        for name, names in (("births", BIRTHS), ("first_pass", FIRST_PASSES)):
            value = getattr(self, name)
            if value is not None and value not in names:
                raise InputError(f"unknown {name} {value!r}; known are {', '.join(names)}")
            if value is not None and self.method != "truncation-free":
                raise InputError(f"{name} {value} needs method truncation-free, not {self.method}")
        if self.first_pass is not None and self.remembers:
            raise InputError(f"first_pass {self.first_pass} needs births words or model dp-mixture: nothing fades here")
        if self.variant != "exact" and self.method != "split-merge":
            raise InputError(f"variant {self.variant} needs method split-merge; {self.method} has no variants")
        if self.moves is not None and self.method != "split-merge":
            raise InputError(f"moves need method split-merge; {self.method} makes none")
        if self.moves is not None and self.moves < 1:
            raise InputError(f"split-merge needs at least one move after a sweep, not {self.moves}")
        if not self.sampled and (self.sampler != "plain" or self.resample):
            what = "resample" if self.resample else f"sampler {self.sampler}"
            raise InputError(f"{what} needs method gibbs or split-merge; {self.method} has no sweeps")
        if self.work < 1 or self.burn_in < 0 or self.batch_size < 1:
            sizes = f"{self.work} sweeps, {self.burn_in} sweeps of burn-in and batches of {self.batch_size}"
            raise InputError(f"sweeps and batch size must be at least 1 and burn-in at least 0, not {sizes}")
        if self.heldout is not None and not 0.0 < self.heldout < 1.0:
            raise InputError(f"the held-out share must be between 0 and 1, not {self.heldout}")
        HdpPrior(self.gamma, self.concentration, self.eta)

    @property
    def sampled(self) -> bool:
        return self.method in MOVES

    @property
    def remembers(self) -> bool:
        """Whether the learner is the one that remembers documents, so that nothing fades."""
        return not self.sampled and learner_of(self.model, self.method, self.births) is MemoizedHDP

    @property
    def work(self) -> int:
        return METHODS[self.method] if self.sweeps is None else self.sweeps

    @property
    def moves_a_sweep(self) -> int | None:
        return MOVES.get(self.method) if self.moves is None else self.moves


def split(corpus: Corpus, share: float | None) -> tuple[Corpus, Corpus | None]:
    """The documents to learn from, and the held-out ones: the last `share` of all documents, at least one."""
    if share is None:
        return corpus, None
    first = corpus.document_count - max(1, round(share * corpus.document_count))
    if first < 1:
        raise InputError(f"{corpus.name}: no document is left to learn from; hold out a smaller share")
    parts = ((corpus.counts[:first], "the rest of"), (corpus.counts[first:], "the held-out documents of"))
    training, held_out = (
        Corpus.from_sparse(counts, corpus.vocabulary, name=f"{which} {corpus.name}") for counts, which in parts
    )
    return training, held_out


@dataclass
class Outcome:
    """One chain or stream: one row per sweep (or saved update, and the last), the seconds of each, the last state."""

    rows: list[dict[str, float]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    held_out: list[np.ndarray] = field(default_factory=list)  # log estimates, documents x repeats
    resumed: int = 0  # how often it continued from a checkpoint
    counts: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))  # terms x topics in use, the largest first
    arrays: dict[str, np.ndarray] = field(default_factory=dict)  # the last state


Generators = Callable[[str], np.random.Generator]
Progress = Callable[[int], None]


def sample(
    corpus: Corpus,
    settings: HdpSettings,
    number: int,
    generators: Generators,
    checkpoint: Checkpoint,
    progress: Progress | None,
) -> Outcome:
    """Chain `number` of a sampler. Held-out documents are scored at STATES evenly spaced states, up to and including
    the last."""
    training, held_out = split(corpus, settings.heldout)
    states = min(STATES, settings.work)
    priors = ConcentrationPriors() if settings.resample else None
    looked_at = set((settings.burn_in - 1 + np.linspace(0, settings.work, states + 1)[1:].round().astype(int)).tolist())
    rng, of_held_out, done = generators("chain"), generators("held out"), Outcome()
    saved = checkpoint.load()
    if saved is None:
        prior = HdpPrior(settings.gamma, settings.concentration, settings.eta)
        state = random_start(training, prior, STARTS[number % len(STARTS)], rng)
    else:
        arrays, done, rng.bit_generator.state, of_held_out.bit_generator.state = saved
        done.resumed += 1
        state = from_arrays(training, arrays)
    for sweep in steps_of(len(done.rows), settings.burn_in + settings.work, "sweep", progress):
        begin = time.perf_counter()
        state, moves = step(
            state, rng, settings.moves_a_sweep or 0, settings.variant, sampler=settings.sampler, resample=priors
        )
        done.seconds.append(time.perf_counter() - begin)
        large = int(np.count_nonzero(state.topic_total >= LARGE * training.token_count))
        row = {"sweep": sweep, "topics": state.topics, "large_topics": large, "log_joint": log_joint(state)}
        if not finite(row["log_joint"]):
            raise not_finite("the log joint density", sweep, to_arrays(state))
        for split_moves, name in ((True, "splits"), (False, "merges")):
            row[name], row[f"{name}_accepted"] = tally(moves, split_moves)
        if settings.resample:
            row |= {"gamma": state.gamma, "concentration": state.concentration}
        done.rows.append(row)
        if held_out is not None and sweep in looked_at:
            found = left_to_right_of_states([state], held_out, PARTICLES // states, of_held_out)
            done.held_out.append(found.log_estimates)
        if checkpoint.due() or sweep == settings.burn_in + settings.work - 1:
            random = rng.bit_generator.state, of_held_out.bit_generator.state
            checkpoint.save((to_arrays(state), done, *random))
    done.counts, done.arrays = by_size(state.term_topic[:, state.active]), to_arrays(state)
    return done


def learn(
    corpus: Corpus,
    settings: HdpSettings,
    number: int,
    generators: Generators,
    checkpoint: Checkpoint,
    progress: Progress | None,
) -> Outcome:
    """Stream `number` of a variational method: passes in random orders, then the score of the held-out words."""
    training, held_out = split(corpus, settings.heldout)
    documents, done = training.document_count, Outcome()
    kind = learner_of(settings.model, settings.method, settings.births)
    saved = checkpoint.load()
    if saved is None:
        prior = {"gamma": settings.gamma, "concentration": settings.concentration}
        if settings.model == "dp-mixture":
            prior = {"concentration": settings.gamma}
        sizes = {"term_count": training.term_count, "documents": documents, "eta": settings.eta}
        given: dict[str, Any] = {**sizes, **prior}
        if settings.method == "truncation-free" and not settings.remembers:
            given["first_pass"] = settings.first_pass or FIRST_PASSES[0]
        if (settings.model, settings.method) == ("dp-mixture", "truncation-free"):
            given["births"] = settings.births or BIRTHS[0]
        learner, order = kind(**given, rng=generators("learner")), np.empty(0, np.int64)
    else:
        arrays, order, done.seconds, done.resumed = saved
        done.resumed += 1
        learner = kind.from_state_dict(arrays)
    batches = -(-documents // settings.batch_size)
    for update in steps_of(learner.updates, settings.work * batches, "update", progress):
        first = update % batches * settings.batch_size
        if first == 0:
            order = learner.rng.permutation(documents)
        begin = time.perf_counter()
        ids = order[first : first + settings.batch_size]
        learner.partial_fit(training.counts[ids], ids=ids)
        done.seconds.append(time.perf_counter() - begin)
        if checkpoint.due() or update == settings.work * batches - 1:
            checkpoint.save((learner.state_dict(), order, done.seconds, done.resumed))
    saved_updates = learner.history.table().astype(int).tolist()
    last = [learner.documents_seen, learner.used_components()]
    ended = [] if saved_updates[-1:] == [last] else [last]  # a long history does not keep every update
    done.rows = [dict(zip(("documents", "topics"), row, strict=True)) for row in saved_updates + ended]
    components, used = learner.components, learner.used_components()
    done.counts, done.arrays = by_size(components.weight * components.stored)[:, :used], learner.state_dict()
    if held_out is not None and settings.model == "dp-mixture":
        done.held_out = [collapsed(learner, held_out).log_likelihoods[:, None]]
    elif held_out is not None:
        done.held_out = [left_to_right(learner, held_out, PARTICLES, generators("held out")).log_estimates]
    return done


def steps_of(first: int, end: int, unit: str, progress: Progress | None) -> Iterator[int]:
    """Iterate over first .. end - 1, and tell `progress` how many are done, or show an own progress bar."""
    steps: Iterable[int] = range(first, end)
    if progress is None:
        steps = counted(steps, "hdp", unit, total=end, done=first)
    for number in steps:
        if progress:
            progress(number)
        yield number
    if progress:
        progress(end)


def by_size(counts: np.ndarray) -> np.ndarray:
    """The columns in order of size, the largest first."""
    return counts[:, np.argsort(-counts.sum(axis=0), kind="stable")]


def compile_method(settings: HdpSettings) -> None:
    """Compile everything that is timed, or load it from the cache."""
    run, sweeps = (sample, 20) if settings.sampled else (learn, 2)
    short = replace(settings, sweeps=sweeps, burn_in=0, batch_size=2, heldout=None)
    run(tiny_corpus(), short, 0, lambda _: np.random.default_rng(0), NoCheckpoint(), lambda _: None)
