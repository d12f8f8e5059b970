"""The chains of a fit, in this process or in several at once; the results are the same bits."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from dataclasses import replace
from functools import partial
from typing import Any

from tqdm import tqdm

from bayestopics.base import processes
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.runs.chain import Chain, LargestShares, run_chain
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import Task

REFRESH = 0.2  # seconds between two looks at the workers' progress


def run_chains(corpus: Corpus, runs: Sequence[Task], checkpoints: Sequence[Checkpoint], workers: int) -> list[Chain]:
    """One chain a run, at most `workers` of them at a time."""
    workers = min(workers, len(runs))
    jobs = list(zip(runs, checkpoints, strict=True))
    if workers == 1:
        return [_run(corpus, *job) for job in jobs]
    finished = in_processes(_finished, corpus, jobs, sum(map(_sweeps, runs)), workers)
    return [_chain(corpus, task, *result) for task, result in zip(runs, finished, strict=True)]


def _run(corpus: Corpus, task: Task, checkpoint: Checkpoint, progress: Callable[[int], None] | None = None) -> Chain:
    return run_chain(
        corpus,
        task.params["topics"],
        _prior(task),
        sampler=task.params["sampler"],
        sweeps=_sweeps(task),
        rng=task.generator(),
        observer=LargestShares(),
        checkpoint=checkpoint,
        description=task.name,
        progress=progress,
    )


def _prior(task: Task) -> Prior:
    return Prior(task.params["alpha"], task.params["eta"])


def _sweeps(task: Task) -> int:
    return int(task.params["burn_in"] + task.params["sweeps"])


def _chain(corpus: Corpus, task: Task, assignments: Any, rows: Any, seconds: Any, resumed: int) -> Chain:
    state = from_assignments(corpus, task.params["topics"], _prior(task), assignments)
    return Chain(state, rows, seconds, resumed)


def _finished(corpus: Corpus, task: Task, checkpoint: Checkpoint, progress: Callable[[int], None]) -> tuple[Any, ...]:
    chain = _run(corpus, task, checkpoint, progress)
    return chain.state.assignments, chain.rows, chain.seconds, chain.resumed


# -- for any kind of chain -------------------------------------------------------------------------


def in_processes(
    job: Callable[..., Any],
    corpus: Corpus,
    jobs: Sequence[tuple[Any, ...]],
    steps: int,
    workers: int,
    unit: str = "sweep",
) -> list[Any]:
    """job(corpus, *arguments, progress=...) for each tuple of arguments, at most `workers` at a time.

    `progress` is to be told how many steps are done, of `steps` in all jobs together.
    """
    done = multiprocessing.get_context("spawn").RawArray("q", len(jobs))  # steps of each, in shared memory
    lean = replace(corpus)  # without the counts that it has cached
    with processes.pool(workers, done) as submit:
        futures = [submit(_in_worker, number, job, lean, *arguments) for number, arguments in enumerate(jobs)]
        _watch(futures, done, steps, unit)
        return [future.result() for future in futures]


def _in_worker(done: Any, number: int, job: Callable[..., Any], corpus: Corpus, *arguments: Any) -> Any:
    read_only = replace(corpus)  # pickling forgets it, and the kernels are compiled for read-only tokens
    return job(read_only, *arguments, progress=partial(done.__setitem__, number))


def _watch(futures: list[Future], done: Any, steps: int, unit: str) -> None:
    """One progress bar over all chains, until they are finished or one has failed."""
    waiting = set(futures)
    with tqdm(desc=f"{len(futures)} chains", unit=unit, total=steps, disable=None) as bar:
        while waiting:
            finished, waiting = wait(waiting, timeout=REFRESH, return_when=FIRST_EXCEPTION)
            bar.update(sum(done) - bar.n)
            for future in finished:
                future.result()  # raises what the worker raised
