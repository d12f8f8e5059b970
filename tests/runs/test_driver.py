"""The road of every run, with a computation of one line: what is computed, what is read, and what is kept."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayestopics.base.problems import InputError
from bayestopics.runs import checkpoint as checkpoints_of
from bayestopics.runs import driver, result
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import check_place, read, same_bits, write
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from made_up import record

TASK = Task("study", "smoke", "one", {"topics": 4}, 1, "x", "f00d", "c0de")


class Work:
    """Counts how often it is done; the record has the number."""

    def __init__(self, dies: bool = False) -> None:
        self.done, self.dies, self.found = 0, dies, []

    def __call__(self, task: Task, corpus: Any, checkpoint: Checkpoint) -> Result:
        self.found.append(checkpoint.load())
        self.done += 1
        checkpoint.save(self.done)
        if self.dies:
            raise KeyboardInterrupt
        return Result(task, {"seed": task.seed}, volatile={"seconds": 7.0}, answer={"a": np.nan})


def run(work: Work, folder: Path, task: Task = TASK, **options: Any) -> Result:
    return driver.run(task, work, None, out=folder / "out", checkpoints=folder / "checkpoints", **options)


def test_a_finished_record_is_the_answer(tmp_path: Path) -> None:
    """Guards a run that is computed twice."""
    work = Work()
    first = run(work, tmp_path)
    assert same_bits(run(work, tmp_path), first)
    assert work.done == 1
    assert first.volatile["seconds"] == 7.0
    assert first.answer == {"a": None}  # as it will be read again


@pytest.mark.parametrize("change", [{"seed": 2}, {"params": {"topics": 5}}, {"fingerprint": "beef"}, {"code": "new"}])
def test_a_record_of_another_task_is_neither_returned_nor_replaced(tmp_path: Path, change: dict[str, Any]) -> None:
    """Guards the answer to another question, and --overwrite that is not needed, or not heard."""
    work, other = Work(), dataclasses.replace(TASK, **change)
    run(work, tmp_path)
    with pytest.raises(InputError):
        run(work, tmp_path, other)
    assert work.done == 1
    assert read(tmp_path / "out").task.identity == TASK.identity
    run(work, tmp_path, other, overwrite=True)
    assert work.done == 2
    assert read(tmp_path / "out").task.identity == other.identity


def test_a_record_of_other_versions_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards numbers of an older package that are taken for new ones."""
    work = Work()
    run(work, tmp_path)
    newer = {**result.versions(), "numpy": "99"}
    for module in (driver, checkpoints_of):
        monkeypatch.setattr(module, "versions", lambda: newer)
    with pytest.raises(InputError):
        run(work, tmp_path)
    assert work.done == 1


def test_overwrite_computes_the_same_task_again(tmp_path: Path) -> None:
    """Guards --overwrite that is ignored where the record is the same."""
    work = Work()
    run(work, tmp_path)
    run(work, tmp_path, overwrite=True)
    assert work.done == 2


def test_a_run_that_was_cut_short_goes_on_and_leaves_no_checkpoint(tmp_path: Path) -> None:
    """Guards a resume that starts again, a mark that is never set, and checkpoints that stay."""
    with pytest.raises(KeyboardInterrupt):
        run(Work(dies=True), tmp_path)
    assert not (tmp_path / "out").exists()
    again = Work()
    found = run(again, tmp_path)
    assert again.found == [1]
    assert found.volatile["resumed"] is True
    assert not any((tmp_path / "checkpoints").glob("*"))
    assert run(Work(), tmp_path / "new").volatile["resumed"] is False


def test_another_seed_has_a_checkpoint_of_its_own(tmp_path: Path) -> None:
    """Guards a run that goes on from where another one was."""
    with pytest.raises(KeyboardInterrupt):
        run(Work(dies=True), tmp_path)
    other = Work()
    run(other, tmp_path, dataclasses.replace(TASK, seed=2))
    assert other.found == [None]


def test_seconds_of_earlier_lives_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the seconds of the last life alone."""
    monkeypatch.setattr(
        "bayestopics.base.stopwatch.Stopwatch.seconds", lambda self: {"wall_seconds": 10.0, "cpu_seconds": 4.0}
    )
    with pytest.raises(KeyboardInterrupt):
        run(Work(dies=True), tmp_path)
    found = run(Work(), tmp_path)
    assert (found.volatile["wall_seconds"], found.volatile["cpu_seconds"]) == (20.0, 8.0)


def test_parts_of_a_checkpoint_do_not_meet(tmp_path: Path) -> None:
    """Guards two chains that share a file, also where parts have parts."""
    whole = Checkpoint(tmp_path, TASK)
    parts = [whole, whole.part("a"), whole.part("b"), whole.part("a").part("b"), whole.part("b").part("a")]
    for number, part in enumerate(parts):
        part.save(number)
    assert [part.load() for part in parts] == [0, 1, 2, 3, 4]
    assert [Checkpoint(tmp_path, TASK).part("b").load()] == [2]


@pytest.mark.parametrize(("overwrite", "key"), [(True, "other"), (False, None)])
def test_a_place_may_be_written(tmp_path: Path, overwrite: bool, key: str | None) -> None:
    """Guards a record that is returned where another is to be written."""
    one = record("k")
    write(one, tmp_path / "out")
    assert check_place(tmp_path / "out", key, overwrite) is None
    assert check_place(tmp_path / "out", one.key) is not None
    assert check_place(tmp_path / "nothing", one.key) is None


def test_zeros_of_two_types_are_not_the_same_bits() -> None:
    """Guards arrays that have the same bytes and mean something else."""
    whole, real = (record("k", arrays={"x": np.zeros(2, kind)}) for kind in (np.int64, np.float64))
    assert same_bits(whole, whole)
    assert not same_bits(whole, real)


def test_records_keep_every_table_and_array(tmp_path: Path) -> None:
    """Guards a table, an array or a number that is lost on the way."""
    one = record(
        "k", metrics={"a": 1, "b": np.nan}, arrays={"x": np.arange(3, dtype=np.int16)}, t={"c": [1.5]}, u={"d": [2]}
    )
    write(one, tmp_path / "out")
    back = read(tmp_path / "out")
    assert sorted(back.tables) == ["t", "u"]
    assert back.arrays["x"].dtype == np.int16
    assert back.metrics["a"] == 1
    assert np.isnan(back.metrics["b"])
    pd.testing.assert_frame_equal(back.tables["u"], one.tables["u"])
