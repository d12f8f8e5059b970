"""The MLflow store that records are published to: within reach or not, and one run per key however many publish.

Only this module imports mlflow, and only when it is called, because the import takes seconds.

One run per key. MLflow chooses the ids of runs, and has no tag that must be unique. But the name of an experiment is
unique, and a parameter of a run can be set only once. So every experiment has an index, a run whose parameters say
which run belongs to which key. Who needs a run makes one, and then writes it into the index. If someone else was first,
his run counts, and one's own is deleted. The index of an experiment is written into its tags when the experiment is
made. Filling a run twice does no harm, because the same parameters, tags and points of a curve are stored once: so
nobody waits for another publisher, and what one left half done is completed by the next.

Local stores. Only one process writes to a store in a file at a time, because sqlite gives up when it is busy; a lock
file sees to that. MLflow creates a new sqlite store by dozens of migrations, which cannot be resumed after an
interruption. So a store is created in another place, and moved to its own place when it is complete.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bayestopics.base.problems import InputError

EXPERIMENT = "bayestopics"  # holds the indexes; the experiment of a study is below it
INDEX = "bayestopics.index"  # tag of an experiment: its index; tag of an index: its experiment
KEY = "bayestopics.key"  # tag of a run: what it is in the index
SECONDS = 5  # within which a store must answer
ABANDONED = 600  # seconds after which a run that is not in the index is one that a killed publisher left
PORTS = {"http": 80, "https": 443, "postgresql": 5432, "mysql": 3306, "mssql": 1433}
BATCH = 1000  # metrics per call, MLflow's limit
# MLflow's own patience: by default it repeats a request for minutes
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
}


def tracking_uri(results: Path) -> str:
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{(results / 'mlflow.db').resolve()}"


def local_file(uri: str) -> Path | None:
    """The file of a sqlite store."""
    return Path(uri.removeprefix("sqlite:///")) if uri.startswith("sqlite:///") else None


def insist_on_reach(uri: str) -> None:
    """Raise an InputError unless somebody answers at this address, or the file can be written. Takes a few seconds."""
    file, parts = local_file(uri), urlsplit(uri)
    try:
        if file is not None:
            if not os.access(next(path for path in file.absolute().parents if path.exists()), os.W_OK):
                raise OSError("the folder cannot be written")
            file.absolute().parent.mkdir(parents=True, exist_ok=True)
        elif parts.scheme in ("http", "https"):
            urllib.request.urlopen(f"{uri.rstrip('/')}/health", timeout=SECONDS).close()
        elif (scheme := parts.scheme.partition("+")[0]) in PORTS and parts.hostname:
            socket.create_connection((parts.hostname, parts.port or PORTS[scheme]), timeout=SECONDS).close()
    except urllib.error.HTTPError:
        pass  # an answer
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise InputError(f"{uri} is out of reach ({reason})") from None


def active_runs(uri: str, wanted: Collection[str]) -> bool:
    """Whether a sqlite store has all these runs; looked up without MLflow, which takes seconds to start."""
    file = local_file(uri)
    if file is None or not file.is_file():
        return file is None  # a server is asked when something is published
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as store:
            found = {run for (run,) in store.execute("select run_uuid from runs where lifecycle_stage = 'active'")}
    except sqlite3.Error:
        return False
    return set(wanted) <= found


Point = tuple[str, int, float, int]  # of a curve: its name, the step, the value, and the time in milliseconds


@dataclass(frozen=True)
class Run:
    id: str
    finished: bool
    tags: Mapping[str, str]


class Experiment:
    """An experiment: its active runs, and what its index says."""

    def __init__(self, client: Any, name: str, location: str | None, abandoned: float) -> None:
        self.client = client
        self.id, self.index = _experiment(client, name, location)
        self.claims: dict[str, str] = dict(client.get_run(self.index).data.params)
        self.active = {run.info.run_id: run for run in _all_runs(client, self.id)}
        self._remove_abandoned(abandoned)

    def _remove_abandoned(self, seconds: float) -> None:
        """Delete the runs that nobody can be at work on: those that are not in the index, and those that came back with
        a restored experiment although another run has taken their place."""
        replaced = {run for claim, run in self.claims.items() if _next(claim) in self.claims}
        known, now = set(self.claims.values()), 1000 * time.time()
        for run_id, run in list(self.active.items()):
            made = run.data.tags.get(KEY, "").rpartition("@")[2]
            old = made.isdigit() and now - int(made) > 1000 * seconds
            if run_id in replaced or (old and run_id not in known):
                self.client.delete_run(run_id)
                del self.active[run_id]

    def run(self, key: str, **made: Any) -> Run:
        """The run of a key; `made` is what MLflow's `create_run` takes if there is none, or if it was deleted."""
        claim = f"{key}.0"
        while claim in self.claims:
            there = self.active.get(self.claims[claim])
            if there is not None:
                return Run(there.info.run_id, there.info.status == "FINISHED", there.data.tags)
            claim = _next(claim)
        return self._claimed(claim, **made)

    def _claimed(self, claim: str, tags: Mapping[str, str], **made: Any) -> Run:
        from mlflow.exceptions import MlflowException

        own = self.client.create_run(self.id, tags={**tags, KEY: f"{claim}@{round(1000 * time.time())}"}, **made)
        try:
            self.client.log_param(self.index, claim, own.info.run_id)
            winner = own
        except MlflowException:
            first = self.client.get_run(self.index).data.params.get(claim)
            if first is None:  # something else went wrong
                raise
            winner = self.client.get_run(first)
            self.client.delete_run(own.info.run_id)
        self.claims[claim] = winner.info.run_id
        self.active[winner.info.run_id] = winner
        return Run(winner.info.run_id, winner.info.status == "FINISHED", winner.data.tags)

    def fill(self, run: str, params: Mapping[str, Any], tags: Mapping[str, str], points: Sequence[Point]) -> None:
        """Log these in as few calls as MLflow takes."""
        from mlflow.entities import Metric, Param, RunTag

        metrics = [Metric(name, value, when, step) for name, step, value, when in points]
        self.client.log_batch(
            run,
            params=[Param(key, str(value)[:6000]) for key, value in params.items()],
            tags=[RunTag(key, value) for key, value in tags.items()],
        )
        for start in range(0, len(metrics), BATCH):
            self.client.log_batch(run, metrics=metrics[start : start + BATCH])


