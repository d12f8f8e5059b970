"""Monte Carlo errors of a study's estimates, as a table with one row per run and quantity.

A study with chains or repeats defines errors(records) -> DataFrame in its errors.py. This table is the only source of
the Monte Carlo errors, effective draws and autocorrelation times that tables, figures and claims show. A function that
shows some has a parameter `errors` and is given the table of its study. The records themselves do not change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bayestopics.errors import autocorrelation_time, effective_sample_size, mcse
from bayestopics.errors.batch_means import SHORTEST_CHAIN
from bayestopics.runs.result import Result
from bayestopics.studies.records import MissingRecords

TITLE = "Monte Carlo errors"
CAPTION = """
Every estimate with its Monte Carlo standard error and the method behind the error. "Batch means": the chain after its
burn-in is cut into batches; the table also gives the number of independent draws that would be as precise, and the
integrated autocorrelation time. "Repeats" and "independent chains": the error comes from their scatter. A chain that
did not move gives no error.
"""
NUMBERS = ("estimate", "standard_error", "effective_draws", "autocorrelation_time")
COLUMNS = ("run", "quantity", "method", "draws", *NUMBERS)
Row = dict[str, Any]


def of_chain(run: str, quantity: str, chain: ArrayLike) -> Row:
    """The error by batch means, from a chain after its burn-in; missing if the draws never change or are too few."""
    draws = np.asarray(chain, dtype=np.float64)
    row = {"run": run, "quantity": quantity, "method": "batch means", "draws": len(draws), "estimate": draws.mean()}
    if len(draws) < SHORTEST_CHAIN or np.ptp(draws) == 0:
        return row
    return row | {
        "standard_error": float(mcse(draws)),
        "effective_draws": float(effective_sample_size(draws)),
        "autocorrelation_time": autocorrelation_time(draws),
    }


def found(run: str, quantity: str, method: str, draws: int, estimate: float, standard_error: float | None) -> Row:
    """A row for an error that the record already contains."""
    error = math.nan if standard_error is None else standard_error
    return {
        "run": run,
        "quantity": quantity,
        "method": method,
        "draws": draws,
        "estimate": estimate,
        "standard_error": error,
    }


def of_repeats(run: str, quantity: str, values: ArrayLike) -> Row:
    """Of independent chains, one value each; nan with one of them."""
    drawn = np.asarray(values, dtype=np.float64)
    error = float(drawn.std(ddof=1) / np.sqrt(len(drawn))) if len(drawn) > 1 else math.nan
    return found(run, quantity, "independent chains", len(drawn), float(drawn.mean()), error)


def table_of(rows: Iterable[Row]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(COLUMNS)).astype(dict.fromkeys(NUMBERS, float))


def second_half(chain: pd.Series) -> np.ndarray:
    """The first half of a chain is its burn-in."""
    return chain.to_numpy()[len(chain) // 2 :]


# -- reading -----------------------------------------------------------------------------------------


class MissingErrors(MissingRecords):
    """The table of errors has nothing of a run."""

    why = "the Monte Carlo errors are not known"

    def concerns(self, record: Result) -> bool:
        return record.task.name in self.names


def errors_of_study(study: str, records: Iterable[Result]) -> pd.DataFrame:
    """The table, by the study's errors.py; without one there are no errors."""
    module = f"{__package__}.{study}.errors"
    made: pd.DataFrame = import_module(module).errors(records) if find_spec(module) else table_of([])
    return made


def read_errors(paths: Sequence[str]) -> pd.DataFrame:
    """The table that the errors stage wrote; without one there are no errors."""
    return pd.concat([pd.read_parquet(path) for path in paths]) if paths else table_of([])


def with_errors(function: Callable[..., Any], errors: pd.DataFrame) -> Callable[..., Any]:
    """The function, given the study's errors if it asks for them."""
    return partial(function, errors=errors) if "errors" in signature(function).parameters else function


def errors_of(errors: pd.DataFrame, record: Result) -> pd.DataFrame:
    """The rows of a record's run by quantity."""
    rows = errors[errors["run"] == record.task.name]
    if rows.empty:
        raise MissingErrors([record.task.name])
    return rows.set_index("quantity")
