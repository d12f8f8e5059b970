"""Kill and resume: the same bits. This file is also the program that is killed: `python test_checkpoint.py OUT HOW`."""

from __future__ import annotations

import dataclasses
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest

import oracle
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.lda import SAMPLERS
from bayestopics.lda.state import Prior, State
from bayestopics.predict.completion import Completion, split
from bayestopics.runs import checkpoint as checkpoint_module
from bayestopics.runs import fit as fit_module
from bayestopics.runs import record as record_module
from bayestopics.runs.chain import Perplexity, run_chain, warm
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.fit import fit
from bayestopics.runs.record import read, same_bits
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

RUN = Task("study", "smoke", "chain", {"topics": 3}, 1, "tiny", "f00d", "c0de")
PRIOR = Prior(0.3, 0.2)
SWEEPS = 400  # of each of two chains: about half a second each
PATIENCE = 60.0  # seconds until a process that does not get anywhere is a failure


class Killed(BaseException):
    pass


def long_fit(out: Path, checkpoint_seconds: float) -> None:
    corpus = simulate_lda(150, 150, 400, 20, 0.2, 0.1, np.random.default_rng(1)).corpus
    # fewer than four kept sweeps have no R-hat: importing ArviZ for it takes longer than the chains
    options: dict[str, Any] = {"topics": 20, "prior": PRIOR, "sweeps": 3, "burn_in": SWEEPS - 3, "chains": 2}
    fit(corpus, **options, seed=3, out=out, checkpoint_seconds=checkpoint_seconds)


# -- a process, killed outright ---------------------------------------------------------------------


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A cache of its own for checkpoints, with the compiled kernels of this process in it."""
    warm("single-site")
    kernels = Path(numba.config.CACHE_DIR)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / kernels.name).symlink_to(kernels)
    paths = os.pathsep.join(path for path in sys.path if path)  # as here: the package, and tests/
    return os.environ | {"BAYESTOPICS_CACHE": str(tmp_path / "cache"), "PYTHONPATH": paths}


def start(out: Path, environment: dict[str, str], how: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, __file__, str(out), how], env=environment, stderr=subprocess.DEVNULL)


def checkpoints_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.checkpoint"))


def sweeps_done(folder: Path) -> list[int]:
    return sorted(len(pickle.loads(path.read_bytes())[0][1]) for path in checkpoints_in(folder))


def die_in_the_second_chain(folder: Path) -> None:
    """Make this process kill itself between the writing of a checkpoint of the second chain and its renaming."""
    sync = os.fsync

    def die(file: int) -> None:
        sync(file)
        if len(checkpoints_in(folder)) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoint_module.os.fsync = die  # type: ignore[assignment]


def test_killed_twice_and_resumed_gives_the_same_bits(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, folder = tmp_path / "record", tmp_path / "cache" / "checkpoints"

    # killed from outside, at any time after the first checkpoint
    process, end = start(out, environment, "whole"), time.monotonic() + PATIENCE
    while not checkpoints_in(folder):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.005)
    process.kill()
    assert process.wait(PATIENCE) == -signal.SIGKILL, "it ended before it was killed"
    assert 0 < sweeps_done(folder)[0] < SWEEPS

    # killed in the second chain, in the middle of saving: what it leaves does no harm
    assert start(out, environment, "die").wait(PATIENCE) == -signal.SIGKILL
    in_second, finished = sweeps_done(folder)
    assert 0 < in_second < finished == SWEEPS
    assert len(list(folder.glob(".*.checkpoint.*/*.checkpoint"))) == 1
    assert not out.exists()

    assert start(out, environment, "whole").wait(PATIENCE) == 0
    resumed = read(out)
    assert resumed.volatile["resumed"][0] == 2
    assert resumed.volatile["resumed"][1] >= 1
    assert not checkpoints_in(folder)

    monkeypatch.setattr(fit_module, "CACHE", tmp_path / "elsewhere")
    long_fit(tmp_path / "uninterrupted", checkpoint_seconds=1e9)
    uninterrupted = read(tmp_path / "uninterrupted")
    assert uninterrupted.volatile["resumed"] == [0, 0]
    assert same_bits(resumed, uninterrupted)
    assert len(resumed.tables["timing"]) == 2 * SWEEPS


# -- in one process: killed by an exception at a chosen place ----------------------------------------


@dataclasses.dataclass
class Fragile(Perplexity):
    """Perplexity over ten sweeps, and something that kills the chain at one sweep, the first time."""

    kill_at: int = -1
    trap: Path = Path()

    def observe(self, sweep: int, state: State) -> dict[str, float]:
        if sweep == self.kill_at and not self.trap.exists():
            self.trap.touch()
            raise Killed
        return super().observe(sweep, state)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("kill_at", [0, 1, 13, 24])
def test_a_chain_and_its_observer_go_on_where_they_were(tmp_path: Path, sampler: str, kill_at: int) -> None:
    """25 sweeps, a checkpoint after each: the perplexity's window of ten sweeps is cut by the kill as well."""
    corpus = oracle.random_corpus(np.random.default_rng(1), tokens=80, documents=6, terms=9)
    training, heldout = split(corpus, 3, np.random.default_rng(2))

    def run(observer: Perplexity, checkpoint: Checkpoint | None) -> pd.DataFrame:
        options: dict[str, Any] = {"rng": RUN.generator(), "observer": observer, "checkpoint": checkpoint}
        return run_chain(training, 3, PRIOR, sampler=sampler, sweeps=25, **options).trace()

    expected = run(Perplexity(Completion(heldout)), None)
    assert expected.perplexity.notna().sum() == 2
    checkpoint = Checkpoint(tmp_path, RUN, every_seconds=0)
    with pytest.raises(Killed):
        run(Fragile(Completion(heldout), kill_at=kill_at, trap=tmp_path / "trap"), checkpoint)
    assert checkpoint.path.exists() == (kill_at > 0)
    resumed = run(Fragile(Completion(heldout), kill_at=kill_at, trap=tmp_path / "trap"), checkpoint)
    pd.testing.assert_frame_equal(resumed, expected, check_exact=True)


