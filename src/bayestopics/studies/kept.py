"""Kept results: the records of a study in a few Parquet files, from which its tables, figures and verdicts can be made
again. The kept results of scale paper are in git.

    runs.parquet             one row per run: its task, metrics, warnings and versions as JSON, and the tables it had
    <kind>-<table>.parquet   this table of all runs of a kind, stacked, with a column `run`
    <kind>-arrays.parquet    the arrays of these runs, flattened

A large table or array is kept only if a table, figure or claim reads it.
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.figure import Figure

from bayestopics.base.files import replacing
from bayestopics.base.plain import without_nan
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies import plan as planned
from bayestopics.studies.claims import VERDICTS
from bayestopics.studies.errors import MissingErrors, errors_of_study, table_of, with_errors
from bayestopics.studies.plan import Plan
from bayestopics.studies.records import MissingRecords, Records

RUN = "run"
SMALL = 60_000  # bytes: a table or array up to this size is kept even if nothing reads it
LARGEST_FIGURE = 300_000  # bytes
DOTS = (130, 110, 90, 75, 60)  # per inch: a figure is saved with the most dots that keep its file small enough
RUN_BEFORE = "not answered: run before, but its tables were not kept"
ABSENT = "has no run that is kept"  # of a study
SAID = ("metrics", "warnings", "versions", "answer")
Made = TypeVar("Made")


class MissingPart(MissingRecords):
    """A table or an array of a record was not kept."""

    why = "not kept"

    def __init__(self, task: Task, part: str) -> None:
        super().__init__([f"{part} of {task.name}"])
        self.kind, self.part = task.params["kind"], part

    def concerns(self, result: Result) -> bool:
        """Whether this record lacks the same part: records of one kind are all read in the same way."""
        return result.task.params["kind"] == self.kind and self.part not in {*result.tables, *result.arrays}


class Parts(dict[str, Any]):
    """The tables or arrays of a record; `read` collects the names of those that were asked for."""

    def __init__(self, task: Task, content: Mapping[str, Any], read: Iterable[str] = ()) -> None:
        super().__init__(content)
        self.task, self.read = task, set(read)

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def __missing__(self, name: str) -> Any:
        raise MissingPart(self.task, name)


def watched(result: Result) -> Result:
    """The same result, which notes the parts of it that are read."""
    tables, arrays = (Parts(result.task, parts) for parts in (result.tables, result.arrays))
    return dataclasses.replace(result, tables=tables, arrays=arrays)


# -- writing -----------------------------------------------------------------------------------------


def write_kept(results: Iterable[Result], folder: Path) -> None:
    """Write the records of a study into the folder and replace the kept records there. Other files stay."""
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, str]] = []
    files: dict[str, list[pa.Table]] = {}
    for result in results:
        kind, dtypes = result.task.params["kind"], {}
        for name, table in result.tables.items():
            content = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
            if _is_kept(result.tables, name, content):
                dtypes[name] = {column: str(dtype) for column, dtype in table.dtypes.items()}
                files.setdefault(f"{kind}-{name}", []).append(_labelled(content, result))
        for name, array in result.arrays.items():
            content = pa.table({"array": [name], "shape": [list(array.shape)], "dtype": [str(array.dtype)]})
            content = content.append_column("values", [[array.ravel().astype(float)]])
            if _is_kept(result.arrays, name, content):
                files.setdefault(f"{kind}-arrays", []).append(_labelled(content, result))
        rows.append(_row(result, dtypes))
    for path in folder.glob("*.parquet"):
        path.unlink()
    for name, parts in files.items():
        _write(pa.concat_tables(parts, promote_options="permissive"), folder / f"{name}.parquet")
    _write(pa.Table.from_pylist(rows), folder / "runs.parquet")


def _is_kept(parts: Mapping[str, Any], name: str, content: pa.Table) -> bool:
    if isinstance(parts, Parts) and name in parts.read:
        return True
    with io.BytesIO() as buffer:
        pq.write_table(content, buffer, compression="zstd")
        return buffer.tell() <= SMALL


def _labelled(content: pa.Table, result: Result) -> pa.Table:
    return content.add_column(0, RUN, pa.array([result.task.name] * len(content), pa.string()))


def _row(result: Result, dtypes: dict[str, dict[str, str]]) -> dict[str, str]:
    """A run without its tables. From the volatile section, only the seconds and the kind of machine are kept."""
    volatile = {key: value for key, value in result.volatile.items() if not isinstance(value, str) or key == "cpu"}
    content = {"task": dataclasses.asdict(result.task), **{key: getattr(result, key) for key in SAID}}
    content |= {"volatile": volatile, "tables": dtypes}
    texts = {key: json.dumps(without_nan(value), allow_nan=False) for key, value in content.items()}
    return {RUN: result.task.name, **texts}


def _write(table: pa.Table, path: Path) -> None:
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", compression_level=19)


# -- reading -----------------------------------------------------------------------------------------


def read_kept(folder: Path) -> dict[str, Result]:
    """The kept records of a study. Asking one for a table that was not kept raises MissingRecords."""
    if not (folder / "runs.parquet").is_file():
        return {}
    files = {path.stem: _by_run(path) for path in sorted(folder.glob("*.parquet")) if path.stem != "runs"}
    return {row[RUN]: _restored(row, files) for row in pq.read_table(folder / "runs.parquet").to_pylist()}


def _by_run(path: Path) -> defaultdict[str, pd.DataFrame]:
    """The rows of each run; a run may have none."""
    table = pq.read_table(path).to_pandas()
    return defaultdict(lambda: table[:0], iter(table.groupby(RUN, sort=False)))


def _restored(row: dict[str, str], files: Mapping[str, Mapping[str, pd.DataFrame]]) -> Result:
    name, content = row[RUN], {key: json.loads(text) for key, text in row.items() if key != RUN}
    task = Task(**content["task"])
    tables = {
        table: files[f"{task.params['kind']}-{table}"][name][list(dtypes)].astype(dtypes).reset_index(drop=True)
        for table, dtypes in content["tables"].items()
    }
    flat = files.get(f"{task.params['kind']}-arrays", {}).get(name, pd.DataFrame())
    arrays = {
        one["array"]: np.asarray(one["values"]).astype(one["dtype"]).reshape([int(side) for side in one["shape"]])
        for one in flat.to_dict("records")
    }
    return Result(
        task,
        metrics={key: math.nan if value is None else value for key, value in content["metrics"].items()},
        warnings=content["warnings"],
        tables=Parts(task, tables, read=tables),
        arrays=Parts(task, arrays, read=arrays),
        volatile=content["volatile"],
        versions=content["versions"],
        answer=content["answer"],
    )


# -- making again ------------------------------------------------------------------------------------


def made(make: Callable[[list[Result]], Made], records: Iterable[Result]) -> Made | None:
    """The result of `make` on the records that have every part it reads; None if there are too few such records."""
    left = list(records)
    while left:
        try:
            return make(left)
        except (MissingPart, MissingErrors) as missing:
            left = [record for record in left if not missing.concerns(record)]
            plt.close("all")  # a figure that was begun and cannot be finished
        except MissingRecords:
            break
    return None


def errors_again(study: str, records: Iterable[Result]) -> pd.DataFrame:
    """The Monte Carlo errors of those records that have what they are made from."""
    tables = [errors for record in records if (errors := made(partial(errors_of_study, study), [record])) is not None]
    return pd.concat(tables, ignore_index=True) if tables else table_of([])


def make_again(plan: Plan, records: Records, errors: pd.DataFrame, folder: Path, old: Path, scale: str) -> None:
    """All figures and tables of a study that its records give. What is there of before and they do not give is old.

    A figure of fewer runs than are planned says so.
    """

    def draw(figure: planned.Figure, here: list[Result]) -> Figure:
        few = f", {len(here)} of {len(figure.runs)} planned runs" if len(here) < len(figure.runs) else ""
        drawn: Figure = named("figures", figure.draw)(here, scale + few, **figure.arguments)
        return drawn

    def tabulate(table: planned.Table, here: list[Result]) -> pd.DataFrame:
        made_table: pd.DataFrame = named("tables", table.make)(here, **table.arguments)
        return made_table

    def named(module: str, function: str) -> Callable[..., Any]:
        return with_errors(getattr(import_module(plan.module(module)), function), errors)

    def there(part: planned.Figure | planned.Table) -> list[Result]:
        return [records[run] for run in part.runs if run in records]

    folder.mkdir(parents=True, exist_ok=True)
    left = {*folder.glob("*.png"), *folder.glob("*.csv")}
    for name, figure in plan.figures.items():
        if (drawn := made(partial(draw, figure), there(figure))) is not None:
            save_small(drawn, folder / f"{name}.png")
            left.discard(folder / f"{name}.png")
    for name, table in plan.tables.items():
        if (content := made(partial(tabulate, table), there(table))) is not None:
            content.to_csv(folder / f"{name}.csv", index=False)
            left.discard(folder / f"{name}.csv")
    for path in left:
        old.mkdir(parents=True, exist_ok=True)
        path.replace(old / path.name)
    for path in folder.iterdir():  # what was made again is no longer old
        (old / path.name).unlink(missing_ok=True)


def save_small(figure: Figure, path: Path) -> None:
    """Save a figure in full colour, as sharp as the limit on the file size allows."""
    for dots in DOTS:
        with io.BytesIO() as buffer:
            figure.savefig(buffer, format="png", dpi=dots, bbox_inches="tight", metadata={"Software": None})
            content = buffer.getvalue()
        if len(content) <= LARGEST_FIGURE:
            break
    path.write_bytes(content)
    plt.close(figure)


def with_old_answers(new: pd.DataFrame, old: pd.DataFrame, run_before: Collection[str]) -> pd.DataFrame:
    """The table of claims with a column `evidence`: "kept" if the answer comes from kept records, "old" if it is an
    earlier answer that the kept records no longer give. `run_before` are the claims whose runs were made, but of which
    nothing was kept that gives an answer."""
    before = {row["id"]: row for row in old.to_dict("records") if row["verdict"] in VERDICTS}
    rows = []
    for row in new.to_dict("records"):
        row["evidence"] = "kept" if row["verdict"] in VERDICTS else ""
        if not row["evidence"] and row["id"] in before:
            same = {key: before[row["id"]].get(key, "") for key in ("ours", "error", "verdict", "details")}
            row |= {**same, "evidence": "old"}
        elif not row["evidence"] and row["id"] in run_before:
            row["verdict"] = RUN_BEFORE
        rows.append(row)
    return pd.DataFrame(rows)
