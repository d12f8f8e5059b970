"""Monte Carlo errors of the study `blocking`: the label-invariant statistics of every chain."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from bayestopics.runs.result import Result
from bayestopics.studies.blocking.compute_chain import STATISTICS
from bayestopics.studies.errors import of_chain, second_half, table_of


def errors(records: Iterable[Result]) -> pd.DataFrame:
    return table_of(
        of_chain(one.task.name, name.replace("_", " "), second_half(one.trace[name]))
        for one in records
        if one.task.params["kind"] == "chain"
        for name in STATISTICS
    )
