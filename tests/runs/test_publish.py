"""Records in MLflow: every number, at its step; when it ran; what it is known by; and each but once."""

from __future__ import annotations

import calendar
import dataclasses
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayestopics.base.problems import InputError
from bayestopics.runs import store as stores
from bayestopics.runs.publish import CHILD_OF, IDENTITY, PARENT, POINTS, _points, problem_of, publish, publish_list
from bayestopics.runs.record import write
from bayestopics.runs.result import Result
from made_up import record

FINISHED = "2024-03-01T12:00:05Z"
WIDE = 12  # columns of a trace with more numbers than MLflow takes in a call


def a_record(name: str = "one", **changes: Any) -> Result:
    sweeps = np.arange(3 * POINTS)
    columns = WIDE if name == "many" else 1
    trace = pd.DataFrame({"sweep": sweeps, **{f"c{n:02}": 1000.0 * n + sweeps for n in range(columns)}})
    volatile = {"finished": FINISHED, "wall_seconds": 65.25, "cpu_seconds": 3.5, "resumed": False, "cpu": "fast"}
    made = record("k", name, {"topics": 4}, {"mean": 0.5, "missing": np.nan}, study="s", corpus="c", trace=trace)
    return dataclasses.replace(made, volatile=volatile, versions={"numpy": "9.9"}, **changes)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for one store of all tests here; the first of them makes it."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture(autouse=True)
def _own_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{store / 'mlflow.db'}")


def client() -> Any:
    from mlflow import MlflowClient

    return MlflowClient()


def published(store: Path, tmp_path: Path, one: Result, **more: Any) -> Any:
    write(one, tmp_path / one.task.name)
    return client().get_run(publish([tmp_path / one.task.name], store, **more)[one.key])


def runs_of(one: Result) -> list[Any]:
    experiment = client().get_experiment_by_name("bayestopics/s").experiment_id
    return list(client().search_runs([experiment], f"tags.`{IDENTITY}` = '{one.key}'"))


def test_all_of_many_numbers_arrive_at_their_steps(store: Path, tmp_path: Path) -> None:
    """Guards the first thousand alone, steps from 0, and columns under each other's name."""
    one = a_record("many")
    assert WIDE * POINTS > 2 * stores.BATCH
    run = published(store, tmp_path, one)
    for number in (0, 5, WIDE - 1):
        history = client().get_metric_history(run.info.run_id, f"trace/c{number:02}")
        found = sorted((point.step, point.value) for point in history)
        assert found == [(sweep + 1, 1000.0 * number + sweep) for sweep in range(0, 3 * POINTS, 3)]
    assert sum(name.startswith("trace/") for name in run.data.metrics) == WIDE


def test_metrics_params_tags_and_versions(store: Path, tmp_path: Path) -> None:
    """Guards a number that is lost, nan that is sent, and tags that say something else."""
    one = a_record("named", warnings=["a doubt"])
    run = published(store, tmp_path, one)
    assert run.data.metrics["result/mean"] == 0.5
    assert not any("missing" in name for name in run.data.metrics)
    assert run.data.metrics["usage/wall_seconds"] == 65.25
    assert run.data.metrics["usage/cpu_seconds"] == 3.5
    assert {"seed": "1", "topics": "4", "kind": "k", "corpus": "c"}.items() <= run.data.params.items()
    expected = {IDENTITY: one.key, "study": "s", "scale": "smoke", "corpus": "c", "code": "c0de", "warnings": "1"}
    assert expected.items() <= run.data.tags.items()
    assert run.data.tags["version.numpy"] == "9.9"
    assert run.info.run_name == "named"
    assert [artifact.path for artifact in client().list_artifacts(run.info.run_id)] == ["run.json"]


