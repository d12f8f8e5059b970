"""Monte Carlo errors of the study `number_of_topics`: T along PMMH chains, log m(T) over repeats, leave-one-out scores,
shares of T along chains on a corpus that can be enumerated, distances between topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from bayestopics.runs.result import Result
from bayestopics.studies.errors import Row, found, of_chain, second_half, table_of

WALKS = ("pmmh", "empirical", "slip")


def errors(records: Iterable[Result]) -> pd.DataFrame:
    return table_of(row for record in records for row in _rows(record))


def share_of(topics: int, inner: int, refreshed: bool) -> str:
    """The name of this quantity."""
    return f"share of T = {topics}, m = {inner}" + ", estimates refreshed" * refreshed


def _rows(record: Result) -> Iterator[Row]:
    name, params = record.task.name, record.task.params
    kind = params["kind"]
    if kind in WALKS:
        yield of_chain(name, "T", second_half(record.trace["topics"]))
    elif kind in ("evidence", "fitted"):
        for row in record.tables["evidence"].itertuples():
            quantity = f"log m({row.topics})"
            yield found(name, quantity, "repeats", params["repeats"], row.log_evidence, row.standard_error)
    elif kind == "score":
        for row in record.tables["scores"].itertuples():
            yield found(name, f"log S({row.topics})", "draws", params["sweeps"], row.log_score, row.standard_error)
    elif kind == "exact":
        for row in record.tables["law"].itertuples():
            quantity = share_of(row.topics, row.inner, row.refreshed)
            yield found(name, quantity, "batch means", params["iterations"], row.share, row.error)
    elif kind == "jump":
        for row in record.tables["posterior"].itertuples():
            draws = params["iterations"] * len(params["starts"])
            yield found(name, f"p({row.topics})", "batches and chains", draws, row.probability, row.standard_error)
    elif kind == "distances":
        yield of_chain(name, "distance", record.trace["distance"])
