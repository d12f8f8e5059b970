"""Runs that die, and how to look at what they leave.

In this process a checkpoint dies by an exception, as soon as something is saved or at the second saving of each life.
A command that is killed outright runs in a process of its own; tests/killed_command.py kills itself at a given save.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from bayestopics.base.packing import unpack
from bayestopics.runs.checkpoint import Checkpoint

NEVER = 1e9  # seconds between two lines of progress
VOLATILE = ("timing.parquet",)
PATIENCE = 3600.0  # seconds until a process that does not get anywhere is a failure

# the command line, for `python -c`: not a file, because every worker would import it
PROGRAM = f"""
import signal, sys
from bayestopics.base import progress
from bayestopics.cli.main import main
progress.EVERY_SECONDS = {NEVER}
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background of a script ignores
sys.exit(main())
"""


class Killed(BaseException):
    pass


class Killing(Checkpoint):
    def save(self, state: Any) -> None:
        super().save(state)
        raise Killed


class KillingSecond(Checkpoint):
    """Saves whenever it can, and dies after the second save of each life; `saves` is set to 0 when a life begins.

    A run that saves once more when it is finished gets there in the end.
    """

    saves = 0

    def due(self) -> bool:
        return True

    def save(self, state: Any) -> None:
        super().save(state)
        KillingSecond.saves += 1
        if KillingSecond.saves == 2:
            raise Killed


def state_files(checkpoints: Path) -> list[Path]:
    """Not what a kill in the middle of saving leaves beside them."""
    return sorted(checkpoints.glob("*/*.state"))


def states(checkpoints: Path) -> list[Any]:
    return [unpack(path.read_bytes()) for path in state_files(checkpoints)]


def content(folder: Path) -> dict[str, Any]:
    """Everything in a record, and beside it, that is not volatile."""
    files: dict[str, Any] = {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in VOLATILE}
    run = json.loads(files.pop("run.json"))
    volatile = run.pop("volatile")
    assert {"finished", "wall_seconds", "cpu_seconds", "resumed"} <= set(volatile)
    return files | {"run.json": run}


def without_seconds(text: str) -> dict[str, Any]:
    """What a command has printed as JSON."""
    answer = json.loads(text)
    return {key: value for key, value in answer.items() if key not in ("seconds", "tokens_per_second")}


def own_cache(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a process whose cache is here, with the compiled kernels of this process in it."""
    kernels = Path(numba.config.CACHE_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / kernels.name).exists():
        kernels.mkdir(parents=True, exist_ok=True)
        (folder / kernels.name).symlink_to(kernels)
    paths = os.pathsep.join(path for path in sys.path if path)  # as here: the package, and tests/
    return os.environ | {"BAYESTOPICS_CACHE": str(folder), "PYTHONPATH": paths} | more


def wait_for(condition: Callable[[], bool], process: subprocess.Popen | None = None) -> None:
    """Until it is so; the process, if there is one, lives meanwhile."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process is None or process.poll() is None, "it ended before it was killed"
        assert time.monotonic() < end
        time.sleep(0.005)
