"""Serial tempering over h = (alpha, eta) [George & Doss, section 2.3; Geyer & Thompson 1995].

The state of the chain is (j, x): the index j of a grid point h_j, and the hidden part x of the model. Each step moves j
on the grid, and then x by one sweep of a sampler at h_j. The chain's stationary density is proportional to
p(w, x | h_j) / zeta_j (2.7). zeta is tuned until every h_j is visited about equally often; then zeta_j equals m(h_j) up
to a constant. What is stored about x (`hyper.sides`) suffices for all estimates at any h afterwards
(`hyper.estimates`).

With the samplers of the paper, augmented and grouped, x is psi = (theta, beta, z); with the others it is z alone. With
many documents, psi determines h almost exactly, so j hardly ever moves; z determines h less exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logsumexp

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.guard import finite, not_finite
from bayestopics.base.problems import InputError
from bayestopics.base.progress import counted_sweeps
from bayestopics.base.stages import Stages
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.grid import Grid
from bayestopics.hyper.sides import Side, Sides, of_assignments, of_parameters
from bayestopics.lda import SAMPLERS, sampler_entry
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.parameters import Parameters
from bayestopics.lda.state import Prior, State

MOVES = ("all", "neighbours")  # on the grid: j from its conditional given x, or to a neighbour as in the paper
UNIFORM = 0.2  # tuning ends when the least visited point has at least this part of an equal share of the visits
MISSED = 0.05  # a point with less than this part was missed
DEPTH = 5.0  # nats: points whose log m(h) is lower than the largest by more than this are visited less often
BLOCK = 4096  # sweeps whose densities at all grid points are held in memory at once

Functional = Callable[[Parameters, State], float]


@dataclass(frozen=True, eq=False)
class TemperedChain:
    """The result of a run: one row per sweep."""

    grid: Grid
    alpha: Side
    eta: Side
    log_zeta: np.ndarray  # float64[J]
    index: np.ndarray  # int64[n]: the grid point j
    of_alpha: np.ndarray  # float64[n, k]: rows of the two sides (`hyper.sides`)
    of_eta: np.ndarray
    functionals: np.ndarray  # float64[n, number of functionals]
    last: State | None
    ends: tuple[tuple[float, float], tuple[float, float]]  # estimates are made for alpha and eta between these ends

    def __len__(self) -> int:
        return len(self.index)

    @property
    def occupancy(self) -> np.ndarray:
        """The share of the sweeps at each point."""
        return np.bincount(self.index, minlength=len(self.grid)) / len(self.index)

    @cached_property
    def matters(self) -> np.ndarray:
        """bool[J]: the points that matter, whose log M-hat from this chain is within `DEPTH` of the largest."""
        return np.asarray(log_marginal(self) > -DEPTH)

    @cached_property
    def uniformity(self) -> float:
        """The smallest share of the visits over the mean share, among the points that matter: 1 if all are equal. A
        share is the mean probability of the point given x, which is less noisy than the number of visits."""
        parts = [logs - self.log_zeta for logs in _log_densities(self)]
        shares = sum(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)).sum(axis=0) for logs in parts)[self.matters]
        return float(shares.min() / shares.mean())

    @property
    def moved(self) -> float:
        """The share of the sweeps before which the chain changed its grid point."""
        return float(np.mean(np.diff(self.index) != 0)) if len(self) > 1 else 0.0

    @cached_property
    def round_trips(self) -> int:
        """How often the chain went from the lowest alpha that matters to the highest and back; or eta, if fewer."""
        visited = np.divmod(self.index, len(self.grid.etas))
        wanted = np.divmod(np.flatnonzero(self.matters), len(self.grid.etas))
        return min(_round_trips(side, ends.min(), ends.max()) for side, ends in zip(visited, wanted, strict=True))


def temper(
    corpus: Corpus,
    topics: int,
    grid: Grid,
    *,
    sweeps: int,
    rng: np.random.Generator,
    log_zeta: np.ndarray | None = None,
    start: State | None = None,
    sampler: str = "single-site",
    moves: str = "all",
    functionals: tuple[Functional, ...] = (),
    adapt: float | None = None,
    ends: tuple[tuple[float, float], tuple[float, float]] | None = None,
    description: str = "tempering",
    checkpoint: Checkpoint | None = None,
) -> TemperedChain:
    """Run one chain of `sweeps` sweeps, from a random start or from the last state of another chain.

    Estimates can be made between the `ends` of alpha and eta; by default these are the ends of the grid.
    With `adapt`, zeta is changed after each sweep (see `gain`), but no log zeta may fall below the largest by more than
    `adapt`. Such a chain is good for tuning and not for estimates.
    """
    _check(topics, sweeps, sampler, moves, functionals)
    module, points, ends = sampler_by_name(sampler), grid.points, ends or grid.ends
    with_parameters = sampler_entry(sampler).draws_parameters
    sides = of_parameters(corpus, topics) if with_parameters else of_assignments(corpus, topics, *ends)
    log_zeta = np.zeros(len(grid)) if log_zeta is None else np.array(log_zeta, dtype=float)
    move = Move(grid, sides, log_zeta, moves)
    priors = [np.full(topics, alpha) for alpha in points[:, 0]]
    checkpoint = checkpoint or NoCheckpoint()
    if (saved := checkpoint.load()) is None:
        state = start.copy() if start else module.init(corpus, topics, Prior(*points[len(grid) // 2]), rng)
        done, j = 0, _nearest(points, state)
        index, values = np.empty(sweeps, np.int64), np.empty((sweeps, len(functionals)))
        of_alpha, of_eta = np.empty((sweeps, sides.alpha.length)), np.empty((sweeps, sides.eta.length))
    else:
        done, state, index, values, of_alpha, of_eta, log_zeta[:], rng.bit_generator.state = saved
        j, rows = int(index[done - 1]), (of_alpha[done - 1], of_eta[done - 1])
    for i in counted_sweeps(range(sweeps), description, done):
        if i > 0:
            j = move(j, *rows, rng)
        state = replace(state, alpha=priors[j], eta=float(points[j, 1]))
        parameters = module.sweep(state, rng).parameters
        rows = sides.rows(state, parameters)
        index[i], of_alpha[i], of_eta[i] = j, *rows
        if not finite((rows[0].sum(), rows[1].sum())):
            raise not_finite("log p(w, x | alpha, eta)", i, state)
        values[i] = [functional(parameters, state) for functional in functionals]
        if adapt is not None:
            logs = move.log_weights(*rows) - log_zeta
            weights = np.exp(logs - logs.max())
            log_zeta += gain(i + 1, sweeps, len(grid)) * len(grid) * weights / weights.sum()
            np.maximum(log_zeta, log_zeta.max() - adapt, out=log_zeta)
        if checkpoint.due():
            made = (i + 1, state, index, values, of_alpha, of_eta, log_zeta, rng.bit_generator.state)
            checkpoint.save(made)
    return TemperedChain(grid, sides.alpha, sides.eta, log_zeta, index, of_alpha, of_eta, values, state, ends)


class Move:
    """A step on the grid that leaves the conditional distribution of j given x invariant."""

    def __init__(self, grid: Grid, sides: Sides, log_zeta: np.ndarray, moves: str) -> None:
        alphas, etas = sides.alpha.basis(np.array(grid.alphas)), sides.eta.basis(np.array(grid.etas))
        self.constants = np.add.outer(alphas[0], etas[0])
        self.alphas, self.etas, self.log_zeta = alphas[1], etas[1], log_zeta
        self.neighbours = [grid.neighbours(j) for j in range(len(grid))] if moves == "neighbours" else None

    def log_weights(self, of_alpha: np.ndarray, of_eta: np.ndarray) -> np.ndarray:
        """log p(w, x | h_j) at every grid point."""
        return (np.add.outer(of_alpha @ self.alphas, of_eta @ self.etas) + self.constants).ravel()

    def __call__(self, j: int, of_alpha: np.ndarray, of_eta: np.ndarray, rng: np.random.Generator) -> int:
        logs = self.log_weights(of_alpha, of_eta) - self.log_zeta
        if self.neighbours is None:
            sums = np.exp(logs - logs.max()).cumsum()
            return int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
        around = self.neighbours[j]
        if len(around) == 0:
            return j
        proposed = int(around[int(rng.random() * len(around))])
        log_ratio = logs[proposed] - logs[j] + log_correction(len(around), len(self.neighbours[proposed]))  # (2.8)
        return proposed if np.log1p(-rng.random()) < log_ratio else j


def log_correction(here: int, there: int) -> float:
    """log G(j', j) / G(j, j') for points with `here` and `there` neighbours."""
    return float(np.log(here) - np.log(there))


def gain(sweep: int, sweeps: int, points: int) -> float:
    """The step size by which log zeta changes: it falls slowly in the first half of the sweeps, then as 1/t [Tan 2017,
    J. Comput. Graph. Statist. 26, section 3.2]."""
    half = sweeps // 2
    slow = min(sweep, half) ** 0.8
    return float(min(1 / points, 1 / (slow + max(0, sweep - half))))


@dataclass(frozen=True, eq=False)
class Tuned:
    """zeta for the next chain, the last chain of the tuning, and the number of rounds."""

    log_zeta: np.ndarray
    chain: TemperedChain
    rounds: int


def tune(
    corpus: Corpus,
    topics: int,
    grid: Grid,
    *,
    sweeps: int,
    rng: np.random.Generator,
    rounds: int = 4,
    adapt: float | None = DEPTH,
    start: State | None = None,
    sampler: str = "single-site",
    moves: str = "all",
    checkpoint: Checkpoint | None = None,
) -> Tuned:
    """Tune zeta: run chains of `sweeps` sweeps, each from the end of the one before, until the grid is visited evenly
    (`UNIFORM`) or `rounds` chains are done. After each chain, zeta is set by (2.16).

    This is the paper's way. It fails where a chain has not been: there (2.16) is far too small, and the next chain gets
    stuck there. With `adapt`, a chain that missed a part of the grid is followed by one that adapts zeta; and log zeta
    may not fall below its largest by more than `adapt`, so that no time is wasted where m(h) is negligible.
    """
    log_zeta, uneven, stages = np.zeros(len(grid)), adapt is not None, Stages(rng, checkpoint)

    def run(description: str, **how: Any) -> TemperedChain:
        more = {"sampler": sampler, "log_zeta": log_zeta, "start": start, "description": description, **how}
        return stages(
            lambda rng: temper(corpus, topics, grid, sweeps=sweeps, rng=rng, checkpoint=stages.inside, **more)
        )

    for number in range(1, max(1, rounds) + 1):
        if uneven:
            chain = run(f"adapting {number}", adapt=adapt)
            log_zeta, start = chain.log_zeta, chain.last
        chain = run(f"tuning {number}", moves=moves)
        start, uneven = chain.last, adapt is not None and chain.uniformity < MISSED
        if not uneven:
            log_zeta = np.maximum(log_marginal(chain), -np.inf if adapt is None else -adapt)
        if chain.uniformity >= UNIFORM:
            break
    return Tuned(log_zeta, chain, number)


def joined(chains: Sequence[TemperedChain]) -> TemperedChain:
    """One chain from its pieces, in order."""
    names = ("index", "of_alpha", "of_eta", "functionals")
    whole: Any = {name: np.concatenate([getattr(chain, name) for chain in chains]) for name in names}
    return replace(chains[-1], **whole)


def log_marginal(chain: TemperedChain) -> np.ndarray:
    """log M-hat(h) at the grid points [2.10], minus its largest value: an estimate of log m(h) up to a constant."""
    parts = []
    for logs in _log_densities(chain):
        mixture = logsumexp(logs - chain.log_zeta, axis=1, keepdims=True)
        parts.append(logsumexp(logs - mixture, axis=0))
    values = logsumexp(parts, axis=0)
    return values - values.max()


def log_mixture(chain: TemperedChain) -> np.ndarray:
    """log (1/J) sum_j nu_j(x_i) / zeta_j, one number per sweep: the denominator of (2.10)."""
    parts = [logsumexp(logs - chain.log_zeta, axis=1) for logs in _log_densities(chain)]
    return np.concatenate(parts) - np.log(len(chain.grid))


def _log_densities(chain: TemperedChain) -> Iterator[np.ndarray]:
    """log nu_j(x_i), sweeps x points, in blocks of sweeps."""
    alphas, etas = chain.alpha.basis(np.array(chain.grid.alphas)), chain.eta.basis(np.array(chain.grid.etas))
    for first in range(0, len(chain), BLOCK):
        part = slice(first, first + BLOCK)
        # einsum, not `@`: the bits of a BLAS product depend on its number of threads
        of_alpha = alphas[0] + np.einsum("nk,kp->np", chain.of_alpha[part], alphas[1])
        of_eta = etas[0] + np.einsum("nk,kp->np", chain.of_eta[part], etas[1])
        yield (of_alpha[:, :, None] + of_eta[:, None, :]).reshape(len(of_alpha), -1)


def _round_trips(values: np.ndarray, low: int, high: int) -> int:
    """The number of round trips between `low` and `high`; 0 if they are equal."""
    at_ends = (values[(values <= low) | (values >= high)] >= high) if high > low else np.zeros(0, bool)
    return int(np.count_nonzero(np.diff(at_ends))) // 2


def _nearest(points: np.ndarray, state: State) -> int:
    """The grid point that is nearest to a state's own h, in log h."""
    return int(np.argmin(np.square(np.log(points) - np.log([state.alpha[0], state.eta])).sum(axis=1)))


def _check(topics: int, sweeps: int, sampler: str, moves: str, functionals: tuple[Functional, ...]) -> None:
    if topics < 2:
        raise InputError(f"alpha has no meaning with {topics} topics: at least 2 topics are needed")
    if sweeps < 1:
        raise InputError(f"a chain needs at least 1 sweep, not {sweeps}")
    if functionals and not sampler_entry(sampler).draws_parameters:
        drawing = ", ".join(name for name, entry in SAMPLERS.items() if entry.draws_parameters)
        raise InputError(f"functionals of theta and beta need a sampler that draws them: {drawing}, not {sampler!r}")
    if moves not in MOVES:
        raise InputError(f"unknown moves {moves!r} on the grid; choose from {', '.join(MOVES)}")
