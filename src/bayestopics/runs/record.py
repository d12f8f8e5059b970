"""Run records: a result in one folder, which is always complete or absent.

    run.json        task, versions, metrics, answer, warnings; `volatile`, which differs from run to run; and checksums
    trace.parquet   one row per sweep
    timing.parquet  one row per sweep, volatile
    *.parquet       further tables
    arrays.npz      arrays, where needed

The checksums, of each file and of run.json itself, tell when a record was damaged or changed by hand. Records from
before there were checksums are still read.

"Same bits" means that everything except `volatile` and timing.parquet is identical, for the same versions and CPU type.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyarrow.lib import ArrowException

from bayestopics.base.arrays import read_arrays
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
        sums = {path.name: _sum(path.read_bytes()) for path in sorted(temporary.iterdir())}
        content = {
            "identity": result.task.identity,
            "task": dataclasses.asdict(result.task),
            "versions": result.versions,
            "metrics": result.metrics,
            "answer": result.answer,
            "warnings": result.warnings,
            "volatile": {**result.volatile, "checksums": sums},  # of tables that may be volatile, too
        }
        sums["run.json"] = _sum(canonical(content).encode())
        text = json.dumps(without_nan(content), indent=2, sort_keys=False, allow_nan=False)
        (temporary / "run.json").write_text(text + "\n", encoding="utf-8")


def read(folder: Path) -> Result:
    """The result in a folder; every kind of damage is an InputError of one line."""
    try:
        content = json.loads((folder / "run.json").read_text(encoding="utf-8"), parse_constant=_refuse)
        _check_types(content)
        files = {path.name: path.read_bytes() for path in _files(folder)}
        _check_sums(content, files)
        task = Task(**content["task"])
        return class_of(task)(
            task=task,
            metrics={name: math.nan if value is None else value for name, value in content["metrics"].items()},
            warnings=content["warnings"],
            tables={
                name.removesuffix(".parquet"): pd.read_parquet(io.BytesIO(data))
                for name, data in files.items()
                if name != ARRAYS
            },
            arrays=read_arrays(files[ARRAYS], ARRAYS, limited=False) if ARRAYS in files else {},
            volatile=content["volatile"],
            versions=content["versions"],
            answer=content["answer"],
        )
    except UNREADABLE as error:
        said = " ".join(str(error).split())
        raise InputError(f"{folder}: has no readable run record ({type(error).__name__}: {said})") from None


ARRAYS = "arrays.npz"
UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, ArrowException)
# the parts of run.json, those of its task, and their types
TYPES = {"task": dict, "metrics": dict, "warnings": list, "volatile": dict, "versions": dict, "answer": dict}
TASK_TYPES = {field.name: str for field in dataclasses.fields(Task)} | {"params": dict, "seed": int}


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.suffix == ".parquet" or path.name == ARRAYS]


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _check_types(content: Any) -> None:
    for what, parts, types in (("run.json", content, TYPES), ("its task", content.get("task"), TASK_TYPES)):
        for name, kind in types.items():
            if not isinstance(parts[name], kind):
                raise TypeError(f"{name!r} of {what} is not of the type {kind.__name__}")
    for name, value in content["metrics"].items():
        if not (value is None or isinstance(value, int | float)):
            raise TypeError(f"the metric {name!r} is not a number")
    if not all(isinstance(one, str) for one in content["warnings"]):
        raise TypeError("a warning is not a text")


def _check_sums(content: dict[str, Any], files: dict[str, bytes]) -> None:
    """Check what was read, and take the checksums out of it."""
    sums = content["volatile"].get("checksums")
    if sums is None:
        return  # from before there were checksums
    own = sums.pop("run.json", "")
    if _sum(canonical(content).encode()) != own:
        raise ValueError("run.json is not what was written")
    for name in sorted({*files, *sums}):
        if name not in files:
            raise ValueError(f"{name} is missing")
        if _sum(files[name]) != sums.get(name):
            raise ValueError(f"{name} is not what was written")
    del content["volatile"]["checksums"]


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
    try:
        there = read(folder)
    except InputError as error:
        raise InputError(f"{error}; --overwrite replaces it") from None
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
