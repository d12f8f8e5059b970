"""`bayestopics select`: the answer, and the report that it writes."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pandas as pd
import pytest

from bayestopics.api import select
from bayestopics.cli.main import main
from bayestopics.corpus import read_corpus
from bayestopics.pages import selection
from bayestopics.pages.selection import write_report
from test_bad_input import refused, tree
from test_cli import answer

Capture = pytest.CaptureFixture[str]
KEYS = ["topics", "alpha", "eta", "posterior", "ellipse", "region", "agreement", "chains"]
KEYS += ["top_words", "table", "warnings"]
RECORD = ["evidence.parquet", "run.json", "surface.parquet", "topics.parquet", "trace.parquet"]
REPORT = ["evidence.csv", "evidence.png", "index.html", "select.json", "surface.png", "topics.csv"]
SHORT = ["--sweeps", 100, "--steps", 20, "--chains", 2, "--workers", 1]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpora") / "tiny.ldac"
    size = ["--documents", "30", "--length", "25", "--terms", "10", "--topics", "2", "--alpha", "0.2", "--eta", "0.5"]
    assert main(["corpus", "simulate", *size, "--seed", "3", "--out", str(path)]) == 0
    return path


def test_the_answer_and_its_report(path: Path, tmp_path: Path, capsys: Capture) -> None:
    words = ["select", path, "--topics", "2-3", "--repeats", 2, *SHORT, "--seed", 1]
    found = answer(capsys, *words, "--out", tmp_path / "report")
    assert list(found) == KEYS
    assert found["posterior"].keys() == {"2", "3"}
    assert sum(found["posterior"].values()) == pytest.approx(1)
    assert found["topics"] == max((2, 3), key=lambda topics: found["posterior"][str(topics)])
    direct = select(read_corpus(path), [2, 3], sweeps=100, steps=20, repeats=2, chains=2, seed=1)
    assert [row["log_evidence"] for row in found["table"]] == direct.tables["evidence"]["log_evidence"].tolist()
    assert (found["alpha"], found["eta"]) == (direct.metrics["alpha"], direct.metrics["eta"])
    # the report
    assert sorted(tree(tmp_path / "report")) == sorted(REPORT + RECORD)
    assert json.loads((tmp_path / "report" / "select.json").read_text()) == found
    assert pd.read_csv(tmp_path / "report" / "evidence.csv")["topics"].tolist() == [2, 3]
    assert len(pd.read_csv(tmp_path / "report" / "topics.csv")) == found["topics"]
    page = (tmp_path / "report" / "index.html").read_text()
    assert "Which model for tiny.ldac?" in page
    assert all(name in page for name in REPORT if name != "index.html")
    assert str(tmp_path) not in page
    # the same bits, and what a kill in the middle of writing has left is cleared
    (tmp_path / "again" / ".surface.png.a1b2c3d4").mkdir(parents=True)
    write_report(direct, read_corpus(path), tmp_path / "again")
    files = tree(tmp_path / "report")
    assert tree(tmp_path / "again") == {name: files[name] for name in REPORT}
    assert sorted(folder.name for folder in tmp_path.iterdir()) == ["again", "report"]


def test_one_repeat_has_no_error_and_a_finished_report_is_drawn_again(
    path: Path, tmp_path: Path, capsys: Capture
) -> None:
    words = [*map(str, ["select", path, "--topics", 2, "--repeats", 1, *SHORT, "--out", tmp_path / "report"])]
    assert main(words) == 0
    out, _ = capsys.readouterr()
    assert "unknown" in out
    assert "warning: T = 2: There is only one run, so the error is unknown." in out
    assert json.loads((tmp_path / "report" / "select.json").read_text())["table"][0]["standard_error"] is None
    before = tree(tmp_path / "report")
    (tmp_path / "report" / "index.html").unlink()
    assert main(words) == 0
    assert capsys.readouterr() == (out, "")
    assert tree(tmp_path / "report") == before


def test_a_report_that_cannot_be_drawn_costs_no_result(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "evidence.png")

    words = [*map(str, ["select", path, "--topics", 2, "--repeats", 1, *SHORT, "--out", tmp_path / "report"])]
    with monkeypatch.context() as patch:
        patch.setattr(selection, "write_report", full)
        assert main([*words, "--json"]) == 2
    out, err = capsys.readouterr()
    assert err == "bayestopics: evidence.png: No space left on device\n"
    assert sorted(tree(tmp_path / "report")) == RECORD
    assert main([*words, "--json"]) == 0
    assert capsys.readouterr() == (out, "")
    assert sorted(tree(tmp_path / "report")) == sorted(REPORT + RECORD)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ("--topics 1-3", "alpha has no meaning with one topic"),
        ("--topics 0", "--topics: 0 is not at least 1"),
        ("--topics 5-2", "is an empty range"),
        ("--sweeps 50", "needs at least 100 sweeps, not 50"),
        ("--repeats 0", "--repeats: 0 is not at least 1"),
        ("--out {folder}", "exists and is not a run record"),
        ("--out {corpus}", "exists and is not a run record"),
        ("--terms 9", "--terms 9 disagrees with"),
    ],
)
def test_bad_options(path: Path, tmp_path: Path, capsys: Capture, options: str, fault: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("keep me")
    words = options.format(folder=tmp_path / "folder", corpus=path).split()
    assert fault in refused(capsys, tmp_path, "select", path, *words)


@pytest.mark.parametrize("command", ["hdp", "select"])
def test_help(capsys: Capture, command: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: bayestopics {command}")
