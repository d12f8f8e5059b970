"""Made-up records for the tests of tables, figures and verdicts, and what was drawn, as plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.container import ErrorbarContainer

from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.errors import found
from bayestopics.studies.kept import errors_again, watched

Points = list[tuple[float, float]]


def record(
    kind: str,
    name: str = "one",
    params: Mapping[str, Any] | None = None,
    metrics: Mapping[str, float] | None = None,
    *,
    study: str = "study",
    corpus: str = "x",
    warnings: list[str] | None = None,
    arrays: Mapping[str, np.ndarray] | None = None,
    volatile: Mapping[str, Any] | None = None,
    **tables: pd.DataFrame | Mapping[str, Any],
) -> Result:
    """A record with these params, metrics and tables (a mapping is the columns of one)."""
    task = Task(study, "smoke", name, {"kind": kind, "corpus": corpus, **(params or {})}, 1, corpus, "f00d", "c0de")
    frames = {key: one if isinstance(one, pd.DataFrame) else pd.DataFrame(one) for key, one in tables.items()}
    more = {"arrays": dict(arrays or {}), "volatile": dict(volatile or {}), "versions": {}}  # versions take time
    return Result(task, dict(metrics or {}), list(warnings or []), frames, **more)


# -- errors --------------------------------------------------------------------------------------------


def errors_from(study: str, *records: Result) -> pd.DataFrame:
    """The study's table of errors. A record without the table that its errors are made from has no rows."""
    return errors_again(study, map(watched, records))


def time_of(run: Result, quantity: str, time: float) -> dict[str, Any]:
    """The row of a table of errors for a chain with this autocorrelation time."""
    return found(run.task.name, quantity, "batch means", 9, 0.0, None) | {"autocorrelation_time": time}


# -- verdicts ------------------------------------------------------------------------------------------


def parts(
    claims: ModuleType, claim: str, *records: Result, entries: Any = None, errors: pd.DataFrame | None = None
) -> list[bool] | str:
    """The parts that a verdict is made of, in their order; the verdict itself where it is not made of parts. A claim
    that asks for errors gets the given ones, or those that the study makes from the records."""
    given: list[list[bool]] = []
    verdict, asked = claims.verdict, claims.CLAIMS[claim]
    if errors is None:
        asks = "errors" in signature(asked.function).parameters
        errors = errors_from(asked.study, *(records if asks else ()))

    def spy(*found: bool) -> str:
        given.append([bool(one) for one in found])
        return verdict(*found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "verdict", spy)
        answer = asked.answer({one.task.name: one for one in records}, errors, entries or {})
    if not given:
        return str(answer.verdict)
    assert answer.verdict == verdict(*given[-1])
    return given[-1]


# -- what was drawn --------------------------------------------------------------------------------------


def line(one: Any) -> Points:
    return list(zip(*(np.asarray(side, dtype=float).tolist() for side in one.get_data()), strict=True))


def lines(axis: Axes) -> list[Points]:
    """Of every line of more than one point, in the order in which they were drawn; not those across the axis."""
    return [line(one) for one in axis.get_lines() if len(one.get_xdata()) > 1 and one.get_transform() == axis.transData]


def marks(axis: Axes) -> list[Points]:
    """The points of every scatter."""
    scatters = [one for one in axis.collections if isinstance(one, PathCollection)]
    return [[(float(x), float(y)) for x, y in one.get_offsets()] for one in scatters]


def bars(axis: Axes, number: int = 0) -> list[tuple[float, float, float]]:
    """(x, lower, upper) of the error bars of a curve."""
    container = [one for one in axis.containers if isinstance(one, ErrorbarContainer)][number]
    (segments,) = container.lines[2]
    return [(float(low[0]), float(low[1]), float(high[1])) for low, high in segments.get_segments()]


def curves(axis: Axes) -> dict[str, Points]:
    """Label -> points, of lines and of curves with error bars."""
    found = {}
    for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
        one = handle.lines[0] if isinstance(handle, ErrorbarContainer) else handle
        found[label] = line(one)
    return found


def legend_of(figure: Any) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]
