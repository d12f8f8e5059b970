"""The chains of a fit, in this process or in several at once; the results are the same bits."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from dataclasses import replace
from functools import partial
from typing import Any

from tqdm import tqdm

from bayestopics import processes
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.runs.chain import Chain, LargestShares, run_chain
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import Run

REFRESH = 0.2  # seconds between two looks at the workers' progress

Finished = tuple[Any, ...]  # what a worker sends back: assignments, rows, seconds, resumed


def run_chains(corpus: Corpus, runs: Sequence[Run], checkpoints: Sequence[Checkpoint], workers: int) -> list[Chain]:
    """One chain a run, at most `workers` of them at a time."""
    workers = min(workers, len(runs))
    jobs = list(zip(runs, checkpoints, strict=True))
    if workers == 1:
        return [_run(corpus, *job) for job in jobs]
    finished = _in_processes(corpus, jobs, workers)
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


def _in_processes(corpus: Corpus, jobs: Sequence[tuple[Run, Checkpoint]], workers: int) -> list[Finished]:
    done = multiprocessing.get_context("spawn").RawArray("q", len(jobs))  # sweeps of each chain, in shared memory
    lean = replace(corpus)  # without the counts that it has cached
    with processes.pool(workers, done) as submit:
        futures = [submit(_run_in_worker, number, lean, *job) for number, job in enumerate(jobs)]
        watch(futures, done, sum(_sweeps(run) for run, _ in jobs))
        return [future.result() for future in futures]


def _run_in_worker(done: Any, number: int, corpus: Corpus, run: Run, checkpoint: Checkpoint) -> Finished:
    read_only = replace(corpus)  # pickling forgets it, and the kernels are compiled for read-only tokens
    chain = _run(read_only, run, checkpoint, progress=partial(done.__setitem__, number))
    return chain.state.assignments, chain.rows, chain.seconds, chain.resumed


def watch(futures: list[Future], done: Any, sweeps: int) -> None:
    """One progress bar over all chains, until they are finished or one has failed; `done` are the sweeps of each."""
    waiting = set(futures)
    with tqdm(desc=f"{len(futures)} chains", unit="sweep", total=sweeps, disable=None) as bar:
        while waiting:
            finished, waiting = wait(waiting, timeout=REFRESH, return_when=FIRST_EXCEPTION)
            bar.update(sum(done) - bar.n)
            for future in finished:
                future.result()  # raises what the worker raised
