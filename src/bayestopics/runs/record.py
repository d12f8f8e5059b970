"""Run records: what was run, with what, and what came out, in one folder that is whole or absent.

    run.json        params, corpus, seed, code, versions, metrics, warnings; and `volatile`, which differs
    trace.parquet   a row a sweep
    timing.parquet  a row a sweep, volatile
    *.parquet       further tables
    arrays.npz      arrays, where needed

"Same bits" means: everything but `volatile` and timing.parquet, for the same versions and CPU type.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import math
import platform
import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.files import replacing
from bayestopics.base.problems import InputError
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus

VOLATILE_TABLES = ("timing",)
PROCESSES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
PACKAGES = ("bayestopics", "numpy", "scipy", "numba", "llvmlite", "pandas", "pyarrow", "arviz")


@dataclass(frozen=True)
class Task:
    """What defines a run. Its `identity` is a hash of all of it."""

    study: str
    scale: str
    name: str
    params: Mapping[str, Any]
    seed: int
    corpus: str
    fingerprint: str
    code: str  # code_hash of the modules that compute it

    @property
    def identity(self) -> str:
        return hashlib.sha256(canonical(dataclasses.asdict(self)).encode()).hexdigest()

    def generator(self, part: str = "") -> np.random.Generator:
        """The run's random generator, or that of a part of it."""
        return generator(self.seed, f"{self.study}/{self.name}/{part}")


@dataclass
class Result:
    """A run and its results."""

    task: Task
    metrics: dict[str, float]  # nan where there is none; null in run.json
    warnings: list[str] = field(default_factory=list)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)  # trace, timing, topics, ...
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    volatile: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=lambda: versions())

    @property
    def key(self) -> str:
        """The run and the versions that made it: what a published run is known by."""
        return hashlib.sha256((self.task.identity + canonical(self.versions)).encode()).hexdigest()

    @property
    def trace(self) -> pd.DataFrame:
        return self.tables["trace"]


class Stopwatch:
    """Wall and CPU seconds since it was made, of this process and those that it started and that have ended.

    The peak memory is that of the largest of them. A run that was resumed says so in `resumed`, and its checkpoint
    knows the seconds of its earlier lives.
    """

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), _cpu_seconds()

    def seconds(self) -> dict[str, float]:
        return {"wall_seconds": time.perf_counter() - self.wall, "cpu_seconds": _cpu_seconds() - self.cpu}

    def volatile(self, **more: Any) -> dict[str, Any]:
        peak = max(resource.getrusage(who).ru_maxrss for who in PROCESSES)
        return {
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **self.seconds(),
            "peak_memory_mb": peak / (1024.0 if sys.platform != "darwin" else 1024.0**2),
            "cpu": cpu_model(),
            "platform": platform.platform(),
            **more,
        }


def _cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in PROCESSES]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def write(record: Result, folder: Path) -> None:
    """Write the folder under a temporary name, then rename it."""
    with replacing(folder) as temporary:
        temporary.mkdir()
        for name, table in record.tables.items():
            table.to_parquet(temporary / f"{name}.parquet", index=False)
        if record.arrays:
            np.savez_compressed(temporary / "arrays.npz", allow_pickle=False, **record.arrays)
        content = {
            "identity": record.task.identity,
            "run": dataclasses.asdict(record.task),
            "versions": record.versions,
            "metrics": record.metrics,
            "warnings": record.warnings,
            "volatile": record.volatile,
        }
        text = json.dumps(without_nan(content), indent=2, sort_keys=False, allow_nan=False)
        (temporary / "run.json").write_text(text + "\n", encoding="utf-8")


def read(folder: Path) -> Result:
    try:
        content = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise InputError(f"{folder}: no readable run record ({error})") from None
    arrays = {}
    if (folder / "arrays.npz").is_file():
        with np.load(folder / "arrays.npz", allow_pickle=False) as file:
            arrays = dict(file)
    return Result(
        task=Task(**content["run"]),
        metrics={key: math.nan if value is None else value for key, value in content["metrics"].items()},
        warnings=content["warnings"],
        tables={path.stem: pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))},
        arrays=arrays,
        volatile=content["volatile"],
        versions=content["versions"],
    )


def same_bits(first: Result, second: Result) -> bool:
    """Whether two records agree in everything that is not volatile."""
    tables = [set(record.tables) - set(VOLATILE_TABLES) for record in (first, second)]
    return (
        first.task.identity == second.task.identity  # a tuple among the params is a list once it was read
        and canonical(first.metrics) == canonical(second.metrics)
        and first.warnings == second.warnings
        and first.versions == second.versions
        and tables[0] == tables[1]
        and all(first.tables[name].equals(second.tables[name]) for name in tables[0])
        and first.arrays.keys() == second.arrays.keys()
        and all(_same_array(first.arrays[name], second.arrays[name]) for name in first.arrays)
    )


def _same_array(first: np.ndarray, second: np.ndarray) -> bool:
    """To the bit, so nan is nan, and float32 is not float64."""
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def describe(corpus: Corpus) -> dict[str, str]:
    return {"corpus": corpus.name, "fingerprint": corpus.fingerprint}


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values, equal text."""
    return json.dumps(without_nan(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def without_nan(value: Any) -> Any:
    """JSON has no NaN or Infinity: null stands for them. numpy's numbers become Python's."""
    if isinstance(value, Mapping):
        return {str(key): without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    if isinstance(value, np.ndarray):
        return without_nan(value.tolist())
    if isinstance(value, np.generic):
        return without_nan(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def versions() -> dict[str, str]:
    installed = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **installed}


def cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
