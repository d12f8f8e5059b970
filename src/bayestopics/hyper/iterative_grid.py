"""The iterative scheme for choosing the grid [George & Doss, section 2.3, figures 2 and 3].

It starts with a wide grid around h = (1, 1) and few documents. At each step the grid moves to the best h so far and
gets narrower by a tenth, and a tenth more documents are used. The scheme ends when h has moved by less than the spacing
of the grid in each of three steps. A grid narrower than a few standard deviations of h could not show where the best h
is, so the grid stops narrowing there.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.seeds import generator
from bayestopics.base.stages import Stages
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.best import Best, best
from bayestopics.hyper.grid import Grid
from bayestopics.hyper.tempering import TemperedChain, temper, tune

FIRST = (1.0, 1.0)  # alpha, eta
FIRST_HALF = float(np.log(2))  # the first grid goes from h / 2 to 2 h
NARROWER, MORE = 0.9, 1.1  # factors of the grid's width, in log h, and of the number of documents, at each step
FIRST_DOCUMENTS = 40  # so that 18 steps end at 200 documents, as in figure 3
STILL = 3  # the scheme ends after this many steps in which h moves by less than the grid's spacing
DEVIATIONS = 3.0  # the grid extends at least this many standard deviations of log h to each side
ROUNDS = 3  # of tuning
SHAPE, STEPS = (10, 10), 40  # the paper's grids have 100 points; at most 40 steps


@dataclass(frozen=True)
class Step:
    """One step: what was run, and its result."""

    number: int
    documents: int
    alpha_low: float  # the ends of the grid
    alpha_high: float
    eta_low: float
    eta_high: float
    alpha: float  # the best h
    eta: float
    on_edge: bool
    alpha_deviation: float  # standard deviation of log alpha, from the curvature of log m(h); nan if there is none
    eta_deviation: float

    def row(self) -> dict[str, Any]:
        return asdict(self)


def iterate(
    corpus: Corpus,
    topics: int,
    *,
    sweeps: int,
    seed: int,
    shape: tuple[int, int] = SHAPE,
    steps: int = STEPS,
    checkpoint: Checkpoint | None = None,
) -> list[Step]:
    """Make steps until the grid has settled, but at most `steps`."""
    checkpoint = checkpoint or NoCheckpoint()
    done: list[Step] = checkpoint.load() or []
    while len(done) < steps and not settled(done, shape):
        inside = checkpoint.part(f"step {len(done)}")
        done.append(one_step(corpus, topics, done, shape=shape, sweeps=sweeps, seed=seed, checkpoint=inside)[0])
        if checkpoint.due():
            checkpoint.save(done)
    return done


def one_step(
    corpus: Corpus,
    topics: int,
    before: list[Step],
    *,
    shape: tuple[int, int],
    sweeps: int,
    seed: int,
    sampler: str = "single-site",
    checkpoint: Checkpoint | None = None,
) -> tuple[Step, TemperedChain]:
    """The step after those in `before`, and its chain. All steps share one random order of the documents, and each uses
    the first ones."""
    number = len(before)
    order = generator(seed, "hyper/documents").permutation(np.flatnonzero(corpus.document_lengths))
    count = min(len(order), round(FIRST_DOCUMENTS * MORE**number))
    part = Corpus.from_sparse(corpus.counts[np.sort(order[:count])])
    grid = next_grid(before, shape)
    stages = Stages(generator(seed, f"hyper/step/{number}"), checkpoint)
    work: Any = {"sweeps": sweeps, "sampler": sampler}
    tuned = stages(lambda rng: tune(part, topics, grid, rng=rng, rounds=ROUNDS, checkpoint=stages.inside, **work))
    work |= {"log_zeta": tuned.log_zeta, "start": tuned.chain.last, "description": f"step {number + 1}"}
    chain = stages(lambda rng: temper(part, topics, grid, rng=rng, checkpoint=stages.inside, **work))
    found = best(chain)
    (a, b), (c, d) = grid.ends
    return Step(number, count, a, b, c, d, found.alpha, found.eta, found.on_edge, *_deviations(found)), chain


def next_grid(before: list[Step], shape: tuple[int, int]) -> Grid:
    h = np.array([before[-1].alpha, before[-1].eta]) if before else np.array(FIRST)
    known = [step for step in before if np.isfinite(step.alpha_deviation)]
    least = DEVIATIONS * np.array([known[-1].alpha_deviation, known[-1].eta_deviation]) if known else np.zeros(2)
    half = np.clip(least, FIRST_HALF * NARROWER ** len(before), FIRST_HALF)
    low, high = h * np.exp(-half), h * np.exp(half)
    return Grid.spanning((low[0], high[0]), (low[1], high[1]), shape)


def settled(steps: list[Step], shape: tuple[int, int]) -> bool:
    """Whether h moved by less than the grid's spacing in each of the last steps, and is not on an edge."""
    if len(steps) <= STILL:
        return False
    last = steps[-1]
    logs = np.log([[step.alpha, step.eta] for step in steps[-STILL - 1 :]])
    spacing = np.log([last.alpha_high / last.alpha_low, last.eta_high / last.eta_low]) / (np.array(shape) - 1)
    return bool(np.all(np.abs(np.diff(logs, axis=0)) < spacing)) and not last.on_edge


def _deviations(found: Best) -> tuple[float, float]:
    if found.region is None:
        return np.nan, np.nan
    first, second = np.sqrt(np.diag(found.region.log_covariance))
    return float(first), float(second)
