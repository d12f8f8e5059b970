"""Writes the output of a script, its traceback, and what it has used, to the rule's log file."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from bayestopics.base.problems import InputError
from bayestopics.base.stopwatch import Stopwatch


@contextmanager
def logged(path: str) -> Iterator[None]:
    with open(path, "w", encoding="utf-8") as log, redirect_stdout(log), redirect_stderr(log):
        watch = Stopwatch()
        try:
            yield
            used = watch.volatile()
            print("{peak_memory_mb:.0f} MB at most, {cpu_seconds:.1f} s of CPU, {wall_seconds:.1f} s".format(**used))
        except InputError as error:  # the message says everything
            print(error)
            sys.exit(1)
        except Exception:
            traceback.print_exc()
            raise
