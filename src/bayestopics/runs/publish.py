"""Publishes run records to MLflow: one MLflow run per record, however often it is published.

The figures and tables of a study are artifacts of a parent run; there is one parent run per study and scale.

Only this module imports mlflow, and only when it is called, because the import takes seconds. Only one process may
publish at a time (the workflow's `mlflow_writer` resource). MLflow creates a new sqlite store by dozens of migrations.
They cannot be resumed after an interruption, and they crash when two processes run them. So a store is created in
another place, and moved to its own place when it is complete.
"""

from __future__ import annotations

import calendar
import math
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.problems import InputError
from bayestopics.runs.record import read
from bayestopics.runs.result import Result

RESULTS = Path("results")  # where a command keeps its store, in the present folder
EXPERIMENT = "bayestopics"
IDENTITY = "bayestopics.identity"
PARENT = "bayestopics.parent"  # tag of a parent run: its name
CHILD_OF = "bayestopics.child_of"  # tag of a child run: the id of its parent
POINTS = 200  # points of a trace that are sent to MLflow; the record has all of them
BATCH = 1000  # metrics per call, MLflow's limit
# tables that MLflow draws as curves, and the columns that may be their step
STEPS = {"trace": ("sweep", "step", "documents"), "evidence": ("topics",), "scores": ("topics",), "steps": ("number",)}
FROM_0 = ("sweep", "step", "number")  # these are counted from 0, and shown from 1


def tracking_uri(results: Path) -> str:
    return os.environ.get("MLFLOW_TRACKING_URI") or _sqlite(results / "mlflow.db")


def _sqlite(path: Path) -> str:
    return f"sqlite:///{path.resolve()}"


def create_store(results: Path) -> str:
    """Create the store and the experiment if they do not exist; returns the experiment's id."""
    client = _client(results)
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is not None:
        return str(experiment.experiment_id)
    local = tracking_uri(results).startswith(("sqlite:", "file:"))
    location = (results / "mlflow-artifacts").resolve().as_uri() if local else None  # a server has its own place
    return str(client.create_experiment(EXPERIMENT, artifact_location=location))


def publish(
    folders: Iterable[Path], results: Path, parent: str | None = None, shown: Iterable[Path] = ()
) -> dict[str, str]:
    """Publish these records; returns record key -> MLflow run id. A record that is already there is left alone.

    `parent` is the name of a run that becomes the parent of all of them. The files and folders in `shown` become its
    artifacts, and replace artifacts with the same names.
    """
    client = _client(results)
    experiment = create_store(results)
    above = _publish_parent(client, experiment, parent, shown) if parent else None
    published = {}
    for folder in folders:
        record = read(folder)
        finished = None
        for run in client.search_runs([experiment], f"tags.`{IDENTITY}` = '{record.key}'"):
            if run.info.status == "FINISHED":
                finished = run.info.run_id
            else:  # an earlier publication was interrupted
                client.delete_run(run.info.run_id)
        published[record.key] = finished or _publish_one(client, experiment, record, folder)
        if above:
            client.set_tag(published[record.key], CHILD_OF, above)
    return published


def publish_or_say(
    folders: Iterable[Path], results: Path = RESULTS, parent: str | None = None, shown: Iterable[Path] = ()
) -> dict[str, str]:
    """Like `publish`, but every failure of the store is an error of one line."""
    try:
        return publish(folders, results, parent, shown)
    except ImportError:
        raise InputError("--track needs MLflow: pip install 'bayestopics[workflow]'") from None
    except InputError:
        raise
    except Exception as error:  # MLflow raises exceptions of many packages
        reason = str(error).partition("\n")[0]
        raise InputError(f"not published to {tracking_uri(results)}: {reason}") from None


