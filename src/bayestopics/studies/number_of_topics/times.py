"""Study `number_of_topics`, hours of one core for the paper's work [Chen & Doss, table 3], in the paper and here.

Our hours are the CPU seconds of our runs, scaled up to the paper's lengths, numbers of T, documents and tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.runs.result import Result

PMMH = (  # corpus, m, steps, the paper's hours
    ("lda-20", 50, 5_000, 22.7),
    ("lda-20", 75, 5_000, 33.6),
    ("lda-20", 100, 5_000, 44.5),
    ("whales", 50, 10_000, 1.1),
    ("birds-of-prey", 50, 10_000, 1.2),
)
# method, sweeps per T, our sweeps per kept sweep (the burn-in counts for harmonic means; a pilot is extra), hours
RIVALS = (("chib", 1_000, 1.0, 22.7), ("harmonic-z", 3_500, 1.5, 22.7), ("harmonic-psi", 3_500, 1.5, 22.7))
RIVAL_TOPICS = np.arange(3, 61)
SCORES = (("whales", 153, 3.3), ("birds-of-prey", 304, 10.6))  # documents, hours; T = 2..20, 100 sweeps each
SCORE_TOPICS = np.arange(2, 21)
STANDS_FOR = {"lda-20-short": ("lda-20", 10.0)}  # how many times more tokens the paper's corpus has


def hours(records: Iterable[Result]) -> pd.DataFrame:
    """One row per piece of the paper's work for which there is a record here."""
    rows: list[dict[str, Any]] = []
    for record in records:
        kind = record.task.params["kind"]
        if kind in WORK:
            rows += WORK[kind](record)
    table = pd.DataFrame(rows, columns=["method", "corpus", "measured on", "work", "hours", "hours of the paper"])
    return table.sort_values(["method", "corpus", "hours"]).drop_duplicates(
        ["method", "corpus", "work"], ignore_index=True
    )


def _pmmh(record: Result) -> Iterator[dict[str, Any]]:
    params, (corpus, factor) = record.task.params, _paper_corpus(record)
    if params["sampler"] != "single-site" or params["start"] != 30:
        return
    if "before" in params or "chain" in params or "z_start" in params:
        return  # with `before`, the seconds cover only a part of the work; the others do other work, or the same again
    for name, inner, steps, theirs in PMMH:
        if name == corpus and inner in (params["inner"], *params.get("shorter", ())):
            # at equal T the work is proportional to m
            share = inner / params["inner"] / params["iterations"]
            seconds = record.volatile["cpu_seconds"] * share * steps * factor
            yield _row("PMMH", corpus, record, f"m = {inner}, {steps:,} steps", seconds, theirs)


def _rival(record: Result) -> Iterator[dict[str, Any]]:
    params, (corpus, factor) = record.task.params, _paper_corpus(record)
    for method, sweeps, ours, theirs in RIVALS:
        if corpus == "lda-20" and params["method"] == method:
            one = record.tables["timing"].groupby("topics")["seconds"].mean()
            each = np.interp(RIVAL_TOPICS, one.index, one) * sweeps / (ours * params["sweeps"]) * factor
            yield _row(method, corpus, record, f"T = 3..60, {sweeps:,} sweeps each", float(each.sum()), theirs)


def _score(record: Result) -> Iterator[dict[str, Any]]:
    params = record.task.params
    for corpus, documents, theirs in SCORES:
        if corpus == params["corpus"]:
            one = record.tables["timing"].set_index("topics")["seconds"].sort_index()
            share = documents / record.tables["documents"]["document"].nunique()
            each = np.interp(SCORE_TOPICS, one.index, one) * share
            way = "by the bridge" if "lower" in record.tables["scores"] else "by left-to-right"
            yield _row("leave-one-out", corpus, record, f"T = 2..20, {way}", float(each.sum()), theirs)


WORK = {"pmmh": _pmmh, "evidence": _rival, "score": _score}


def _paper_corpus(record: Result) -> tuple[str, float]:
    return STANDS_FOR.get(record.task.corpus, (record.task.corpus, 1.0))


def _row(method: str, corpus: str, record: Result, work: str, seconds: float, theirs: float) -> dict[str, Any]:
    ours = {"hours": seconds / 3600, "hours of the paper": theirs}
    return {"method": method, "corpus": corpus, "measured on": record.task.corpus, "work": work, **ours}
