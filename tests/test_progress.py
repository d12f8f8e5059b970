"""How far a run is: lines now and then where there is no terminal, a bar where there is one."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import oracle
from bayestopics.base import progress
from bayestopics.base.processes import pool
from bayestopics.base.progress import Progress, counted, counted_sweeps, telling, tick
from bayestopics.cli.main import main
from bayestopics.corpus import write_corpus
from killing import PATIENCE, own_cache

Capture = pytest.CaptureFixture[str]
LINE = re.compile(r"bayestopics: (.*): ([\d,]+) of ([\d,]+) (\w+) \((\d+):(\d\d) minutes\)")
FIT = ["--topics", "3", "--sweeps", "3", "--burn-in", "57", "--json"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_corpus(oracle.random_corpus(np.random.default_rng(1), 80, 6, 9), tmp_path / "x.ldac")
    return tmp_path / "x.ldac"


@pytest.fixture
def talkative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY_SECONDS", 0.0)


# -- lines -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("talkative")
def test_lines_of_a_fit(path: Path, capsys: Capture) -> None:
    assert main(["fit", str(path), *FIT, "--chains", "2", "--workers", "1"]) == 0
    out, err = capsys.readouterr()
    json.loads(out)
    lines = err.splitlines()
    assert "bayestopics: fit/chain-0: 3 of 60 sweeps (0:00 minutes)" in lines
    assert [match.groups()[:4] for match in map(LINE.fullmatch, lines) if match] == [
        (f"fit/chain-{chain}", str(done), "60", "sweeps") for chain in range(2) for done in range(1, 61)
    ]
    assert len(lines) == 120


COMMANDS = [
    "fit --sweeps 5 --burn-in 5 --chains 2",
    "evidence --topics 1-3 --sweeps 5 --passes 1 --repeats 2",
    "topics --max 3 --iterations 5 --burn-in 0",
    "topics --method pmmh --max 3 --inner 2 --iterations 5 --burn-in 0",
    "hyper --topics 2 --sweeps 100 --chains 2",
    "hyper --topics 2 --sweeps 100 --chains 2 --method tempering",
    "hyper --topics 2 --sweeps 5 --method gibbs-em",
    "hyper --topics 2 --sweeps 5 --method variational-em",
    "select --max 3 --iterations 5 --chains 2",
    "hdp --sweeps 5 --burn-in 0 --chains 2",
    "hdp --method truncated --sweeps 2 --batch-size 2 --chains 2",
    "score --topics 2 --sweeps 5 --burn-in 5",
    "score --topics 2 --sweeps 5 --burn-in 5 --method leave-one-out --documents 3",
]


# chains that tell of their sweeps, and jobs that are waited for: the two ways in which workers are counted
WITH_WORKERS = [(command, "2") for command in COMMANDS[:2]]


def without_first_answer(capfd: Capture) -> list[str]:
    """What was said, but for the first answer of `select`, which is told at once."""
    return [line for line in capfd.readouterr().err.splitlines() if not line.startswith("bayestopics: first answer, ")]


@pytest.mark.parametrize(("command", "workers"), [*((command, "1") for command in COMMANDS), *WITH_WORKERS])
def test_every_command_tells_how_far_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture, command: str, workers: str
) -> None:
    """And says nothing in between."""
    words = [*command.split(), str(path), "--workers", workers]
    assert main(words) == 0
    assert without_first_answer(capfd) == []
    monkeypatch.setattr(progress, "EVERY_SECONDS", 0.0)
    assert main([*words, "--json"]) == 0
    lines = without_first_answer(capfd)
    assert lines
    for line in lines:
        assert LINE.fullmatch(line), line
        for part in line.removeprefix("bayestopics: ").rpartition(" (")[0].split("; "):
            _, done, total, _ = re.fullmatch(r"(.*): ([\d,]+) of ([\d,]+) (\w+)", part).groups()  # type: ignore
            assert int(done.replace(",", "")) <= int(total.replace(",", "")), line


@pytest.mark.usefixtures("talkative")
def test_one_inside_another(capsys: Capture) -> None:
    for _ in counted([2, 3], "select", "T"):
        for _ in counted(range(1), "evidence", "job"):
            pass
    with Progress("many", 12_000, "sweep", done=3000) as bar:
        bar.update(2000)
        bar.reach(11_000)
        tick()
    said = [line.removesuffix(" (0:00 minutes)") for line in capsys.readouterr().err.splitlines()]
    assert said == [
        "bayestopics: select: 0 of 2 T; evidence: 1 of 1 job",
        "bayestopics: select: 1 of 2 T",
        "bayestopics: select: 1 of 2 T; evidence: 1 of 1 job",
        "bayestopics: select: 2 of 2 T",
        "bayestopics: many: 5,000 of 12,000 sweeps",
        "bayestopics: many: 11,000 of 12,000 sweeps",
        "bayestopics: many: 11,000 of 12,000 sweeps",
    ]


@pytest.mark.usefixtures("talkative")
def test_a_total_that_was_a_guess(capsys: Capture) -> None:
    with Progress("search", 3, "sweep") as bar:
        bar.update(5)
    assert capsys.readouterr().err == "bayestopics: search: 5 of 5 sweeps (0:00 minutes)\n"


def test_a_line_about_every_half_minute(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(progress, "EVERY_SECONDS", 30.0)
    now = 1000.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with Progress("chain", 100, "sweep") as bar:
        for _ in range(100):
            now += 1.0
            bar.update()
    assert capsys.readouterr().err.splitlines() == [
        "bayestopics: chain: 30 of 100 sweeps (0:30 minutes)",
        "bayestopics: chain: 60 of 100 sweeps (1:00 minutes)",
        "bayestopics: chain: 90 of 100 sweeps (1:30 minutes)",
    ]


@pytest.mark.usefixtures("talkative")
def test_sweeps_that_are_told_to_another(capsys: Capture) -> None:
    told: list[int] = []
    with telling(told.append):
        assert list(counted_sweeps(range(5), "chain", done=2)) == [2, 3, 4]
    assert told == [2, 1, 1, 1]
    assert capsys.readouterr().err == ""
    assert list(counted_sweeps(range(5), "chain", done=3)) == [3, 4]
    assert "chain: 4 of 5 sweeps" in capsys.readouterr().err


def count_loudly() -> int:
    progress.EVERY_SECONDS = 0.0
    return sum(counted(range(5), "in a worker"))


def test_a_worker_says_nothing(capfd: Capture) -> None:
    with pool(1) as submit:
        assert submit(count_loudly).result() == 10
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("talkative")
def test_after_an_error_nothing_is_under_way(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), "disk")

    with monkeypatch.context() as patch:
        patch.setattr("bayestopics.runs.chain.log_joint", fail)
        patch.setattr("bayestopics.runs.chain.compile_sampler", lambda *_: None)
        assert main(["fit", str(path), *FIT, "--chains", "1"]) == 2
    assert capsys.readouterr() == ("", "bayestopics: disk: Input/output error\n")
    assert progress._under_way == []


# -- a terminal ------------------------------------------------------------------------------------------


def on_a_terminal(words: list[str], environment: dict[str, str], act: Callable[[subprocess.Popen, bytes], None]) -> str:
    """What a command writes to standard error, if that is a terminal; act(process, what was written so far)."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))  # a bar needs room
    command = [sys.executable, "-m", "bayestopics.cli", *words]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while select.select([ours], [], [], PATIENCE)[0]:
            try:
                more = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            seen += more
            act(process, seen)
        os.close(ours)
        assert process.stdout is not None
        process.stdout.read()
        process.wait(PATIENCE)
    return seen.decode()


