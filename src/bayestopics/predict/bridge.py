"""log L(d) = log m(w) - log m(w_-d) by a bridge between p(z_-d | w_-d) and p(z | w).

Chains on the whole corpus give draws from p(z | w) for all documents at once. From each draw the document is taken out
along a path (`lda.insertion`), which gives a log-weight B. Some sweeps without the document follow, so that the chain
forgets it. Then the document is put in along such a path, which gives a log-weight F. The mean of exp(F) is L(d), and
the mean of exp(-B) is 1 / L(d); Bennett's ratio combines the two, with an error that is far smaller.

log of the mean of exp(F) is too low on average, and -log of the mean of exp(-B) is too high. So they are bounds of
log L(d), up to noise, and where few draws overlap their distance says so. If the first is far above the second, the
chains stay in different modes of the posterior. The standard error includes the distance in both cases.

Each chain has its own random start, and all errors come from the scatter of chains, so that they hold even if a chain
never leaves the mode of the posterior in which it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayestopics.base import processes
from bayestopics.base.checkpoint import Checkpoint
from bayestopics.base.guard import finite, not_finite
from bayestopics.base.progress import Progress, counted_sweeps
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors.bennett import bennett
from bayestopics.lda import insertion, lanes, sampler_entry
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.lanes import CHAINS, Lanes
from bayestopics.lda.state import Prior, from_assignments

CHUNK = 4  # documents that a worker gets at a time
UNIFORM = 12**-0.5  # standard deviation of a number that may be anywhere between bounds, relative to their distance
Works = dict[int, list[np.ndarray]]  # document -> for each draw of the chains, log-weights F and B of all chains
Crew = Callable[[Callable[..., Any], Iterable[tuple]], Iterator[Any]]


@dataclass(frozen=True, eq=False)
class Bridge:
    """Everything that the paths of a document depend on, except the document and the chains' states."""

    corpus: Corpus
    topics: int
    prior: Prior
    sampler: str
    forget: int
    steps: int
    seed: int


# -- chains ------------------------------------------------------------------------------------------


class Eight:
    """Eight chains on one corpus: side by side if the sampler can do that, otherwise one after the other."""

    def __init__(self, plan: Bridge, corpus: Corpus, assignments: np.ndarray) -> None:
        self._corpus, self._given = corpus, (plan.topics, plan.prior)
        self._module, self._states = sampler_by_name(plan.sampler), []
        if sampler_entry(plan.sampler).side_by_side:
            self._lanes = self._side_by_side(assignments)
        else:
            self._states = [from_assignments(corpus, *self._given, start) for start in assignments.T]

    def sweep(self, rng: np.random.Generator) -> bool:
        """Sweep all chains; returns whether their densities are finite."""
        if not self._states:
            return finite(lanes.sweep(self._lanes, some_words(rng)))
        return all(self._module.sweep(state, rng).sound for state in self._states if self._corpus.token_count)

    def state(self) -> Lanes:
        """The state of all chains; may be the one that sweeps change."""
        if not self._states:
            return self._lanes
        return self._side_by_side(np.stack([state.assignments for state in self._states], axis=1))

    def _side_by_side(self, assignments: np.ndarray) -> Lanes:
        topics, prior = self._given
        return lanes.init(self._corpus, [topics] * CHAINS, prior, list(assignments.T))


def some_words(rng: np.random.Generator) -> np.ndarray:
    """uint64[4, CHAINS]: fresh generators for eight chains."""
    return rng.integers(1, 2**64, size=(4, CHAINS), dtype=np.uint64)


class Whole:
    """The chains on the whole corpus, in groups of eight."""

    def __init__(self, plan: Bridge, groups: int, checkpoint: Checkpoint) -> None:
        self._checkpoint, self._done = checkpoint, 0
        self._rngs = [generator(plan.seed, f"score/leave-one-out/chains/{group}") for group in range(groups)]
        size = (plan.corpus.token_count, CHAINS)
        if (saved := checkpoint.load()) is None:
            starts = [rng.integers(plan.topics, size=size, dtype=np.int32) for rng in self._rngs]
        else:
            self._done, starts, states = saved
            for rng, state in zip(self._rngs, states, strict=True):
                rng.bit_generator.state = state
        self._groups = [Eight(plan, plan.corpus, start) for start in starts]

    def advance(self, sweeps: int) -> list[np.ndarray]:
        """The chains' assignments after this many sweeps from the start, of which some may be done."""
        for _ in counted_sweeps(range(sweeps), "chains on the whole corpus", self._done):
            for group, rng in zip(self._groups, self._rngs, strict=True):
                if not group.sweep(rng):
                    raise not_finite("the density of a sweep of the whole corpus", self._done, self.assignments())
            self._done += 1
            if self._checkpoint.due():
                self._checkpoint.save((self._done, self.assignments(), [r.bit_generator.state for r in self._rngs]))
        return self.assignments()

    def assignments(self) -> list[np.ndarray]:
        return [np.array(group.state().assignments) for group in self._groups]


# -- the paths of all documents ------------------------------------------------------------------------


