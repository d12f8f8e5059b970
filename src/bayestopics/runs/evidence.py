"""`evidence`: log m(T) = log p(w | T) for each number of topics, with its error."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.code import code_hash
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence import ANNEALING, ESTIMATORS, METHODS, PATHS
from bayestopics.evidence.compute import evidence
from bayestopics.lda import SAMPLERS
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import read
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task, describe

BY_NAME = "sparse"  # the sampler of the methods chib, chib-independent, harmonic-z, harmonic-psi and pseudo-marginal


def task_of(
    corpus: Corpus, topics: Sequence[int], prior: Prior, seed: int, start: np.ndarray | None = None, **work: Any
) -> Task:
    """`work`: method, path, sweeps, passes, repeats. Assignments to start from are known by their hash."""
    name = work["path"] if work["method"] == ANNEALING else work["method"]
    if name not in ESTIMATORS or (name in PATHS) != (work["method"] == ANNEALING):
        known = f"methods are {', '.join(METHODS)}; paths are {', '.join(PATHS)}"
        raise InputError(f"unknown method {work['method']!r} or path {work['path']!r}: {known}")
    if start is not None:
        work["start"] = hashlib.sha256(start.astype(np.int32).tobytes()).hexdigest()[:16]
    params = {"topics": list(topics), "alpha": prior.alpha, "eta": prior.eta, **work}
    code = code_hash(__name__, ESTIMATORS[name].module, SAMPLERS[BY_NAME].module)
    return Task("evidence", OWN, work["method"], params, seed, **describe(corpus), code=code)


def compute(
    task: Task, corpus: Corpus, checkpoint: Checkpoint, *, start: np.ndarray | None = None, workers: int = 1
) -> Result:
    work = {name: value for name, value in task.params.items() if name != "start"}
    topics, prior = work.pop("topics"), Prior(work.pop("alpha"), work.pop("eta"))
    how = {**work, "start": start, "seed": task.seed, "workers": workers, "checkpoint": checkpoint}
    return result_of(task, evidence(corpus, topics, prior, **how))


def found_by(folder: Path, corpus: Corpus) -> np.ndarray:
    """The assignments that the chains of a record of `topics --method jump` found, one row per chain."""
    record = read(folder)
    if record.task.study != "topics" or "assignments" not in record.arrays:
        raise InputError(f"{folder}: is not a record of `topics --method jump`, which has topics to start from")
    record.task.insist(corpus)
    return record.arrays["assignments"]


def result_of(task: Task, found: dict[str, Any]) -> Result:
    """The output of `evidence.compute.evidence` as a result; runs of studies use it too.

    Tables: `evidence`, one row per T; `estimates`, one row per T and repeat; `timing`, the CPU seconds of each
    estimate. For a harmonic mean, `other` has the other harmonic mean of the same chains, one row per T and repeat.
    """
    keys = ["topics", "log_evidence", "standard_error"]
    table = pd.DataFrame({key: found[key] for key in keys}).astype({"standard_error": float})
    timing = _rows(found, "seconds", found["seconds"])
    tables = {"evidence": table, "estimates": _rows(found, "log_estimate", found["log_estimates"]), "timing": timing}
    for values in found.get("from_the_same_chains", {}).values():
        tables["other"] = _rows(found, "log_estimate", values)
    return Result(
        task,
        {"best_topics": found["best"], "log_evidence_of_best": max(found["log_evidence"])},
        found["warnings"],
        tables=tables,
        answer={key: value for key, value in found.items() if key not in ("seconds", "warnings")},
        volatile={"sampling_seconds": float(timing["seconds"].sum())},
    )


def _rows(found: dict[str, Any], column: str, values: list[list[float]]) -> pd.DataFrame:
    """One row per T and repeat."""
    by_repeat = pd.DataFrame(values, index=pd.Index(found["topics"], name="topics"))
    return by_repeat.stack().rename_axis(["topics", "repeat"]).rename(column).reset_index()