def test_a_bar_on_a_terminal(path: Path, tmp_path: Path) -> None:
    environment = own_cache(tmp_path / "cache")
    shown = on_a_terminal(["fit", str(path), *FIT, "--chains", "1"], environment, lambda *_: None)
    assert re.search(r"fit/chain-0: +\d+%\|", shown)
    assert "60/60" in shown
    assert "bayestopics:" not in shown
    several = on_a_terminal(["fit", str(path), *FIT, "--chains", "2", "--workers", "2"], environment, lambda *_: None)
    assert re.search(r"2 chains: +\d+%\|", several)
    assert "120/120" in several


def test_what_is_said_after_a_bar_has_a_line_of_its_own(path: Path, tmp_path: Path) -> None:
    interrupted: list[int] = []

    def interrupt(process: subprocess.Popen, seen: bytes) -> None:
        if seen.count(b"%|") > 1 and not interrupted:
            interrupted.append(process.pid)
            process.send_signal(signal.SIGINT)

    words = ["fit", str(path), "--topics", "3", "--sweeps", "100000000", "--chains", "1"]
    shown = on_a_terminal(words, own_cache(tmp_path / "cache"), interrupt)
    assert re.split(r"[\r\n]+", shown.rstrip())[-1].startswith("bayestopics: interrupted; ")
    assert "\r\nbayestopics: interrupted" in shown