def _next(claim: str) -> str:
    """The claim to the run that takes the place of a deleted one."""
    key, _, number = claim.rpartition(".")
    return f"{key}.{int(number) + 1}"


@dataclass(frozen=True)
class Store:
    client: Any
    location: Path | None  # of the artifacts; a server has its own place
    abandoned: float
    known: dict[str, Experiment] = field(default_factory=dict)

    def experiment(self, study: str) -> Experiment:
        """The experiment of a study or a command; the name "" stands for the experiment above all of them."""
        if study not in self.known:
            name = f"{EXPERIMENT}/{study}" if study else EXPERIMENT
            location = None if self.location is None else self.location.as_uri()
            self.known[study] = Experiment(self.client, name, location, self.abandoned)
        return self.known[study]


@contextmanager
def open_store(results: Path, abandoned: float = ABANDONED) -> Iterator[Store]:
    """The store, made if it is not there; nobody else writes to a local one meanwhile."""
    uri = tracking_uri(results)
    insist_on_reach(uri)
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    file = local_file(uri)
    if file is None:
        from mlflow import MlflowClient

        yield Store(MlflowClient(uri), None, abandoned)
        return
    with _locked(file.with_name(f"{file.name}.lock")):
        own = file == (results / "mlflow.db").resolve()
        artifacts = (results / "mlflow-artifacts").resolve() if own else file.with_name("mlflow-artifacts").absolute()
        yield Store(_sqlite(file), artifacts, 0)  # nobody else is at work, so what is not in the index is left over


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock, which ends with the process."""
    import fcntl

    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sqlite(file: Path) -> Any:
    from mlflow import MlflowClient

    if not file.exists():
        with tempfile.TemporaryDirectory(dir=file.parent, prefix="mlflow-store-") as folder:
            whole = Path(folder) / file.name
            MlflowClient(f"sqlite:///{whole}").search_experiments()
            whole.replace(file)
    return MlflowClient(f"sqlite:///{file}")


def _experiment(client: Any, name: str, location: str | None) -> tuple[str, str]:
    """The ids of an experiment and of its index, each made if it is not there, and restored if it was deleted."""
    there = client.get_experiment_by_name(name)
    if there is None:
        there = _new_experiment(client, name, location)
    elif there.lifecycle_stage == "deleted":
        client.restore_experiment(there.experiment_id)
    return str(there.experiment_id), _index(client, there)


def _new_experiment(client: Any, name: str, location: str | None) -> Any:
    """Make an experiment with its index; whoever makes it at the same time, there is one of each."""
    from mlflow.exceptions import MlflowException

    above = EXPERIMENT if name != EXPERIMENT else ""
    home = _experiment(client, above, location)[0] if above else "0"  # MLflow's experiment "Default"
    tags = {INDEX: name, "mlflow.note.content": "Which run belongs to which record. Please leave it."}
    index = client.create_run(home, run_name=f"index of {name}", tags=tags).info.run_id
    client.set_terminated(index, "FINISHED")
    try:
        client.create_experiment(name, artifact_location=location, tags={INDEX: index})
    except MlflowException:
        client.delete_run(index)
        if client.get_experiment_by_name(name) is None:
            raise
    return client.get_experiment_by_name(name)


def _index(client: Any, experiment: Any) -> str:
    """The id of the index, restored if it was deleted, or a new one if it is gone for good."""
    from mlflow.exceptions import MlflowException

    index = experiment.tags.get(INDEX, "")
    try:
        if client.get_run(index).info.lifecycle_stage == "deleted":
            client.restore_run(index)
        return str(index)
    except MlflowException as error:
        if index and error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        new = client.create_run(experiment.experiment_id, run_name="index", tags={INDEX: experiment.name})
        client.set_terminated(new.info.run_id, "FINISHED")
        client.set_experiment_tag(experiment.experiment_id, INDEX, new.info.run_id)
        return str(new.info.run_id)


def _all_runs(client: Any, experiment: str) -> Iterator[Any]:
    token = None
    while True:
        page = client.search_runs([experiment], max_results=1000, page_token=token)
        yield from page
        token = page.token
        if not token:
            return
