"""Study `split_merge`, blocked and plain Gibbs for the HDP: mixing per sweep and per second, without split-merge moves.

The blocked sampler draws all tokens of a word in a document at once; Zhang & Sisson leave this open for the HDP.
"""

from __future__ import annotations

import time
from typing import Any

import pandas as pd

from bayestopics.base.guard import finite, not_finite
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import autocorrelation_time
from bayestopics.nonparametric.hdp_chain import HDP_SWEEPS, step
from bayestopics.nonparametric.hdp_state import HdpPrior, log_joint, random_start, to_arrays
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

TRACED = ("topics", "log_joint")  # label-invariant


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Run both samplers from the same start for each seed.

    Tables: `chains`, one row per sweep; `times`, one row per chain, with autocorrelation times over its second half;
    `timing`, the CPU seconds of its sweeps.
    """
    params = task.params
    jobs = [(sampler, seed) for seed in range(params["seeds"]) for sampler in HDP_SWEEPS]
    done: list[tuple[pd.DataFrame, float]] = checkpoint.load() or []
    for sampler, seed in counted(jobs[len(done) :], task.name, "chain"):
        done.append(_chain(task, corpus, sampler, seed))
        if checkpoint.due():
            checkpoint.save(done)
    keys = [{"sampler": sampler, "seed": seed} for sampler, seed in jobs]
    chains = pd.concat([rows.assign(**key) for key, (rows, _) in zip(keys, done, strict=True)], ignore_index=True)
    times = pd.DataFrame([key | _times(rows) for key, (rows, _) in zip(keys, done, strict=True)])
    timing = pd.DataFrame([key | {"seconds": seconds} for key, (_, seconds) in zip(keys, done, strict=True)])
    means = times.groupby("sampler")[[f"autocorrelation_{name}" for name in TRACED]].mean()
    metrics = {f"{column}_{sampler}": float(means.loc[sampler, column]) for sampler in HDP_SWEEPS for column in means}
    repeated = _share_in_blocks(corpus)
    tables = {"chains": chains, "times": times, "timing": timing}
    return Result(task, metrics | {"tokens_in_blocks": repeated}, tables=tables)


def _chain(task: Task, corpus: Corpus, sampler: str, seed: int) -> tuple[pd.DataFrame, float]:
    params, seconds = task.params, 0.0
    prior = HdpPrior(params["gamma"], params["concentration"], params["eta"])
    state = random_start(corpus, prior, params["start"], task.generator(f"start {seed}"))
    step(state.copy(), task.generator("warm"), sampler=sampler)  # compiles before the clock starts
    rng, rows = task.generator(f"{sampler} {seed}"), list[dict[str, Any]]()
    for sweep in range(1, params["sweeps"] + 1):
        begin = time.process_time()
        state, _ = step(state, rng, sampler=sampler)
        seconds += time.process_time() - begin
        rows.append({"sweep": sweep, "topics": state.topics, "log_joint": log_joint(state)})
        if not finite(rows[-1]["log_joint"]):
            raise not_finite("the log joint density", sweep - 1, to_arrays(state))
    return pd.DataFrame(rows), seconds


def _times(rows: pd.DataFrame) -> dict[str, float]:
    late = rows[len(rows) // 2 :]
    return {f"autocorrelation_{name}": autocorrelation_time(late[name].to_numpy()) for name in TRACED}


def _share_in_blocks(corpus: Corpus) -> float:
    """The number of tokens whose word occurs more than once in their document."""
    counts = corpus.counts.data
    return float(counts[counts > 1].sum() / counts.sum())
