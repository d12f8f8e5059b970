"""Study `hyperparameters`, the leave-one-out score S(h) for each choice of h on one corpus [George & Doss, table 3]."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bayestopics.base.progress import counted
from bayestopics.base.seeds import seed_from
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.ad_hoc import CHOICES, ad_hoc
from bayestopics.lda.state import Prior
from bayestopics.predict.leave_one_out import score
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

ESTIMATED = ("gibbs-em", "variational-em")
WORK = ("sampler", "sweeps", "burn_in", "thin", "particles", "documents")


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, before: Sequence[Result] = ()) -> Result:
    """`before` has the records of tempering and its rivals on the same corpus. Every choice leaves out the same
    documents. Tables: `scores`, one row per choice; `documents`, one row per choice and document."""
    params = task.params
    seed = seed_from(task.generator())
    made = checkpoint.load() or {}
    chosen = choices(before, params["topics"])
    for choice, prior in counted(chosen.items(), task.name, "choice"):
        if choice not in made:
            work = {key: params[key] for key in WORK}
            part = checkpoint.part(choice)
            made[choice] = score(
                corpus, params["topics"], prior, estimator="left-to-right", seed=seed, checkpoint=part, **work
            )
            checkpoint.save(made)
    rows = [
        {"choice": choice, "alpha": chosen[choice].alpha, "eta": chosen[choice].eta}
        | {key: getattr(one, key) for key in ("log_score", "standard_error", "sampling_error")}
        | {"documents": len(one.documents), "of_documents": corpus.document_count}
        for choice, one in made.items()
    ]
    documents = [
        {"choice": choice, "document": row.document, "log_likelihood": row.log_likelihood}
        for choice, one in made.items()
        for row in one.documents
    ]
    return Result(
        task,
        {choice: one.log_score for choice, one in made.items()},
        [f"{choice}: {warning}" for choice, one in made.items() for warning in one.warnings],
        tables={"scores": pd.DataFrame(rows), "documents": pd.DataFrame(documents)},
    )


def choices(before: Sequence[Result], topics: int) -> dict[str, Prior]:
    """Where a method has several starts, the first is taken, because a user cannot know which start is best."""
    by_kind = {record.task.params["kind"]: record for record in before}
    found = by_kind["surface"].metrics
    chosen = {"tempering": Prior(found["alpha"], found["eta"])}
    ends = by_kind["rivals"].tables["ends"]
    for method in ESTIMATED:
        first = ends[(ends["method"] == method) & (ends["start"] == 0)].iloc[0]
        chosen[method] = Prior(float(first["alpha"]), float(first["eta"]))
    return chosen | {name: ad_hoc(name, topics) for name in CHOICES}