def test_a_run_ends_when_it_was_finished_and_began_before(store: Path, tmp_path: Path) -> None:
    """Guards a start after the end, seconds for milliseconds, and local time for UTC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "JST-9")
        time.tzset()
        run = published(store, tmp_path, a_record("timed"))
    time.tzset()
    end = 1000 * calendar.timegm((2024, 3, 1, 12, 0, 5))
    assert run.info.end_time == end
    assert run.info.start_time == end - 65_250
    assert run.info.status == "FINISHED"


def test_published_again_it_is_the_same_run_with_the_same_numbers(store: Path, tmp_path: Path) -> None:
    """Guards a second run, and curves with every point twice."""
    one = a_record("again")
    first = published(store, tmp_path, one)
    assert published(store, tmp_path, one).info.run_id == first.info.run_id
    assert len(runs_of(one)) == 1
    assert len(client().get_metric_history(first.info.run_id, "trace/c00")) == POINTS


def test_what_was_cut_short_is_published_anew(store: Path, tmp_path: Path) -> None:
    """Guards half a run that stays as it is, a second run beside it, and points that are there twice."""
    published(store, tmp_path, a_record("before"))
    one = a_record("cut")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(client()), "set_terminated", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            published(store, tmp_path, one)
    (half,) = runs_of(one)
    assert half.info.status == "RUNNING"
    whole = published(store, tmp_path, one)
    assert [run.info.run_id for run in runs_of(one)] == [whole.info.run_id] == [half.info.run_id]
    assert whole.info.status == "FINISHED"
    assert len(client().get_metric_history(whole.info.run_id, "trace/c00")) == POINTS


def test_who_comes_second_takes_the_run_of_the_first(store: Path, tmp_path: Path) -> None:
    """Guards two runs of a record where two publishers have both seen none."""
    one = a_record("raced")
    with stores.open_store(store) as opened:
        slow, quick = (dataclasses.replace(opened, known={}).experiment("s") for _ in range(2))
        first = quick.run(one.key, run_name="quick", tags={IDENTITY: one.key})
        second = slow.run(one.key, run_name="slow", tags={IDENTITY: one.key})
    assert first.id == second.id
    assert [run.info.run_name for run in runs_of(one)] == ["quick"]


def test_a_deleted_run_is_published_again_and_a_left_over_one_is_removed(store: Path, tmp_path: Path) -> None:
    """Guards a record that is believed to be there, and a run that a publisher made just before it was killed."""
    one = a_record("deleted")
    first = published(store, tmp_path, one)
    client().delete_run(first.info.run_id)
    made = round(1000 * time.time()) - 1
    client().create_run(first.info.experiment_id, tags={IDENTITY: one.key, stores.KEY: f"{one.key}.1@{made}"})
    second = published(store, tmp_path, one)
    assert second.info.run_id != first.info.run_id
    assert [run.info.run_id for run in runs_of(one)] == [second.info.run_id]
    client().delete_experiment(first.info.experiment_id)
    assert published(store, tmp_path, one).info.lifecycle_stage == "active"
    assert len(runs_of(one)) == 1


def test_a_store_out_of_reach_leaves_a_list_for_later(store: Path, tmp_path: Path) -> None:
    """Guards a failure that stops everything else, and one that is forgotten."""
    one, path = a_record("later"), tmp_path / "published.json"
    write(one, tmp_path / "later")
    parents = {"x, smoke": {"study": "s", "records": [str(tmp_path / "later")], "shown": []}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
        begin = time.monotonic()
        said = publish_list(path, parents, store)
        assert time.monotonic() - begin < stores.SECONDS
        assert problem_of(path, store) == said
    assert said is not None
    assert said.startswith("not published to http://127.0.0.1:9: ")
    assert "\n" not in said
    assert publish_list(path, parents, store) is None
    assert problem_of(path, store) is None
    (run,) = runs_of(one)
    client().delete_run(run.info.run_id)
    assert problem_of(path, store) is not None


@pytest.mark.parametrize("uri", ["http://127.0.0.1:9", "postgresql://a:b@127.0.0.1:9/c", "sqlite:////proc/x/y.db"])
def test_out_of_reach_is_said_at_once(uri: str) -> None:
    with pytest.raises(InputError, match="out of reach"):
        stores.insist_on_reach(uri)


def test_the_numbers_that_matter_have_the_same_names(store: Path, tmp_path: Path) -> None:
    """Guards a chart of a study that compares the mode of one run with the best T of another under two names."""
    for name, metrics, wanted in (
        ("mode", {"mode": 5.0}, {"topics": 5.0}),
        ("best", {"best_topics": 6.0, "log_evidence_of_best": -3.0}, {"topics": 6.0, "log_evidence": -3.0}),
        ("neither", {"other": 1.0, "alpha": np.nan}, {}),
    ):
        found = published(store, tmp_path, dataclasses.replace(a_record(name), metrics=metrics)).data.metrics
        main = {key.removeprefix("main/"): value for key, value in found.items() if key.startswith("main/")}
        assert main == {**wanted, "seconds": 65.25, "warnings": 0.0}


def test_another_record_is_another_run(store: Path, tmp_path: Path) -> None:
    """Guards an identity that two records share: another seed, or other versions."""
    one = a_record("seeds")
    other = dataclasses.replace(one, task=dataclasses.replace(one.task, seed=2))
    newer = dataclasses.replace(one, versions={"numpy": "10"})
    ids = {published(store, tmp_path / str(n), each).info.run_id for n, each in enumerate((one, other, newer))}
    assert len(ids) == 3


def test_children_know_their_parent_and_a_parent_is_one(store: Path, tmp_path: Path) -> None:
    """Guards a parent for each publication, a child of another, and figures in the wrong place."""
    one, two = a_record("first-child"), a_record("second-child")
    figures = tmp_path / "figures"
    figures.mkdir()
    for name in ("a.png", ".snakemake_timestamp"):
        (figures / name).write_text(name)
    first = published(store, tmp_path, one, parent="s smoke", shown=[figures], study="s")
    second = published(store, tmp_path, two, parent="s smoke", study="s")
    stranger = published(store, tmp_path, a_record("other-child"), parent="another", study="s")
    parent = client().get_run(first.data.tags[CHILD_OF])
    assert second.data.tags[CHILD_OF] == parent.info.run_id != stranger.data.tags[CHILD_OF]
    assert parent.data.tags[PARENT] == "s smoke"
    assert parent.info.status == "FINISHED"
    assert [a.path for a in client().list_artifacts(parent.info.run_id, "figures")] == ["figures/a.png"]


# -- curves ------------------------------------------------------------------------------------------------


def points(**tables: Any) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {}
    for name, step, value in _points(record("k", **tables)):
        found.setdefault(name, []).append((step, value))
    return found


@pytest.mark.parametrize(("count", "sent"), [(1, 1), (POINTS, POINTS), (POINTS + 1, 101), (10 * POINTS, POINTS)])
def test_a_long_trace_is_thinned_evenly_from_its_first_to_its_last_part(count: int, sent: int) -> None:
    """Guards the first sweeps alone, and more points than MLflow should get."""
    (curve,) = points(trace={"sweep": range(count), "x": range(count)}).values()
    assert len(curve) == sent
    assert curve[0] == (1, 0.0)
    steps = np.diff([step for step, _ in curve])
    assert len(set(steps.tolist())) <= 1
    assert all(value == step - 1 for step, value in curve)
    assert count - curve[-1][0] < (steps[0] if len(steps) else 1)


def test_chains_have_a_curve_each() -> None:
    """Guards chains that are drawn into one curve."""
    trace = {"sweep": [0, 1, 0, 1], "chain": [0, 0, 1, 1], "x": [1.0, 2.0, 3.0, 4.0]}
    first, second = points(trace=trace).values()
    assert (first, second) == ([(1, 1.0), (2, 2.0)], [(1, 3.0), (2, 4.0)])


def test_numbers_of_topics_are_steps_as_they_are() -> None:
    """Guards an evidence at T + 1."""
    table = {"topics": [2, 5], "log_evidence": [-3.0, -2.0], "standard_error": [np.nan, 0.5]}
    assert points(evidence=table) == {
        "evidence/log_evidence": [(2, -3.0), (5, -2.0)],
        "evidence/standard_error": [(5, 0.5)],
    }
    assert points(timing={"sweep": [0], "seconds": [1.0]}) == {}  # no curve of the sweeps' seconds
