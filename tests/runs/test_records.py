"""Run records: round trip, whole or absent, same bits, identity, and the generators that belong to them."""

from __future__ import annotations

import copy
import dataclasses
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import oracle
from bayestopics.api import fit
from bayestopics.base import files
from bayestopics.base.plain import canonical
from bayestopics.base.problems import InputError
from bayestopics.base.seeds import generator
from bayestopics.base.stopwatch import Stopwatch
from bayestopics.lda.state import Prior
from bayestopics.runs.publish import _points, publish
from bayestopics.runs.record import read, same_bits, write
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

RUN = Task(
    study="study",
    scale="smoke",
    name="chain",
    params={"alpha": (0.1, 0.2), "topics": np.int64(2), "limit": np.nan},
    seed=1,
    corpus="tiny",
    fingerprint="f00d",
    code="c0de",
)


def example() -> Result:
    """A bit of everything that does not survive a careless round trip: tuples, numpy's numbers, nan, None, -0.0."""
    return Result(
        task=RUN,
        metrics={"mean": np.float64(0.1) + 0.2, "missing": np.nan, "tiny": 5e-324},
        warnings=["zu kurz – ‘nan’"],
        tables={
            "trace": pd.DataFrame({"sweep": [0, 1], "log_joint": [-1 / 3, np.nan], "log_transition": [None, None]}),
            "timing": pd.DataFrame({"sweep": [0, 1], "seconds": [0.1, 0.2]}),
        },
        arrays={"assignments": np.array([[1, 0]], np.int32), "values": np.array([np.nan, -0.0, np.inf])},
        volatile=Stopwatch().volatile(resumed=[0]),
        versions={"numpy": "1"},
    )


# -- writing and reading ----------------------------------------------------------------------------


def test_round_trip(tmp_path: Path) -> None:
    write(example(), tmp_path / "deep" / "record")
    back = read(tmp_path / "deep" / "record")
    assert same_bits(example(), back)
    assert same_bits(back, back)
    assert back.task.identity == RUN.identity
    assert back.metrics["mean"] == 0.1 + 0.2
    assert back.warnings == example().warnings
    assert back.volatile.keys() == example().volatile.keys()
    pd.testing.assert_frame_equal(back.trace, example().trace)
    assert [path.name for path in tmp_path.glob("deep/*")] == ["record"]


def test_json_has_no_nan_or_infinity(tmp_path: Path) -> None:
    rates = {"rate": np.float64(np.inf), "list": [np.nan, (1.0, -np.inf)], "array": np.array([np.nan, 1.0])}
    record = dataclasses.replace(example(), volatile=rates)
    write(record, tmp_path / "record")

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    content = json.loads((tmp_path / "record" / "run.json").read_text(), parse_constant=refuse)
    assert content["metrics"]["missing"] is None
    assert content["task"]["params"]["limit"] is None
    assert content["volatile"].pop("checksums").keys() >= {"run.json"}
    assert content["volatile"] == {"rate": None, "list": [None, [1.0, None]], "array": [None, 1.0]}


@pytest.mark.parametrize("content", [None, "", '{"identity": '])
def test_unreadable_records_are_named(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(InputError, match=str(tmp_path)):
        read(tmp_path)


# -- whole or absent --------------------------------------------------------------------------------


def unwritable() -> Result:
    """Its tables can be written, and then its array cannot."""
    return dataclasses.replace(example(), arrays={"objects": np.array([object()])})


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"[Oo]bject"):
        write(unwritable(), tmp_path / "record")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_record(tmp_path: Path) -> None:
    write(example(), tmp_path / "record")
    with pytest.raises(ValueError, match=r"[Oo]bject"):
        write(unwritable(), tmp_path / "record")
    assert same_bits(read(tmp_path / "record"), example())
    assert [path.name for path in tmp_path.iterdir()] == ["record"]


def test_a_new_record_replaces_the_old_one_altogether(tmp_path: Path) -> None:
    write(example(), tmp_path / "record")
    new = dataclasses.replace(example(), tables={"other": pd.DataFrame({"x": [1]})}, arrays={})
    write(new, tmp_path / "record")
    assert same_bits(read(tmp_path / "record"), new)
    assert [path.name for path in tmp_path.iterdir()] == ["record"]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("step", range(4))
