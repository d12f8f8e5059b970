"""Study `truncation_free`, one stream: one method, model, batch size and corpus [Wang & Blei, figures 3 and 4].

The paper gives every method the same 10 hours. Here the settings fix the number of documents that a run sees, so that
its record has the same bits on every machine; `timing` has its seconds, and methods are compared at equal seconds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sparse

from bayestopics.base.progress import Progress
from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric.dp_mixture import collapsed, plug_in
from bayestopics.nonparametric.hdp_held_out import importance_sampling, left_to_right
from bayestopics.nonparametric.hdp_memoized import MemoizedHDP
from bayestopics.nonparametric.learners import compile_learner, learner_of
from bayestopics.nonparametric.stream import Learner
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

Check = tuple[dict[str, Any], np.ndarray, float]  # a row of the trace, log p(x) of the documents, seconds
CHECKED = 0.01  # share of the documents before the first check
SMOOTHING = 0.01  # added to the counts of the unigram line, the HDP's eta
# our variants of the paper's two methods; restless: a table's topic is updated until it hardly changes
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "truncation-free-data": ("truncation-free", {"births": "data"}),
    "truncated-restless": ("truncated", {"at_rest": 0.001}),
}


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Tables: `trace`, one row per check, with the held-out score and the number of components; `timing`, the CPU
    seconds of learning alone at every check. Arrays: `log_likelihoods`, checks x held-out documents, and `tokens`, the
    tokens of these documents."""
    params = task.params
    stream, test = Stream.of(corpus, task), held_out(corpus, task)
    checks = checks_of(params["documents"], params["checks"])
    learner, found, seconds = _start(task, stream, checkpoint.load())
    with Progress(task.name, params["documents"], "document") as bar:
        for number in range(len(found), len(checks)):
            while learner.documents_seen < checks[number]:
                begin = time.process_time()
                ids = stream.after(learner.documents_seen)
                learner.partial_fit(stream.counts[ids], ids=ids)
                seconds += time.process_time() - begin
                if checkpoint.due():
                    checkpoint.save((learner.state_dict(), found, seconds))
            bar.reach(learner.documents_seen)
            found.append(_check(learner, test, task, number, seconds))
    trace = pd.DataFrame([row for row, _, _ in found])
    timing = pd.DataFrame([{"documents": row["documents"], "seconds": at} for row, _, at in found])
    arrays = {
        "log_likelihoods": np.array([logs for _, logs, _ in found]),
        "tokens": np.asarray(test.sum(axis=1)).ravel(),
    }
    metrics = {name: float(trace[name].iloc[-1]) for name in ("per_word", "error", "components", "documents")}
    metrics |= {"passes": metrics["documents"] / len(stream), **_papers_score(learner, test, task)}
    metrics["unigram_per_word"] = unigram(stream.counts, test)
    tables = {"trace": trace, "timing": timing}
    return Result(task, metrics, tables=tables, arrays=arrays, volatile={"learning_seconds": seconds})


def _start(task: Task, stream: Stream, saved: Any | None) -> tuple[Learner, list[Check], float]:
    params = task.params
    kind = kind_of(params)
    compile_learner(kind)  # before the clock starts
    if saved is not None:
        state, found, seconds = saved
        return kind.from_state_dict(state), found, seconds
    return kind(**_settings(params, stream, task.generator("learner"))), [], 0.0


def _settings(params: Mapping[str, Any], stream: Stream, rng: np.random.Generator) -> dict[str, Any]:
    settings = {"term_count": stream.counts.shape[1], "rng": rng, "documents": len(stream)}
    method, options = method_of(params)
    if kind_of(params) is MemoizedHDP:  # it has no other births
        return settings
    return settings | options | ({"truncation": params["truncation"]} if method == "truncated" else {})


def kind_of(params: Mapping[str, Any]) -> type[Learner]:
    method, options = method_of(params)
    return learner_of(params["model"], method, options.get("births", "words"))


def method_of(params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The method, and the options that differ from the paper's."""
    return OURS.get(params["method"], (params["method"], {}))


def unigram(counts: sparse.csr_array, test: sparse.csr_array) -> float:
    """The held-out score per word of the training documents' word frequencies: a model without topics."""
    frequency = np.asarray(counts.sum(axis=0)).ravel() + SMOOTHING
    words = np.asarray(test.sum(axis=0)).ravel()
    return float(words @ np.log(frequency / frequency.sum()) / words.sum())


# -- documents -----------------------------------------------------------------------------------------


def held_out_documents(documents: int, every: int, most: int) -> np.ndarray:
    """One document in `every`, but at most `most`, evenly spaced, so that documents of all dates are included."""
    count = max(1, min(documents // every, most))
    return np.arange(count) * documents // count + documents // (2 * count)


def held_out(corpus: Corpus, task: Task) -> sparse.csr_array:
    """Those documents that have words."""
    counts = corpus.counts[held_out_documents(corpus.document_count, **task.params["held_out"])]
    return counts[np.flatnonzero(np.asarray(counts.sum(axis=1)).ravel())]


@dataclass
class Stream:
    """The training documents, pass after pass: in the order in which they are stored, or in a new order each pass."""

    counts: sparse.csr_array
    task: Task

    @classmethod
    def of(cls, corpus: Corpus, task: Task) -> Stream:
        kept = np.ones(corpus.document_count, bool)
        kept[held_out_documents(corpus.document_count, **task.params["held_out"])] = False
        return cls(corpus.counts[np.flatnonzero(kept)], task)

    def __post_init__(self) -> None:
        self._pass, self._order = -1, np.arange(len(self))

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    def after(self, seen: int) -> np.ndarray:
        """Which documents are the next batch after this many; the last batch of a pass takes what is left."""
        number, start = divmod(seen, len(self))
        if self.task.params["order"] == "shuffled" and number != self._pass:
            self._pass, self._order = number, self.task.generator(f"pass {number}").permutation(len(self))
        return self._order[start : start + self.task.params["batch"]]


def checks_of(documents: int, checks: int) -> np.ndarray:
    """After how many documents to check the score: evenly spaced in their logs, the last check at the end."""
    first = max(1, int(CHECKED * documents))
    return np.unique(np.geomspace(first, documents, checks).round().astype(np.int64))


# -- scores --------------------------------------------------------------------------------------------


def _check(learner: Learner, test: sparse.csr_array, task: Task, number: int, seconds: float) -> Check:
    row: dict[str, Any] = {"documents": learner.documents_seen, "components": learner.used_components()}
    if task.params["model"] == "dp-mixture":
        exact = collapsed(learner, test)
        return row | {"per_word": exact.per_word, "error": 0.0}, exact.log_likelihoods, seconds
    found = left_to_right(learner, test, task.params["particles"], task.generator(f"check {number}"))
    return row | {"per_word": found.per_word, "error": found.standard_error}, found.log_likelihoods, seconds


def _papers_score(learner: Learner, test: sparse.csr_array, task: Task) -> dict[str, float]:
    """The paper's own estimate at the end: the mixture at its means, or importance sampling with infinite variance."""
    if task.params["model"] == "dp-mixture":
        return {"papers_per_word": plug_in(learner, test).per_word}
    found = importance_sampling(learner, test, task.params["draws"], task.generator("importance"))
    largest = {"papers_share_of_the_largest": found.share_of_the_largest}
    return {"papers_per_word": found.per_word, "papers_error": found.standard_error, **largest}
