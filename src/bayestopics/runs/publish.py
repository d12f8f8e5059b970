"""Publishes run records to MLflow: one MLflow run per record, however often and by whomever it is published.

Every study, and every command, has its own experiment, so that its charts compare like with like. In it there is a
parent run per corpus and scale; the figures and tables of the corpus are its artifacts. The numbers that matter have
the same names in all experiments: they begin with `main/`. The other numbers of a record begin with `result/`, its
seconds and memory with `usage/`, and the curves with the name of their table.
"""

from __future__ import annotations

import calendar
import hashlib
import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.files import replacing
from bayestopics.base.problems import InputError
from bayestopics.runs.record import read
from bayestopics.runs.result import Result
from bayestopics.runs.store import Experiment, Run, Store, active_runs, open_store, tracking_uri

RESULTS = Path("results")  # where a command keeps its store, in the present folder
IDENTITY = "bayestopics.identity"
PARENT = "bayestopics.parent"  # tag of a parent run: its name
CHILD_OF = "bayestopics.child_of"  # tag of a child run: the id of its parent
FOLDERS = ("figures", "tables", "claims")  # of artifacts
SHOWN = "bayestopics.shown"  # tag of a parent run: a hash of its artifacts
POINTS = 200  # points of a trace that are sent to MLflow; the record has all of them
# tables that MLflow draws as curves, and the columns that may be their step
STEPS = {"trace": ("sweep", "step", "documents"), "evidence": ("topics",), "scores": ("topics",), "steps": ("number",)}
FROM_0 = ("sweep", "step", "number")  # these are counted from 0, and shown from 1
# the numbers that matter, and what the records of studies and commands call them
MAIN = {
    "topics": ("best_topics", "mode", "topics", "components"),
    "alpha": ("alpha",),
    "eta": ("eta",),
    "log_evidence": ("log_evidence_of_best", "log_evidence"),
    "log_joint": ("log_joint", "log_joint_mean"),
    "perplexity": ("perplexity",),
    "log_probability_per_word": ("per_word", "heldout_per_word"),
    "rhat": ("rhat", "rhat_topics"),
    "effective_draws": ("effective_sample_size", "log_joint_effective_draws"),
    "acceptance_rate": ("acceptance_rate",),
}


def publish(
    folders: Iterable[Path],
    results: Path,
    parent: str | None = None,
    shown: Iterable[Path] = (),
    study: str = "",
    store: Store | None = None,
) -> dict[str, str]:
    """Publish these records; returns record key -> MLflow run id. A record that is already there is left alone.

    `parent` is the name of a run in the experiment of `study` that becomes the parent of all of them. The files and
    folders in `shown` become its artifacts, each below the name of its folder if that is one of FOLDERS.
    """
    if store is None:
        with open_store(results) as opened:
            return publish(folders, results, parent, shown, study, opened)
    above = _publish_parent(store.experiment(study), parent, shown) if parent else None
    published = {}
    for folder in folders:
        record = read(folder)
        published[record.key] = _publish_one(store.experiment(record.task.study), record, folder, above)
    return published


@contextmanager
def one_line(results: Path) -> Iterator[None]:
    """Every failure to publish becomes an error of one line."""
    try:
        yield
    except ImportError:
        raise InputError("--track needs MLflow: pip install 'bayestopics[workflow]'") from None
    except InputError as error:
        raise InputError(f"not published to {tracking_uri(results)}: {error}") from None
    except Exception as error:  # MLflow raises exceptions of many packages
        reason = str(error).partition("\n")[0]
        raise InputError(f"not published to {tracking_uri(results)}: {reason}") from None


def publish_or_say(folders: Iterable[Path], results: Path = RESULTS) -> dict[str, str]:
    with one_line(results):
        return publish(folders, results)


# -- lists of what to publish, which the workflow leaves ---------------------------------------------------


