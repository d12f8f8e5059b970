"""Monte Carlo errors of the study `truncation_free`: the held-out score of every stream at its end, by left-to-right
(the DP mixture's is exact), and by the paper's importance sampling. Errors over documents stay with the tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from bayestopics.runs.result import Result
from bayestopics.studies.errors import Row, found, table_of
from bayestopics.studies.records import of_kind

SCORE, PAPERS = "log likelihood a word", "log likelihood a word, the paper's estimate"


def errors(records: Iterable[Result]) -> pd.DataFrame:
    return table_of(row for one in of_kind(records, "stream") for row in _rows(one))


def _rows(record: Result) -> Iterator[Row]:
    name, params, metrics = record.task.name, record.task.params, record.metrics
    if params["model"] == "dp-mixture":
        yield found(name, SCORE, "exact", 0, metrics["per_word"], metrics["error"])
    else:
        yield found(name, SCORE, "left-to-right", params["particles"], metrics["per_word"], metrics["error"])
        papers = metrics["papers_per_word"], metrics["papers_error"]
        yield found(name, PAPERS, "importance sampling", params["draws"], *papers)
