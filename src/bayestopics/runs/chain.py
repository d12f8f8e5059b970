"""One chain of an LDA sampler, from a seed to a trace. It can be resumed, is timed, and can be observed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
import pandas as pd

from bayestopics.base.cluster import current
from bayestopics.base.guard import finite, not_finite
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.tiny import tiny_corpus
from bayestopics.lda import over_machines, sampler_entry
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.density import log_joint
from bayestopics.lda.starts import start_of
from bayestopics.lda.state import Prior, State, from_assignments
from bayestopics.predict.completion import Completion
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.task import Task


class Observer(Protocol):
    """Looks at the state after every sweep, and adds columns to the trace.

    It is saved with the checkpoint (`base.packing`), and so must be a dataclass.
    """

    def observe(self, sweep: int, state: State) -> dict[str, float]: ...


@dataclass
class Perplexity:
    """Completion perplexity, averaged over every ten sweeps [Zhang & Sisson 13]; nan at the sweeps in between."""

    completion: Completion
    sweeps: int = 10

    def observe(self, sweep: int, state: State) -> dict[str, float]:
        self.completion.add(state)
        if self.completion.states < self.sweeps:
            return {"perplexity": np.nan}
        perplexity = float(np.exp(-self.completion.log_score()))
        self.completion.reset()
        return {"perplexity": perplexity}


@dataclass
class LargestShares:
    """The largest topics' shares of the tokens, largest first; they do not depend on the labels of the topics."""

    topics: int = 10

    def observe(self, sweep: int, state: State) -> dict[str, float]:
        shares = np.sort(state.topic_total)[::-1][: self.topics] / len(state.terms)
        return {f"share_{rank}": float(share) for rank, share in enumerate(shares, start=1)}


@dataclass
class Chain:
    """All sweeps of a chain, including the burn-in."""

    state: State
    rows: list[dict[str, float]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)  # sampling time of each sweep, without compilation
    resumed: int = 0  # how often it continued from a checkpoint
    observer: Observer | None = None

    def trace(self) -> pd.DataFrame:
        return pd.DataFrame(self.rows)

    def timing(self) -> pd.DataFrame:
        return pd.DataFrame({"sweep": np.arange(len(self.seconds)), "seconds": self.seconds})


def chain_of_task(task: Task, corpus: Corpus, **how: Any) -> Chain:
    """The chain whose model, sampler and length are parameters of the task; `how` are further ones of `run_chain`."""
    params, prior = task.params, Prior(task.params["alpha"], task.params["eta"])
    work = {"sampler": params["sampler"], "sweeps": params["sweeps"], "rng": task.generator(), "description": task.name}
    return run_chain(corpus, params["topics"], prior, **work, **how)


def run_chain(
    corpus: Corpus,
    topics: int,
    prior: Prior,
    *,
    sampler: str,
    sweeps: int,
    rng: np.random.Generator,
    start: np.ndarray | str = "random",
    observer: Observer | None = None,
    checkpoint: Checkpoint | None = None,
    description: str = "sampling",
    progress: Callable[[int], None] | None = None,
) -> Chain:
    """Run `sweeps` sweeps from the assignments `start`, or from a start of this name (`lda.starts`).

    The caller removes the checkpoint once the record is written. `progress` is called with the number of finished
    sweeps; without it a progress bar is shown.
    """

    def save() -> None:
        if checkpoint:
            rng_state = rng.bit_generator.state
            checkpoint.save((chain.state.assignments, chain.rows, chain.seconds, chain.resumed, rng_state, observer))

    module = sampler_by_name(sampler)
    compile_sampler(sampler)
    one_sweep = module.sweep
    if sampler_entry(sampler).over_machines and (cluster := current()) is not None:
        one_sweep = partial(over_machines.sweep, cluster=cluster)
    saved = checkpoint.load() if checkpoint else None
    if saved is None:
        if isinstance(start, str):
            chain = Chain(start_of(start)(corpus, topics, prior, rng), observer=observer)
        else:
            chain = Chain(from_assignments(corpus, topics, prior, start), observer=observer)
    else:
        assignments, rows, seconds, resumed, rng_state, observer = saved
        rng.bit_generator.state = rng_state
        chain = Chain(from_assignments(corpus, topics, prior, assignments), rows, seconds, resumed + 1, observer)
    steps: Iterable[int] = range(len(chain.rows), sweeps)
    if progress:
        progress(len(chain.rows))
    else:
        steps = counted(steps, description, "sweep", total=sweeps, done=len(chain.rows))
    for sweep in steps:
        begin = time.perf_counter()
        info = one_sweep(chain.state, rng)
        chain.seconds.append(time.perf_counter() - begin)
        row = {"sweep": sweep, "log_joint": log_joint(chain.state), "log_transition": _or_nan(info.log_transition)}
        if not finite(row["log_joint"]):
            raise not_finite("the log joint density", sweep, chain.state.assignments)
        if not info.sound:
            raise not_finite("the density of a sweep", sweep, chain.state.assignments)
        chain.rows.append(row | (observer.observe(sweep, chain.state) if observer else {}))
        if progress:
            progress(sweep + 1)
        if checkpoint and checkpoint.due():
            save()
    save()
    return chain


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def compile_sampler(sampler: str) -> None:
    """Compile a sampler's kernels, or load them from the cache, so that no timing includes compilation."""
    corpus, rng, module = tiny_corpus(), np.random.default_rng(0), sampler_by_name(sampler)
    state = module.init(corpus, 2, Prior(0.5, 0.5), rng)
    module.sweep(state, rng)
    if hasattr(module, "compile_rest"):
        module.compile_rest()
    log_joint(state)
    Completion(corpus).add(state)
