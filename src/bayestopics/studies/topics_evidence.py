"""Study `number_of_topics`, evidence: log m(T) of one corpus by one method, for several T."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import pandas as pd

from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.compute import evidence, summary
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import Record, Run, Stopwatch


def compute(run: Run, corpus: Corpus, checkpoint: Checkpoint, before: Sequence[Record] = ()) -> Record:
    """Tables: `evidence`, a row a T; `estimates`, a row a T and repeat; `timing`, the seconds of each of these;
    `size`, one row: documents and terms. A harmonic mean also has the `other` one of its chains, a row a T and repeat,
    and is read from it if that record is there `before`."""
    watch = Stopwatch()
    params, prior = run.params, Prior(run.params["alpha"], run.params["eta"])
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
            seed=int(run.generator().integers(2**31)),
            workers=numba.get_num_threads(),
            checkpoint=checkpoint,
        )
    keys = ["topics", "log_evidence", "standard_error"]
    table = pd.DataFrame({key: found[key] for key in keys}).astype({"standard_error": float})
    timing = rows(found, "seconds", found["seconds"])
    tables = {
        "evidence": table,
        "estimates": rows(found, "log_estimate", found["log_estimates"]),
        "timing": timing,
        "size": pd.DataFrame([{"documents": corpus.document_count, "terms": corpus.term_count}]),
    }
    for values in found.get("from_the_same_chains", {}).values():
        tables["other"] = rows(found, "log_estimate", values)
    best = table.loc[table["log_evidence"].idxmax()]
    return Record(
        run,
        {"best_topics": int(best["topics"]), "log_evidence_of_best": float(best["log_evidence"])},
        found["warnings"],
        tables=tables,
        volatile=watch.volatile(sampling_seconds=float(timing["seconds"].sum())),
    )


def rows(found: dict[str, Any], column: str, values: list[list[float]]) -> pd.DataFrame:
    """A row a T and repeat."""
    by_repeat = pd.DataFrame(values, index=pd.Index(found["topics"], name="topics"))
    return by_repeat.stack().rename_axis(["topics", "repeat"]).rename(column).reset_index()


def by_topics(table: pd.DataFrame, topics: list[int]) -> list[list[float]]:
    """The other way round."""
    return table.set_index(["topics", "repeat"]).squeeze(axis=1).unstack().loc[topics].to_numpy().tolist()


def posteriors(estimates: pd.DataFrame) -> pd.DataFrame:
    """The normalised direct estimator [Chen & Doss 4.11], uniform prior: a row a repeat, a column a T."""
    logs = estimates.pivot(index="repeat", columns="topics", values="log_estimate")
    weights = np.exp(logs.sub(logs.max(axis=1), axis=0))
    return weights.div(weights.sum(axis=1), axis=0)
