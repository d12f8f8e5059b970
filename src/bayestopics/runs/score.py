"""`score`: how well a model predicts held-out words or documents, with its Monte Carlo error."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.code import code_hash
from bayestopics.base.problems import InputError
from bayestopics.base.seeds import generator
from bayestopics.base.wording import at_the_end, by_topics, explain_once
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.state import Prior
from bayestopics.predict import ESTIMATORS, METHODS, completion, leave_one_out
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task, describe

# the options of each method, besides those of the model and the chain
OPTIONS = {
    "completion": ("heldout",),
    "leave-one-out": ("documents", "thin", "estimator"),
    "bridge": ("chains", "forget", "steps", "tolerance"),
    "left-to-right": ("particles", "beta", "warm_up"),
}
TABLES = {"completion": ("heldout", "batches"), "leave-one-out": ("documents",)}
ROW = ("log_score", "standard_error", "perplexity")  # the score of one of several numbers of topics
NUMBERS = ("log_score", "standard_error", "sampling_error", "perplexity", "lower", "upper", "heldout_tokens")


def task_of(
    corpus: Corpus, topics: list[int], prior: Prior, *, method: str, sampler: str, seed: int, **work: Any
) -> Task:
    """`work`: sweeps, burn_in, and the options of the methods; those of other methods and estimators are left out."""
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; choose from {', '.join(METHODS)}")
    if method == "leave-one-out" and work["estimator"] not in ESTIMATORS:
        raise InputError(f"unknown estimator {work['estimator']!r}; choose from {', '.join(ESTIMATORS)}")
    if work["sweeps"] < 1 or work["burn_in"] < 0:
        sizes = f"{work['sweeps']} and {work['burn_in']}"
        raise InputError(f"at least 1 sweep is needed, and a burn-in of 0 or more, not {sizes}")
    module = sampler_by_name(sampler)
    if not topics:
        raise InputError("at least one number of topics is needed")
    for number in topics:
        prior.alpha_vector(number)
    params: dict[str, Any] = {
        "topics": topics if len(topics) > 1 else topics[0],
        "alpha": prior.alpha,
        "eta": prior.eta,
        "method": method,
        "sampler": sampler,
    }
    estimator = OPTIONS[work["estimator"]] if method == "leave-one-out" else ()
    params |= {name: work[name] for name in ("sweeps", "burn_in", *OPTIONS[method], *estimator)}
    if isinstance(params.get("documents"), Sequence | np.ndarray):
        params["documents"] = [int(document) for document in params["documents"]]
    code = code_hash(__name__, module.__name__)
    return Task("score", OWN, method, params, seed, **describe(corpus), code=code)


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, *, workers: int = 1) -> Result:
    """Compute the score. Leave-one-out has a table `documents`, one row per document. Completion has `heldout`, one row
    per document with held-out words, and `batches`, one row per batch of sweeps."""
    topics = task.params["topics"]
    if isinstance(topics, int):
        answer, tables, doubts = _one(task, topics, corpus, checkpoint, workers)
        metrics = {name: answer[name] for name in NUMBERS if answer.get(name) is not None}
        return Result(task, metrics, doubts, tables=tables, answer=answer)
    found = {number: _one(task, number, corpus, checkpoint.part(f"T-{number}"), workers) for number in topics}
    return _together(task, found)


Found = tuple[dict[str, Any], dict[str, pd.DataFrame], list[str]]  # the answer, the tables and the warnings


def _one(task: Task, topics: int, corpus: Corpus, checkpoint: Checkpoint, workers: int) -> Found:
    """The score of one number of topics. The seed is the same for all, so the same words or documents are held out."""
    params = {name: value for name, value in task.params.items() if name != "topics"}
    method = params.pop("method")
    prior = Prior(params.pop("alpha"), params.pop("eta"))
    found: Any
    if method == "completion":
        documents = max(1, round(params.pop("heldout") * corpus.document_count))
        rng = generator(task.seed, "score/completion")
        found = completion.score(corpus, topics, prior, **params, documents=documents, rng=rng, checkpoint=checkpoint)
    else:
        found = leave_one_out.score(
            corpus, topics, prior, **params, seed=task.seed, workers=workers, checkpoint=checkpoint
        )
    answer = {name: value for name, value in dataclasses.asdict(found).items() if name != "warnings"}
    tables = {name: pd.DataFrame(answer.pop(name)) for name in TABLES[method]}
    if params.get("estimator") == "left-to-right":  # it has no bounds
        del answer["lower"], answer["upper"]
        tables["documents"] = tables["documents"].drop(columns=["lower", "upper"])
    return answer, tables, found.warnings


def _together(task: Task, found: dict[int, Found]) -> Result:
    """Several numbers of topics as one result; `scores` has one row for each."""
    topics = list(found)
    values = [found[number][0]["log_score"] for number in topics]
    best = topics[int(np.argmax(values))]
    rows = []
    for number, (answer, tables, _) in found.items():
        difference, error = _difference(tables, found[best][1])
        row = {"topics": number, **{name: answer.get(name) for name in ROW}}
        rows.append(row | {"difference": difference, "difference_error": error})
    scores = pd.DataFrame(rows).astype(dict.fromkeys([*ROW, "difference", "difference_error"], float))
    # with two errors on both sides a difference is clear; an unknown error excludes nothing
    margin = 2 * np.hypot(scores["difference_error"], scores["standard_error"]).fillna(np.inf)
    near = scores["topics"][-scores["difference"] <= margin].tolist()
    names = TABLES[task.params["method"]]
    tables = {
        name: pd.concat([one[name].assign(topics=number) for number, (_, one, _) in found.items()], ignore_index=True)
        for name in names
    }
    said = by_topics((number, warning) for number, (_, _, doubts) in found.items() for warning in doubts)
    answer = {"topics": topics, "best": best, "not_excluded": near, **{name: _listed(scores[name]) for name in ROW}}
    answer |= {name: _listed(scores[name]) for name in ("difference", "difference_error")}
    metrics = {"best_topics": best, "log_score_of_best": max(values)}
    return Result(
        task,
        metrics,
        explain_once([*at_the_end(topics, best, "score"), *said]),
        tables | {"scores": scores},
        answer=answer,
    )


def _difference(tables: dict[str, pd.DataFrame], best: dict[str, pd.DataFrame]) -> tuple[float, float | None]:
    """How far a score is from the best, and the error of that from the choice of documents, which are the same."""
    if "heldout" in tables:
        words, gain = tables["heldout"]["tokens"], tables["heldout"]["log_probability"]
        lead = (gain - best["heldout"]["log_probability"]).to_numpy()
        mean = lead.sum() / words.sum()
        scatter = lead - mean * words.to_numpy()  # a ratio of two sums over documents
        size = words.sum() / len(words)
    else:
        lead = (tables["documents"]["log_likelihood"] - best["documents"]["log_likelihood"]).to_numpy()
        mean, size = lead.mean(), 1.0
        scatter = lead - mean
    count = len(lead)
    return float(mean), float(np.sqrt(np.sum(scatter**2) / (count - 1) / count) / size) if count > 1 else None


def _listed(column: pd.Series) -> list[float | None]:
    return [None if np.isnan(value) else value for value in column.tolist()]