def works(
    plan: Bridge,
    documents: Sequence[int],
    draws: range,
    groups: int,
    *,
    tolerance: float,
    workers: int,
    checkpoint: Checkpoint,
) -> Works:
    """The log-weights of all paths. After sweep draws[0], draws[1], ... of the chains, each document goes out and in.

    After 1, 2, 4, ... draws, documents whose error is at most the tolerance are done, so that most of the time goes to
    those with the largest errors.
    """
    made: Works = checkpoint.load() or {d: [] for d in documents}
    chains = Whole(plan, groups, checkpoint.part("chains"))
    with crew(min(workers, len(documents)), plan) as run:
        for draw, sweep in enumerate(draws):
            going = [d for d in documents if _goes_on(made[d], draw, tolerance)]
            todo = [d for d in going if len(made[d]) == draw]
            if not going:
                break
            if not todo:
                continue
            starts = chains.advance(sweep)
            chunks = [(starts, draw, chunk) for chunk in split(todo, workers, CHUNK)]
            with Progress(f"draw {draw + 1} of {len(draws)}", len(going), "document", len(going) - len(todo)) as bar:
                for found in run(log_weights, chunks):
                    for document, weights in found.items():
                        made[document].append(weights)
                    bar.update(len(found))
                    if checkpoint.due() or bar.done == len(going):
                        checkpoint.save(made)
    return made


def _goes_on(made: list[np.ndarray], draw: int, tolerance: float) -> bool:
    """Whether the document has this draw, or needs it. It is decided after 1, 2, 4, ... draws."""
    if len(made) < draw:
        return False
    decided = draw >= 1 and draw & (draw - 1) == 0
    return not decided or estimate(made[:draw]).error > tolerance


def split(documents: Sequence[int], workers: int, most: int) -> list[Sequence[int]]:
    """Parts of at most `most` documents, each with long and short ones; at least one part for each worker."""
    number = max(-(-len(documents) // most), min(workers, len(documents)))
    return [documents[first::number] for first in range(number)]


@contextmanager
def crew(workers: int, plan: Any) -> Iterator[Crew]:
    """Yields a function: run(job, chunks) gives job(plan, *chunk) of each chunk, in the order in which they finish."""
    if workers <= 1:
        yield lambda job, chunks: (job(plan, *chunk) for chunk in chunks)
        return
    with processes.pool(workers, plan) as submit:

        def run(job: Callable[..., Any], chunks: Iterable[tuple]) -> Iterator[Any]:
            running = {submit(job, *chunk) for chunk in chunks}
            while running:
                for future in processes.first_done(running):
                    running.remove(future)
                    yield future.result()

        yield run


def log_weights(
    plan: Bridge, starts: Sequence[np.ndarray], draw: int, documents: Sequence[int]
) -> dict[int, np.ndarray]:
    """F and B (rows) of all chains for each of these documents. They do not depend on the other documents."""
    parts: dict[int, list[np.ndarray]] = {d: [] for d in documents}
    for group, start in enumerate(starts):
        whole = lanes.init(plan.corpus, [plan.topics] * CHAINS, plan.prior, list(start.T))
        for document in documents:
            rng = generator(plan.seed, f"score/leave-one-out/{document}/{draw}/{group}")
            parts[document].append(_out_and_in(plan, whole, document, rng))
    return {d: np.concatenate(parts[d], axis=1) for d in documents}


def _out_and_in(plan: Bridge, whole: Lanes, document: int, rng: np.random.Generator) -> np.ndarray:
    corpus, alpha = plan.corpus, plan.prior.alpha_vector(plan.topics)
    factors = insertion.ladder(alpha, int(corpus.document_lengths[document]), plan.steps)
    own = insertion.traveller(corpus, document, whole, rng)
    backward = insertion.take_out(lanes.copied(whole), own, factors, some_words(rng))
    kept = corpus.documents != document
    others = Eight(plan, corpus.select_tokens(kept), whole.assignments[kept])
    for sweep in range(plan.forget):
        if not others.sweep(rng):
            raise not_finite(f"the density of a sweep without document {document}", sweep, others.state())
    forward = insertion.put_in(others.state(), own, factors, some_words(rng))
    weights = np.stack([forward, backward])
    if not finite(weights):
        raise not_finite(f"a log weight of document {document}", 0, (weights, others.state()))
    return weights


# -- estimates -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    log_likelihood: float  # log L(d)
    error: float
    lower: float  # from the ways in: too low on average
    upper: float  # from the ways out: too high on average
    gap_error: float  # the part of the error that the distance of these bounds has
    without: np.ndarray  # log L(d) without each chain in turn


def estimate(made: Sequence[np.ndarray]) -> Estimate:
    """log L(d) from the log-weights of each draw. The error has two parts: the jackknife's over chains, and that of a
    number anywhere between the bounds."""
    forward, backward = np.swapaxes(np.array(made), 0, 1)  # draws x chains
    chains = range(forward.shape[1])
    without = [bennett(np.delete(forward, chain, axis=1), np.delete(backward, chain, axis=1)) for chain in chains]
    lower, upper = _log_mean(forward), -_log_mean(-backward)
    gap_error = UNIFORM * abs(upper - lower)
    error = float(np.hypot(jackknife(np.array(without)), gap_error))
    return Estimate(bennett(forward, backward), error, lower, upper, gap_error, np.array(without))


def jackknife(without: np.ndarray) -> float:
    """The standard error, from the estimates without each of the independent parts."""
    return float(np.sqrt((len(without) - 1) * np.var(without)))


def _log_mean(logs: np.ndarray) -> float:
    return float(np.logaddexp.reduce(logs, axis=None) - np.log(logs.size))