def publish_list(path: Path, parents: Mapping[str, Mapping[str, Any]], results: Path = RESULTS) -> str | None:
    """Publish parent runs with what is below them, and leave a list of it, with the ids of the runs, in a file.

    If the store is out of reach, the list says why, and that is returned: nothing else depends on tracking.
    """
    content: dict[str, Any] = {"store": tracking_uri(results), "problem": None, "parents": parents, "runs": {}}
    try:
        with one_line(results), open_store(results) as store:
            for name, below in parents.items():
                records, shown = ([Path(one) for one in below[part]] for part in ("records", "shown"))
                content["runs"] |= publish(records, results, name, shown, below["study"], store)
    except InputError as error:
        content["problem"] = str(error)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    problem: str | None = content["problem"]
    return problem


def problem_of(path: Path, results: Path = RESULTS) -> str | None:
    """Why what is in a list is not in the store, as far as one can tell without asking a server."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        problem: str | None = content["problem"]
        runs = content["runs"].values()
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return f"{path} is not a list of published runs"
    if problem is None and content["store"] == tracking_uri(results) and not active_runs(content["store"], runs):
        return f"runs are missing in {content['store']}"
    return problem


def publish_again(path: Path, results: Path = RESULTS) -> str | None:
    """Publish what is in a list once more; what is there is left alone."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return publish_list(path, content["parents"], results)


# -- runs --------------------------------------------------------------------------------------------------


def _publish_parent(experiment: Experiment, name: str, shown: Iterable[Path]) -> str:
    run = experiment.run(f"parent/{hashlib.sha256(name.encode()).hexdigest()}", run_name=name, tags={PARENT: name})
    files = sorted(file for path in shown for file in (path.glob("[!.]*") if path.is_dir() else [path]))
    content = "".join(f"{path}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n" for path in files)
    said = hashlib.sha256(content.encode()).hexdigest()
    if run.tags.get(SHOWN) != said or not run.finished:
        for path in files:
            folder = path.parent.name if path.parent.name in FOLDERS else None
            experiment.client.log_artifact(run.id, str(path), folder)
        experiment.client.set_tag(run.id, SHOWN, said)
        experiment.client.set_terminated(run.id, "FINISHED")
    return run.id


def _publish_one(experiment: Experiment, record: Result, folder: Path, above: str | None) -> str:
    definition = record.task
    end = round(1000 * calendar.timegm(time.strptime(record.volatile["finished"], "%Y-%m-%dT%H:%M:%SZ")))
    start = end - round(1000 * record.volatile["wall_seconds"])
    tags = {
        IDENTITY: record.key,
        "mlflow.source.name": "bayestopics",
        "mlflow.note.content": "\n\n".join([f"Run record: {folder}", *record.warnings]),
        "study": definition.study,
        "scale": definition.scale,
        "corpus": definition.corpus,
        "code": definition.code,
        "warnings": str(len(record.warnings)),
        **({CHILD_OF: above} if above else {}),
    }
    run: Run = experiment.run(record.key, run_name=definition.name, start_time=start, tags=tags)
    if run.finished:
        if above and run.tags.get(CHILD_OF) != above:
            experiment.client.set_tag(run.id, CHILD_OF, above)
        return run.id
    params = {"corpus": definition.corpus, "seed": definition.seed, **definition.params}
    versions = {f"version.{key}": value for key, value in record.versions.items()}
    numbers = [(key, 0, value) for key, value in _numbers(record).items()]
    experiment.fill(run.id, params, versions, [(*point, end) for point in (*numbers, *_points(record))])
    experiment.client.log_artifact(run.id, str(folder / "run.json"))
    experiment.client.set_terminated(run.id, "FINISHED", end_time=end)
    return run.id


def _numbers(record: Result) -> dict[str, float]:
    """The numbers of a record; the part before the slash becomes a section of MLflow's charts."""
    known = {key: float(value) for key, value in record.metrics.items() if math.isfinite(value)}
    usage = {key: value for key, value in record.volatile.items() if isinstance(value, float)}
    main = {name: known[key] for name, keys in MAIN.items() if (key := next(filter(known.__contains__, keys), None))}
    main |= {"seconds": usage.get("wall_seconds", math.nan), "warnings": float(len(record.warnings))}
    numbers = {f"main/{key}": value for key, value in main.items() if math.isfinite(value)}
    numbers |= {f"result/{key}": value for key, value in known.items()}
    return numbers | {f"usage/{key}": value for key, value in usage.items()}


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
