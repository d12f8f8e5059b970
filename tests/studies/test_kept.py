"""Kept results: they are read back unchanged, and they give the kept figures, tables and verdicts again."""

import dataclasses
import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from bayestopics.base.plotting import STYLE
from bayestopics.corpus.registry import Registry
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies import claims, kept
from bayestopics.studies.errors import table_of
from bayestopics.studies.kept import LARGEST_FIGURE, errors_again, made, make_again, read_kept, watched, write_kept
from bayestopics.studies.plan import Figure, Plan
from bayestopics.studies.records import MissingRecords

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "results/paper/kept"
LOCKED = re.search(r"^matplotlib==(.*)$", (ROOT / "envs/lock.txt").read_text(), re.MULTILINE)[1]
DIFFERENT_PIXELS = 1e-4  # share of those of a picture
STUDIES = sorted(path.parent.name for path in KEPT.glob("*/runs.parquet"))


def record(name: str, kind: str = "walk", **tables: pd.DataFrame) -> Result:
    task = Task("x", "paper", name, {"kind": kind, "grid": [1, 2.5, None]}, 1, "corpus", "f00d", "c0de")
    volatile = {"cpu_seconds": 1.5, "cpu": "fast", "platform": "of somebody"}
    return Result(task, {"mode": 3, "error": float("nan")}, ["a doubt"], tables, volatile=volatile)


def table(count: int, **more) -> pd.DataFrame:
    columns = {"step": np.arange(count), "value": np.linspace(0, 1, count), "name": "a", "accepted": True}
    frame = pd.DataFrame({**columns, **more})
    return frame.assign(value=frame["value"].where(frame["step"] > 0))


def test_records_are_read_back_as_they_were(tmp_path):
    one, two = record("one", trace=table(3)), record("two", trace=table(4, extra=7), others=table(0))
    one.arrays["cube"] = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    one.arrays["rows"] = np.array([[0.1, np.inf], [np.nan, -0.0]])
    other = record("three", "another", trace=pd.DataFrame({"step": ["x"]}))
    write_kept([one, two, other], tmp_path)
    names = ["another-trace", "runs", "walk-arrays", "walk-others", "walk-trace"]
    assert sorted(path.stem for path in tmp_path.iterdir()) == names
    found = read_kept(tmp_path)
    for expected in (one, two, other):
        read = found[expected.task.name]
        assert read.key == expected.key
        assert read.metrics["mode"] == 3
        assert np.isnan(read.metrics["error"])
        assert read.warnings == ["a doubt"]
        assert read.volatile == {"cpu_seconds": 1.5, "cpu": "fast"}
        assert read.tables.keys() == expected.tables.keys()
        for name, content in expected.tables.items():
            pd.testing.assert_frame_equal(read.tables[name], content)
        assert read.arrays.keys() == expected.arrays.keys()
        for name, array in expected.arrays.items():
            np.testing.assert_array_equal(read.arrays[name], array)
            assert read.arrays[name].dtype == array.dtype
    with pytest.raises(MissingRecords, match="posterior of one"):
        found["one"].tables["posterior"]
    write_kept([], tmp_path)
    assert read_kept(tmp_path) == {}


def test_what_is_large_is_kept_if_it_is_read(tmp_path):
    noise = pd.DataFrame({"x": np.random.default_rng(0).random(20_000)})
    one = watched(record("one", read=noise, unread=noise, small=noise[:10]))
    one.tables["read"]
    for _ in range(2):  # the second time nothing reads it, and it stays
        write_kept([one], tmp_path)
        one = read_kept(tmp_path)["one"]
        assert set(one.tables) == {"read", "small"}


def test_records_that_lack_a_part_are_left_out():
    whole, bare = watched(record("whole", trace=table(2))), watched(record("bare"))

    def lengths(records: list[Result]) -> list[int]:
        return [len(one.trace) for one in records]

    assert made(lengths, [whole, bare]) == [2]
    assert made(lengths, [bare]) is None


