"""Checkpoints: an interrupted run continues where it stopped, and gives the same bits.

A checkpoint is the packed state of a run, including its random generators, in a folder named after the task's identity
and the package versions. It is never a declared output of the workflow, because Snakemake deletes those when a job
fails. Each part of a run, such as a chain, has a file of its own. A damaged checkpoint is set aside. If a checkpoint
cannot be written, a line on standard error says so, once for all processes of a run, and the run continues.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from bayestopics.base.files import replacing
from bayestopics.base.packing import Damaged, pack_into, unpack
from bayestopics.base.stopwatch import Stopwatch
from bayestopics.runs.result import key, versions
from bayestopics.runs.task import Task

NO_SECONDS = {"wall_seconds": 0.0, "cpu_seconds": 0.0}


class Checkpoint:
    def __init__(self, folder: Path, task: Task, every_seconds: float = 30.0) -> None:
        self.folder = folder / key(task, versions())[:32]
        self.path = self.folder / "whole.state"
        self.every_seconds = every_seconds
        self._last = time.monotonic()
        self._watch, self._process = Stopwatch(), os.getpid()
        self._earlier = self._seconds_of_earlier_lives()
        self._told = Path(tempfile.gettempdir()) / f"bayestopics-{self._process}-{self.folder.name}.told"
        self._told.unlink(missing_ok=True)

    def part(self, name: str) -> Checkpoint:
        """The checkpoint of a part of the run."""
        one = copy.copy(self)
        full = f"{self.path.stem}/{name}"  # parts may have parts
        one.path = self.folder / f"{hashlib.sha256(full.encode()).hexdigest()[:32]}.state"
        one._last = time.monotonic()
        return one

    def exists(self) -> bool:
        return self.folder.is_dir() and any(self.folder.glob("*.state"))

    def load(self) -> Any | None:
        """The saved state, or None."""
        try:
            return unpack(self.path.read_bytes())
        except (
            FileNotFoundError,
            NotADirectoryError,
        ):  # never saved, or another process has just finished the same run
            return None
        except (Damaged, OSError) as error:
            aside = self.path.with_suffix(".damaged")
            self._say(
                f"{self.path}: this checkpoint is damaged ({error}); it is set aside as {aside.name}, and this part of "
                "the run starts again"
            )
            with suppress(OSError):
                os.replace(self.path, aside)
            return None

    def due(self) -> bool:
        return time.monotonic() - self._last >= self.every_seconds

    def save(self, state: Any) -> None:
        try:
            _write(self.path, lambda file: pack_into(file, state))
            if os.getpid() == self._process:
                seconds = json.dumps(self.seconds()).encode()
                _write(self.folder / "seconds.json", lambda file: file.write(seconds))
        except (OSError, TypeError, MemoryError) as error:
            if self._is_first_to_tell():
                reason = getattr(error, "strerror", None) or error
                self._say(f"{self.path}: this checkpoint cannot be written ({reason}); the run continues without it")
        self._last = time.monotonic()

    def seconds(self) -> dict[str, float]:
        """Wall and CPU seconds of this process, plus those of earlier, interrupted processes as far as saved."""
        now = self._watch.seconds()
        return {name: before + now[name] for name, before in self._earlier.items()}

    def remove(self) -> None:
        """Remove the checkpoint, after the record is written."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._told.unlink(missing_ok=True)

    def _seconds_of_earlier_lives(self) -> dict[str, float]:
        try:
            found = json.loads((self.folder / "seconds.json").read_bytes())
            return {name: float(found[name]) for name in NO_SECONDS}
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return dict(NO_SECONDS)

    def _is_first_to_tell(self) -> bool:
        """Of the processes of the run: the one that makes an empty file, which is apart from what cannot be written."""
        try:
            self._told.touch(exist_ok=False)
        except FileExistsError:
            return False
        except OSError:  # better twice than never
            return True
        return True

    def _say(self, line: str) -> None:
        print(f"bayestopics: {line}", file=sys.stderr, flush=True)


def _write(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    with replacing(path) as temporary, open(temporary, "w+b") as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())
