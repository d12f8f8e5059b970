"""Study `number_of_topics`, evidence: log m(T) of one corpus by one method, for several T."""

from __future__ import annotations

import numba
import numpy as np
import pandas as pd

from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.compute import evidence
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import Record, Run, Stopwatch


def compute(run: Run, corpus: Corpus, checkpoint: Checkpoint) -> Record:
    """Tables: `evidence`, a row a T; `estimates`, a row a T and repeat; `timing`, the seconds of each of these;
    `size`, one row: documents and terms."""
    watch = Stopwatch()
    params = run.params
    found = evidence(
        corpus,
        params["topics"],
        Prior(params["alpha"], params["eta"]),
        method=params["method"],
        path=params.get("path", "reference"),
        **{key: params[key] for key in ("sweeps", "passes", "repeats") if key in params},
        seed=int(run.generator().integers(2**31)),
        workers=numba.get_num_threads(),
        checkpoint=checkpoint,
    )
    keys = ["topics", "log_evidence", "standard_error"]
    table = pd.DataFrame({key: found[key] for key in keys}).astype({"standard_error": float})
    rows = [
        {"topics": topics, "repeat": repeat, "log_estimate": value, "seconds": seconds}
        for topics, values, times in zip(found["topics"], found["log_estimates"], found["seconds"], strict=True)
        for repeat, (value, seconds) in enumerate(zip(values, times, strict=True))
    ]
    estimates = pd.DataFrame(rows)
    best = table.loc[table["log_evidence"].idxmax()]
    return Record(
        run,
        {"best_topics": int(best["topics"]), "log_evidence_of_best": float(best["log_evidence"])},
        found["warnings"],
        tables={
            "evidence": table,
            "estimates": estimates.drop(columns="seconds"),
            "timing": estimates.drop(columns="log_estimate"),
            "size": pd.DataFrame([{"documents": corpus.document_count, "terms": corpus.term_count}]),
        },
        volatile=watch.volatile(sampling_seconds=float(estimates["seconds"].sum())),
    )


def posteriors(estimates: pd.DataFrame) -> pd.DataFrame:
    """The normalised direct estimator [Chen & Doss 4.11], uniform prior: a row a repeat, a column a T."""
    logs = estimates.pivot(index="repeat", columns="topics", values="log_estimate")
    weights = np.exp(logs.sub(logs.max(axis=1), axis=0))
    return weights.div(weights.sum(axis=1), axis=0)
