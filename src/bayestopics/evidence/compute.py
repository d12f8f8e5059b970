"""`evidence`: log m(T) for several T, by a chosen method, from independent repeats."""

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
from bayestopics.base.guard import not_finite, possible_log
from bayestopics.base.problems import InputError
from bayestopics.base.progress import Progress
from bayestopics.base.seeds import generator
from bayestopics.base.wording import at_the_end, by_topics, explain_once
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
    start: np.ndarray | None = None,
    seed: int = 0,
    workers: int = 1,
    checkpoint: Checkpoint | None = None,
    unit: str = "sweeps",
) -> dict[str, Any]:
    """Estimate log m(T) for each T, with its error, from `repeats` independent repeats.

    `sweeps` is the length of one repeat. What it counts depends on the method:

    - reference: annealing steps; as many steps from the prior come before them, to find topics;
    - both-ways: the same, and as many steps back;
    - ais: annealing steps; smc: annealing steps times particles;
    - replica-exchange: sweeps of every replica;
    - chib, chib-independent: kept sweeps, after a pilot run of a third of that number;
    - the harmonic means: kept sweeps, after a burn-in of half that number;
    - pseudo-marginal: summands m.

    With these two, each repeat first makes `passes` over all T to find good topics (`walk`), so the result for one T
    depends on which other T are asked for. The search can begin with the assignments in `start`, one row for each chain
    that found them; the repeats take its rows in turn. The estimates are unbiased for every start that does not depend
    on their random numbers, but repeats with the same row share its luck.

    `workers` processes share the repeats; the results are the same bits for any number of workers, except for the CPU
    `seconds`. A harmonic mean also returns the other one, under `from_the_same_chains`. `unit` is what the caller's
    users call `sweeps`; warnings use this word. The caller removes the checkpoint.
    """
    if method not in METHODS or path not in PATHS:
        known = f"methods are {', '.join(METHODS)}; paths are {', '.join(PATHS)}"
        raise InputError(f"unknown method {method!r} or path {path!r}: {known}")
    if min(len(topics), sweeps, passes, repeats, workers) < 1:
        sizes = f"{sweeps} {unit}, {passes} passes, {repeats} repeats and {workers} workers"
        raise InputError(f"at least 1 of each is needed, not {len(topics)} numbers of topics, {sizes}")
    for count in topics:
        prior.alpha_vector(count)
    name = path if method == ANNEALING else method
    check_start(start, name, corpus, prior)
    work = Work(name, corpus, prior, topics, sweeps, seed, start)
    made = _make_all(work, passes, repeats, workers, checkpoint)
    logs, seconds = ([[made[t, repeat][part] for repeat in range(repeats)] for t in topics] for part in range(2))
    family = ESTIMATORS[name].family
    if not family:
        return summary(name, prior, topics, logs, seconds, unit)
    all_of_them = dict(zip(family, np.moveaxis(np.array(logs), -1, 0).tolist(), strict=True))
    found = summary(name, prior, topics, all_of_them.pop(name), seconds, unit)
    return found | {"from_the_same_chains": all_of_them}


def check_start(start: np.ndarray | None, name: str, corpus: Corpus, prior: Prior) -> None:
    if start is None:
        return
    if not ESTIMATORS[name].walks or np.ndim(prior.alpha) > 0:
        raise InputError("only annealing from a reference, with one number as alpha, can start from given topics")
    if start.ndim != 2 or len(start) < 1 or start.shape[1] != corpus.token_count or start.dtype.kind not in "iu":
        raise InputError(
            f"the topics to start from must be integers, one row per chain and one column for each of the "
            f"{corpus.token_count} tokens, not {start.dtype} of shape {start.shape}"
        )


