"""Records of `evidence` and `topics`: the same bits however often they were killed, for any number of workers."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from bayestopics.base.code import code_hash
from bayestopics.cli.main import main
from bayestopics.corpus import read_corpus, write_corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.evidence import compute, pseudo_marginal
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior
from bayestopics.runs import number_of_topics
from bayestopics.runs.record import read, same_bits
from bayestopics.runs.result import Result
from killing import Killed, KillingSecond

CORPUS = simulate_lda(
    documents=20, length=12, terms=9, topics=2, alpha=0.2, eta=0.2, rng=np.random.default_rng(4)
).corpus
EVIDENCE: dict[str, Any] = {"topics": [1, 2, 4], "method": "annealing", "path": "reference", "sweeps": 10, "passes": 2}
EVIDENCE |= {"repeats": 2, "seed": 4, "prior": Prior(0.4, 0.3)}
TOPICS: dict[str, Any] = {"topics": TopicPrior(1, 6), "starts": [1, 4], "inner": 3, "iterations": 60, "burn_in": 20}
TOPICS |= {"sampler": "single-site", "z_start": "uniform", "seed": 4, "prior": Prior(0.4, 0.3)}
COMMANDS: dict[str, tuple[Callable[..., dict[str, Any]], dict[str, Any]]] = {
    "evidence": (number_of_topics.evidence, EVIDENCE),
    "topics": (number_of_topics.posterior, TOPICS),
}
PATIENCE = 120.0  # seconds until a process that does not get anywhere is a failure
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(number_of_topics, "CACHE", tmp_path / "cache")
    return tmp_path / "cache"


def result_of(command: str, out: Path | None = None, **changes: Any) -> dict[str, Any]:
    """But for the seconds of the evidence, which are never the same."""
    function, options = COMMANDS[command]
    found = function(CORPUS, **options | changes, out=out)
    found.pop("seconds", None)
    return found


def checkpoints_in(cache: Path) -> list[Path]:
    """Not what a kill in the middle of saving leaves beside them."""
    return sorted((cache / "checkpoints").glob("*.checkpoint"))


# -- killed and resumed ----------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_again_and_again_it_gives_the_same_bits(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    whole, lives, resumed = result_of(command, tmp_path / "whole"), 0, None
    assert not checkpoints_in(cache)
    monkeypatch.setattr(number_of_topics, "Checkpoint", KillingSecond)
    while resumed is None:
        lives, KillingSecond.saves = lives + 1, 0
        try:
            resumed = result_of(command, tmp_path / "resumed")
        except Killed:
            assert lives < 40
            assert checkpoints_in(cache)
            assert not (tmp_path / "resumed").exists()
    assert lives > 4
    assert resumed == whole
    records = [read(tmp_path / name) for name in ("resumed", "whole")]
    assert same_bits(*records)
    assert [record.volatile["resumed"] for record in records] == [lives - 1 if command == "topics" else True, 0]
    assert not checkpoints_in(cache)


@pytest.fixture
def killed(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """killed("topics", seed=5) runs it until its record is to be written, and tells how many checkpoints there are."""

    def kill(*_: Any) -> None:
        raise Killed

    def run(command: str, **changes: Any) -> int:
        with monkeypatch.context() as patch:
            patch.setattr(number_of_topics, "write", kill)
            with pytest.raises(Killed):
                result_of(command, tmp_path / "killed", **changes)
        return len(checkpoints_in(cache))

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_before_the_record_was_written_and_called_without_one(
    tmp_path: Path, cache: Path, killed: Callable[..., int], command: str
) -> None:
    assert killed(command) == 1
    assert not (tmp_path / "killed").exists()
    resumed = result_of(command, workers=2)
    assert not checkpoints_in(cache)
    assert resumed == result_of(command)


OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("evidence", {"topics": [1, 2, 3]}),
    ("evidence", {"topics": [4, 2, 1]}),
    ("evidence", {"prior": Prior(0.4, 0.31)}),
    ("evidence", {"prior": Prior(0.41, 0.3)}),
    ("evidence", {"path": "ais"}),
    ("evidence", {"method": "chib"}),
    ("evidence", {"sweeps": 11}),
    ("evidence", {"passes": 1}),
    ("evidence", {"repeats": 1}),
    ("evidence", {"seed": 5}),
    ("topics", {"topics": TopicPrior(1, 7)}),
    ("topics", {"topics": TopicPrior(1, 6, "poisson", 2.0)}),
    ("topics", {"starts": [4, 1]}),
    ("topics", {"prior": Prior(0.4, 0.31)}),
    ("topics", {"prior": Prior(0.41, 0.3)}),
    ("topics", {"inner": 4}),
    ("topics", {"iterations": 61}),
    ("topics", {"burn_in": 21}),
    ("topics", {"sampler": "sparse"}),
    ("topics", {"z_start": "pilot"}),
    ("topics", {"seed": 5}),
]


@pytest.mark.parametrize(("command", "changes"), OTHERS, ids=str)
def test_a_checkpoint_of_another_run_is_not_used(
    killed: Callable[..., int], command: str, changes: dict[str, Any]
) -> None:
    assert killed(command) == 1
    assert killed(command) == 1
    assert killed(command, **changes) == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_a_checkpoint_of_another_corpus_or_of_other_code_is_not_used(
    killed: Callable[..., int], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert killed(command) == 1
    other = simulate_lda(20, 12, 9, 2, 0.2, 0.2, np.random.default_rng(5)).corpus
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "CORPUS", other)
        assert killed(command) == 2
    monkeypatch.setattr(number_of_topics, "code_hash", lambda *_: "new")
    assert killed(command) == 3


def test_the_code_of_a_run_has_the_sampler_that_is_called_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """No import leads to it."""
    seen: list[str] = []

    def remember(*modules: str) -> str:
        seen.extend(modules)
        return code_hash(*modules)

    monkeypatch.setattr(number_of_topics, "code_hash", remember)
    result_of("topics", sampler="grouped")
    result_of("evidence", method="pseudo-marginal")
    here = "bayestopics.runs.number_of_topics"
    assert seen == [here, "bayestopics.lda.grouped", here, "bayestopics.lda.sparse"]


# -- the command, in a process of its own ----------------------------------------------------------

# with frequent checkpoints; not a file, because every worker would import it
PROGRAM = """
import functools, signal, sys
from bayestopics.cli.main import main
from bayestopics.runs import number_of_topics as runs
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background of a script ignores
runs.evidence = functools.partial(runs.evidence, checkpoint_seconds=0.05)
runs.posterior = functools.partial(runs.posterior, checkpoint_seconds=0.05)
sys.exit(main())
"""
# fewer than four kept steps have no R-hat: importing ArviZ for it takes longer than the chains
SIZES = {
    "evidence": "--topics 2-5 --sweeps 60 --passes 3 --repeats 3",
    "topics": "--max 8 --inner 10 --iterations 3 --burn-in 400",
}


@pytest.fixture
def start(tmp_path: Path, cache: Path) -> Callable[..., subprocess.Popen]:
    """start("topics", workers=2) starts the program in a session of its own, as a terminal would."""
    compute.compile_estimator("reference")
    pseudo_marginal.compile_estimates("single-site")
    kernels = Path(numba.config.CACHE_DIR)
    cache.mkdir()
    (cache / kernels.name).symlink_to(kernels)
    write_corpus(simulate_lda(100, 60, 50, 5, 0.2, 0.1, np.random.default_rng(1)).corpus, tmp_path / "x.ldac")
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = os.environ | {"BAYESTOPICS_CACHE": str(cache), "PYTHONPATH": paths}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    def start(command: str, workers: int) -> subprocess.Popen:
        words = [command, str(tmp_path / "x.ldac"), *SIZES[command].split(), "--workers", str(workers), "--json"]
        words = [sys.executable, "-c", PROGRAM, *words, "--out", str(tmp_path / "out")]
        return subprocess.Popen(words, env=environment, start_new_session=True, **pipes)

    return start


def done(cache: Path) -> int:
    """Steps or jobs in the checkpoint."""
    for path in checkpoints_in(cache):
        state, _ = pickle.loads(path.read_bytes())
        if isinstance(state, dict):
            return sum(one[0] if key[0] == compute.WALK else 1 for key, one in state.items())
        return sum(len(chain.rows) for chain in state[0])
    return 0


def wait_for(process: subprocess.Popen, condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize("command", COMMANDS)
def test_interrupted_killed_and_resumed(
    tmp_path: Path, cache: Path, start: Callable[..., subprocess.Popen], capsys: Capture, command: str
) -> None:
    process = start(command, workers=2)
    wait_for(process, lambda: done(cache) > 0)
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C: to the parent and to the workers
    line = "interrupted (`fit`, `hdp`, `evidence` and `topics`, called again, go on from their last checkpoint)"
    assert process.communicate(timeout=PATIENCE) == ("", f"bayestopics: {line}\n")
    assert process.returncode == 130
    before = done(cache)

    process = start(command, workers=1)
    wait_for(process, lambda: done(cache) > before)
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL, "it ended before it was killed"
    assert not (tmp_path / "out").exists()

    process = start(command, workers=2)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert not checkpoints_in(cache)
    resumed = read(tmp_path / "out")
    assert resumed.volatile["resumed"] == (2 if command == "topics" else True)

    words = [command, str(tmp_path / "x.ldac"), *SIZES[command].split(), "--workers", "1", "--json"]
    assert main([*words, "--out", str(tmp_path / "whole")]) == 0
    answers = [json.loads(text) for text in (out, capsys.readouterr().out)]
    assert [answer.pop("seconds", None) is None for answer in answers] == [command == "topics"] * 2
    assert answers[0] == answers[1]
    assert same_bits(resumed, read(tmp_path / "whole"))


# -- the record ------------------------------------------------------------------------------------


def check_run(record: Result, study: str, name: str, params: dict[str, Any]) -> None:
    task = record.task
    assert (task.study, task.scale, task.name, task.seed, task.params) == (study, "own", name, 4, params)
    assert (task.corpus, task.fingerprint) == (CORPUS.name, CORPUS.fingerprint)
    assert {"python", "bayestopics", "numpy", "numba"} <= set(record.versions)
    assert {"finished", "wall_seconds", "cpu_seconds", "peak_memory_mb", "resumed"} <= set(record.volatile)


def test_the_record_of_topics(tmp_path: Path) -> None:
    found = result_of("topics", tmp_path / "out")
    record = read(tmp_path / "out")
    range_of = {"low": 1, "high": 6, "kind": "uniform", "parameter": None}
    params = {key: value for key, value in TOPICS.items() if key not in ("seed", "prior")}
    check_run(record, "topics", "pmmh", params | {"topics": range_of, "alpha": 0.4, "eta": 0.3})
    assert set(record.tables) == {"trace", "posterior"}
    kept = record.trace[record.trace["step"] >= 20]
    assert record.trace.groupby("chain")["step"].count().to_dict() == {0: 80, 1: 80}
    assert kept["topics"].value_counts(normalize=True).to_dict() == pytest.approx(found["posterior"])
    posterior = record.tables["posterior"]
    assert dict(zip(posterior["topics"], posterior["probability"], strict=True)) == found["posterior"]
    assert found["rhat"] is None  # a chain stays where it is, and there is no such metric
    assert record.metrics == {key: value for key, value in found.items() if isinstance(value, int | float)}
    assert len(record.metrics) == 5
    assert record.warnings == found["warnings"]
    assert record.arrays["fresh_log_estimates"].std(ddof=1) == found["log_estimate_sd"]
    assert record.volatile["estimates"] >= 162


def test_the_record_of_evidence(tmp_path: Path) -> None:
    found = number_of_topics.evidence(CORPUS, **EVIDENCE, out=tmp_path / "out")
    record = read(tmp_path / "out")
    params = {key: value for key, value in EVIDENCE.items() if key not in ("seed", "prior")}
    check_run(record, "evidence", "annealing", params | {"alpha": 0.4, "eta": 0.3})
    assert set(record.tables) == {"evidence", "estimates", "timing"}
    for column in ("topics", "log_evidence", "standard_error"):
        assert record.tables["evidence"][column].tolist() == found[column]
    for table, column, key in (("estimates", "log_estimate", "log_estimates"), ("timing", "seconds", "seconds")):
        rows = record.tables[table]
        assert rows["topics"].tolist() == [1, 1, 2, 2, 4, 4]
        assert rows["repeat"].tolist() == [0, 1] * 3
        assert rows[column].tolist() == [*chain(*found[key])]
    best = {"best_topics": found["best"], "log_evidence_of_best": max(found["log_evidence"])}
    assert record.metrics == best
    assert record.warnings == found["warnings"]


def test_the_record_of_one_repeat_and_of_a_harmonic_mean(tmp_path: Path) -> None:
    found = result_of("evidence", tmp_path / "out", method="harmonic-z", repeats=1)
    record = read(tmp_path / "out")
    assert found["standard_error"] == [None] * 3
    assert record.tables["evidence"]["standard_error"].isna().all()
    other = record.tables["other"]["log_estimate"].tolist()
    assert other == [*chain(*found["from_the_same_chains"]["harmonic-psi"])]


# -- the command line ------------------------------------------------------------------------------


@pytest.fixture
def command_line(tmp_path: Path, capsys: Capture) -> Callable[..., tuple[int, str, str]]:
    """Exit code, output and errors of a short run."""
    write_corpus(CORPUS, tmp_path / "x.ldac")
    short = {
        "evidence": "--topics 1-2 --sweeps 4 --passes 1 --repeats 1 --workers 1 --json",
        "topics": "--max 3 --inner 2 --iterations 3 --burn-in 0 --workers 1 --json",
    }

    def run(command: str, *words: object) -> tuple[int, str, str]:
        code = main([command, str(tmp_path / "x.ldac"), *short[command].split(), *map(str, words)])
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_out_replaces_an_older_record_and_nothing_else(
    tmp_path: Path, command_line: Callable[..., tuple[int, str, str]], command: str
) -> None:
    out = tmp_path / "out"
    printed = [command_line(command, "--seed", seed, "--out", out) for seed in (1, 2)]
    assert [code for code, _, _ in printed] == [0, 0]
    assert read(out).task.seed == 2
    assert read(out).task.fingerprint == read_corpus(tmp_path / "x.ldac").fingerprint
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "out", "x.ldac", "x.ldac.vocab"}
    alone = json.loads(command_line(command, "--seed", 2)[1])  # --out adds nothing to what is printed
    assert alone | {"seconds": None} == json.loads(printed[1][1]) | {"seconds": None}

    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").touch()
    for taken in (tmp_path / "folder", tmp_path / "x.ldac"):
        said = f"bayestopics: --out {taken}: exists, and is not a run record\n"
        assert command_line(command, "--out", taken) == (2, "", said)
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["mine"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_record_that_cannot_be_written_costs_no_work(
    tmp_path: Path, cache: Path, command_line: Callable[..., tuple[int, str, str]], command: str
) -> None:
    """Another --out, and it goes on from the end."""
    code, out, err = command_line(command, "--out", tmp_path / "x.ldac" / "out")
    assert (code, out) == (2, "")
    assert err.startswith("bayestopics: ")
    assert err.count("\n") == 1
    assert len(checkpoints_in(cache)) == 1
    assert command_line(command, "--out", tmp_path / "out")[0] == 0
    assert read(tmp_path / "out").volatile["resumed"]
    assert not checkpoints_in(cache)
