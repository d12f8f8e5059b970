"""Study `number_of_topics`, the yardstick: how long must a ladder be, and do bounds from both sides meet?

The corpora are simulated, so the z that generated a corpus is an exact draw from the posterior. Annealing backward from
this z bounds log m(T) from above; annealing forward bounds it from below. Every backward run needs a new corpus,
because runs from the same z share their start.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.evidence import annealing, reference
from bayestopics.evidence.compute import compile_estimator, estimator
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

BACKWARD = ("reference", "ais")
LAW = ("documents", "length", "terms", "topics", "alpha", "eta")


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """`corpus` names the model, and the corpora are further draws from it. `estimates` has one row per corpus, path,
    number of steps, direction and repeat, all at the true T and prior."""
    params = task.params
    law = {key: params["law"][key] for key in LAW}
    jobs = [
        (number, path, steps, direction, repeat)
        for number in range(params["corpora"])
        for path, lengths in params["steps"].items()
        for steps in lengths
        for direction in (("forward", "backward") if path in BACKWARD else ("forward",))
        for repeat in range(params["repeats"] if direction == "forward" else 1)
    ]
    rows: list[dict[str, Any]] = checkpoint.load() or []
    for job in counted(jobs[len(rows) :], task.name, "estimate"):
        number, path, steps, direction, repeat = job
        simulated = simulate_lda(**law, rng=task.generator(f"corpus {number}"))
        compile_estimator(path)
        rng, start = task.generator(str(job)), time.process_time()
        value = _estimate(simulated.corpus, simulated.truth["assignments"], law, path, steps, direction, rng)
        seconds = time.process_time() - start
        keys = {"corpus": number, "path": path, "steps": steps, "direction": direction, "repeat": repeat}
        rows.append(keys | {"log_estimate": value, "seconds": seconds})
        if checkpoint.due():
            checkpoint.save(rows)
    table = pd.DataFrame(rows)
    longest = table[(table["path"] == "reference") & (table["steps"] == max(params["steps"]["reference"]))]
    ends = longest.groupby(["corpus", "direction"])["log_estimate"].mean().unstack()
    metrics = {"gap": float((ends["backward"] - ends["forward"]).mean())}
    timing = table.drop(columns="log_estimate")
    return Result(task, metrics, tables={"estimates": table.drop(columns="seconds"), "timing": timing})


def _estimate(
    corpus: Corpus,
    truth: np.ndarray,
    law: dict[str, Any],
    path: str,
    steps: int,
    direction: str,
    rng: np.random.Generator,
) -> float:
    topics, prior = law["topics"], Prior(law["alpha"], law["eta"])
    if direction == "forward":
        estimate: float = estimator(path).repeat(corpus, topics, prior, steps, rng)
        return estimate
    if path == "reference":
        return reference.estimate_backward(corpus, topics, prior, truth, steps, rng)
    ladder = annealing.ladder_from(*annealing.pilot(corpus, topics, prior, rng), steps)
    return annealing.anneal_backward(from_assignments(corpus, topics, prior, truth), ladder, rng)