def summary(
    name: str,
    prior: Prior,
    topics: Sequence[int],
    log_estimates: list[list[float]],
    seconds: list[list[float]],
    unit: str = "sweeps",
) -> dict[str, Any]:
    """Combine the repeats of a method for each T: log m(T), its error, and warnings."""
    about = ESTIMATORS[name]
    kind = {"unbiased": about.unbiased, "has_variance": about.has_variance}
    found = [combine(np.array(logs), **kind, unit=unit) for logs in log_estimates]
    doubts = by_topics((count, said) for count, one in zip(topics, found, strict=True) for said in one.warnings)
    if not about.trusted:
        doubts.append(
            f"The method {name} is included only for comparison: its estimates are far from the truth even where the "
            "runs agree. Use the method annealing."
        )
    both = {}
    if about.one_labelling and np.ndim(prior.alpha) == 0:
        doubts.insert(
            0,
            "If a chain never swaps the labels of its topics, log m(T) is too low by log T!; the corrected values are "
            "listed separately.",
        )
        both = {"one_labelling": [one.log_evidence + math.lgamma(t + 1) for t, one in zip(topics, found, strict=True)]}
    values, errors = [one.log_evidence for one in found], [one.standard_error for one in found]
    best = topics[int(np.argmax(values))]
    doubts = [*at_the_end(topics, best, "evidence"), *doubts]
    near = not_excluded(values, errors, len(log_estimates[0]))
    return {
        "topics": list(topics),
        "best": best,
        "not_excluded": list(dict.fromkeys(t for t, one in zip(topics, near, strict=True) if one)),
        "log_evidence": values,
        **both,
        "standard_error": errors,
        "log_estimates": [one.log_estimates for one in found],
        "unbiased": about.unbiased,
        "seconds": seconds,
        "warnings": explain_once(doubts),
    }


Job = tuple[int, int]  # T, number of the repeat
Done = tuple[Any, float]  # the estimate of log m(T), or one for each estimator of the family; CPU seconds
WALK = "walk"  # stands in the place of T for a pass over all T
Todo = dict[Any, tuple[Any, ...]]  # key -> function, arguments


@dataclass(frozen=True, eq=False)
class Work:
    """Everything that an estimate depends on, except T, the number of the repeat and the passes before it."""

    name: str
    corpus: Corpus
    prior: Prior
    topics: Sequence[int]
    sweeps: int
    seed: int
    start: np.ndarray | None = None


def estimator(name: str) -> ModuleType:
    return import_module(ESTIMATORS[name].module)


@cache
def compile_estimator(name: str) -> None:
    """Compile the kernels, or load them from the cache, before time is measured; once per process."""
    tiny, prior, rng = tiny_corpus(), Prior(0.5, 0.5), np.random.default_rng(0)
    estimator(name).repeat(tiny, 2, prior, 4, rng)
    if ESTIMATORS[name].walks:
        go_over(tiny, [2, 3], prior, 4, 0, {}, rng)


def _pass(work: Work, repeat: int, number: int, found: dict[int, FoundTopics]) -> tuple[int, dict[int, FoundTopics]]:
    """Make one pass over all T; returns the number of passes made so far, and the topics found."""
    compile_estimator(work.name)
    rng = generator(work.seed, f"evidence/walk/{repeat}/{number}")
    given = None if work.start is None else work.start[repeat % len(work.start)]
    return number + 1, go_over(work.corpus, work.topics, work.prior, work.sweeps, number, found, rng, given)


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
    """Make all estimates. A repeat first makes its passes over all T, if the method needs them; then its estimates,
    the largest T first because they take longest."""
    made: dict[Any, Any] = (checkpoint.load() if checkpoint else None) or {}
    numbers, walks = sorted(set(work.topics), reverse=True), ESTIMATORS[work.name].walks

    def ready(repeat: int) -> Todo:
        """The calls of a repeat that can be made with what is finished so far."""
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
            elif not possible_log(done[0]):
                raise not_finite(f"the estimate of log m({key[0]})", key[1], made)
            bar.update()
            if checkpoint and (checkpoint.due() or len(made) == repeats * (len(numbers) + walks)):
                checkpoint.save(made)
    return made


def _each(work: Work, todo: Todo, workers: int) -> Iterator[tuple[Any, Any]]:
    """(key, result) of each call, in the order in which they finish. A call leaves `todo` when it starts; the caller
    may add more in between."""
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
