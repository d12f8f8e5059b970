"""The chains of a fit, in this process or in several at once; the results are the same bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bayestopics.base.processes import in_processes
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.runs.chain import Chain, LargestShares, run_chain
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.task import Task


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
