"""`evidence` and `topics`: how many topics a corpus has, kept as a record; a killed run goes on where it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from bayestopics.base.code import code_hash
from bayestopics.base.jit import CACHE
from bayestopics.base.stopwatch import Stopwatch
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence import compute
from bayestopics.evidence.pmmh import TopicPosterior, Walk, pmmh
from bayestopics.evidence.pseudo_marginal import Inner
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda import SAMPLERS
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.evidence_record import evidence_record
from bayestopics.runs.record import write
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task, describe

BY_NAME = "sparse"  # the sampler of Chib's estimate, the harmonic means and the pseudo-marginal one


def evidence(
    corpus: Corpus,
    topics: Sequence[int],
    prior: Prior,
    *,
    method: str,
    path: str,
    sweeps: int,
    passes: int,
    repeats: int,
    seed: int,
    workers: int = 1,
    out: Path | str | None = None,
    checkpoint_seconds: float = 30.0,
) -> dict[str, Any]:
    """What `evidence.compute.evidence` says, to which all but the last two go; with `out`, keep a run record there."""
    work: dict[str, Any] = {"method": method, "path": path, "sweeps": sweeps, "passes": passes, "repeats": repeats}
    params = {"topics": list(topics), "alpha": prior.alpha, "eta": prior.eta, **work}
    task = Task("evidence", "own", method, params, seed, **describe(corpus), code=_code(BY_NAME))
    watch = Stopwatch()
    with _checkpoint(task, checkpoint_seconds) as checkpoint:
        resumed = checkpoint.path.exists()
        found = compute.evidence(corpus, topics, prior, **work, seed=seed, workers=workers, checkpoint=checkpoint)
        if out is not None:
            volatile = watch.volatile(resumed=resumed, **checkpoint.seconds())
            write(evidence_record(task, found, **volatile), Path(out))
    return found


def posterior(
    corpus: Corpus,
    prior: Prior,
    *,
    topics: TopicPrior,
    starts: Sequence[int],
    inner: int,
    iterations: int,
    burn_in: int,
    sampler: str,
    z_start: str,
    seed: int,
    workers: int = 1,
    out: Path | str | None = None,
    checkpoint_seconds: float = 30.0,
) -> dict[str, Any]:
    """{"posterior": {T: probability}, "mode", "acceptance_rate", ...} by `pmmh`, to which all but the last two go.

    With `out` a run record is kept there.
    """
    work: dict[str, Any] = {"starts": list(starts), "inner": inner, "iterations": iterations, "burn_in": burn_in}
    work |= {"sampler": sampler, "z_start": z_start}
    params = {"topics": asdict(topics), "alpha": prior.alpha, "eta": prior.eta, **work}
    task = Task("topics", "own", "pmmh", params, seed, **describe(corpus), code=_code(sampler))
    watch = Stopwatch()
    with _checkpoint(task, checkpoint_seconds) as checkpoint:
        walk, how = Walk(topics, tuple(starts), iterations, burn_in), Inner(inner, sampler, z_start)
        found = pmmh(corpus, prior, walk, how, seed=seed, workers=workers, checkpoint=checkpoint)
        if out is not None:
            volatile = watch.volatile(**found.volatile, **checkpoint.seconds())
            write(_posterior_record(task, found, volatile), Path(out))
    return {"posterior": found.posterior, **_numbers(found), "warnings": found.warnings}


def _code(sampler: str) -> str:
    """Of this module, and of a sampler that is called by its name; `pmmh` refuses a name that it does not know."""
    return code_hash(__name__, *([SAMPLERS[sampler].module] if sampler in SAMPLERS else []))


@contextmanager
def _checkpoint(task: Task, every_seconds: float) -> Iterator[Checkpoint]:
    """Removed at the end of the block, when the record is written; it stays if the block does not get there."""
    checkpoint = Checkpoint(CACHE / "checkpoints", task, every_seconds)
    yield checkpoint
    checkpoint.remove()


def _numbers(found: TopicPosterior) -> dict[str, Any]:
    keys = ("mode", "acceptance_rate", "longest_stay", "log_estimate_sd", "rhat", "total_variation")
    return {key: getattr(found, key) for key in keys}


def _posterior_record(task: Task, found: TopicPosterior, volatile: dict[str, Any]) -> Result:
    """`trace`: a row a step and chain, the burn-in included; `posterior`: T and its share of the kept steps."""
    shares = pd.DataFrame(sorted(found.posterior.items()), columns=["topics", "probability"])
    return Result(
        task,
        {key: value for key, value in _numbers(found).items() if value is not None},
        found.warnings,
        tables={"trace": found.trace, "posterior": shares},
        arrays={"fresh_log_estimates": found.fresh_log_estimates},
        volatile=volatile,
    )
