"""The chains of a fit, in this process or in several at once; the results are the same bits.

Each worker is a fresh Python process that runs whole chains. None outlives its parent: it ends when the other end of a
pipe, the `lifeline`, is closed - by the parent when something went wrong, or by the parent's death.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import numba
from tqdm import tqdm

from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.problems import InputError
from bayestopics.runs.chain import Chain, LargestShares, run_chain
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import Run

REFRESH = 0.2  # seconds between two looks at the workers' progress

Finished = tuple[Any, ...]  # what a worker sends back: assignments, rows, seconds, resumed

_done: Any = None  # in a worker: the sweeps done of every chain, in memory shared with the parent


def run_chains(corpus: Corpus, runs: Sequence[Run], checkpoints: Sequence[Checkpoint], workers: int) -> list[Chain]:
    """One chain a run, at most `workers` of them at a time."""
    workers = min(workers, len(runs))
    if workers == 1:
        return [_run(corpus, *job) for job in zip(runs, checkpoints, strict=True)]
    lean = replace(corpus)  # without the counts that it has cached
    jobs = [(lean, *job, number) for number, job in enumerate(zip(runs, checkpoints, strict=True))]
    finished = _in_processes(jobs, workers, len(runs) * _sweeps(runs[0]))
    return [_chain(corpus, run, *result) for run, result in zip(runs, finished, strict=True)]


def _run(corpus: Corpus, run: Run, checkpoint: Checkpoint, progress: Callable[[int], None] | None = None) -> Chain:
    return run_chain(
        corpus,
        run.params["topics"],
        _prior(run),
        sampler=run.params["sampler"],
        sweeps=_sweeps(run),
        rng=run.generator(),
        observer=LargestShares(),
        checkpoint=checkpoint,
        description=run.name,
        progress=progress,
    )


def _prior(run: Run) -> Prior:
    return Prior(run.params["alpha"], run.params["eta"])


def _sweeps(run: Run) -> int:
    return int(run.params["burn_in"] + run.params["sweeps"])


def _chain(corpus: Corpus, run: Run, assignments: Any, rows: Any, seconds: Any, resumed: int) -> Chain:
    state = from_assignments(corpus, run.params["topics"], _prior(run), assignments)
    return Chain(state, rows, seconds, resumed)


# -- the parent ----------------------------------------------------------------------------------


def _in_processes(jobs: Sequence[tuple], workers: int, sweeps: int) -> list[Finished]:
    context = multiprocessing.get_context("spawn")  # a fork would copy numba's threads in any state
    done = context.RawArray("q", len(jobs))
    lifeline, end = context.Pipe(duplex=False)
    threads = max(1, numba.get_num_threads() // workers)
    pool = ProcessPoolExecutor(workers, context, _start_worker, (lifeline, done, threads))
    try:
        with lifeline, end, pool:
            try:
                futures = _submit(pool, jobs)
                _watch(futures, done, sweeps)
                return [future.result() for future in futures]
            except BaseException:
                end.close()
                raise
    except BrokenProcessPool:
        raise InputError("a worker process died, perhaps for want of memory: fewer workers need less") from None


def _submit(pool: ProcessPoolExecutor, jobs: Sequence[tuple]) -> list[Future]:
    """This starts the workers. They inherit that SIGINT is blocked: Ctrl-C is for their parent, which ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return [pool.submit(_run_in_worker, *job) for job in jobs]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(futures: list[Future], done: Any, sweeps: int) -> None:
    """One progress bar over all chains, until they are finished or one has failed."""
    waiting = set(futures)
    with tqdm(desc=f"{len(futures)} chains", unit="sweep", total=sweeps, disable=None) as bar:
        while waiting:
            finished, waiting = wait(waiting, timeout=REFRESH, return_when=FIRST_EXCEPTION)
            bar.update(sum(done) - bar.n)
            for future in finished:
                future.result()  # raises what the worker raised


# -- a worker ------------------------------------------------------------------------------------


def _start_worker(lifeline: Connection, done: Any, threads: int) -> None:
    global _done
    _done = done
    numba.set_num_threads(threads)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    lifeline.poll(None)  # nothing is ever sent: it returns when the other end is closed
    os._exit(1)


def _run_in_worker(corpus: Corpus, run: Run, checkpoint: Checkpoint, number: int) -> Finished:
    read_only = replace(corpus)  # pickling forgets it, and the kernels are compiled for read-only tokens
    chain = _run(read_only, run, checkpoint, progress=partial(_done.__setitem__, number))
    return chain.state.assignments, chain.rows, chain.seconds, chain.resumed