def test_a_kill_while_replacing_never_leaves_half_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Killed at the n-th change of the file system; a removal is killed half-way."""
    write(example(), tmp_path / "record")
    steps = iter(range(10))

    def killing(change: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(path: Path, *rest: Any, **options: Any) -> Any:
            if next(steps) < step:
                return change(path, *rest, **options)
            if change.__name__ == "rmtree":
                for file in path.rglob("run.json"):
                    file.unlink()
            raise Killed

        return wrapped

    new = dataclasses.replace(example(), warnings=["new"])
    with monkeypatch.context() as patch:
        patch.setattr(files.os, "replace", killing(files.os.replace))
        patch.setattr(files.shutil, "rmtree", killing(shutil.rmtree))
        try:
            write(new, tmp_path / "record")
            finished = True
        except Killed:
            finished = False
    assert finished == (step == 3)  # two renames and one removal
    if (tmp_path / "record").exists():
        assert any(same_bits(read(tmp_path / "record"), record) for record in (example(), new))
    write(new, tmp_path / "record")
    assert same_bits(read(tmp_path / "record"), new)


# -- same bits --------------------------------------------------------------------------------------


def test_same_bits_ignores_what_is_volatile() -> None:
    other = dataclasses.replace(example(), volatile={})
    other.tables["timing"]["seconds"] += 1
    assert same_bits(example(), other)
    del other.tables["timing"]
    assert same_bits(example(), other)


def change_trace(record: Result) -> None:
    record.trace.loc[0, "log_joint"] = np.nextafter(-1 / 3, 0)


CHANGES: dict[str, Callable[[Result], Any]] = {
    "metric": lambda record: record.metrics.update(mean=np.nextafter(0.1 + 0.2, 1)),
    "missing metric": lambda record: record.metrics.pop("tiny"),
    "warning": lambda record: record.warnings.append("new"),
    "version": lambda record: record.versions.update(numpy="2"),
    "trace, last bit": change_trace,
    "trace, type": lambda record: record.tables.update(trace=record.trace.astype({"sweep": np.int32})),
    "trace, column": lambda record: record.tables.update(trace=record.trace.rename(columns={"sweep": "step"})),
    "missing table": lambda record: record.tables.pop("trace"),
    "new table": lambda record: record.tables.update(other=pd.DataFrame()),
    "array": lambda record: record.arrays["assignments"].__setitem__((0, 0), 0),
    "array, shape": lambda record: record.arrays.update(assignments=np.array([1, 0], np.int32)),
    "array, type": lambda record: record.arrays.update(assignments=np.array([[1, 0]], np.int64)),
    "array, sign of zero": lambda record: record.arrays["values"].__setitem__(1, 0.0),
    "missing array": lambda record: record.arrays.pop("values"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_same_bits_notices(change: Callable[[Result], Any]) -> None:
    other = example()
    change(other)
    assert not same_bits(example(), other)
    assert not same_bits(other, example())


CHANGED_RUNS = {
    "study": "other",
    "scale": "paper",
    "name": "other",
    "params": {**RUN.params, "topics": 3},
    "seed": 2,
    "corpus": "other",
    "fingerprint": "beef",
    "code": "beef",
}


def test_every_field_of_a_run_is_tried() -> None:
    assert CHANGED_RUNS.keys() == {field.name for field in dataclasses.fields(Task)}


def test_a_corpus_by_another_name_is_the_same_corpus() -> None:
    """It has the same fingerprint: its file was moved, or its path is spelled in another way."""
    assert dataclasses.replace(RUN, corpus="other").identity == RUN.identity


@pytest.mark.parametrize("field", [field for field in CHANGED_RUNS if field != "corpus"])
def test_identity_depends_on_every_other_field(field: str) -> None:
    other = dataclasses.replace(RUN, **{field: CHANGED_RUNS[field]})
    assert other.identity != RUN.identity
    assert not same_bits(example(), dataclasses.replace(example(), task=other))


def test_identity_does_not_depend_on_the_order_or_type_of_containers() -> None:
    params = {"limit": np.nan, "topics": 2, "alpha": [np.float64(0.1), 0.2]}
    assert dataclasses.replace(RUN, params=params).identity == RUN.identity
    assert dataclasses.replace(RUN, params=dict(reversed(RUN.params.items()))).identity == RUN.identity
    assert canonical({"b": {"d": 1, "c": 2}, "a": 3}) == '{"a":3,"b":{"c":2,"d":1}}'


def test_identity_tells_neighbouring_numbers_apart() -> None:
    first, second = (dataclasses.replace(RUN, params={"alpha": a}) for a in (0.1, np.nextafter(0.1, 1)))
    assert first.identity != second.identity


# -- generators -------------------------------------------------------------------------------------


def draws(rng: np.random.Generator) -> bytes:
    return rng.bytes(64)


def test_equal_keys_give_equal_streams() -> None:
    assert draws(generator(1, "a/b/")) == draws(generator(1, "a/b/"))
    assert draws(RUN.generator()) == draws(copy.deepcopy(RUN).generator())


def test_different_keys_give_different_streams() -> None:
    generators = [generator(seed, key) for seed in (0, 1, 2**32, 2**64 + 1) for key in ("", "a", "b", "a/b", "ä")]
    generators += [RUN.generator(), RUN.generator("split"), dataclasses.replace(RUN, name="other").generator()]
    assert len({draws(rng) for rng in generators}) == len(generators)


def test_the_stream_of_a_key_never_changes() -> None:
    """A fingerprint: with another stream every published number would change."""
    assert generator(0, "key").bytes(8).hex() == "d60ef945911b37e5"


# -- bytes ------------------------------------------------------------------------------------------


def test_identical_runs_write_identical_bytes(tmp_path: Path) -> None:
    corpus = oracle.random_corpus(np.random.default_rng(1), tokens=60, documents=6, terms=8)
    for name in ("first", "second"):
        out = tmp_path / name
        fit(corpus, topics=3, prior=Prior(0.3, 0.2), sweeps=20, burn_in=5, chains=2, seed=7, out=out)
    first, second = tmp_path / "first", tmp_path / "second"
    names = sorted(path.name for path in first.iterdir())
    assert {"arrays.npz", "run.json", "timing.parquet", "trace.parquet"} <= set(names)
    for name in set(names) - {"run.json", "timing.parquet"}:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    assert same_bits(read(first), read(second))
    # the two were written within a second: no time of day in the archive, either
    with zipfile.ZipFile(first / "arrays.npz") as archive:
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}
    # each chain has a generator of its own
    trace = read(first).trace
    assert np.any(trace[trace.chain == 0].log_joint.to_numpy() != trace[trace.chain == 1].log_joint.to_numpy())
    assert_array_equal(trace.sweep, np.tile(np.arange(25), 2))


# -- curves ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "steps"), [("sweep", [1, 11]), ("documents", [0, 10])])
def test_a_trace_becomes_curves(key: str, steps: list[int]) -> None:
    """Over sweeps, which are counted from 1, or over the documents of a stream."""
    trace = pd.DataFrame({key: [0, 10], "components": [3, 4], "error": [np.nan, 0.5]})
    points = list(_points(Result(RUN, {}, tables={"trace": trace})))
    assert points == [
        ("trace/components", steps[0], 3.0),
        ("trace/components", steps[1], 4.0),
        ("trace/error", steps[1], 0.5),
    ]


# -- MLflow --------------------------------------------------------------------------------------------------


def test_warnings_reach_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the run's note, all and as they are, and their number in a tag to search by."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    warned = dataclasses.replace(example(), warnings=["zu kurz – ‘nan’", "the chain was stuck for 9 of its 10 steps"])
    quiet = dataclasses.replace(example(), task=dataclasses.replace(RUN, name="quiet"), warnings=[])
    for name, record in {"warned": warned, "quiet": quiet}.items():
        write(record, tmp_path / name)
    published = publish([tmp_path / "warned", tmp_path / "quiet"], tmp_path / "results")

    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path / 'results' / 'mlflow.db'}")
    tags = {record.task.name: client.get_run(published[record.key]).data.tags for record in (warned, quiet)}
    assert tags["chain"]["warnings"] == "2"
    assert tags["quiet"]["warnings"] == "0"
    note = tags["chain"]["mlflow.note.content"].split("\n\n")
    assert note[1:] == warned.warnings
    assert tags["quiet"]["mlflow.note.content"] == f"Run record: {tmp_path / 'quiet'}"
