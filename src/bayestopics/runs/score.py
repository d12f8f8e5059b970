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
NUMBERS = ("log_score", "standard_error", "sampling_error", "perplexity", "lower", "upper", "heldout_tokens")


def task_of(corpus: Corpus, topics: int, prior: Prior, *, method: str, sampler: str, seed: int, **work: Any) -> Task:
    """`work`: sweeps, burn_in, and the options of the methods; those of other methods and estimators are left out."""
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; choose from {', '.join(METHODS)}")
    if method == "leave-one-out" and work["estimator"] not in ESTIMATORS:
        raise InputError(f"unknown estimator {work['estimator']!r}; choose from {', '.join(ESTIMATORS)}")
    if work["sweeps"] < 1 or work["burn_in"] < 0:
        sizes = f"{work['sweeps']} and {work['burn_in']}"
        raise InputError(f"at least 1 sweep is needed, and a burn-in of 0 or more, not {sizes}")
    module = sampler_by_name(sampler)
    prior.alpha_vector(topics)
    params: dict[str, Any] = {
        "topics": topics,
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
    params = dict(task.params)
    method, topics = params.pop("method"), params.pop("topics")
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
    metrics = {name: answer[name] for name in NUMBERS if answer.get(name) is not None}
    return Result(task, metrics, found.warnings, tables=tables, answer=answer)
