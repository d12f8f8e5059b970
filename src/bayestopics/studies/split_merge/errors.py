"""Monte Carlo errors of the study `split_merge`: the number of topics and the log joint along every chain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from bayestopics.runs.result import Result
from bayestopics.studies.errors import Row, of_chain, second_half, table_of

WITH_CHAINS = ("synthetic", "blocks")
QUANTITIES = {"topics": "K", "log_joint": "log joint"}


def errors(records: Iterable[Result]) -> pd.DataFrame:
    return table_of(row for one in records if one.task.params["kind"] in WITH_CHAINS for row in _rows(one))


def _rows(record: Result) -> Iterator[Row]:
    for (sampler, seed), chain in record.tables["chains"].groupby(["sampler", "seed"], sort=False):
        for column, quantity in QUANTITIES.items():
            yield of_chain(record.task.name, f"{quantity}, {sampler} {seed}", second_half(chain[column]))
