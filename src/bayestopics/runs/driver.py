"""The driver of every run: it computes a task, which can be interrupted and resumed, and writes its record.

Every command and every run of every study goes through `run`.
"""

from __future__ import annotations

import os
from pathlib import Path

from bayestopics.base import progress
from bayestopics.base.code import CACHE
from bayestopics.base.guard import NotFiniteError, kept
from bayestopics.base.problems import InputError
from bayestopics.base.stopwatch import Stopwatch
from bayestopics.corpus.corpus import Corpus
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import check_place, write
from bayestopics.runs.result import Compute, Result, key, of_its_kind, versions
from bayestopics.runs.task import Task


def seconds_in(variable: str, default: float) -> float:
    """A number of seconds from an environment variable, or the default."""
    text = os.environ.get(variable) or str(default)
    try:
        return float(text)
    except ValueError:
        raise InputError(f"the environment variable {variable}={text} is not a number of seconds") from None


CHECKPOINTS = CACHE / "checkpoints"
EVERY_SECONDS = seconds_in("BAYESTOPICS_CHECKPOINT_SECONDS", 30.0)


class NotKept(InputError):
    """The result was computed, but its record could not be written."""

    def __init__(self, result: Result, message: str) -> None:
        super().__init__(message)
        self.result = result


def run(
    task: Task,
    compute: Compute,
    corpus: Corpus | None,
    *,
    out: Path | None = None,
    overwrite: bool = False,
    checkpoints: Path | None = None,
) -> Result:
    """Run compute(task, corpus, checkpoint), continuing from the last checkpoint, and write the record to `out`.

    If `out` already holds a record of the same task, that record is returned, unless `overwrite` is true. Checkpoints
    are kept in CHECKPOINTS, unless another folder is given.
    """
    watch, checkpoint = Stopwatch(), Checkpoint(checkpoints or CHECKPOINTS, task, EVERY_SECONDS)
    if out is not None and (there := check_place(out, key(task, versions()), overwrite)) is not None:
        checkpoint.remove()  # it is still there if the run was killed right after its record was written
        return there
    resumed = checkpoint.exists()
    try:
        result = compute(task, corpus, checkpoint)
    except NotFiniteError as error:
        raise kept(error, checkpoint) from None
    finally:
        progress.end()
    volatile = {**watch.volatile(), "resumed": resumed, **result.volatile, **checkpoint.seconds()}
    result = of_its_kind(result, volatile=volatile)
    if out is not None:
        try:
            write(result, out)
        except OSError as error:
            reason = error.strerror or str(error)
            raise NotKept(result, f"--out {out}: the record could not be written ({reason})") from None
    checkpoint.remove()
    return result
