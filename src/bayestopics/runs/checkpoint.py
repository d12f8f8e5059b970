"""Checkpoints: a killed run goes on where it was, and gives the same bits.

A checkpoint is the pickled state of a run, its random generator included, and the seconds that it took so far, in a
file named by the run's identity and the package versions - never a declared output of the workflow, because Snakemake
deletes those when a job fails.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from pathlib import Path
from typing import Any

from bayestopics.base.files import replacing
from bayestopics.runs.record import Stopwatch, Task, canonical, versions


class Checkpoint:
    def __init__(self, folder: Path, task: Task, every_seconds: float = 30.0) -> None:
        key = hashlib.sha256((task.identity + canonical(versions())).encode()).hexdigest()
        self.path = folder / f"{key[:32]}.checkpoint"
        self.every_seconds = every_seconds
        self._last = time.monotonic()
        self._watch, self._earlier = Stopwatch(), {"wall_seconds": 0.0, "cpu_seconds": 0.0}

    def load(self) -> Any | None:
        """The saved state, or None. The file is ours and whole: it was renamed into place."""
        try:
            with open(self.path, "rb") as file:
                state, self._earlier = pickle.load(file)
        except FileNotFoundError:  # never saved, or a twin of this process has just finished
            return None
        self._watch = Stopwatch()
        return state

    def due(self) -> bool:
        return time.monotonic() - self._last >= self.every_seconds

    def save(self, state: Any) -> None:
        with replacing(self.path) as temporary, open(temporary, "wb") as file:
            pickle.dump((state, self.seconds()), file, protocol=pickle.HIGHEST_PROTOCOL)
            file.flush()
            os.fsync(file.fileno())
        self._last = time.monotonic()

    def seconds(self) -> dict[str, float]:
        """Wall and CPU seconds of this life of the run, and of earlier ones as far as they were saved."""
        now = self._watch.seconds()
        return {name: before + now[name] for name, before in self._earlier.items()}

    def remove(self) -> None:
        """After the record is written."""
        self.path.unlink(missing_ok=True)
