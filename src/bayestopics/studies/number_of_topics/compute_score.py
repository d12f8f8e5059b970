"""Study `number_of_topics`, the leave-one-out score S(T) of one corpus for several T [Chen & Doss, figure 4]."""

from __future__ import annotations

import pandas as pd

from bayestopics.base.seeds import seed_from
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.state import Prior
from bayestopics.predict.by_topics import documents_table, scores_by_topics, warnings_of
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

COLUMNS = ("log_score", "standard_error", "lower", "upper", "sampling_error", "perplexity")


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Tables: `scores`, one row per T; `documents`, one row per T and document; `timing`."""
    params = task.params
    made = scores_by_topics(
        corpus,
        params["topics"],
        Prior(params["alpha"], params["eta"]),
        params,
        seed=seed_from(task.generator()),
        checkpoint=checkpoint,
        description=task.name,
    )
    scores = [{"topics": t, **{key: getattr(one, key) for key in COLUMNS}} for t, (one, _) in made.items()]
    table = pd.DataFrame(scores).astype(float).astype({"topics": int})
    best = table.loc[table["log_score"].idxmax()]
    return Result(
        task,
        {"best_topics": int(best["topics"]), "log_score_of_best": float(best["log_score"])},
        warnings_of(made),
        tables={
            "scores": table,
            "documents": documents_table(made),
            "timing": pd.DataFrame({"topics": list(made), "seconds": [seconds for _, seconds in made.values()]}),
        },
        volatile={"sampling_seconds": float(sum(seconds for _, seconds in made.values()))},
    )
