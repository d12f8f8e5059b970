"""Study `number_of_topics`, evidence: log m(T) of one corpus by one method, for several T."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numba
import pandas as pd

from bayestopics.base.seeds import seed_from
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.compute import evidence, summary
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.evidence import result_of
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, before: Sequence[Result] = ()) -> Result:
    """The tables of `runs.evidence`, and `size`, one row with the numbers of documents and terms. If the record of the
    other harmonic mean is given in `before`, this one is read from its table `other`."""
    params, prior = task.params, Prior(task.params["alpha"], task.params["eta"])
    if before:
        logs, seconds = (by_topics(before[0].tables[name], params["topics"]) for name in ("other", "timing"))
        found = summary(params["method"], prior, params["topics"], logs, seconds)
    else:
        found = evidence(
            corpus,
            params["topics"],
            prior,
            method=params["method"],
            path=params.get("path", "reference"),
            **{key: params[key] for key in ("sweeps", "passes", "repeats") if key in params},
            seed=seed_from(task.generator()),
            workers=numba.get_num_threads(),
            checkpoint=checkpoint,
        )
    result = result_of(task, found)
    size = pd.DataFrame([{"documents": corpus.document_count, "terms": corpus.term_count}])
    return replace(result, tables={**result.tables, "size": size}, answer={}, volatile=result.volatile)


def by_topics(table: pd.DataFrame, topics: list[int]) -> list[list[float]]:
    """From one row per T and repeat: for each T the list of its repeats."""
    return table.set_index(["topics", "repeat"]).squeeze(axis=1).unstack().loc[topics].to_numpy().tolist()
