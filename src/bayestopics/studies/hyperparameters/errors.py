"""Monte Carlo errors of the study `hyperparameters`: the best alpha and eta of every tempered run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from bayestopics.runs.result import Result
from bayestopics.studies.errors import Row, found, table_of

METHODS = {"chains": "independent chains", "ellipse": "batches of one chain"}  # the first that is there


def errors(records: Iterable[Result]) -> pd.DataFrame:
    return table_of(row for one in records if one.task.params["kind"] == "surface" for row in _rows(one))


def _rows(record: Result) -> Iterator[Row]:
    """The ellipses are for log h; to first order, an error of the log is a relative error."""
    ellipses, params = record.tables["ellipses"].set_index("name"), record.task.params
    known = next((name for name in METHODS if name in ellipses.index), None)
    for side in ("alpha", "eta"):
        best, error, draws = record.metrics[side], np.nan, params["sweeps"]
        if known is not None:
            error = best * float(np.sqrt(ellipses.loc[known, f"log_variance_{side}"]))
            draws = params["chains"] if known == "chains" else draws
        yield found(record.task.name, side, METHODS.get(known or "ellipse", ""), draws, best, error)