# -- results/paper/kept ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def keep():
    """The script of `make keep`."""
    spec = importlib.util.spec_from_file_location("keep", ROOT / "workflow/scripts/keep.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.SETTINGS = ROOT / "config/studies"
    with matplotlib.rc_context(STYLE):  # as the script has it
        yield module


@pytest.fixture(scope="module")
def kept_claims() -> pd.DataFrame:
    return pd.read_csv(KEPT / "claims.csv", keep_default_na=False).set_index("id")


@pytest.mark.parametrize("study", STUDIES)
def test_kept_figures_and_tables_are_made_again(study, keep, tmp_path):
    plan, records = keep.plan_at_scale(study), read_kept(KEPT / study)
    make_again(plan, records, errors_again(study, records.values()), tmp_path / study, tmp_path / "old", "paper")
    again = {path.name for path in (tmp_path / study).glob("*")}
    assert again == {path.name for path in (KEPT / study).iterdir() if path.suffix != ".parquet"}
    for name in again:
        first, second = KEPT / study / name, tmp_path / study / name
        if name.endswith(".csv"):
            pd.testing.assert_frame_equal(pd.read_csv(first), pd.read_csv(second))
        else:
            assert_same_picture(first, second)


def assert_same_picture(first: Path, second: Path) -> None:
    """With the locked Matplotlib, which brings its own fonts, pixel by pixel. A line that is one pixel off is more than
    is allowed; the last bit of a number, which another machine may round otherwise, is not. With another Matplotlib
    letters differ: then the ink in each of 20 x 20 fields of the picture."""
    one, other = (np.asarray(imread(path))[..., :3] for path in (first, second))
    if matplotlib.__version__ == LOCKED:
        assert one.shape == other.shape
        differ = np.abs(one - other).max(axis=2) > 0.1
        assert differ.mean() <= DIFFERENT_PIXELS, f"{first.name}: {differ.sum()} pixels differ"
    else:
        np.testing.assert_allclose(one.shape[:2], other.shape[:2], rtol=0.1)
        np.testing.assert_allclose(_ink(one), _ink(other), atol=0.1)


def _ink(picture: np.ndarray) -> np.ndarray:
    """float64[20, 20]: how far each field is from white."""
    rows = np.array_split(1.0 - picture.min(axis=2), 20, axis=0)
    return np.array([[field.mean() for field in np.array_split(row, 20, axis=1)] for row in rows])


def test_a_picture_of_something_else_is_not_the_same(keep, tmp_path):
    """One chain of three is one topic higher: the comparison above must see it."""
    study, name = "number_of_topics", "walks-lda-6-few"
    plan, records = keep.plan_at_scale(study), read_kept(KEPT / study)
    plan = dataclasses.replace(plan, figures={name: plan.figures[name]}, tables={})
    run = next(run for run in plan.figures[name].runs if run in records)
    for folder, higher in (("same", 0), ("other", 1)):
        records[run].tables["trace"] = records[run].trace.assign(topics=records[run].trace["topics"] + higher)
        make_again(plan, records, errors_again(study, []), tmp_path / folder, tmp_path / "old", "paper")
    assert_same_picture(KEPT / study / f"{name}.png", tmp_path / "same" / f"{name}.png")
    with pytest.raises(AssertionError):
        assert_same_picture(KEPT / study / f"{name}.png", tmp_path / "other" / f"{name}.png")


def test_a_figure_of_fewer_runs_than_are_planned_says_so(tmp_path, monkeypatch):
    drawn = []
    module = SimpleNamespace(draw=lambda records, scale: drawn.append((len(records), scale)))
    monkeypatch.setattr(kept, "import_module", lambda name: module)
    figures = {name: Figure("draw", runs, "", "") for name, runs in (("all", ("a", "b")), ("few", ("a", "b", "c")))}
    records = {name: record(name) for name in ("a", "b")}
    make_again(Plan("", {}, figures, study="x"), records, table_of([]), tmp_path, tmp_path / "old", "paper")
    assert drawn == [(2, "paper"), (2, "paper, 2 of 3 planned runs")]


def test_claims_of_which_nothing_was_kept_are_not_said_not_to_be_run(kept_claims):
    told = pd.read_csv(KEPT / "old" / "run-before.csv")
    assert list(told["id"]) == ["H2", "H3", "H4", "H9"]
    assert set(kept_claims.loc[told["id"], "verdict"]) <= {kept.RUN_BEFORE, *claims.VERDICTS}
    assert not kept_claims["verdict"].str.contains("was not run").any()


def test_kept_verdicts_are_computed_again(kept_claims):
    records = {study: read_kept(KEPT / study) for study in STUDIES}
    errors = {study: errors_again(study, records[study].values()) for study in STUDIES}
    again = claims.table_of(claims.answers(records, errors, Registry().entries, ()), "paper").set_index("id")
    is_kept = kept_claims["evidence"] == "kept"
    assert is_kept.any()
    same = ["ours", "error", "verdict", "rule"]
    pd.testing.assert_frame_equal(again.loc[is_kept, same], kept_claims.loc[is_kept, same])
    assert not again.loc[kept_claims["evidence"] == "old", "verdict"].isin(claims.VERDICTS).any()
    assert (kept_claims["ours"].str.len() <= claims.LONGEST).all()


def test_kept_results_are_few_and_small():
    files = [path for path in KEPT.rglob("*") if path.is_file()]
    assert len(files) < 200
    assert max(path.stat().st_size for path in files if path.suffix == ".png") <= LARGEST_FIGURE
    assert not list(KEPT.rglob("run.json"))
    for path in (KEPT / "old").rglob("*.*"):
        assert not (KEPT / path.relative_to(KEPT / "old")).exists()  # nothing is both old and made again
