"""Kill and resume: the same bits. This file is also the program that is killed: `python test_checkpoint.py OUT HOW`."""

from __future__ import annotations

import dataclasses
import errno
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oracle
from bayestopics.api import fit
from bayestopics.base import stopwatch
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.lda import SAMPLERS
from bayestopics.lda.state import Prior, State
from bayestopics.predict.completion import Completion, split
from bayestopics.runs import checkpoint as checkpoint_module
from bayestopics.runs import driver
from bayestopics.runs.chain import Perplexity, compile_sampler, run_chain
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import read, same_bits
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from killing import PATIENCE, Killed, own_cache, state_files, states, wait_for

RUN = Task("study", "smoke", "chain", {"topics": 3}, 1, "tiny", "f00d", "c0de")
PRIOR = Prior(0.3, 0.2)
SWEEPS = 400  # of each of two chains: about half a second each


def long_fit(out: Path) -> None:
    corpus = simulate_lda(150, 150, 400, 20, 0.2, 0.1, np.random.default_rng(1)).corpus
    # fewer than four kept sweeps have no R-hat: importing ArviZ for it takes longer than the chains
    options: dict[str, Any] = {"topics": 20, "prior": PRIOR, "sweeps": 3, "burn_in": SWEEPS - 3, "chains": 2}
    fit(corpus, **options, seed=3, out=out)


# -- a process, killed outright ---------------------------------------------------------------------


def start(out: Path, environment: dict[str, str], how: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, __file__, str(out), how], env=environment, stderr=subprocess.DEVNULL)


def sweeps_done(folder: Path) -> list[int]:
    return sorted(len(rows) for _, rows, *_ in states(folder))


def die_in_the_second_chain(folder: Path) -> None:
    """Make this process kill itself between the writing of a checkpoint of the second chain and its renaming."""
    write, sync = checkpoint_module._write, os.fsync

    def die(file: int) -> None:
        sync(file)
        os.kill(os.getpid(), signal.SIGKILL)

    def write_or_die(path: Path, fill: Any) -> None:
        if path.suffix == ".state" and len(state_files(folder)) == 2:
            checkpoint_module.os.fsync = die  # type: ignore[assignment]
        write(path, fill)

    checkpoint_module._write = write_or_die


def test_killed_twice_and_resumed_gives_the_same_bits(tmp_path: Path, checkpoints: Path) -> None:
    compile_sampler("single-site")
    environment = own_cache(tmp_path / "cache", BAYESTOPICS_CHECKPOINT_SECONDS="0.05")
    out, folder = tmp_path / "record", tmp_path / "cache" / "checkpoints"

    # killed from outside, at any time after the first checkpoint
    process = start(out, environment, "whole")
    wait_for(lambda: bool(state_files(folder)), process)
    process.kill()
    assert process.wait(PATIENCE) == -signal.SIGKILL, "it ended before it was killed"
    assert 0 < sweeps_done(folder)[0] < SWEEPS

    # killed in the second chain, in the middle of saving: what it leaves does no harm
    assert start(out, environment, "die").wait(PATIENCE) == -signal.SIGKILL
    in_second, finished = sweeps_done(folder)
    assert 0 < in_second < finished == SWEEPS
    assert len(list(folder.glob("*/.*.state.*/*.state"))) == 1
    assert not out.exists()

    assert start(out, environment, "whole").wait(PATIENCE) == 0
    resumed = read(out)
    assert resumed.volatile["resumed"][0] == 2
    assert resumed.volatile["resumed"][1] >= 1
    assert not list(folder.iterdir())

    long_fit(tmp_path / "uninterrupted")
    uninterrupted = read(tmp_path / "uninterrupted")
    assert uninterrupted.volatile["resumed"] == [0, 0]
    assert same_bits(resumed, uninterrupted)
    assert len(resumed.tables["timing"]) == 2 * SWEEPS


# -- in one process: killed by an exception at a chosen place ----------------------------------------


@dataclasses.dataclass
class Fragile(Perplexity):
    """Perplexity over ten sweeps, and something that kills the chain at one sweep, the first time."""

    kill_at: int = -1
    trap: str = ""

    def observe(self, sweep: int, state: State) -> dict[str, float]:
        if sweep == self.kill_at and not Path(self.trap).exists():
            Path(self.trap).touch()
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
        run(Fragile(Completion(heldout), kill_at=kill_at, trap=str(tmp_path / "trap")), checkpoint)
    assert checkpoint.path.exists() == (kill_at > 0)
    resumed = run(Fragile(Completion(heldout), kill_at=kill_at, trap=str(tmp_path / "trap")), checkpoint)
    pd.testing.assert_frame_equal(resumed, expected, check_exact=True)


def small_fit(out: Path, **changes: Any) -> Result:
    corpus = oracle.random_corpus(np.random.default_rng(1), tokens=80, documents=6, terms=9)
    options: dict[str, Any] = {"topics": 3, "prior": PRIOR, "sweeps": 5, "burn_in": 2, "chains": 2, "seed": 4}
    fit(corpus, **options | changes, out=out)
    return read(out)


