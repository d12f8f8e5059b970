"""What all tests share: no checkpoint in the user's own cache, no line of progress, however slow the machine, and
commands in one process unless a test asks for more, because to start another takes longer than its work."""

from __future__ import annotations

import ctypes
import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from bayestopics.base import processes, progress
from bayestopics.cli import arguments
from bayestopics.runs import driver
from chromium import Page
from killing import NEVER

collect_ignore = ["cluster"]  # unless it is named, as `make test-cluster` does


@pytest.fixture(scope="session", autouse=True)
def _own_checkpoints_and_silence(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "CHECKPOINTS", tmp_path_factory.mktemp("checkpoints"))
        patch.setattr(progress, "EVERY_SECONDS", NEVER)
        patch.setattr(arguments, "cores", lambda: 1)
        # a job in the background of a script ignores Ctrl-C, and so would the programs that tests start
        signal.signal(signal.SIGINT, signal.default_int_handler)
        yield


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """A page in a Chromium of its own."""
    with closing(Page(tmp_path)) as page:
        page.attach()
        yield page


@pytest.fixture
def checkpoints(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which this test's runs have their checkpoints."""
    folder = tmp_path_factory.mktemp("checkpoints")
    monkeypatch.setattr(driver, "CHECKPOINTS", folder)
    return folder


@pytest.fixture
def workers_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of worker processes run here, with copies as a worker has them. To start a process takes seconds;
    tests/test_processes.py, and one test of each kind of pool, do so."""
    monkeypatch.setattr(processes, "pool", _pool_here)


@contextmanager
def _pool_here(workers: int, *shared: Any) -> Iterator[Callable[..., Future]]:
    def submit(function: Callable, *arguments: Any) -> Future:
        future: Future = Future()
        try:
            future.set_result(_copied(function(*map(_copied, shared), *map(_copied, arguments))))
        except Exception as error:
            future.set_exception(error)
        return future

    yield submit


def _copied(value: Any) -> Any:
    if isinstance(value, ctypes.Array):  # memory that the processes share
        return value
    return processes._renewed(pickle.loads(pickle.dumps(value)))
