"""Worker processes: none outlives its parent, Ctrl-C is for the parent alone, and the death of one is one line.

Each is a fresh Python process. It ends when the other end of a pipe, the `lifeline`, is closed - by the parent when
something went wrong, or by the parent's death.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import numba

from bayestopics.base.problems import InputError
from bayestopics.base.progress import Progress, be_silent, tick

REFRESH = 0.2  # seconds between two looks at the workers' progress

_shared: tuple[Any, ...] = ()  # in a worker


@contextmanager
def pool(workers: int, *shared: Any) -> Iterator[Callable[..., Future]]:
    """Gives `submit`: submit(function, *arguments) runs function(*shared, *arguments) in one of the workers.

    What is shared goes to each worker once, with the same share of the threads.
    """
    context = multiprocessing.get_context("spawn")  # a fork would copy numba's threads in any state
    lifeline, end = context.Pipe(duplex=False)
    threads = max(1, numba.get_num_threads() // workers)
    lean = [_renewed(value) for value in shared]
    executor = ProcessPoolExecutor(workers, context, _start_worker, (lifeline, threads, *lean))
    try:
        with lifeline, end, executor:
            try:
                for _ in range(workers):
                    # they start now: an executor does not see the death of a worker that starts with its last job
                    _submit(executor, _nothing)
                yield partial(_submit, executor)
            except BaseException:
                end.close()
                raise
    except BrokenProcessPool:
        raise InputError("a worker process died, perhaps for want of memory: fewer workers need less") from None


def _submit(executor: ProcessPoolExecutor, function: Callable, *arguments: Any) -> Future:
    """This starts the workers. They inherit that SIGINT is blocked."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return executor.submit(_call, function, *arguments)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def first_done(running: Iterable[Future]) -> set[Future]:
    """Wait until one is done, or more; how far all is, is said meanwhile."""
    while not (done := wait(running, timeout=REFRESH, return_when=FIRST_COMPLETED).done):
        tick()
    return done


def in_processes(
    job: Callable[..., Any],
    shared: Any,
    jobs: Sequence[tuple[Any, ...]],
    steps: int,
    workers: int,
    unit: str = "sweep",
) -> list[Any]:
    """job(shared, *arguments, progress=...) for each tuple of arguments, at most `workers` at a time.

    `progress` is to be told how many steps are done, of `steps` in all jobs together.
    """
    done = multiprocessing.get_context("spawn").RawArray("q", len(jobs))  # steps of each, in shared memory
    with pool(workers, done, shared) as submit:
        futures = [submit(_counting, number, job, *arguments) for number, arguments in enumerate(jobs)]
        waiting = set(futures)
        with Progress(f"{len(futures)} chains", steps, unit) as bar:
            while waiting:
                finished, waiting = wait(waiting, timeout=REFRESH, return_when=FIRST_EXCEPTION)
                bar.reach(sum(done))
                for future in finished:
                    future.result()  # raises what the worker raised
        return [future.result() for future in futures]


def _counting(done: Any, shared: Any, number: int, job: Callable[..., Any], *arguments: Any) -> Any:
    return job(shared, *arguments, progress=partial(done.__setitem__, number))


def _renewed(value: Any) -> Any:
    """A dataclass made anew, all the way down: without what it has cached, and with its arrays read-only.

    Pickling forgets that the tokens of a corpus are read-only, and the kernels are compiled for those.
    """
    if not is_dataclass(value) or isinstance(value, type):
        return value
    made = {field.name: _renewed(getattr(value, field.name)) for field in fields(value) if field.init}
    return replace(value, **made)


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Parallel kernels use so many threads within this block."""
    before = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        yield
    finally:
        numba.set_num_threads(before)


# -- in a worker -----------------------------------------------------------------------------------


def _start_worker(lifeline: Connection, threads: int, *shared: Any) -> None:
    global _shared
    _shared = tuple(_renewed(value) for value in shared)
    numba.set_num_threads(threads)
    be_silent()
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    lifeline.poll(None)  # nothing is ever sent: it returns when the other end is closed
    os._exit(1)


def _nothing(*_: Any) -> None: ...


def _call(function: Callable, *arguments: Any) -> Any:
    return function(*_shared, *arguments)
