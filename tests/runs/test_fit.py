"""Fits in several processes: the same bits, one line when something goes wrong, no process left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayestopics.api import fit
from bayestopics.base.problems import InputError
from bayestopics.cli.main import main
from bayestopics.corpus import Corpus, read_corpus, write_corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.lda.state import Prior
from bayestopics.runs import driver
from bayestopics.runs.chain import compile_sampler
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import read, same_bits
from bayestopics.runs.result import Result
from killing import PATIENCE, PROGRAM, own_cache, state_files, states, wait_for

PRIOR = Prior((0.3,) * 10, 0.2)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Large enough for the threads of the grouped sampler."""
    return simulate_lda(150, 150, 400, 10, 0.2, 0.1, np.random.default_rng(1)).corpus


def record_of(corpus: Corpus, out: Path, workers: int, **changes: Any) -> Result:
    options: dict[str, Any] = {"topics": 10, "prior": PRIOR, "sweeps": 3, "burn_in": 2, "chains": 3, "seed": 4}
    fit(corpus, **options | changes, out=out, workers=workers)
    return read(out)


def test_the_number_of_workers_changes_no_bit(tmp_path: Path, checkpoints: Path, corpus: Corpus) -> None:
    """Three chains on two workers, each with its share of the threads, and on one, which is this process."""
    several = record_of(corpus, tmp_path / "several", 2, sampler="grouped")
    assert same_bits(record_of(corpus, tmp_path / "one", 1, sampler="grouped"), several)
    assert several.volatile["resumed"] == [0, 0, 0]
    assert several.volatile["cpu_seconds"] > several.volatile["seconds"]  # the workers' time counts
    assert not list(checkpoints.iterdir())


def test_nothing_to_do(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="0 workers"):
        record_of(corpus, Path(), 0)
    with pytest.raises(InputError, match="0 chains"):
        record_of(corpus, Path(), 1, chains=0)


# -- errors in a worker -----------------------------------------------------------------------------


class Failing(Checkpoint):
    """Makes one chain fail in its worker, while the other would go on for long."""

    name = ""

    def part(self, name: str) -> Checkpoint:
        one = super().part(name)
        assert isinstance(one, Failing)
        one.name = name
        return one

    def load(self) -> None:
        if self.name == "fit/chain-1":
            self.fail()

    def fail(self) -> None:
        raise InputError("line 7: bad")


class Dying(Failing):
    def fail(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("checkpoint", "line"),
    [
        (Failing, "line 7: bad"),
        (Dying, "a worker process died, perhaps because memory ran out; use fewer workers (--workers)"),
    ],
)
def test_an_error_in_a_worker_is_one_line(
    tmp_path: Path,
    checkpoints: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    corpus: Corpus,
    checkpoint: type[Failing],
    line: str,
) -> None:
    monkeypatch.setattr(driver, "Checkpoint", checkpoint)
    write_corpus(corpus, tmp_path / "x.ldac")
    endless = ["--sweeps", "100000000", "--chains", "2", "--workers", "2"]
    assert main(["fit", str(tmp_path / "x.ldac"), *endless, "--out", str(tmp_path / "out")]) == 2
    assert capfd.readouterr() == ("", f"bayestopics: {line}\n")  # of this process and of the workers
    assert not (tmp_path / "out").exists()


# -- interrupted and killed -------------------------------------------------------------------------


@pytest.fixture
def start(tmp_path: Path, corpus: Corpus) -> Iterator[Callable[[], subprocess.Popen]]:
    """Starts the program with two workers, in a session of its own, as a terminal would."""
    compile_sampler("single-site")
    write_corpus(corpus, tmp_path / "x.ldac")
    environment = own_cache(tmp_path / "cache", BAYESTOPICS_CHECKPOINT_SECONDS="0.05")
    # fewer than four kept sweeps have no R-hat: importing ArviZ for it takes longer than the chains
    sizes = ["--sweeps", "3", "--burn-in", "2997", "--chains", "2", "--workers", "2"]
    command = [sys.executable, "-c", PROGRAM, "fit", str(tmp_path / "x.ldac"), *sizes, "--out", str(tmp_path / "out")]
    options: dict[str, Any] = {"env": environment, "start_new_session": True, "stderr": subprocess.PIPE, "text": True}
    started: list[subprocess.Popen] = []

    def start() -> subprocess.Popen:
        started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def progress(checkpoints: Path) -> list[tuple[int, int]]:
    """(times resumed, sweeps done) of each chain."""
    return [(resumed, len(rows)) for _, rows, _, resumed, *_ in states(checkpoints)]


def session_is_empty(session: int) -> bool:
    """No process is left but zombies; after the name in brackets come the state, the parent, the group, the session."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = path.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(its_session) == session and state != "Z":
            return False
    return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_interrupted_killed_and_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[[], subprocess.Popen]
) -> None:
    checkpoints = tmp_path / "cache" / "checkpoints"

    process = start()
    wait_for(lambda: len(state_files(checkpoints)) == 2, process)
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C: to the parent and to the workers
    line = "interrupted; the same command continues from its last checkpoint"
    assert (process.communicate()[1], process.returncode) == (f"bayestopics: {line}\n", 130)
    wait_for(lambda: session_is_empty(process.pid))
    assert [resumed for resumed, _ in progress(checkpoints)] == [0, 0]

    process = start()
    wait_for(lambda: any(resumed == 1 for resumed, _ in progress(checkpoints)), process)
    process.kill()  # the parent alone
    assert process.wait(PATIENCE) == -signal.SIGKILL
    wait_for(lambda: session_is_empty(process.pid))
    before = progress(checkpoints)
    assert any(sweeps < 3000 for _, sweeps in before)

    # on with another number of workers
    options: dict[str, Any] = {"prior": Prior(0.1, 0.01), "sweeps": 3, "burn_in": 2997, "chains": 2, "seed": 0}
    monkeypatch.setattr(driver, "CHECKPOINTS", checkpoints)
    same = read_corpus(tmp_path / "x.ldac")
    resumed, whole = (record_of(same, tmp_path / name, 1, **options) for name in ("out", "whole"))
    assert sorted(resumed.volatile["resumed"]) == sorted(times + 1 for times, _ in before)
    assert whole.volatile["resumed"] == [0, 0]
    assert same_bits(resumed, whole)
