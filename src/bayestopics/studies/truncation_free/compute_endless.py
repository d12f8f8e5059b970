"""Study `truncation_free`, an endless stream: each document is generated, learnt from once and forgotten.

A learner keeps only its components, so the memory of the process must not grow with the number of documents.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sparse

from bayestopics.base.memory import peak_mb
from bayestopics.base.progress import Progress
from bayestopics.nonparametric.learners import LEARNERS, compile_learner
from bayestopics.nonparametric.stream import Learner
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

SPARSE = 0.05  # Dirichlet parameter of the topics
Check = tuple[dict[str, int], dict[str, float]]  # a row of the trace, a row of the timing


def compute(task: Task, corpus: None, checkpoint: Checkpoint) -> Result:
    """Tables: `trace`, one row per check, with the number of components; the first check is before any document.
    `timing`, at the same checks: CPU seconds of learning, and the peak memory of the process so far. A resumed run has
    the peak memory of its last process only.
    """
    params, source = task.params, Source.of(task)
    learner, found, seconds = _start(task, source, checkpoint.load())
    checks = np.linspace(0, params["documents"], params["checks"] + 1).round().astype(int).tolist()
    with Progress(task.name, params["documents"], "document") as bar:
        for end in checks[len(found) :]:
            while learner.documents_seen < end:
                batch = source.batch(learner.updates)
                begin = time.process_time()
                learner.partial_fit(batch)
                seconds += time.process_time() - begin
                bar.reach(learner.documents_seen)
                if checkpoint.due():
                    checkpoint.save((learner.state_dict(), found, seconds))
            found.append(_check(learner, seconds))
    trace, timing = (pd.DataFrame(list(rows)) for rows in zip(*found, strict=True))
    metrics = {name: float(trace[name].iloc[-1]) for name in ("documents", "components")}
    metrics["most_components"] = float(trace["components"].max())
    rise = float(timing["peak_mb"].iloc[-1] - timing["peak_mb"].iloc[1])  # after the first part of the stream
    usage = {"learning_seconds": seconds, "peak_rise_mb": rise}
    return Result(task, metrics, tables={"trace": trace, "timing": timing}, volatile=usage)


def _start(task: Task, source: Source, saved: Any | None) -> tuple[Learner, list[Check], float]:
    params = task.params
    kind = LEARNERS[params["model"], params["method"]]
    compile_learner(kind)
    source.batch(0)  # so that the first peak includes the memory to make documents
    if saved is not None:
        state, found, seconds = saved
        return kind.from_state_dict(state), found, seconds
    settings: dict[str, Any] = {"term_count": params["terms"], "rng": task.generator("learner")}
    if params["method"] == "truncated":  # it must know the number of documents in advance
        settings |= {"documents": params["documents"], "truncation": params["truncation"]}
    return kind(**settings), [], 0.0


def _check(learner: Learner, seconds: float) -> Check:
    documents = learner.documents_seen
    trace = {"documents": documents, "components": learner.used_components()}
    return trace, {"documents": documents, "seconds": seconds, "peak_mb": peak_mb()}


@dataclass(frozen=True, eq=False)
class Source:
    """Documents of equal length from fixed topics: one topic per document (DP mixture), or a few (HDP).

    Each batch has its own random generator, so that a stream can be resumed anywhere.
    """

    task: Task
    cumulative: np.ndarray  # cumulative probabilities; those of topic t run from t to t + 1

    @classmethod
    def of(cls, task: Task) -> Source:
        terms, topics = task.params["terms"], task.params["topics"]
        cumulative = np.cumsum(task.generator("topics").dirichlet(np.full(terms, SPARSE), topics), axis=1)
        return cls(task, (cumulative / cumulative[:, -1:] + np.arange(topics)[:, None]).ravel())

    def batch(self, number: int) -> sparse.csr_array:
        params, rng = self.task.params, self.task.generator(f"batch {number}")
        topics, terms = params["topics"], params["terms"]
        size = min(params["batch"], params["documents"] - number * params["batch"])
        if params["model"] == "dp-mixture":
            weights = np.eye(topics)[rng.integers(topics, size=size)]
        else:
            weights = rng.dirichlet(np.full(topics, 1 / topics), size)
        counts = rng.multinomial(params["length"], weights)
        topic = np.repeat(np.tile(np.arange(topics), size), counts.ravel())
        place = np.searchsorted(self.cumulative, topic + rng.random(len(topic)), side="right")
        term = np.minimum(place - topic * terms, terms - 1)  # rounding may carry it one too far
        document = np.repeat(np.arange(size), params["length"])
        return sparse.csr_array((np.ones(len(term), np.int64), (document, term)), shape=(size, terms))