def _publish_parent(client: Any, experiment: str, name: str, shown: Iterable[Path]) -> str:
    there = client.search_runs([experiment], f"tags.`{PARENT}` = '{name}'")
    run = there[0] if there else client.create_run(experiment, run_name=name, tags={PARENT: name})
    for path in shown:
        inside = sorted(path.glob("[!.]*")) if path.is_dir() else []  # without Snakemake's hidden files
        for file in inside:
            client.log_artifact(run.info.run_id, str(file), path.name)
        if not path.is_dir():
            client.log_artifact(run.info.run_id, str(path))
    client.set_terminated(run.info.run_id, "FINISHED")
    return str(run.info.run_id)


def _client(results: Path) -> Any:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")  # report an unreachable server soon
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    from mlflow import MlflowClient

    store, uri = results / "mlflow.db", tracking_uri(results)
    if uri == _sqlite(store) and not store.exists():
        results.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=results, prefix="mlflow-store-") as folder:
            whole = Path(folder) / store.name
            MlflowClient(_sqlite(whole)).search_experiments()
            if not store.exists():  # no other process was first
                whole.replace(store)
    return MlflowClient(uri)


def _publish_one(client: Any, experiment: str, record: Result, folder: Path) -> str:
    from mlflow.entities import Metric, Param, RunTag

    definition = record.task
    tags = {
        IDENTITY: record.key,
        "mlflow.source.name": "bayestopics",
        "mlflow.note.content": "\n\n".join([f"Run record: {folder}", *record.warnings]),
        "study": definition.study,
        "scale": definition.scale,
        "corpus": definition.corpus,
        "code": definition.code,
        "warnings": str(len(record.warnings)),
    }
    end = round(1000 * calendar.timegm(time.strptime(record.volatile["finished"], "%Y-%m-%dT%H:%M:%SZ")))
    start = end - round(1000 * record.volatile["wall_seconds"])
    run = client.create_run(experiment, start_time=start, run_name=definition.name, tags=tags)
    params = {"corpus": definition.corpus, "seed": definition.seed, **definition.params}
    # the part before the slash becomes a section of MLflow's charts
    numbers = {f"result/{key}": value for key, value in record.metrics.items() if math.isfinite(value)}
    numbers |= {f"usage/{key}": value for key, value in record.volatile.items() if isinstance(value, float)}
    metrics = [Metric(key, float(value), end, 0) for key, value in numbers.items()]
    metrics += [Metric(key, value, end, step) for key, step, value in _points(record)]
    client.log_batch(
        run.info.run_id,
        params=[Param(key, str(value)[:6000]) for key, value in params.items()],
        tags=[RunTag(f"version.{key}", value) for key, value in record.versions.items()],
    )
    for start in range(0, len(metrics), BATCH):
        client.log_batch(run.info.run_id, metrics=metrics[start : start + BATCH])
    client.log_artifact(run.info.run_id, str(folder / "run.json"))
    client.set_terminated(run.info.run_id, "FINISHED", end_time=end)
    return str(run.info.run_id)


def _points(record: Result) -> Iterable[tuple[str, int, float]]:
    """(table/column, step, value): at most POINTS finite values per column, evenly spaced. The step is a sweep or step,
    counted from 1, or a number of topics or documents."""
    for name, keys in STEPS.items():
        table = record.tables.get(name)
        key = None if table is None else next((key for key in keys if key in table.columns), None)
        if table is None or key is None:
            continue
        for ending, chain in _chains(table):
            for column in chain.columns.difference([key, "chain"], sort=False):
                values = chain.loc[np.isfinite(chain[column].astype(float)), [key, column]]
                every = max(1, -(-len(values) // POINTS))
                for row in values.iloc[::every].itertuples(index=False):
                    yield f"{name}/{column}{ending}", int(row[0]) + (key in FROM_0), float(row[1])


def _chains(table: pd.DataFrame) -> Iterable[tuple[str, pd.DataFrame]]:
    """The ending of the metric's name and the rows of each chain: every chain gets its own curve."""
    if "chain" not in table or table["chain"].nunique() < 2:
        return [("", table)]
    return [(f"/chain {number}", rows) for number, rows in table.groupby("chain", sort=True)]