def small_fit(out: Path, **changes: Any) -> Result:
    corpus = oracle.random_corpus(np.random.default_rng(1), tokens=80, documents=6, terms=9)
    options: dict[str, Any] = {"topics": 3, "prior": PRIOR, "sweeps": 5, "burn_in": 2, "chains": 2, "seed": 4}
    fit(corpus, **options | changes, out=out)
    return read(out)


@pytest.fixture
def killed_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the checkpoints of a fit that was killed before its record was written."""

    def kill(*_: Any) -> None:
        raise Killed

    monkeypatch.setattr(fit_module, "CACHE", tmp_path / "cache")
    with monkeypatch.context() as patch:
        patch.setattr(fit_module, "write", kill)
        with pytest.raises(Killed):
            small_fit(tmp_path / "killed")
    folder = tmp_path / "cache" / "checkpoints"
    assert sweeps_done(folder) == [7, 7]
    return folder


def test_killed_before_the_record_was_written(tmp_path: Path, killed_fit: Path) -> None:
    resumed = small_fit(tmp_path / "resumed")
    assert resumed.volatile["resumed"] == [1, 1]
    assert list(killed_fit.iterdir()) == []
    fresh = small_fit(tmp_path / "fresh")
    assert fresh.volatile["resumed"] == [0, 0]
    assert same_bits(resumed, fresh)


OTHER_FITS: list[dict[str, Any]] = [
    {"topics": 4},
    {"prior": Prior(0.3, 0.21)},
    {"prior": Prior((0.3, 0.3, 0.3), 0.2)},
    {"sweeps": 6},
    {"burn_in": 3},
    {"chains": 3},
    {"seed": 5},
]


@pytest.mark.parametrize("changes", OTHER_FITS, ids=str)
def test_a_checkpoint_of_another_run_is_not_used(tmp_path: Path, killed_fit: Path, changes: dict[str, Any]) -> None:
    other = small_fit(tmp_path / "other", **changes)
    assert not any(other.volatile["resumed"])
    assert sweeps_done(killed_fit) == [7, 7]


def test_a_checkpoint_of_other_versions_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Checkpoint(tmp_path, RUN).save("old")
    assert Checkpoint(tmp_path, dataclasses.replace(RUN, code="new")).load() is None
    monkeypatch.setattr(checkpoint_module, "versions", lambda: {"numpy": "0"})
    assert Checkpoint(tmp_path, RUN).load() is None


# -- the file ---------------------------------------------------------------------------------------


class Unpicklable:
    def __reduce__(self) -> Any:
        raise Killed


def kill_pickling(checkpoint: Checkpoint) -> None:
    checkpoint.save([b"x" * 100_000, Unpicklable()])


def test_a_failed_save_leaves_the_last_checkpoint(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "new" / "folder", RUN)
    assert checkpoint.load() is None
    with pytest.raises(Killed):
        kill_pickling(checkpoint)
    assert checkpoint.load() is None
    checkpoint.save("first")
    with pytest.raises(Killed):
        kill_pickling(checkpoint)
    assert checkpoint.load() == "first"
    assert list(checkpoint.path.parent.iterdir()) == [checkpoint.path]
    checkpoint.remove()
    checkpoint.remove()
    assert checkpoint.load() is None


def test_seconds_of_earlier_lives_count_as_far_as_they_were_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(record_module.time, "perf_counter", lambda: now)
    monkeypatch.setattr(record_module, "_cpu_seconds", lambda: now / 2)
    checkpoint = Checkpoint(tmp_path, RUN)
    now = 140.0
    checkpoint.save("state")
    now = 1000.0  # killed, and started again
    again = Checkpoint(tmp_path, RUN)
    assert again.load() == "state"
    now = 1003.0
    assert again.seconds() == {"wall_seconds": 43.0, "cpu_seconds": 21.5}
    assert Checkpoint(tmp_path / "none", RUN).seconds() == {"wall_seconds": 0.0, "cpu_seconds": 0.0}


def test_due_when_the_time_since_the_last_save_has_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(checkpoint_module.time, "monotonic", lambda: now)
    checkpoint = Checkpoint(tmp_path, RUN, every_seconds=30)
    assert not checkpoint.due()
    now = 130.0
    assert checkpoint.due()
    checkpoint.save("state")
    assert not checkpoint.due()


if __name__ == "__main__":
    if sys.argv[2] == "die":
        die_in_the_second_chain(fit_module.CACHE / "checkpoints")
    long_fit(Path(sys.argv[1]), checkpoint_seconds=0.05)
