"""The record of an `evidence`: of the command, and of a run of the study."""

from __future__ import annotations

from typing import Any

import pandas as pd

from bayestopics.runs.result import Result
from bayestopics.runs.task import Task


def evidence_record(task: Task, found: dict[str, Any], **volatile: Any) -> Result:
    """What `evidence.compute.evidence` found.

    Tables: `evidence`, a row a T; `estimates`, a row a T and repeat; `timing`, the CPU seconds of each of these. A
    harmonic mean also has the `other` one of its chains, a row a T and repeat.
    """
    keys = ["topics", "log_evidence", "standard_error"]
    table = pd.DataFrame({key: found[key] for key in keys}).astype({"standard_error": float})
    timing = _rows(found, "seconds", found["seconds"])
    tables = {"evidence": table, "estimates": _rows(found, "log_estimate", found["log_estimates"]), "timing": timing}
    for values in found.get("from_the_same_chains", {}).values():
        tables["other"] = _rows(found, "log_estimate", values)
    return Result(
        task,
        {"best_topics": found["best"], "log_evidence_of_best": max(found["log_evidence"])},
        found["warnings"],
        tables=tables,
        volatile={**volatile, "sampling_seconds": float(timing["seconds"].sum())},
    )


def _rows(found: dict[str, Any], column: str, values: list[list[float]]) -> pd.DataFrame:
    """A row a T and repeat."""
    by_repeat = pd.DataFrame(values, index=pd.Index(found["topics"], name="topics"))
    return by_repeat.stack().rename_axis(["topics", "repeat"]).rename(column).reset_index()
