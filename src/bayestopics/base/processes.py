"""Worker processes: none outlives its parent, only the parent reacts to Ctrl-C, and if one dies, the error is one line.

Each worker is a fresh Python process. It ends when the other end of a pipe, the `lifeline`, is closed: by the parent
after an error, or by the parent's death.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any

import numba

from bayestopics.base.cluster import cluster_pool, current
from bayestopics.base.problems import InputError
from bayestopics.base.progress import Progress, be_silent, tick

REFRESH = 0.2  # seconds between two looks at the workers' progress

_shared: tuple[Any, ...] = ()  # in a worker


@contextmanager
def pool(workers: int, *shared: Any) -> Iterator[Callable[..., Future]]:
    """Start workers; yields `submit`: submit(function, *arguments) runs function(*shared, *arguments) in a worker.

    The shared values are sent to each worker once. Each worker gets the same share of the threads. Within a block
    `using_cluster`, the cluster's workers take the place of the processes.
    """
    if (cluster := current()) is not None:
        with cluster_pool(cluster, tuple(_renewed(value) for value in shared), _renewed) as submit:
            yield submit
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy numba's threads in an undefined state
    lifeline, end = context.Pipe(duplex=False)
    threads = max(1, numba.get_num_threads() // workers)
    lean = [_renewed(value) for value in shared]
    executor = ProcessPoolExecutor(workers, context, _start_worker, (lifeline, threads, *lean))
    try:
        with lifeline, end, executor:
            try:
                for _ in range(workers):
                    # start them now: an executor does not notice the death of a worker that starts with its last job
                    _submit(executor, _nothing)
                yield partial(_submit, executor)
            except BaseException:
                end.close()
                raise
    except BrokenProcessPool:
        raise InputError(
            "a worker process died, perhaps because memory ran out; use fewer workers (--workers)"
        ) from None


def _submit(executor: ProcessPoolExecutor, function: Callable, *arguments: Any) -> Future:
    """Submit a call. The first calls start the workers, which inherit that SIGINT (Ctrl-C) is blocked.

    A new process would run the user's script again, up to `if __name__ == "__main__"`, and fail in a script without
    that line. It needs nothing from there: so while it starts, there seems to be no script.
    """
    before, script = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}), sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        return executor.submit(_call, function, *arguments)
    finally:
        sys.modules["__main__"] = script
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def first_done(running: Iterable[Future]) -> set[Future]:
    """Wait until at least one future is done, and report progress meanwhile."""
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

    Each job calls `progress` with the number of its finished steps; `steps` is the number in all jobs together.
    """
    done = _steps(len(jobs))
    with pool(workers, done, shared) as submit:
        return _at_once(submit, done, job, jobs, steps, unit)


@contextmanager
def team(shared: Any, most: int, workers: int) -> Iterator[Callable[..., list[Any]]]:
    """Yields run(job, jobs, steps, unit), which is like `in_processes` for up to `most` jobs; but the processes stay
    for the next call. With one worker there are none: the jobs run in turn."""
    if workers == 1:
        yield partial(_in_turn, shared)
        return
    done = _steps(most)
    with pool(workers, done, shared) as submit:
        yield partial(_at_once, submit, done)


def _steps(jobs: int) -> Any:
    """The finished steps of each job, in memory that is shared with the workers; with a cluster nothing is shared."""
    return [0] * jobs if current() is not None else multiprocessing.get_context("spawn").RawArray("q", jobs)


def _at_once(
    submit: Callable[..., Future],
    done: Any,
    job: Callable[..., Any],
    jobs: Sequence[tuple[Any, ...]],
    steps: int,
    unit: str = "sweep",
) -> list[Any]:
    done[:] = [0] * len(done)
    futures = [submit(_counting, number, job, *arguments) for number, arguments in enumerate(jobs)]
    waiting = set(futures)
    with Progress(f"{len(futures)} chains", steps, unit) as bar:
        while waiting:
            finished, waiting = wait(waiting, timeout=REFRESH, return_when=FIRST_EXCEPTION)
            bar.reach(sum(done))
            for future in finished:
                future.result()  # raises what the worker raised
    return [future.result() for future in futures]


def _in_turn(
    shared: Any, job: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], steps: int, unit: str = "sweep"
) -> list[Any]:
    made: list[Any] = []
    with Progress(f"{len(jobs)} chains", steps, unit) as bar:
        for arguments in jobs:
            before = bar.done
            made.append(job(shared, *arguments, progress=lambda steps, before=before: bar.reach(before + steps)))
    return made


def _counting(done: Any, shared: Any, number: int, job: Callable[..., Any], *arguments: Any) -> Any:
    return job(shared, *arguments, progress=partial(done.__setitem__, number))


def _renewed(value: Any) -> Any:
    """A new copy of a dataclass and of the dataclasses in it: without cached values, and with read-only arrays.

    Pickling does not keep the tokens of a corpus read-only, but the kernels are compiled for read-only arrays.
    """
    if not is_dataclass(value) or isinstance(value, type):
        return value
    made = {field.name: _renewed(getattr(value, field.name)) for field in fields(value) if field.init}
    return replace(value, **made)


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Parallel kernels use `count` threads within this block."""
    most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    if not 1 <= count <= most:
        raise InputError(f"{count} threads are not possible here: there can be 1 to {most} (NUMBA_NUM_THREADS)")
    before = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        yield
    finally:
        numba.set_num_threads(before)


@contextmanager
def thread_limit(count: int | None) -> Iterator[None]:
    """Like `using_threads`, but None changes nothing, and no more threads are used than there can be."""
    with using_threads(min(count or numba.get_num_threads(), numba.config.NUMBA_NUM_THREADS)):  # type: ignore[attr-defined]
        yield


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
