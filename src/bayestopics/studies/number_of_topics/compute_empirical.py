"""Study `number_of_topics`, PMMH at the empirical Bayes h, that is, at estimated (alpha, eta) [Chen & Doss 5.2]."""

from __future__ import annotations

import dataclasses

from bayestopics.base.seeds import seed_from
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.compute import hyper
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.number_of_topics import compute_pmmh


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Estimate h by serial tempering with `topics` topics, then run one chain over T as in `compute_pmmh`."""
    params = task.params
    seed = seed_from(task.generator("hyper"))
    found = hyper(
        corpus, params["topics"], sweeps=params["sweeps"], seed=seed, chains=1, checkpoint=checkpoint.part("h")
    )
    h = {"alpha": found["alpha"], "eta": found["eta"]}
    at_h = dataclasses.replace(task, params={**params, **h})
    record = compute_pmmh.compute(at_h, corpus, checkpoint)
    doubts = [f"h: {warning}" for warning in found["warnings"]]
    return dataclasses.replace(record, task=task, metrics=record.metrics | h, warnings=record.warnings + doubts)
