"""Study `truncation_free`, a stream without end: documents are generated, learnt from once and forgotten.

What a learner keeps is its components, so the memory of the process must not rise with the documents.
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
    """`trace`: a row a check, the first before any document, with the components; `timing`: at the same checks, CPU
    seconds of learning and the peak memory of the process so far. A run that was resumed has the peak of its last life.
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
    source.batch(0)  # what it takes to make documents is in the first peak
    if saved is not None:
        state, found, seconds = saved
        return kind.from_state_dict(state), found, seconds
    settings: dict[str, Any] = {"term_count": params["terms"], "rng": task.generator("learner")}
    if params["method"] == "truncated":  # it must be told how many will come
        settings |= {"documents": params["documents"], "truncation": params["truncation"]}
    return kind(**settings), [], 0.0


def _check(learner: Learner, seconds: float) -> Check:
    documents = learner.documents_seen
    trace = {"documents": documents, "components": learner.used_components()}
    return trace, {"documents": documents, "seconds": seconds, "peak_mb": peak_mb()}


@dataclass(frozen=True, eq=False)
class Source:
    """Documents of as many words each, from topics that stay: of one of them (DP mixture), or of a few (HDP).

    A batch has a generator of its own, so that a stream can be taken up anywhere.
    """

    task: Task
    cumulative: np.ndarray  # of topic t, from t to t + 1

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
        term = np.minimum(place - topic * terms, terms - 1)  # by rounding it may be one too far
        document = np.repeat(np.arange(size), params["length"])
        return sparse.csr_array((np.ones(len(term), np.int64), (document, term)), shape=(size, terms))
