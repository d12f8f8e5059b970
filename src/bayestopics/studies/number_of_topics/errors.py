"""Monte Carlo errors of the study `number_of_topics`: T along PMMH chains, and log m(T) over repeats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from bayestopics.runs.result import Result
from bayestopics.studies.errors import Row, found, of_chain, second_half, table_of

WALKS = ("pmmh", "empirical", "slip")


def errors(records: Iterable[Result]) -> pd.DataFrame:
    return table_of(row for record in records for row in _rows(record))


def _rows(record: Result) -> Iterator[Row]:
    name, kind = record.task.name, record.task.params["kind"]
    if kind in WALKS:
        yield of_chain(name, "T", second_half(record.trace["topics"]))
    elif kind == "evidence":
        repeats = record.task.params["repeats"]
        for row in record.tables["evidence"].itertuples():
            quantity = f"log m({row.topics})"
            yield found(name, quantity, "repeats", repeats, row.log_evidence, row.standard_error)
