"""Serial tempering over h = (alpha, eta) [George & Doss, section 2.3; Geyer & Thompson 1995].

The chain moves on (j, psi): an index of a grid of h, by Metropolis-Hastings (2.8), then psi = (theta, beta, z) by a
sweep of the augmented or the grouped sampler at h_j. Its law is l_w(psi) nu_j(psi) / zeta_j (2.7). zeta is tuned until
every h_j is visited about equally often: then it is m(h_j), but for a constant. What is stored of psi is enough for
every estimate at every h afterwards (`hyper.estimates`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp
from tqdm import tqdm

from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.grid import Grid
from bayestopics.hyper.prior_density import Sizes, log_prior, sums_of_logs
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.parameters import Parameters
from bayestopics.lda.state import Prior, State
from bayestopics.problems import InputError

SAMPLERS = ("augmented", "grouped")  # those that draw theta and beta
UNIFORM = 0.5  # tuned: the least occupied point has at least this share of what an equal one would have

Functional = Callable[[Parameters, State], float]


@dataclass(frozen=True, eq=False)
class TemperedChain:
    """What a run leaves behind: a row a sweep."""

    grid: Grid
    sizes: Sizes
    log_zeta: np.ndarray  # float64[J]
    index: np.ndarray  # int64[n]: the point of the grid
    a: np.ndarray  # float64[n]: sum log theta
    b: np.ndarray  # float64[n]: sum log beta
    functionals: np.ndarray  # float64[n, k]
    accepted: np.ndarray  # bool[n]
    last: State

    def __len__(self) -> int:
        return len(self.index)

    @property
    def occupancy(self) -> np.ndarray:
        """The share of the sweeps at each point."""
        return np.bincount(self.index, minlength=len(self.grid)) / len(self.index)

    @property
    def uniformity(self) -> float:
        """The smallest share over that of an equal one: 1 if all are alike, 0 if a point was never visited."""
        return float(self.occupancy.min() * len(self.grid))

    @property
    def round_trips(self) -> int:
        """From the first corner of the grid to the last one and back, or as near as a point's distance."""
        ends = {0, len(self.grid) - 1}
        seen = np.array([j for j in self.index.tolist() if j in ends])
        return int(np.count_nonzero(np.diff(seen))) // 2


def temper(
    corpus: Corpus,
    topics: int,
    grid: Grid,
    *,
    sweeps: int,
    rng: np.random.Generator,
    log_zeta: np.ndarray | None = None,
    start: State | None = None,
    sampler: str = "augmented",
    functionals: tuple[Functional, ...] = (),
    description: str = "tempering",
) -> TemperedChain:
    """One chain of `sweeps` sweeps; from a random start, or going on from the last state of another chain."""
    if sampler not in SAMPLERS:
        raise InputError(f"tempering needs a sampler that draws theta and beta: {', '.join(SAMPLERS)}; not {sampler!r}")
    if sweeps < 1:
        raise InputError(f"nothing to do with {sweeps} sweeps")
    module, points, sizes = sampler_by_name(sampler), grid.points, _sizes(corpus, topics)
    log_zeta = np.zeros(len(grid)) if log_zeta is None else np.asarray(log_zeta, dtype=float)
    neighbours = [grid.neighbours(j) for j in range(len(grid))]
    state = start if start is not None else module.init(corpus, topics, Prior(*points[len(grid) // 2]), rng)
    j = _nearest(points, state)
    index, a, b = np.empty(sweeps, np.int64), np.empty(sweeps), np.empty(sweeps)
    values, accepted = np.empty((sweeps, len(functionals))), np.zeros(sweeps, bool)
    sums = None  # A and B of the psi that stands
    for i in tqdm(range(sweeps), desc=description, unit="sweep", disable=None, leave=False):
        if sums is not None:
            proposed = int(rng.choice(neighbours[j]))
            log_nu = log_prior(sizes, points[[proposed, j], 0], points[[proposed, j], 1], *sums)
            log_ratio = log_nu[0] - log_nu[1] + log_zeta[j] - log_zeta[proposed]
            log_ratio += log_correction(len(neighbours[j]), len(neighbours[proposed]))  # (2.8)
            if np.log1p(-rng.random()) < log_ratio:
                j, accepted[i] = proposed, True
        state = replace(state, alpha=np.full(topics, points[j, 0]), eta=float(points[j, 1]))
        parameters = module.sweep(state, rng).parameters
        sums = sums_of_logs(parameters)
        index[i], a[i], b[i] = j, *sums
        values[i] = [functional(parameters, state) for functional in functionals]
    return TemperedChain(grid, sizes, log_zeta, index, a, b, values, accepted, state)


@dataclass(frozen=True, eq=False)
class Tuned:
    """The last chain of a tuning, the zeta that it suggests for the next, and how many there were."""

    chain: TemperedChain
    log_zeta: np.ndarray
    rounds: int


def tune(
    corpus: Corpus,
    topics: int,
    grid: Grid,
    *,
    sweeps: int,
    rng: np.random.Generator,
    rounds: int = 12,
    start: State | None = None,
    sampler: str = "augmented",
) -> Tuned:
    """Chains of `sweeps` sweeps, zeta anew after each by (2.16), until the grid is visited evenly (`UNIFORM`) or
    `rounds` are over; each goes on from the last."""
    log_zeta = np.zeros(len(grid))
    for number in range(1, max(1, rounds) + 1):
        options = {"log_zeta": log_zeta, "start": start, "sampler": sampler, "description": f"tuning {number}"}
        chain = temper(corpus, topics, grid, sweeps=sweeps, rng=rng, **options)  # type: ignore[arg-type]
        log_zeta, start = log_marginal(chain, grid.points), chain.last
        if chain.uniformity >= UNIFORM:
            break
    return Tuned(chain, log_zeta, number)


def log_correction(here: int, there: int) -> float:
    """log G(j', j) / G(j, j'), of points with so many neighbours."""
    return float(np.log(here) - np.log(there))


def log_marginal(chain: TemperedChain, points: np.ndarray) -> np.ndarray:
    """log M-hat(h) at these points [2.10], less its largest: log m(h) but for a constant."""
    log_terms = log_prior(chain.sizes, points[:, :1], points[:, 1:], chain.a, chain.b) - log_mixture(chain)
    values = logsumexp(log_terms, axis=1) - np.log(len(chain))
    return values - values.max()


def log_mixture(chain: TemperedChain) -> np.ndarray:
    """log (1/J) sum_j nu_j(psi_i) / zeta_j, a number a sweep: the denominator of (2.10)."""
    points = chain.grid.points
    logs = log_prior(chain.sizes, points[:, :1], points[:, 1:], chain.a, chain.b) - chain.log_zeta[:, None]
    return logsumexp(logs, axis=0) - np.log(len(points))


def _sizes(corpus: Corpus, topics: int) -> Sizes:
    return Sizes(corpus.document_count, topics, corpus.term_count)


def _nearest(points: np.ndarray, state: State) -> int:
    """The point of the grid that is nearest to a state's own h, in logs."""
    return int(np.argmin(np.square(np.log(points) - np.log([state.alpha[0], state.eta])).sum(axis=1)))
