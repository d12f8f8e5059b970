"""Finds the best (alpha, eta) by serial tempering, on a grid that is placed automatically.

A grid is useful if it covers the h where m(h) is not negligible, and if its points are close enough for the chain to
move from one to the next. A pilot chain that samples h together with the topics (`hyper.full_bayes`) shows where the
grid should be, how wide and how fine. The paper's own way to place the grid is `hyper.iterative_grid`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayestopics.base.checkpoint import Checkpoint
from bayestopics.base.problems import InputError
from bayestopics.base.seeds import generator
from bayestopics.base.stages import Stages
from bayestopics.base.wording import NAT
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper import SEARCHES
from bayestopics.hyper.best import CORRELATED, Best, at_ends, best
from bayestopics.hyper.estimates import Terms
from bayestopics.hyper.full_bayes import FullBayes, full_bayes
from bayestopics.hyper.grid import Grid
from bayestopics.hyper.iterative_grid import iterate
from bayestopics.hyper.tempering import DEPTH, MISSED, Functional, TemperedChain, Tuned, joined, temper, tune
from bayestopics.lda.state import Prior, State
from bayestopics.lda.urns import ENDS, check_model

DEVIATIONS = 3.0  # the grid extends this many standard deviations of log h to each side of the mode
NARROWEST, WIDEST = 0.02, float(np.log(4))  # limits for half the width of the grid, in log h
SPACING = 1.5  # between points, in standard deviations of log h given z
FEWEST, MOST = 7, 31  # points on a side
MOST_POINTS = 10_000  # in a grid chosen by the user: the densities at all points are held for thousands of sweeps
PLACES = 4  # the grid is placed at most so often, as long as the best h is on its edge
SHORTEST = 100  # sweeps
TOO_FEW_TRIPS = 5
HARDLY = 0.05  # a chain that changes its grid point before fewer of its sweeps hardly moves
FLAT = 0.5  # nats: if log M-hat changes by less along a whole side of the grid, the corpus does not determine the best
MOST_ON_EDGE = 0.05  # if more of the batches have their best h on the edge of the grid, there is a warning
FLAT_POINTS = 9  # points along the side at which this is checked
NARROWEST_RANGE = 0.01  # of log alpha or log eta
PIECE = 2000  # sweeps of a chain between checkpoints
AT_THE_END = (
    "The best (alpha, eta) is at the end of its range, so the true best may lie beyond. Widen the range "
    "(--alpha-range, --eta-range) if it is yours."
)

Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Search:
    """The best h with its errors, and the chains that it was computed from."""

    best: Best
    chains: list[TemperedChain]  # independent chains
    tuning_rounds: int
    warnings: list[str]

    def summary(self) -> dict[str, Any]:
        """What `bayestopics hyper` prints about one chain."""
        regions = {"ellipse": self.best.ellipse, "region": self.best.region}
        chain = self.chains[0]
        grid = chain.grid
        return {
            "alpha": self.best.alpha,
            "eta": self.best.eta,
            **{name: None if one is None else one.summary() for name, one in regions.items()},
            "grid": {"alpha": list(grid.ends[0]), "eta": list(grid.ends[1]), "shape": list(grid.shape)},
            "occupancy": [float(chain.occupancy.min()), float(chain.occupancy.max())],
            "uniformity": chain.uniformity,
            "round_trips": chain.round_trips,
            "moved": chain.moved,
            "warnings": self.warnings,
        }


def find(
    corpus: Corpus,
    topics: int,
    *,
    alphas: Range | None = None,
    etas: Range | None = None,
    shape: tuple[int, int] | None = None,
    sweeps: int = 10_000,
    chains: int = 1,
    seed: int = 0,
    sampler: str = "single-site",
    moves: str = "all",
    functionals: tuple[Functional, ...] = (),
    fixed: Grid | None = None,
    search: str = SEARCHES[0],
    checkpoint: Checkpoint | None = None,
) -> Search:
    """Find the best h, within the ranges `alphas` and `etas` if they are given.

    `sweeps` is the length of the last run. Before it come a burn-in and a pilot that places the grid, of a fifth of
    this length each, and rounds of a fifth that tune zeta. A `fixed` grid is not moved. With the search
    "iterative-grid" the pilot starts at the result of the paper's scheme, the best h for part of the documents.
    """
    check(alphas, etas, shape, sweeps, search)
    check_model(corpus, topics, Prior(0.5, 0.5))
    limits = (alphas or ENDS, etas or ENDS) if fixed is None else fixed.ends
    some, stages = max(SHORTEST, sweeps // 5), Stages(generator(seed, "hyper/tempering"), checkpoint)
    run = Runner(corpus, topics, sampler, moves, functionals)
    first = Prior(0.5, 0.5)
    if search == "iterative-grid":
        steps = stages(lambda rng: iterate(corpus, topics, sweeps=some, seed=seed, checkpoint=stages.inside))
        first = Prior(steps[-1].alpha, steps[-1].eta)
    how: Any = {"sweeps": some, "burn_in": some, "start": first, "alphas": limits[0], "etas": limits[1]}
    pilot = stages(lambda rng: full_bayes(corpus, topics, rng=rng, checkpoint=stages.inside, **how))
    center: np.ndarray = pilot.mode
    for _ in range(PLACES):
        grid = fixed or place(pilot, center, limits, shape)
        tuned = run.tuned(grid, some, pilot.last, np.inf if fixed else DEPTH, stages)
        chain = run.chain(grid, tuned.log_zeta, tuned.chain.last, sweeps, stages)
        found = best(chain)
        center = np.array([found.alpha, found.eta])
        if fixed or not np.any(at_ends(center, chain.ends) & ~at_ends(center, limits)):
            break
    more = [run.fresh(grid, tuned.log_zeta, some, sweeps, stages) for _ in range(chains - 1)]
    return Search(found, [chain, *more], tuned.rounds, doubts(found, chain, bool(at_ends(center, limits).any())))


def lengthen(
    corpus: Corpus,
    topics: int,
    before: Search,
    *,
    sweeps: int,
    seed: int,
    part: int,
    sampler: str = "single-site",
    checkpoint: Checkpoint | None = None,
) -> Search:
    """The same search with a last run that is longer by `sweeps` sweeps; `part` numbers what is added."""
    run = Runner(corpus, topics, sampler, "all", ())
    stages = Stages(generator(seed, f"hyper/tempering/more/{part}"), checkpoint)
    chain = before.chains[0]
    longer = joined([chain, run.chain(chain.grid, chain.log_zeta, chain.last, sweeps, stages)])
    found = best(longer)
    limited = any(warning == AT_THE_END for warning in before.warnings)
    return Search(found, [longer], before.tuning_rounds, doubts(found, longer, limited))


@dataclass(frozen=True)
class Runner:
    """Chains of one model by one sampler."""

    corpus: Corpus
    topics: int
    sampler: str
    moves: str
    functionals: tuple[Functional, ...]

    def tuned(self, grid: Grid, sweeps: int, start: State, depth: float, stages: Stages) -> Tuned:
        how: Any = {"sampler": self.sampler, "moves": self.moves, "sweeps": sweeps, "start": start, "adapt": depth}
        return stages(
            lambda rng: tune(self.corpus, self.topics, grid, rng=rng, checkpoint=stages.inside, **how),
        )

    def piece(
        self, grid: Grid, log_zeta: np.ndarray, start: State | None, sweeps: int, stages: Stages
    ) -> TemperedChain:
        how: Any = {"sampler": self.sampler, "moves": self.moves, "functionals": self.functionals}
        how |= {"log_zeta": log_zeta, "start": start, "sweeps": sweeps}
        return stages(
            lambda rng: temper(self.corpus, self.topics, grid, rng=rng, checkpoint=stages.inside, **how),
        )

    def chain(
        self, grid: Grid, log_zeta: np.ndarray, start: State | None, sweeps: int, stages: Stages
    ) -> TemperedChain:
        """One chain, run in pieces; an interrupted run continues after the last finished piece."""
        pieces: list[TemperedChain] = []
        for first in range(0, sweeps, PIECE):
            start = pieces[-1].last if pieces else start
            pieces.append(self.piece(grid, log_zeta, start, min(PIECE, sweeps - first), stages))
        return joined(pieces)

    def fresh(self, grid: Grid, log_zeta: np.ndarray, burn_in: int, sweeps: int, stages: Stages) -> TemperedChain:
        """Another chain, from a random start and after a burn-in."""
        burnt = self.chain(grid, log_zeta, None, burn_in, stages)
        return self.chain(grid, log_zeta, burnt.last, sweeps, stages)


def place(pilot: FullBayes, center: np.ndarray, limits: tuple[Range, Range], shape: tuple[int, int] | None) -> Grid:
    """A grid around `center`, within the limits, as wide as the scatter of the pilot's draws and as fine as its
    steps."""
    half = np.clip(DEVIATIONS * pilot.deviations, NARROWEST, WIDEST)
    low, high = np.clip([center * np.exp(-half), center * np.exp(half)], *np.array(limits).T)
    if shape is None:
        counts = np.log(high / low) / (SPACING * pilot.steps) + 1
        first, second = np.clip(np.ceil(counts), FEWEST, MOST).astype(int).tolist()
        shape = (first, second)
    return Grid.spanning((low[0], high[0]), (low[1], high[1]), shape)


def doubts(found: Best, chain: TemperedChain, limited: bool) -> list[str]:
    """What a user should know before trusting the answer."""
    said = []
    if found.on_edge and limited:
        said.append(AT_THE_END)
    elif found.on_edge:
        said.append(
            f"The best (alpha, eta) is on the edge of the grid, although the grid was moved up to {PLACES - 1} times, "
            "so the true best may lie beyond. Use more sweeps (--sweeps)."
        )
    for name in flat_sides(chain, np.array([found.alpha, found.eta])):
        low, high = chain.ends[("alpha", "eta").index(name)]
        said.append(
            f"The corpus does not determine {name}: the log marginal likelihood changes by less than {FLAT} nats "
            f"({NAT}) from {name} = {low:.3g} to {high:.3g}."
        )
    if found.batches_on_edge > MOST_ON_EDGE:
        said.append(edges(found.batches_on_edge))
    if chain.moved < HARDLY:
        said.append(
            f"The chain hardly moves on the grid: it changed its point before only {chain.moved:.1%} of the sweeps. "
            "Narrow the range (--alpha-range, --eta-range), or use more grid points (--grid)."
        )
    if chain.round_trips < TOO_FEW_TRIPS:
        said.append(
            f"The chain crossed the grid and came back (a round trip) only {chain.round_trips} times, so its errors "
            f"are not reliable; at least {TOO_FEW_TRIPS} are needed. Use more sweeps (--sweeps)."
        )
    if found.batch_correlation > CORRELATED:
        said.append(correlated(found.batch_correlation))
    if chain.uniformity < MISSED:
        said.append(
            f"The chain visits the grid unevenly: a point that matters has only {chain.uniformity:.0%} of an equal "
            "share of the visits, so the result near it is poorly known. Use more sweeps (--sweeps)."
        )
    return said


def edges(share: float) -> str:
    return (
        f"For {share:.0%} of the batches of sweeps the best (alpha, eta) is on the edge of the grid, so the Monte "
        "Carlo ellipse of this chain is too small. Use more sweeps (--sweeps)."
    )


def correlated(correlation: float) -> str:
    return (
        f"Successive batches of sweeps are correlated ({correlation:.2f}), so the Monte Carlo ellipse of this chain is "
        "too small. Use more sweeps (--sweeps)."
    )


def flat_sides(chain: TemperedChain, h: np.ndarray) -> list[str]:
    """The names among alpha and eta along which, through h, log M-hat changes by less than `FLAT` on the whole grid."""
    terms, flat = Terms.of(chain), []
    for side, (name, ends) in enumerate(zip(("alpha", "eta"), chain.ends, strict=True)):
        line = np.repeat(h[None], FLAT_POINTS, axis=0)
        line[:, side] = np.geomspace(*ends, FLAT_POINTS)
        if ends[0] < ends[1] and np.ptp([terms.log_mean(*point) for point in line]) < FLAT:
            flat.append(name)
    return flat


def check(
    alphas: Range | None,
    etas: Range | None,
    shape: tuple[int, int] | None,
    sweeps: int,
    search: str = SEARCHES[0],
    method: str = "tempering",
) -> None:
    if search not in SEARCHES:
        raise InputError(f"unknown search {search!r}; choose from {', '.join(SEARCHES)}")
    for name, ends in (("alpha", alphas), ("eta", etas)):
        if ends is not None and not ENDS[0] <= ends[0] < ends[1] <= ENDS[1]:
            raise InputError(f"the range of {name} must rise and lie in {ENDS[0]:g} to {ENDS[1]:g}, not {ends}")
        if ends is not None and np.log(ends[1] / ends[0]) < NARROWEST_RANGE:
            raise InputError(f"the range of {name} must be at least {NARROWEST_RANGE:.0%} wide, not {ends}")
    if shape is not None and min(shape) < 2:
        raise InputError(f"a grid must have at least 2x2 points, not {shape[0]}x{shape[1]}")
    if shape is not None and shape[0] * shape[1] > MOST_POINTS:
        raise InputError(f"a grid may have at most {MOST_POINTS} points, not {shape[0]}x{shape[1]}")
    if sweeps < SHORTEST:
        raise InputError(f"{method} needs at least {SHORTEST} sweeps, not {sweeps}")
