"""Chains at fixed h that keep the derivatives of log p(w, z | h), and pilots that show where h should be.

Every part of a chain has its own generator, named by its place in the run, so the bits do not depend on the number of
processes; and its own checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.guard import finite, not_finite
from bayestopics.base.progress import counted_sweeps, totalling
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.full_bayes import full_bayes
from bayestopics.hyper.labels import Exchange
from bayestopics.hyper.louis import derivatives, prior_at
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.state import Prior, from_assignments

STARTS = ((0.1, 0.1), (2.0, 2.0), (0.1, 2.0), (2.0, 0.1))  # (alpha, eta) of the first pilots, far apart

Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Leg:
    """A part of a chain, at one h."""

    scores: np.ndarray  # float64[n, p]: s of each kept sweep
    bends: np.ndarray  # float64[batches, p, p]: means of ds/dx over batches of n / batches sweeps
    assignments: np.ndarray  # after the last sweep


def leg(
    corpus: Corpus,
    topics: int,
    h: np.ndarray,
    assignments: np.ndarray,
    *,
    sweeps: int,
    burn_in: int,
    batches: int,
    rng: np.random.Generator,
    sampler: str = "single-site",
    relabel: bool = False,
    checkpoint: Checkpoint | None = None,
) -> Leg:
    """`burn_in` sweeps are dropped, and `sweeps`, a multiple of `batches`, kept. With `relabel`, topics exchange their
    labels after each sweep (`hyper.labels`)."""
    module, checkpoint = sampler_by_name(sampler), checkpoint or NoCheckpoint()
    score, exchange = derivatives(corpus, topics, h), Exchange(corpus, h[:-1]) if relabel else None
    scores, bends, each = np.zeros((sweeps, len(h))), np.zeros((batches, len(h), len(h))), sweeps // batches
    done = 0
    if (saved := checkpoint.load()) is not None:
        done, assignments, scores, bends, rng.bit_generator.state = saved
    state = from_assignments(corpus, topics, prior_at(h), assignments)
    for i in counted_sweeps(range(-burn_in, sweeps), "score chain", done):
        if not module.sweep(state, rng).sound:
            raise not_finite("the density of a sweep", burn_in + i, state.assignments)
        if exchange is not None:
            exchange(state, rng)
        if i >= 0:
            scores[i], second = score(state)
            if not finite(scores[i]):
                raise not_finite("the score", burn_in + i, state.assignments)
            bends[i // each] += second / each
        if checkpoint.due():
            checkpoint.save((burn_in + i + 1, state.assignments, scores, bends, rng.bit_generator.state))
    return Leg(scores, bends, state.assignments)


@dataclass(frozen=True, eq=False)
class Crew:
    """Chains of one model, each with its own generators, in any number of processes."""

    run: Callable[..., list[Any]]
    topics: int
    sampler: str
    seed: int
    batches: int
    checkpoint: Checkpoint

    def pilots(self, chains: int, sweeps: int, alphas: Range, etas: Range) -> tuple[np.ndarray, list[np.ndarray]]:
        """The median of the medians of log h that full Bayes draws in each chain, and the chains' last assignments."""
        how = {"sweeps": sweeps, "burn_in": sweeps, "alphas": alphas, "etas": etas, "sampler": self.sampler}
        jobs = [
            (self.topics, self.seed, number, how, self.checkpoint.part(f"pilot-{number}")) for number in range(chains)
        ]
        found = self.run(_pilot, jobs, 2 * sweeps * chains)
        return np.median([middle for middle, _ in found], axis=0), [last for _, last in found]

    def legs(self, x: np.ndarray, states: list[np.ndarray], name: str, sweeps: int, burn_in: int) -> list[Leg]:
        kept = -(-sweeps // self.batches) * self.batches
        how = {"sweeps": kept, "burn_in": burn_in, "batches": self.batches, "sampler": self.sampler}
        jobs = []
        for number, assignments in enumerate(states):
            part = f"{name}/{number}"
            jobs.append((self.topics, self.seed, part, np.exp(x), assignments, how, self.checkpoint.part(part)))
        return self.run(_leg, jobs, (kept + burn_in) * len(states))


def _pilot(
    corpus: Corpus,
    topics: int,
    seed: int,
    number: int,
    how: dict[str, Any],
    checkpoint: Checkpoint,
    progress: Callable[[int], None],
) -> tuple[np.ndarray, np.ndarray]:
    rng, start = generator(seed, f"hyper/score/pilot/{number}"), Prior(*STARTS[number % len(STARTS)])
    with totalling(progress):
        found = full_bayes(corpus, topics, rng=rng, start=start, checkpoint=checkpoint, **how)
    return np.median(np.log(found.draws), axis=0), found.last.assignments


def _leg(
    corpus: Corpus,
    topics: int,
    seed: int,
    part: str,
    h: np.ndarray,
    assignments: np.ndarray,
    how: dict[str, Any],
    checkpoint: Checkpoint,
    progress: Callable[[int], None],
) -> Leg:
    rng = generator(seed, f"hyper/score/{part}")
    with totalling(progress):
        return leg(corpus, topics, h, assignments, rng=rng, checkpoint=checkpoint, **how)
