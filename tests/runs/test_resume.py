"""`evidence` and `topics`: the same bits however often they were killed, for any number of workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayestopics import api
from bayestopics.base.code import code_hash
from bayestopics.cli.main import main
from bayestopics.corpus import write_corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.evidence import pseudo_marginal
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior
from bayestopics.runs import driver
from bayestopics.runs import evidence as evidence_module
from bayestopics.runs import jump as jump_module
from bayestopics.runs import topic_posterior as topic_posterior_module
from bayestopics.runs.record import read, same_bits
from bayestopics.runs.result import Result
from killing import PATIENCE, PROGRAM, Killed, KillingSecond, own_cache, state_files, states, wait_for

CORPUS = simulate_lda(
    documents=20, length=12, terms=9, topics=2, alpha=0.2, eta=0.2, rng=np.random.default_rng(4)
).corpus
EVIDENCE: dict[str, Any] = {"topics": [1, 2, 4], "method": "annealing", "path": "reference", "sweeps": 10, "passes": 2}
EVIDENCE |= {"repeats": 2, "seed": 4, "prior": Prior(0.4, 0.3)}
TOPICS: dict[str, Any] = {
    "topic_prior": TopicPrior(1, 6),
    "starts": [1, 4],
    "iterations": 60,
    "burn_in": 20,
}
JUMP: dict[str, Any] = TOPICS | {"iterations": 20, "burn_in": 10, "seed": 4, "prior": Prior(0.4, 0.3)}
TOPICS |= {
    "method": "pmmh",
    "inner": 3,
    "estimate": "gibbs",
    "sampler": "single-site",
    "z_start": "uniform",
    "seed": 4,
    "prior": Prior(0.4, 0.3),
}
COMMANDS: dict[str, tuple[Callable[..., Result], dict[str, Any]]] = {
    "evidence": (api.evidence, EVIDENCE),
    "topics": (api.topic_posterior, TOPICS),
    "topics jump": (api.topic_posterior, JUMP),
}
FILES = {"evidence": 1, "topics": 1, "topics jump": 2}  # of a checkpoint: jump has one for each chain
Capture = pytest.CaptureFixture[str]


def result_of(command: str, out: Path | None = None, **changes: Any) -> dict[str, Any]:
    """But for the seconds of the evidence, which are never the same."""
    function, options = COMMANDS[command]
    found = function(CORPUS, **options | changes, out=out).summary()
    found.pop("seconds", None)
    return found


# -- killed and resumed ----------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_again_and_again_it_gives_the_same_bits(
    tmp_path: Path, checkpoints: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    whole, lives, resumed = result_of(command, tmp_path / "whole"), 0, None
    assert not state_files(checkpoints)
    monkeypatch.setattr(driver, "Checkpoint", KillingSecond)
    while resumed is None:
        lives, KillingSecond.saves = lives + 1, 0
        try:
            resumed = result_of(command, tmp_path / "resumed")
        except Killed:
            assert lives < 40
            assert state_files(checkpoints)
            assert not (tmp_path / "resumed").exists()
    assert lives > 4
    assert resumed == whole
    records = [read(tmp_path / name) for name in ("resumed", "whole")]
    assert same_bits(*records)
    assert [record.volatile["resumed"] for record in records] == [lives - 1 if command == "topics" else True, 0]
    assert not state_files(checkpoints)


@pytest.fixture
def killed(checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """killed("topics", seed=5) runs it until its record is to be written, and tells how many checkpoints there are."""

    def kill(*_: Any) -> None:
        raise Killed

    def run(command: str, **changes: Any) -> int:
        with monkeypatch.context() as patch:
            patch.setattr(driver, "write", kill)
            with pytest.raises(Killed):
                result_of(command, tmp_path / "killed", **changes)
        return len(state_files(checkpoints))

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_before_the_record_was_written_and_called_without_one(
    tmp_path: Path, checkpoints: Path, killed: Callable[..., int], command: str
) -> None:
    assert killed(command) == FILES[command]
    assert not (tmp_path / "killed").exists()
    resumed = result_of(command, workers=2)
    assert not state_files(checkpoints)
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
    ("topics", {"topic_prior": TopicPrior(1, 7)}),
    ("topics", {"topic_prior": TopicPrior(1, 6, "poisson", 2.0)}),
    ("topics", {"starts": [4, 1]}),
    ("topics", {"prior": Prior(0.4, 0.31)}),
    ("topics", {"prior": Prior(0.41, 0.3)}),
    ("topics", {"inner": 4}),
    ("topics", {"iterations": 61}),
    ("topics", {"burn_in": 21}),
    ("topics", {"sampler": "sparse"}),
    ("topics", {"z_start": "pilot"}),
    ("topics", {"seed": 5}),
    ("topics jump", {"topic_prior": TopicPrior(1, 7)}),
    ("topics jump", {"starts": [4, 1]}),
    ("topics jump", {"prior": Prior(0.4, 0.31)}),
    ("topics jump", {"prior": Prior(0.41, 0.3)}),
    ("topics jump", {"iterations": 61}),
    ("topics jump", {"burn_in": 21}),
    ("topics jump", {"seed": 5}),
]


@pytest.mark.parametrize(("command", "changes"), OTHERS, ids=str)
def test_a_checkpoint_of_another_run_is_not_used(
    killed: Callable[..., int], command: str, changes: dict[str, Any]
) -> None:
    assert killed(command) == FILES[command]
    assert killed(command) == FILES[command]
    assert killed(command, **changes) == 2 * FILES[command]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_checkpoint_of_another_corpus_or_of_other_code_is_not_used(
    killed: Callable[..., int], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert killed(command) == FILES[command]
    other = simulate_lda(20, 12, 9, 2, 0.2, 0.2, np.random.default_rng(5)).corpus
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "CORPUS", other)
        assert killed(command) == 2 * FILES[command]
    for module in (evidence_module, topic_posterior_module, jump_module):
        monkeypatch.setattr(module, "code_hash", lambda *_: "new")
    assert killed(command) == 3 * FILES[command]


def test_the_code_of_a_run_has_the_sampler_that_is_called_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """No import leads to it."""
    seen: list[str] = []

    def remember(*modules: str) -> str:
        seen.extend(modules)
        return code_hash(*modules)

    for module in (evidence_module, topic_posterior_module):
        monkeypatch.setattr(module, "code_hash", remember)
    result_of("topics", sampler="grouped")
    result_of("evidence", method="pseudo-marginal")
    topics, evidence = "bayestopics.runs.topic_posterior", "bayestopics.runs.evidence"
    assert seen == [
        topics,
        "bayestopics.lda.grouped",
        evidence,
        "bayestopics.evidence.pseudo_marginal",
        "bayestopics.lda.sparse",
    ]


# -- the command, in a process of its own ----------------------------------------------------------

# fewer than four kept steps have no R-hat: importing ArviZ for it takes longer than the chains
SIZES = "--method pmmh --max 8 --inner 10 --iterations 3 --burn-in 400"


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen]:
    """start(workers=2) starts the program in a session of its own, as a terminal would."""
    pseudo_marginal.compile_estimates("single-site")
    write_corpus(simulate_lda(100, 60, 50, 5, 0.2, 0.1, np.random.default_rng(1)).corpus, tmp_path / "x.ldac")
    environment = own_cache(tmp_path / "cache", BAYESTOPICS_CHECKPOINT_SECONDS="0.05")
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    def start(workers: int) -> subprocess.Popen:
        words = ["topics", str(tmp_path / "x.ldac"), *SIZES.split(), "--workers", str(workers), "--json"]
        words = [sys.executable, "-c", PROGRAM, *words, "--out", str(tmp_path / "out")]
        return subprocess.Popen(words, env=environment, start_new_session=True, **pipes)

    return start


def done(checkpoints: Path) -> int:
    """Steps in the checkpoint."""
    return sum(len(chain.rows) for state in states(checkpoints) for chain in state[0])


def test_interrupted_killed_and_resumed(
    tmp_path: Path, start: Callable[..., subprocess.Popen], capsys: Capture
) -> None:
    checkpoints = tmp_path / "cache" / "checkpoints"
    process = start(workers=2)
    wait_for(lambda: done(checkpoints) > 0, process)
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C: to the parent and to the workers
    line = "interrupted; the same command continues from its last checkpoint"
    assert process.communicate(timeout=PATIENCE) == ("", f"bayestopics: {line}\n")
    assert process.returncode == 130
    before = done(checkpoints)

    process = start(workers=1)
    wait_for(lambda: done(checkpoints) > before, process)
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL, "it ended before it was killed"
    assert not (tmp_path / "out").exists()

    process = start(workers=2)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert not state_files(checkpoints)
    resumed = read(tmp_path / "out")
    assert resumed.volatile["resumed"] == 2

    words = ["topics", str(tmp_path / "x.ldac"), *SIZES.split(), "--workers", "1", "--json"]
    assert main([*words, "--out", str(tmp_path / "whole")]) == 0
    answers = [json.loads(text) for text in (out, capsys.readouterr().out)]
    assert answers[0] == answers[1]
    assert same_bits(resumed, read(tmp_path / "whole"))
