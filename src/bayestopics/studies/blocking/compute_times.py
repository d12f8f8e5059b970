"""Study `blocking`, speed: seconds per sweep against the number of topics [Zhang & Sisson, figure 3].

All samplers start from the same state, which `sparse` reached from a random start. They take turns, so that a machine
that slows down for a while slows all of them down. A record covers one corpus; its table is volatile.
"""

from __future__ import annotations

import time

import numba
import pandas as pd

from bayestopics.base.processes import using_threads
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda import SAMPLERS, sampler
from bayestopics.lda.state import Prior
from bayestopics.runs.chain import compile_sampler
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """`timing` has one row per sampler, number of topics, number of threads and round."""
    params = task.params
    prior, rng = Prior(params["alpha"], params["eta"]), task.generator()
    programs = [(name, 1) for name in params["samplers"]]
    threads = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    programs += [(name, threads) for name in params["samplers"] if SAMPLERS[name].parallel]
    for name in params["samplers"]:
        compile_sampler(name)
    rows = []
    for topics in counted(params["topics"], task.name, "T"):
        settled = sampler("sparse").init(corpus, topics, prior, rng)
        for _ in range(params["settling_sweeps"]):
            sampler("sparse").sweep(settled, rng)
        states = {program: settled.copy() for program in programs}
        for number in range(-1, params["rounds"]):  # round -1 warms up and is dropped
            for name, threads in programs:
                with using_threads(threads):
                    start = time.perf_counter()
                    sampler(name).sweep(states[name, threads], rng)
                    seconds = time.perf_counter() - start
                row = {"sampler": name, "topics": topics, "threads": threads, "round": number, "seconds": seconds}
                rows.extend([row] if number >= 0 else [])
        del states, settled
    metrics: dict[str, float] = {
        "documents": corpus.document_count,
        "terms": corpus.term_count,
        "tokens": corpus.token_count,
    }
    return Result(task, metrics, tables={"timing": pd.DataFrame(rows)})
