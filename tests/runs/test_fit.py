"""Fits in several processes: the same bits, one line when something goes wrong, no process left behind."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from bayestopics.base.problems import InputError
from bayestopics.cli.main import main as cli
from bayestopics.corpus import Corpus, read_corpus, write_corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.lda.state import Prior
from bayestopics.runs import fit as fit_module
from bayestopics.runs.chain import warm
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.fit import fit
from bayestopics.runs.record import read, same_bits
from bayestopics.runs.result import Result

PRIOR = Prior((0.3,) * 10, 0.2)
PATIENCE = 120.0  # seconds until a process that does not get anywhere is a failure


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(fit_module, "CACHE", tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Large enough for the threads of the grouped sampler."""
    return simulate_lda(150, 150, 400, 10, 0.2, 0.1, np.random.default_rng(1)).corpus


def record_of(corpus: Corpus, out: Path, workers: int, **changes: Any) -> Result:
    options: dict[str, Any] = {"topics": 10, "prior": PRIOR, "sweeps": 3, "burn_in": 2, "chains": 3, "seed": 4}
    fit(corpus, **options | changes, out=out, workers=workers)
    return read(out)


def test_the_number_of_workers_changes_no_bit(tmp_path: Path, cache: Path, corpus: Corpus) -> None:
    """Three chains on two workers, each with its share of the threads, and on one, which is this process."""
    several = record_of(corpus, tmp_path / "several", 2, sampler="grouped")
    assert same_bits(record_of(corpus, tmp_path / "one", 1, sampler="grouped"), several)
    assert several.volatile["resumed"] == [0, 0, 0]
    assert several.volatile["cpu_seconds"] > several.volatile["seconds"]  # the workers' time counts
    assert not list((cache / "checkpoints").iterdir())


def test_no_workers(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="3 chains and 0 workers"):
        record_of(corpus, Path(), 0)


# -- errors in a worker -----------------------------------------------------------------------------


class Failing(Checkpoint):
    """Makes one chain fail in its worker, while the other would go on for long."""

    def load(self) -> None:
        if self.path.name == max(path.name for path in self.path.parent.glob("*.checkpoint")):
            raise InputError("line 7: bad")


class Dying(Failing):
    def load(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("checkpoint", "line"),
    [
        (Failing, "line 7: bad"),
        (Dying, "a worker process died, perhaps for want of memory: fewer workers need less"),
    ],
)
def test_an_error_in_a_worker_is_one_line(
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    corpus: Corpus,
    checkpoint: type[Failing],
    line: str,
) -> None:
    def make(folder: Path, *rest: Any) -> Checkpoint:
        made = checkpoint(folder, *rest)
        made.path.parent.mkdir(parents=True, exist_ok=True)
        made.path.touch()
        return made

    monkeypatch.setattr(fit_module, "Checkpoint", make)
    write_corpus(corpus, tmp_path / "x.ldac")
    endless = ["--sweeps", "1000000", "--chains", "2", "--workers", "2"]
    assert cli.main(["fit", str(tmp_path / "x.ldac"), *endless, "--out", str(tmp_path / "out")]) == 2
    assert capfd.readouterr() == ("", f"bayestopics: {line}\n")  # of this process and of the workers
    assert not (tmp_path / "out").exists()


# -- interrupted and killed -------------------------------------------------------------------------

# the command line, with frequent checkpoints; not a file, because every worker would import it
PROGRAM = """
import functools, signal, sys
from bayestopics.cli.main import main
from bayestopics.runs import fit
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background of a script ignores
fit.fit = functools.partial(fit.fit, checkpoint_seconds=0.05)
sys.exit(main())
"""


@pytest.fixture
def start(tmp_path: Path, cache: Path, corpus: Corpus) -> Iterator[Callable[[], subprocess.Popen]]:
    """Starts the program with two workers, in a session of its own, as a terminal would."""
    warm("single-site")
    kernels = Path(numba.config.CACHE_DIR)
    cache.mkdir()
    (cache / kernels.name).symlink_to(kernels)
    write_corpus(corpus, tmp_path / "x.ldac")
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = os.environ | {"BAYESTOPICS_CACHE": str(cache), "PYTHONPATH": paths}
    # fewer than four kept sweeps have no R-hat: importing ArviZ for it takes longer than the chains
    sizes = ["--sweeps", "3", "--burn-in", "797", "--chains", "2", "--workers", "2"]
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


def progress(folder: Path) -> list[tuple[int, int]]:
    """(times resumed, sweeps done) of each chain."""
    saved = [pickle.loads(path.read_bytes())[0] for path in sorted(folder.glob("*.checkpoint"))]
    return [(resumed, len(rows)) for _, rows, _, resumed, *_ in saved]


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


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
def test_interrupted_killed_and_resumed(tmp_path: Path, cache: Path, start: Callable[[], subprocess.Popen]) -> None:
    folder = cache / "checkpoints"

    process = start()
    wait_for(lambda: len(progress(folder)) == 2)
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C: to the parent and to the workers
    line = "interrupted (`fit`, `hdp`, `evidence` and `topics`, called again, go on from their last checkpoint)"
    assert (process.communicate()[1], process.returncode) == (f"bayestopics: {line}\n", 130)
    wait_for(lambda: session_is_empty(process.pid))
    assert [resumed for resumed, _ in progress(folder)] == [0, 0]

    process = start()
    wait_for(lambda: any(resumed == 1 for resumed, _ in progress(folder)))
    process.kill()  # the parent alone
    assert process.wait(PATIENCE) == -signal.SIGKILL
    wait_for(lambda: session_is_empty(process.pid))
    before = progress(folder)
    assert any(sweeps < 800 for _, sweeps in before)

    # on with another number of workers
    options: dict[str, Any] = {"prior": Prior(0.1, 0.01), "sweeps": 3, "burn_in": 797, "chains": 2, "seed": 0}
    resumed, whole = (record_of(read_corpus(tmp_path / "x.ldac"), tmp_path / "out", 1, **options) for _ in range(2))
    assert sorted(resumed.volatile["resumed"]) == sorted(times + 1 for times, _ in before)
    assert whole.volatile["resumed"] == [0, 0]
    assert same_bits(resumed, whole)
