"""`evidence`: log m(T) for several T, by the method of one's choice, from independent repeats."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from bayestopics.base import processes
from bayestopics.base.checkpoint import Checkpoint
from bayestopics.base.problems import InputError
from bayestopics.base.progress import Progress
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.tiny import tiny_corpus
from bayestopics.evidence import ANNEALING, ESTIMATORS, METHODS, PATHS
from bayestopics.evidence.estimate import combine, not_excluded
from bayestopics.evidence.walk import FoundTopics, go_over
from bayestopics.lda.state import Prior, from_assignments


def evidence(
    corpus: Corpus,
    topics: Sequence[int],
    prior: Prior,
    *,
    method: str = "annealing",
    path: str = "reference",
    sweeps: int = 2000,
    passes: int = 4,
    repeats: int = 4,
    seed: int = 0,
    workers: int = 1,
    checkpoint: Checkpoint | None = None,
) -> dict[str, Any]:
    """log m(T) of each T, with its error, from `repeats` independent repeats.

    `sweeps` is the length of one repeat: steps of the ladder for reference (as many come before, from the prior, to
    find topics), ais and smc (for smc divided among its particles), sweeps of every replica for replica-exchange, kept
    sweeps for chib (a pilot of a third comes first) and the harmonic means (a burn-in of half comes first), m for
    pseudo-marginal. For reference each repeat makes `passes` over all T to find good topics (`walk`), so that what it
    gives for one T depends on the others. `workers` processes share the repeats; the results are the same bits for any
    number of them, but for their CPU `seconds`. A harmonic mean comes with the other one `from_the_same_chains`. The
    caller removes the checkpoint.
    """
    if method not in METHODS or path not in PATHS:
        raise InputError(f"methods are {', '.join(METHODS)}, paths {', '.join(PATHS)}; not {method}, {path}")
    if min(len(topics), sweeps, passes, repeats, workers) < 1:
        sizes = f"{sweeps} sweeps, {passes} passes, {repeats} repeats and {workers} workers"
        raise InputError(f"nothing to do with {len(topics)} numbers of topics, {sizes}")
    for count in topics:
        prior.alpha_vector(count)
    name = path if method == ANNEALING else method
    work = Work(name, corpus, prior, topics, sweeps, seed)
    made = _make_all(work, passes, repeats, workers, checkpoint)
    logs, seconds = ([[made[t, repeat][part] for repeat in range(repeats)] for t in topics] for part in range(2))
    family = ESTIMATORS[name].family
    if not family:
        return summary(name, prior, topics, logs, seconds)
    all_of_them = dict(zip(family, np.moveaxis(np.array(logs), -1, 0).tolist(), strict=True))
    return summary(name, prior, topics, all_of_them.pop(name), seconds) | {"from_the_same_chains": all_of_them}


def summary(
    name: str, prior: Prior, topics: Sequence[int], log_estimates: list[list[float]], seconds: list[list[float]]
) -> dict[str, Any]:
    """What the repeats of a method say, by T: log m(T), its error, and what to doubt."""
    about = ESTIMATORS[name]
    found = [
        combine(np.array(logs), unbiased=about.unbiased, has_variance=about.has_variance) for logs in log_estimates
    ]
    doubts = [f"T={count}: {warning}" for count, one in zip(topics, found, strict=True) for warning in one.warnings]
    if not about.trusted:
        doubts.append(f"{name} is here to be compared with: its estimates are far off, and scatter little")
    both = {}
    if about.one_labelling and np.ndim(prior.alpha) == 0:
        doubts.insert(0, "a chain that keeps to one labelling of its topics makes log m(T) too low by log T!")
        both = {"one_labelling": [one.log_evidence + math.lgamma(t + 1) for t, one in zip(topics, found, strict=True)]}
    values, errors = [one.log_evidence for one in found], [one.standard_error for one in found]
    near = not_excluded(values, errors, len(log_estimates[0]))
    return {
        "topics": list(topics),
        "best": topics[int(np.argmax(values))],
        "not_excluded": list(dict.fromkeys(t for t, one in zip(topics, near, strict=True) if one)),
        "log_evidence": values,
        **both,
        "standard_error": errors,
        "log_estimates": [one.log_estimates for one in found],
        "unbiased": about.unbiased,
        "seconds": seconds,
        "warnings": doubts,
    }


Job = tuple[int, int]  # T, number of the repeat
Done = tuple[Any, float]  # log-estimate, or those of its family; CPU seconds
WALK = "walk"  # in the place of T
Todo = dict[Any, tuple[Any, ...]]  # key -> function, arguments


@dataclass(frozen=True, eq=False)
class Work:
    """All that an estimate depends on, but T, its number and the passes before it."""

    name: str
    corpus: Corpus
    prior: Prior
    topics: Sequence[int]
    sweeps: int
    seed: int


def estimator(name: str) -> ModuleType:
    return import_module(ESTIMATORS[name].module)


@cache
def compile_estimator(name: str) -> None:
    """Kernels are compiled, or taken from the cache, before seconds are counted; once in a process."""
    tiny, prior, rng = tiny_corpus(), Prior(0.5, 0.5), np.random.default_rng(0)
    estimator(name).repeat(tiny, 2, prior, 4, rng)
    if ESTIMATORS[name].walks:
        go_over(tiny, [2, 3], prior, 4, 0, {}, rng)


def _pass(work: Work, repeat: int, number: int, found: dict[int, FoundTopics]) -> tuple[int, dict[int, FoundTopics]]:
    """How many passes over all T were made, and what is found."""
    compile_estimator(work.name)
    rng = generator(work.seed, f"evidence/walk/{repeat}/{number}")
    return number + 1, go_over(work.corpus, work.topics, work.prior, work.sweeps, number, found, rng)


def _make(work: Work, job: Job, found: FoundTopics | None) -> Done:
    compile_estimator(work.name)
    topics, repeat = job
    stream = ESTIMATORS[work.name].stream
    rng, start = generator(work.seed, f"evidence/{stream}/{topics}/{repeat}"), time.process_time()
    given, module = (work.corpus, topics, work.prior), estimator(work.name)
    if found is None:
        return module.repeat(*given, work.sweeps, rng), time.process_time() - start
    value = module.repeat(*given, work.sweeps, rng, from_assignments(*given, found.assignments))
    return value, found.seconds + time.process_time() - start


def _make_all(work: Work, passes: int, repeats: int, workers: int, checkpoint: Checkpoint | None) -> dict[Job, Done]:
    """Each repeat goes over all T first, if it is to; then come its estimates, the largest T first, for they take
    longest."""
    made: dict[Any, Any] = (checkpoint.load() if checkpoint else None) or {}
    numbers, walks = sorted(set(work.topics), reverse=True), ESTIMATORS[work.name].walks

    def ready(repeat: int) -> Todo:
        """What can be done for a repeat with what is made."""
        found: dict[int, FoundTopics] = {}
        if walks:
            number, found = made.get((WALK, repeat), (0, {}))
            if number < passes:
                return {(WALK, repeat): (_pass, repeat, number, found)}
        jobs = [(count, repeat) for count in numbers if (count, repeat) not in made]
        return {job: (_make, job, found.get(job[0])) for job in jobs}

    todo = {key: call for repeat in range(repeats) for key, call in ready(repeat).items()}
    total = repeats * (len(numbers) + passes * walks)
    before = sum(done[0] if key[0] == WALK else 1 for key, done in made.items())
    workers = min(workers, repeats * len(numbers))
    with Progress("evidence", total, "job", before) as bar:
        for key, done in _each(work, todo, workers):
            made[key] = done
            if key[0] == WALK:
                todo.update(ready(key[1]))
            bar.update()
            if checkpoint and (checkpoint.due() or len(made) == repeats * (len(numbers) + walks)):
                checkpoint.save(made)
    return made


def _each(work: Work, todo: Todo, workers: int) -> Iterator[tuple[Any, Any]]:
    """(key, result) of each call, as they come. Calls leave `todo` when they start, and may be added meanwhile."""
    if workers == 1:
        while todo:
            key = next(iter(todo))
            function, *given = todo.pop(key)
            yield key, function(work, *given)
        return
    with processes.pool(workers, work) as submit:
        running: dict[Future, Any] = {}
        while todo or running:
            running.update({submit(function, *given): key for key, (function, *given) in todo.items()})
            todo.clear()
            for future in processes.first_done(running):
                yield running.pop(future), future.result()
