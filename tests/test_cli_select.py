"""`bayestopics select`: the answer, and the report that it writes."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pandas as pd
import pytest

from bayestopics import api
from bayestopics.api import select
from bayestopics.base.problems import InputError
from bayestopics.cli.main import main
from bayestopics.corpus import read_corpus
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.pages import report
from bayestopics.pages.report import write_report
from bayestopics.runs import select as run
from test_bad_input import refused, tree
from test_cli import answer

Capture = pytest.CaptureFixture[str]
KEYS = ["topics", "agree", "probability", "between", "range", "posterior", "interval", "standard_error", "alpha", "eta"]
KEYS += ["hyper", "region", "mean", "mean_error", "chains", "rhat", "rhat_log_joint", "effective_sample_size"]
KEYS += ["total_variation", "acceptance_rate", "rhat_log_alpha", "rhat_log_eta", "first_answer"]
KEYS += ["topics_of", "top_words", "warnings"]
TABLES = ["batches", "documents", "first_answer", "moves", "posterior", "reproducibility", "shares", "topics"]
TABLES += ["trace", "vocabulary"]
RECORD = sorted([*(f"{name}.parquet" for name in TABLES), "arrays.npz", "run.json"])
REPORT = ["documents.csv", "posterior.csv", "report.html", "topics.csv"]
SHORT = ["--iterations", 60, "--burn-in", 100, "--chains", 2, "--workers", 1]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpora") / "tiny.ldac"
    size = ["--documents", "30", "--length", "25", "--terms", "10", "--topics", "2", "--alpha", "0.2", "--eta", "0.5"]
    assert main(["corpus", "simulate", *size, "--seed", "3", "--out", str(path)]) == 0
    return path


def test_the_answer_and_its_report(path: Path, tmp_path: Path, capsys: Capture) -> None:
    words = ["select", path, "--topics", "1-4", *SHORT, "--seed", 1]
    found = answer(capsys, *words, "--out", tmp_path / "report")
    assert list(found) == KEYS
    assert set(found["posterior"]) <= {"1", "2", "3", "4"}
    assert sum(found["posterior"].values()) == pytest.approx(1, abs=1e-5)  # what is nearly impossible is left out
    assert found["topics"] == max(range(1, 5), key=lambda topics: found["posterior"].get(str(topics), 0.0))
    assert found["posterior"].keys() == found["standard_error"].keys()
    assert [one["start"] for one in found["chains"]] == [found["first_answer"]["topics"], 1]
    direct = select(read_corpus(path), range(1, 5), iterations=60, burn_in=100, chains=2, seed=1, workers=2)
    assert {int(t): share for t, share in found["posterior"].items()} == direct.posterior
    assert (found["alpha"], found["eta"]) == (direct.metrics["alpha"], direct.metrics["eta"])
    # the report
    assert sorted(tree(tmp_path / "report")) == sorted(REPORT + RECORD)
    assert set(found["posterior"]) <= set(pd.read_csv(tmp_path / "report" / "posterior.csv")["topics"].map(str))
    assert pd.read_csv(tmp_path / "report" / "topics.csv")["topic"].max() < found["topics"]
    assert len(pd.read_csv(tmp_path / "report" / "documents.csv")) == 30
    page = (tmp_path / "report" / "report.html").read_text()
    assert "Which model for tiny.ldac?" in page
    assert str(tmp_path) not in page
    # the same bits
    direct.write_csv(tmp_path / "again")
    write_report(direct, read_corpus(path), tmp_path / "again" / "report.html")
    files = tree(tmp_path / "report")
    assert tree(tmp_path / "again") == {name: files[name] for name in REPORT}


def test_the_first_answer_is_told_at_once_and_a_finished_report_is_drawn_again(
    path: Path, tmp_path: Path, capsys: Capture
) -> None:
    words = [*map(str, ["select", path, "--max", 4, *SHORT, "--out", tmp_path / "report"])]
    assert main(words) == 0
    out, err = capsys.readouterr()
    (line,) = err.splitlines()
    assert line.startswith("bayestopics: first answer, without an error: ")
    assert line.endswith("; 2 chains of 160 iterations follow, for a minute or two")
    assert "first answer, before the chains: " in out
    before = tree(tmp_path / "report")
    (tmp_path / "report" / "report.html").unlink()
    assert main(words) == 0
    assert capsys.readouterr() == (out, "")
    assert tree(tmp_path / "report") == before


def test_a_report_that_cannot_be_drawn_costs_no_result(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "report.html")

    words = [*map(str, ["select", path, "--topics", "2-3", *SHORT, "--out", tmp_path / "report"])]
    with monkeypatch.context() as patch:
        patch.setattr(report, "write_report", full)
        assert main([*words, "--json"]) == 2
    out, err = capsys.readouterr()
    assert err.splitlines()[1:] == ["bayestopics: report.html: No space left on device"]
    assert sorted(tree(tmp_path / "report")) == sorted([*RECORD, "documents.csv", "posterior.csv", "topics.csv"])
    assert main([*words, "--json"]) == 0
    assert capsys.readouterr() == (out, "")
    assert sorted(tree(tmp_path / "report")) == sorted(REPORT + RECORD)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ("--topics 2,5", "--topics: give a range with at least two numbers of topics"),
        ("--topics 2", "--topics: give a range with at least two numbers of topics"),
        ("--topics 2-5 --max 7", "give either --topics or --min and --max"),
        ("--min 5 --max 3", "must start at 1 or more and hold at least two values"),
        ("--prior exact", "unknown prior 'exact'"),
        ("--topics 0", "--topics: 0 is not at least 1"),
        ("--topics 5-2", "is an empty range"),
        ("--iterations 0", "--iterations/--sweeps: 0 is not at least 1"),
        ("--chains 0", "--chains: 0 is not at least 1"),
        ("--budget 20", "--budget: '20' is not a duration: write 90s, 20m or 1h30m"),
        ("--budget 0m", "is not a duration"),
        ("--budget 20m --iterations 5", "give either --budget or --iterations"),
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


def test_a_range_is_a_uniform_prior(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards an end of the range that is lost, and a prior that is."""
    given: list[TopicPrior] = []
    monkeypatch.setattr(api, "select", lambda corpus, prior, **_: given.append(prior) or (_ for _ in ()).throw(Called))
    for words in ("--topics 2-5", "--min 3", "--max 9 --prior geometric:0.2", ""):
        with pytest.raises(Called):
            main(["select", str(path), *words.split()])
    expected = [TopicPrior(2, 5), TopicPrior(3, 27), TopicPrior(1, 9, "geometric", 0.2), TopicPrior(1, 27)]
    assert given == expected  # 27 is the square root of 750 tokens


def test_a_budget_gives_the_length_of_the_chains(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a burn-in, chains that wait for a process, and minutes that are left out."""
    given: list[dict[str, int]] = []
    monkeypatch.setattr(run, "task_of", lambda *_, **how: given.append(how) or (_ for _ in ()).throw(Called))
    for budget, chains, workers in (("1h30m", 4, 2), ("90m", 3, 2), ("45m", 4, 4), ("10800s", 4, 1), ("1s", 8, 1)):
        with pytest.raises(Called):
            main(["select", str(path), "--budget", budget, "--chains", str(chains), "--workers", str(workers)])
    half = 2700 / (2 * (3e-3 + 200e-9 * 750))  # 45 minutes, for 750 tokens
    assert [one["iterations"] for one in given] == [pytest.approx(half, abs=1)] * 4 + [500]
    with pytest.raises(InputError, match="not positive"):
        select(read_corpus(path), budget=0.0)
    with pytest.raises(InputError, match="either a budget"):
        select(read_corpus(path), budget=60.0, iterations=10)


class Called(Exception):
    """Nothing is computed."""


@pytest.mark.parametrize("command", ["hdp", "select"])
def test_help(capsys: Capture, command: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: bayestopics {command}")
