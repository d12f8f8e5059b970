"""Run records: a result in one folder, which is always complete or absent.

    run.json        task, versions, metrics, answer, warnings; and `volatile`, which differs from run to run
    trace.parquet   one row per sweep
    timing.parquet  one row per sweep, volatile
    *.parquet       further tables
    arrays.npz      arrays, where needed

"Same bits" means that everything except `volatile` and timing.parquet is identical, for the same versions and CPU type.
"""

from __future__ import annotations

import dataclasses
import json
import math
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from bayestopics.base.files import replacing
from bayestopics.base.plain import canonical, without_nan
from bayestopics.base.problems import InputError
from bayestopics.runs.result import Result, class_of
from bayestopics.runs.task import Task

VOLATILE_TABLES = ("timing",)


def write(result: Result, folder: Path) -> None:
    """Write the folder under a temporary name, then rename it."""
    with replacing(folder) as temporary:
        temporary.mkdir()
        for name, table in result.tables.items():
            table.to_parquet(temporary / f"{name}.parquet", index=False)
        if result.arrays:
            np.savez_compressed(temporary / "arrays.npz", allow_pickle=False, **result.arrays)
        content = {
            "identity": result.task.identity,
            "task": dataclasses.asdict(result.task),
            "versions": result.versions,
            "metrics": result.metrics,
            "answer": result.answer,
            "warnings": result.warnings,
            "volatile": result.volatile,
        }
        text = json.dumps(without_nan(content), indent=2, sort_keys=False, allow_nan=False)
        (temporary / "run.json").write_text(text + "\n", encoding="utf-8")


def read(folder: Path) -> Result:
    try:
        content = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        task = Task(**content["task"])
        arrays = {}
        if (folder / "arrays.npz").is_file():
            with np.load(folder / "arrays.npz", allow_pickle=False) as file:
                arrays = dict(file)
        return class_of(task)(
            task=task,
            metrics={name: math.nan if value is None else value for name, value in content["metrics"].items()},
            warnings=content["warnings"],
            tables={path.stem: pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))},
            arrays=arrays,
            volatile=content["volatile"],
            versions=content["versions"],
            answer=content["answer"],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise InputError(f"{folder}: has no readable run record ({type(error).__name__}: {error})") from None


def is_record(folder: Path) -> bool:
    return (folder / "run.json").is_file()


def check_place(folder: Path, key: str | None = None, overwrite: bool = False) -> Result | None:
    """Check that a record with this key may be written here; if this record is there already, return it.

    Without a key, check that any record may be written here at all.
    """
    if not folder.exists():
        return None
    if not is_record(folder):
        raise InputError(f"--out {folder}: exists and is not a run record; choose another folder")
    if overwrite or key is None:
        return None
    there = read(folder)
    if there.key != key:
        raise InputError(f"--out {folder}: holds a different finished run; --overwrite replaces it")
    return there


def same_bits(first: Result, second: Result) -> bool:
    """Whether two results agree in everything that is not volatile."""
    tables = [set(result.tables) - set(VOLATILE_TABLES) for result in (first, second)]
    return (
        first.task.identity == second.task.identity  # not the params: a tuple becomes a list when it is read
        and canonical(first.metrics) == canonical(second.metrics)
        and canonical(first.answer) == canonical(second.answer)
        and first.warnings == second.warnings
        and first.versions == second.versions
        and tables[0] == tables[1]
        and all(first.tables[name].equals(second.tables[name]) for name in tables[0])
        and first.arrays.keys() == second.arrays.keys()
        and all(_same_array(first.arrays[name], second.arrays[name]) for name in first.arrays)
    )


def _same_array(first: np.ndarray, second: np.ndarray) -> bool:
    """Compare bit by bit, so that nan equals nan and float32 differs from float64."""
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()
