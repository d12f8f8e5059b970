"""A chain of an HDP sampler: Gibbs sweeps, plain or blocked, with split-merge moves after each."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from bayestopics.base.guard import finite, not_finite, possible_log
from bayestopics.base.problems import InputError
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric import SWEEPERS, hdp_blocked
from bayestopics.nonparametric import hdp_gibbs as plain
from bayestopics.nonparametric.annealed_split import annealed_split_merge
from bayestopics.nonparametric.concentrations import ConcentrationPriors
from bayestopics.nonparametric.hdp_state import HdpPrior, HdpState, log_joint, random_start, to_arrays
from bayestopics.nonparametric.split_merge import Move, check, split_merge

HDP_SWEEPS = dict(zip(SWEEPERS, (plain, hdp_blocked), strict=True))


@dataclass(frozen=True, eq=False)
class HdpChain:
    """One row per kept sweep."""

    topics: np.ndarray  # int64[n]: K
    log_joint: np.ndarray  # float64[n]: log p(w, partition, beta), see `hdp_state.log_joint`
    splits: np.ndarray  # int64[n, 2]: proposed and accepted
    merges: np.ndarray  # int64[n, 2]: the same
    concentrations: np.ndarray  # float64[n, 2]: gamma and the documents' concentration
    last: HdpState
    seconds: float  # of all sweeps and moves, including burn-in

    @property
    def acceptance(self) -> tuple[float, float]:
        """The acceptance rates of splits and of merges; nan if none was proposed."""
        proposed, accepted = np.array([self.splits.sum(axis=0), self.merges.sum(axis=0)]).T
        with np.errstate(invalid="ignore"):
            rates = accepted / proposed
        return float(rates[0]), float(rates[1])


def hdp_gibbs(
    corpus: Corpus,
    *,
    eta: float = 0.1,
    gamma: float = 1.0,
    concentration: float = 1.0,
    sweeps: int,
    burn_in: int = 0,
    moves: int = 0,
    variant: str = "exact",
    choice: str = "uniform",
    sampler: str = "plain",
    resample: ConcentrationPriors | None = None,
    topics: int = 1,
    start: HdpState | None = None,
    rng: np.random.Generator,
) -> HdpChain:
    """Drop `burn_in` sweeps and keep `sweeps`; after each sweep make `moves` split-merge moves.

    The chain starts at random with `topics` topics, or from the last state of another chain, which is not changed.
    """
    if sweeps < 1 or burn_in < 0 or moves < 0:
        raise InputError(f"nothing to do with {sweeps} sweeps, {burn_in} sweeps of burn-in and {moves} moves")
    if sampler not in HDP_SWEEPS:
        raise InputError(f"unknown sampler {sampler!r}; known are {', '.join(HDP_SWEEPS)}")
    if variant != "annealed":
        check(variant, choice)
    state = start.copy() if start else random_start(corpus, HdpPrior(gamma, concentration, eta), topics, rng)
    rows, seconds = [], 0.0
    for i in counted(range(-burn_in, sweeps), "HDP", "sweep"):
        begin = time.perf_counter()
        state, made = step(state, rng, moves, variant, choice, sampler, resample)
        seconds += time.perf_counter() - begin
        if i >= 0:
            counts = tally(made, split=True), tally(made, split=False)
            rows.append((state.topics, log_joint(state), *counts, (state.gamma, state.concentration)))
            if not finite(rows[-1][1]):
                raise not_finite("the log joint density", burn_in + i, to_arrays(state))
    number, joint, splits, merges, concentrations = (np.array(column) for column in zip(*rows, strict=True))
    return HdpChain(number, joint, splits, merges, concentrations, state, seconds)


def step(
    state: HdpState,
    rng: np.random.Generator,
    moves: int = 0,
    variant: str = "exact",
    choice: str = "uniform",
    sampler: str = "plain",
    resample: ConcentrationPriors | None = None,
) -> tuple[HdpState, list[Move]]:
    """One sweep and the moves after it; the arrays of `state` are changed in place."""
    made: list[Move] = []
    state = HDP_SWEEPS[sampler].sweep(state, rng, resample)
    for _ in range(moves):
        if variant == "annealed":
            state, move = annealed_split_merge(state, rng)
        else:
            state, move = split_merge(state, rng, variant, choice)
        if not possible_log(move.log_ratio):
            raise not_finite("the log ratio of a split or merge", len(made), to_arrays(state))
        made.append(move)
    return state, made


def tally(moves: list[Move], split: bool) -> tuple[int, int]:
    """How many splits (or merges) were proposed and accepted."""
    chosen = [move.accepted for move in moves if move.split == split]
    return len(chosen), sum(chosen)
