"""Study `number_of_topics`, bounds: log m(T) of one simulated corpus from below and, at its true T, from above.

Annealing forward from a reference gives an unbiased estimate of m(T). Annealing backward from the z that generated the
corpus gives one of 1 / m(T). By Markov's inequality an estimate of the first kind exceeds m(T) by a factor of c with
probability at most 1 / c, and so does one of the second kind for 1 / m(T). So both are bounds, up to a few nats,
however short the ladder is and however much they scatter; tables.bounds_table adds these nats.
"""

from __future__ import annotations

import time
from typing import Any

import pandas as pd

from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.registry import Registry
from bayestopics.evidence import reference
from bayestopics.evidence.compute import compile_estimator
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Tables: `estimates`, one row per side, T and repeat; `size`; `timing`."""
    params, prior = task.params, Prior(task.params["alpha"], task.params["eta"])
    truth = Registry().simulate(task.corpus).truth["assignments"]
    jobs = [
        (side, topics, repeat)
        for side, sizes in (("below", params["topics"]), ("above", [params["expected_topics"]]))
        for topics in sizes
        for repeat in range(params["repeats"])
    ]
    compile_estimator("reference")
    rows: list[dict[str, Any]] = checkpoint.load() or []
    for side, topics, repeat in counted(jobs[len(rows) :], task.name, "estimate"):
        rng, start = task.generator(f"{side}/{topics}/{repeat}"), time.process_time()
        if side == "below":
            value = reference.repeat(corpus, topics, prior, params["steps"], rng)
        else:
            value = reference.estimate_backward(corpus, topics, prior, truth, params["steps"], rng)
        seconds = time.process_time() - start
        rows.append({"side": side, "topics": topics, "repeat": repeat, "log_estimate": value, "seconds": seconds})
        checkpoint.save(rows)
    table = pd.DataFrame(rows)
    ends = table[table["topics"] == params["expected_topics"]].groupby("side")["log_estimate"].agg(["min", "max"])
    size = pd.DataFrame([{"documents": corpus.document_count, "terms": corpus.term_count}])
    timing = table.drop(columns="log_estimate")
    tables = {"estimates": table.drop(columns="seconds"), "size": size, "timing": timing}
    return Result(task, {"gap": float(ends.loc["above", "min"] - ends.loc["below", "max"])}, tables=tables)
