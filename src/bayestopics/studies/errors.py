"""Monte Carlo errors of a study's estimates, as a table with one row per run and quantity.

A study with chains defines errors(records) -> DataFrame in its errors.py. The records themselves do not change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bayestopics.errors import autocorrelation_time, effective_sample_size, mcse
from bayestopics.errors.batch_means import SHORTEST_CHAIN

TITLE = "Monte Carlo errors"
CAPTION = """
Every estimate with its Monte Carlo standard error and the method behind the error. "Batch means": the chain after its
burn-in is cut into batches; the table also gives the number of independent draws that would be as precise, and the
integrated autocorrelation time. "Repeats": the error comes from the scatter of independent repeats. A chain that did
not move gives no error.
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


def found(run: str, quantity: str, method: str, draws: int, estimate: float, standard_error: float) -> Row:
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


def table_of(rows: Iterable[Row]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(COLUMNS)).astype(dict.fromkeys(NUMBERS, float))


def second_half(chain: pd.Series) -> np.ndarray:
    """The first half of a chain is its burn-in."""
    return chain.to_numpy()[len(chain) // 2 :]
