"""`--track`: records published to MLflow; whatever goes wrong there costs a line, not the result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oracle
from bayestopics.corpus import write_corpus
from bayestopics.runs.publish import IDENTITY
from bayestopics.runs.record import read
from killing import PATIENCE, PROGRAM, own_cache

FIT = ["--topics", "3", "--sweeps", "3", "--burn-in", "2", "--workers", "1", "--json"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_corpus(oracle.random_corpus(np.random.default_rng(1), 80, 6, 9), tmp_path / "x.ldac")
    return tmp_path / "x.ldac"


def run(folder: Path, store: str | None, *words: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, because MLflow remembers where it wrote."""
    (folder / "here").mkdir(exist_ok=True)
    environment = own_cache(folder / "cache")
    environment.pop("MLFLOW_TRACKING_URI", None)
    if store is not None:
        environment["MLFLOW_TRACKING_URI"] = store
    command = [sys.executable, "-c", PROGRAM, *words]
    options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": PATIENCE}
    return subprocess.run(command, env=environment, cwd=folder / "here", **options)


def runs_in(store: str, command: str = "fit") -> list[Any]:
    from mlflow import MlflowClient

    client = MlflowClient(store)
    experiment = client.get_experiment_by_name(f"bayestopics/{command}")
    return list(client.search_runs([experiment.experiment_id]))


def test_published_twice_it_is_one_run(path: Path, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    words = ["fit", str(path), *FIT, "--track"]
    for more in (["--out", str(tmp_path / "out")], ["--out", str(tmp_path / "out")], []):
        found = run(tmp_path, store, *words, *more)
        assert (found.returncode, found.stderr) == (0, "")
        assert json.loads(found.stdout)["log_joint"]
    (one,) = runs_in(store)
    record = read(tmp_path / "out")
    assert one.data.tags[IDENTITY] == record.key
    assert one.data.params["topics"] == "3"
    assert one.data.metrics["result/log_joint_mean"] == record.metrics["log_joint_mean"]
    assert run(tmp_path, store, *words, "--seed", "1").returncode == 0
    assert len(runs_in(store)) == 2
    assert not (tmp_path / "here" / "results" / "mlflow.db").exists()


def test_without_a_server_the_store_is_in_the_present_folder(path: Path, tmp_path: Path) -> None:
    found = run(tmp_path, None, "score", str(path), *FIT, "--track")
    assert (found.returncode, found.stderr) == (0, "")
    assert len(runs_in(f"sqlite:///{tmp_path / 'here' / 'results' / 'mlflow.db'}", "score")) == 1


@pytest.mark.parametrize("store", ["http://127.0.0.1:9", "sqlite:///{path}/store.db", "nonsense://x"])
def test_a_store_that_is_out_of_reach(path: Path, tmp_path: Path, store: str) -> None:
    store = store.format(path=path)  # a file, and no folder
    found = run(tmp_path, store, "fit", str(path), *FIT, "--out", str(tmp_path / "out"), "--track")
    assert found.returncode == 2
    assert json.loads(found.stdout)["log_joint"]
    assert found.stderr.startswith(f"bayestopics: not published to {store}: ")
    assert found.stderr.count("\n") == 1
    assert read(tmp_path / "out").task.study == "fit"
    assert list((tmp_path / "here").iterdir()) == []
