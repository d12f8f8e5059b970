"""Interleaved rounds: one sweep of every program in turn, so that a slow minute of the machine affects all of them.

Each round gives ratios of times within the round; medians and quartiles are over rounds, without the first. The cost of
`sparse` falls as a chain concentrates, so there are two phases: `early`, sweeps 2-6 from a random start, and `warmed`,
after a warm-up by `sparse`. In the second, every sampler that can take a state starts from this one. If a sweep moves
several chains, its time is divided among them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.processes import using_threads
from bayestopics.bench.programs import PRIOR, Program
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda import sampler
from bayestopics.lda.state import State, random_start
from bayestopics.runs.chain import compile_sampler

REFERENCE = "tomotopy"
PHASES = ("early", "warmed")
SLOW, VERY_SLOW = 2.0, 10.0  # seconds per sweep: above the first a few rounds are made, above the second only one
FEW_ROUNDS = 2
COLUMNS = ["corpus", "tokens", "topics", "phase", "program", "algorithm", "sweeps_before", "rounds"]
COLUMNS += ["ns_a_token", "ns_a_token_q1", "ns_a_token_q3"]
COLUMNS += ["times_tomotopy", "times_tomotopy_q1", "times_tomotopy_q3"]

Seconds = dict[int, float]  # the seconds of each round; round 0 warms caches
Say = Callable[[str], object]


@dataclass(frozen=True)
class Effort:
    rounds: int = 5  # timed rounds, after one that is not timed
    warm_up: int = 100  # sweeps


def compare(corpus: Corpus, topics: int, programs: list[Program], effort: Effort, say: Say) -> pd.DataFrame:
    """One row per phase and program."""
    rng = np.random.default_rng(0)
    start = random_start(corpus, topics, PRIOR, rng)
    rows: list[dict[str, Any]] = []
    with using_threads(1):
        for phase in PHASES:
            if phase == "warmed":
                say("warming up")
                slow = {row["program"] for row in rows if row["ns_a_token"] * corpus.token_count > VERY_SLOW * 1e9}
                # leave out programs without a chain, and slow programs of others except the reference
                again = {p.name for p in programs if p.package is None or p.name not in slow} | {REFERENCE}
                programs = [p for p in programs if p.name in again and not p.variational]
                _warm_up(start, effort.warm_up, rng)
            rows += _phase(phase, corpus, start, programs, effort, say)
    return pd.DataFrame(rows, columns=COLUMNS)


def _warm_up(state: State, sweeps: int, rng: np.random.Generator) -> None:
    compile_sampler("sparse")
    for _ in range(sweeps):
        sampler("sparse").sweep(state, rng)


def _phase(
    phase: str, corpus: Corpus, start: State, programs: list[Program], effort: Effort, say: Say
) -> list[dict[str, Any]]:
    before = 0 if phase == "early" else effort.warm_up
    opened = {}
    for program in programs:
        say(f"{phase}, opening {program.name}")
        opened[program.name] = program.open(corpus, start, before)
    seconds = interleave(
        {name: run.sweep for name, run in opened.items()}, effort.rounds, lambda s: say(f"{phase}, {s}")
    )
    for program in programs:
        seconds[program.name] = {i: each / program.chains for i, each in seconds[program.name].items()}
    cell = {"corpus": corpus.name, "tokens": corpus.token_count, "topics": start.topics, "phase": phase}
    return [
        cell
        | {"program": program.name, "algorithm": program.algorithm}
        | {"sweeps_before": opened[program.name].sweeps_before}
        | summary(seconds[program.name], seconds.get(REFERENCE, {}), corpus.token_count)
        for program in programs
    ]


def interleave(sweeps: Mapping[str, Callable[[], object]], rounds: int, say: Say) -> dict[str, Seconds]:
    """The seconds of each program in each round; slow programs stop early.

    Every second round goes in reverse order, so that no program always follows the same one.
    """
    seconds: dict[str, Seconds] = {name: {} for name in sweeps}
    last = dict.fromkeys(sweeps, rounds)
    for i in range(rounds + 1):
        for name in list(sweeps)[:: -1 if i % 2 else 1]:
            if i > last[name]:
                continue
            say(f"round {i} of {rounds}, {name}")
            begin = time.perf_counter()
            sweeps[name]()
            seconds[name][i] = time.perf_counter() - begin
            if i == 0 and seconds[name][0] > SLOW:
                last[name] = 0 if seconds[name][0] > VERY_SLOW else min(rounds, FEW_ROUNDS)
    return seconds


def summary(seconds: Seconds, reference: Seconds, tokens: int) -> dict[str, float]:
    """Medians and quartiles over rounds. The first round counts only if there is no other."""
    timed = sorted(seconds.keys() - {0}) or [0]
    cost = np.quantile([1e9 * seconds[i] / tokens for i in timed], [0.25, 0.5, 0.75])
    both = [i for i in timed if i in reference] or sorted({0} & reference.keys())
    ratio = np.quantile([reference[i] / seconds[i] for i in both], [0.25, 0.5, 0.75]) if both else np.full(3, np.nan)
    return {"rounds": len(timed)} | dict(zip(COLUMNS[-6:], [*cost[[1, 0, 2]], *ratio[[1, 0, 2]]], strict=True))
