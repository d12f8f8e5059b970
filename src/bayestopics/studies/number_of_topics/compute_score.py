"""Study `number_of_topics`, leave-one-out score S(T) of one corpus for several T [Chen & Doss, figure 4]."""

from __future__ import annotations

import pandas as pd

from bayestopics.base.progress import counted
from bayestopics.base.seeds import seed_from
from bayestopics.base.stopwatch import Stopwatch
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.state import Prior
from bayestopics.predict.leave_one_out import score
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

COLUMNS = ("log_score", "standard_error", "sampling_error", "perplexity")
WORK = ("sampler", "sweeps", "burn_in", "thin", "particles", "documents")


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Tables: `scores`, a row a T; `documents`, a row a T and document; `timing`. The documents that are left out are
    the same for every T, so that differences between T have little sampling error."""
    watch, params = Stopwatch(), task.params
    seed = seed_from(task.generator())
    made = checkpoint.load() or {}
    for topics in counted(params["topics"], task.name, "T"):
        if topics not in made:
            single, prior = Stopwatch(), Prior(params["alpha"], params["eta"])
            found = score(corpus, topics, prior, seed=seed, **{key: params[key] for key in WORK})
            made[topics] = found, single.volatile()["cpu_seconds"]  # a busy machine shows less
            checkpoint.save(made)
    scores = [{"topics": t, **{key: getattr(one, key) for key in COLUMNS}} for t, (one, _) in made.items()]
    documents = [
        {"topics": t, "document": row.document, "tokens": row.tokens, "log_likelihood": row.log_likelihood}
        for t, (one, _) in made.items()
        for row in one.documents
    ]
    table = pd.DataFrame(scores).astype(float).astype({"topics": int})
    best = table.loc[table["log_score"].idxmax()]
    return Result(
        task,
        {"best_topics": int(best["topics"]), "log_score_of_best": float(best["log_score"])},
        [f"T={topics}: {warning}" for topics, (one, _) in made.items() for warning in one.warnings],
        tables={
            "scores": table,
            "documents": pd.DataFrame(documents),
            "timing": pd.DataFrame({"topics": list(made), "seconds": [seconds for _, seconds in made.values()]}),
        },
        volatile=watch.volatile(sampling_seconds=float(sum(seconds for _, seconds in made.values()))),
    )
