"""Study `split_merge`, agreement: do chains from few and from many topics end with the same number of topics?

Only where chains from different starts agree can one say what the posterior has.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.guard import finite, not_finite
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric.hdp_chain import step
from bayestopics.nonparametric.hdp_state import HdpPrior, log_joint, random_start, to_arrays
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.fit import convergence
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

MOVES: dict[str, dict[str, Any]] = {
    "gibbs": {"moves": 0},
    "exact": {"moves": 1, "variant": "exact"},
    "annealed": {"moves": 1, "variant": "annealed"},
}
TRACED = ("topics", "log_joint")  # label-invariant
KINDS = {"splits_accepted": True, "merges_accepted": False}


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Run every sampler from every start. `sweeps` of each sampler are chosen so that all take about as long.

    Tables: `chains`, one row per sweep; `agreement`, one row per sampler, with R-hat over the second halves of its
    chains; `timing`, the CPU seconds of each chain.
    """
    params = task.params
    jobs = [(sampler, start) for sampler in MOVES for start in params["starts"]]
    done: list[tuple[pd.DataFrame, float]] = checkpoint.load() or []
    for sampler, start in counted(jobs[len(done) :], task.name, "chain"):
        done.append(_chain(task, corpus, sampler, start))
        if checkpoint.due():
            checkpoint.save(done)
    keys = [{"sampler": sampler, "start": start} for sampler, start in jobs]
    chains = pd.concat([rows.assign(**key) for key, (rows, _) in zip(keys, done, strict=True)], ignore_index=True)
    timing = pd.DataFrame([key | {"seconds": seconds} for key, (_, seconds) in zip(keys, done, strict=True)])
    agreement = pd.DataFrame([{"sampler": name} | _agreement(part) for name, part in chains.groupby("sampler")])
    known = agreement.dropna(subset=["rhat_topics"])
    metrics = {f"rhat_topics_{row['sampler']}": float(row["rhat_topics"]) for _, row in known.iterrows()}
    return Result(task, metrics, tables={"chains": chains, "agreement": agreement, "timing": timing})


def _chain(task: Task, corpus: Corpus, sampler: str, start: int) -> tuple[pd.DataFrame, float]:
    params, seconds, moves = task.params, 0.0, MOVES[sampler]
    prior = HdpPrior(params["gamma"], params["concentration"], params["eta"])
    state = random_start(corpus, prior, start, task.generator(f"start {start}"))
    step(state.copy(), task.generator("warm"), **moves)  # compiles before the clock starts
    rng, rows = task.generator(f"{sampler} {start}"), list[dict[str, Any]]()
    for sweep in range(1, params["sweeps"][sampler] + 1):
        begin = time.process_time()
        state, made = step(state, rng, **moves)
        seconds += time.process_time() - begin
        accepted = {name: sum(m.accepted for m in made if m.split == split) for name, split in KINDS.items()}
        rows.append({"sweep": sweep, "topics": state.topics, "log_joint": log_joint(state), **accepted})
        if not finite(rows[-1]["log_joint"]):
            raise not_finite("the log joint density", sweep - 1, to_arrays(state))
    return pd.DataFrame(rows), seconds


def _agreement(chains: pd.DataFrame) -> dict[str, float]:
    """K from every start, R-hat of K and of the log joint, and how many moves were accepted."""
    late = chains[chains["sweep"] > chains["sweep"].max() // 2]
    found: dict[str, float] = {}
    for name in TRACED:
        draws = np.array([part[name].to_numpy(float) for _, part in late.groupby("start")])
        rhat, _ = convergence(draws)
        found[f"rhat_{name}"] = np.nan if rhat is None else rhat  # a chain that does not move has none
    means = late.groupby("start")["topics"].mean()
    found |= {f"topics_from_{start}": float(mean) for start, mean in means.items()}
    return found | {name: int(chains[name].sum()) for name in KINDS}
