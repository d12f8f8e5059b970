"""Monte Carlo errors of the study `hyperparameters`: the best alpha and eta of every tempered run, its M-hat, and the
leave-one-out scores. Its ellipses, regions and bands stay with the records: they are of two numbers, or of all h."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from bayestopics.runs.result import Result
from bayestopics.studies.errors import Row, found, table_of

LARGEST = "M-hat over its largest value, where its error is largest"
METHODS = {"chains": "independent chains", "ellipse": "batches of one chain"}  # the first that is there


def errors(records: Iterable[Result]) -> pd.DataFrame:
    return table_of(row for one in records for row in ROWS.get(one.task.params["kind"], lambda _: ())(one))


def _of_surface(record: Result) -> Iterator[Row]:
    """The ellipses are for log h; to first order, an error of the log is a relative error."""
    ellipses, params = record.tables["ellipses"].set_index("name"), record.task.params
    known = next((name for name in METHODS if name in ellipses.index), None)
    for side in ("alpha", "eta"):
        best, error, draws = record.metrics[side], np.nan, params["sweeps"]
        if known is not None:
            center, variance = ellipses.loc[known, [f"center_{side}", f"log_variance_{side}"]]
            error = float(np.sqrt(center * center * variance))
            draws = params["chains"] if known == "chains" else draws
        yield found(record.task.name, side, METHODS.get(known or "ellipse", ""), draws, best, error)
    surface = record.tables["surface"]
    values = np.exp(surface["log_m"])
    largest = (surface["error"] * values).idxmax()
    error = float(surface["error"][largest] * values[largest])
    yield found(record.task.name, LARGEST, "batch means", params["sweeps"], float(values[largest]), error)


def _of_scores(record: Result) -> Iterator[Row]:
    for row in record.tables["scores"].itertuples():
        quantity, draws = f"log S, {row.choice}", record.task.params["sweeps"]
        yield found(record.task.name, quantity, "draws", draws, row.log_score, row.standard_error)


ROWS = {"surface": _of_surface, "score": _of_scores}
