"""`infer`: the shares of the topics in new documents, given the topics of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayestopics.base.code import code_hash
from bayestopics.base.problems import InputError
from bayestopics.base.processes import thread_limit
from bayestopics.corpus.corpus import Corpus
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task, describe
from bayestopics.runs.topics_result import TopicsResult

MANY_UNKNOWN = 0.5  # share of the words that the fit does not know


def task_of(corpus: Corpus, fit: TopicsResult, sweeps: int, burn_in: int, seed: int) -> Task:
    """The fit is known by its key, a hash of everything that it depends on."""
    if sweeps < 1 or burn_in < 0:
        raise InputError(f"at least 1 sweep is needed, and a burn-in of 0 or more, not {sweeps} and {burn_in}")
    params = {"fit": fit.key, "topics": fit.topic_count, "sweeps": sweeps, "burn_in": burn_in}
    code = code_hash(__name__, "bayestopics.predict.new_documents")
    return Task("infer", OWN, "infer", params, seed, **describe(corpus), code=code)


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, *, fit: TopicsResult, workers: int = 1) -> Result:
    """Compute the table `documents`, one row per document. It takes seconds, so nothing is saved in between."""
    with thread_limit(workers):
        table = fit.new_documents(corpus, task.params["sweeps"], task.params["burn_in"], task.seed)
    known = table["tokens"] - table["unknown"]
    theta = table[[f"topic_{t}" for t in range(task.params["topics"])]].to_numpy()
    shares = theta.T @ known.to_numpy() / max(1, known.sum())
    unknown = float(table["unknown"].sum() / max(1, table["tokens"].sum()))
    words = {one["topic"]: one["words"] for one in fit.listed}
    topics = [
        {"topic": int(t), "share": float(shares[t]), "words": words.get(int(t), [])}
        for t in np.argsort(-shares, kind="stable")
    ]
    sizes = {"documents": len(table), "tokens": int(table["tokens"].sum()), "unknown_share": unknown}
    answer: dict[str, Any] = {**sizes, "without_known_words": int(np.sum(known == 0)), "topics": topics}
    return Result(task, {**sizes}, _doubts(answer), tables={"documents": table}, answer=answer)


def _doubts(answer: dict[str, Any]) -> list[str]:
    said = []
    if answer["unknown_share"] > MANY_UNKNOWN:
        said.append(
            "The fit does not know most of the words, so its topics may not describe these documents. Read them with "
            "the same options as the corpus of the fit, or fit again with documents like these: "
            f"{answer['unknown_share']:.0%} of the words are unknown."
        )
    if alone := answer["without_known_words"]:
        said.append(
            "Documents without a word that the fit knows get the same shares, those of the prior, which say nothing "
            f"about them. Leave them out of what you count: {alone} of {answer['documents']} documents."
        )
    return said
