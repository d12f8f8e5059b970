"""Monte Carlo errors of the study `first_look`: the log joint of every chain."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from bayestopics.runs.result import Result
from bayestopics.studies.errors import of_chain, second_half, table_of


def errors(records: Iterable[Result]) -> pd.DataFrame:
    return table_of(of_chain(one.task.name, "log joint", second_half(one.trace["log_joint"])) for one in records)
