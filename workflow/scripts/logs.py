"""Writes the output of a script, and its traceback, to the rule's log file."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from bayestopics.base.problems import InputError


@contextmanager
def logged(path: str) -> Iterator[None]:
    with open(path, "w", encoding="utf-8") as log, redirect_stdout(log), redirect_stderr(log):
        try:
            yield
        except InputError as error:  # the message says everything
            print(error)
            sys.exit(1)
        except Exception:
            traceback.print_exc()
            raise