@pytest.fixture
def killed_fit(tmp_path: Path, checkpoints: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the checkpoints of a fit that was killed before its record was written."""

    def kill(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(driver, "write", kill)
        with pytest.raises(Killed):
            small_fit(tmp_path / "killed")
    assert sweeps_done(checkpoints) == [7, 7]
    return checkpoints


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


def test_a_checkpoint_that_outlived_its_record_is_removed(
    tmp_path: Path, checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the writing of the record and the removal of the checkpoint."""
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "remove", lambda self: None)
        first = small_fit(tmp_path / "out")
    assert sweeps_done(checkpoints) == [7, 7]
    assert same_bits(small_fit(tmp_path / "out"), first)
    assert not list(checkpoints.iterdir())


def test_a_checkpoint_of_other_versions_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Checkpoint(tmp_path, RUN).save("old")
    assert Checkpoint(tmp_path, dataclasses.replace(RUN, code="new")).load() is None
    monkeypatch.setattr(checkpoint_module, "versions", lambda: {"numpy": "0"})
    assert Checkpoint(tmp_path, RUN).load() is None


# -- damaged, or not writable ------------------------------------------------------------------------

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "cut": lambda whole: whole[: len(whole) // 2],
    "a byte changed": lambda whole: whole[:-200] + bytes([whole[-200] ^ 1]) + whole[-199:],
    "no file of ours": lambda whole: b"something else",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_set_aside_and_said_in_one_line(
    tmp_path: Path, killed_fit: Path, capfd: pytest.CaptureFixture[str], damage: str
) -> None:
    """One chain starts anew, the other one goes on, and the bits are the same."""
    capfd.readouterr()
    bad = state_files(killed_fit)[0]
    bad.write_bytes(DAMAGES[damage](bad.read_bytes()))
    result = small_fit(tmp_path / "resumed")
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"bayestopics: {bad}: this checkpoint is damaged (")
    assert err.endswith(f"it is set aside as {bad.stem}.damaged, and this part of the run starts again\n")
    assert sorted(result.volatile["resumed"]) == [0, 1]
    assert not list(killed_fit.iterdir())
    assert same_bits(result, small_fit(tmp_path / "fresh"))
    assert capfd.readouterr() == ("", "")


def test_a_damaged_checkpoint_stays_beside_the_new_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    checkpoint = Checkpoint(tmp_path, RUN)
    checkpoint.save("state")
    checkpoint.path.write_bytes(b"bad")
    assert checkpoint.load() is None
    checkpoint.save("new")
    assert checkpoint.load() == "new"
    assert checkpoint.path.with_suffix(".damaged").read_bytes() == b"bad"
    assert capfd.readouterr().err.count("\n") == 1


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_run_goes_on_where_no_checkpoint_can_be_written(
    tmp_path: Path, checkpoints: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Both chains save after each sweep, and it is said once."""
    monkeypatch.setattr(driver, "EVERY_SECONDS", 0.0)
    whole = small_fit(tmp_path / "whole")
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(checkpoint_module, "_write", full)
    for name in ("first", "second"):
        assert same_bits(small_fit(tmp_path / name), whole)
        out, err = capfd.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert "this checkpoint cannot be written (No space left on device); the run continues without it" in err


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    """Of several processes the first says it."""
    (tmp_path / "file").touch()
    monkeypatch.setattr(driver, "CHECKPOINTS", tmp_path / "file" / "checkpoints")
    small_fit(tmp_path / "one")
    assert capfd.readouterr().err.count("\n") == 1
    several = small_fit(tmp_path / "several", chains=4, workers=2)
    assert capfd.readouterr().err.count("\n") == 1
    assert len(several.arrays["assignments"]) == 4
    assert not list(Path(tempfile.gettempdir()).glob(f"bayestopics-{os.getpid()}-*"))


# -- the file ---------------------------------------------------------------------------------------


class NoState:
    """Nothing that can be packed."""


def test_a_failed_save_leaves_the_last_checkpoint_and_goes_on(tmp_path: Path, capsys) -> None:
    checkpoint = Checkpoint(tmp_path / "new" / "folder", RUN)
    assert checkpoint.load() is None
    for saved in (None, "first"):
        if saved:
            checkpoint.save(saved)
        checkpoint.save(["x" * 100_000, NoState()])
        assert checkpoint.load() == saved
    assert capsys.readouterr().err.count("NoState cannot be packed") == 1
    assert {path.name for path in checkpoint.folder.iterdir()} == {"whole.state", "seconds.json"}
    checkpoint.remove()
    checkpoint.remove()
    assert checkpoint.load() is None
    assert not checkpoint.folder.exists()


def test_parts_are_files_of_their_own(tmp_path: Path) -> None:
    """Also parts of parts, whatever their names."""
    whole = Checkpoint(tmp_path, RUN)
    names = [(), ("a",), ("b",), ("a", "b"), ("a/b",), ("b", "a"), ("whole",), ("../a",), ("a" * 300,)]
    parts = []
    for name in names:
        part: Checkpoint = whole
        for one in name:
            part = part.part(one)
        part.save(list(name))
        parts.append(part)
    assert [tuple(part.load()) for part in parts] == names
    assert len(state_files(tmp_path)) == len(names)
    assert whole.exists()
    whole.remove()
    assert not any(part.load() for part in parts)


def test_seconds_of_earlier_lives_count_as_far_as_they_were_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: now)
    monkeypatch.setattr(stopwatch, "cpu_seconds", lambda: now / 2)
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
        die_in_the_second_chain(driver.CHECKPOINTS)
    long_fit(Path(sys.argv[1]))
