"""`topics`: the posterior of the number of topics, by pseudo-marginal Metropolis-Hastings [Chen & Doss]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from bayestopics.base.code import code_hash
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.pmmh import TopicPosterior, pmmh
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda import SAMPLERS
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task, describe


def task_of(
    corpus: Corpus, prior: Prior, topics: TopicPrior, starts: Sequence[int], sampler: str, seed: int, **work: Any
) -> Task:
    """`work`: inner, iterations, burn_in, z_start."""
    model = {"topics": asdict(topics), "alpha": prior.alpha, "eta": prior.eta}
    params = {**model, "starts": list(starts), "sampler": sampler, **work}
    # a name that is not known is refused by `pmmh`
    code = code_hash(__name__, *([SAMPLERS[sampler]] if sampler in SAMPLERS else []))
    return Task("topics", OWN, "pmmh", params, seed, **describe(corpus), code=code)


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, *, workers: int = 1) -> Result:
    """`trace`: one row per step and chain, the burn-in included; `posterior`: T and its share of the kept steps."""
    work = dict(task.params)
    topics, prior = TopicPrior(**work.pop("topics")), Prior(work.pop("alpha"), work.pop("eta"))
    found = pmmh(corpus, prior, topics=topics, **work, seed=task.seed, workers=workers, checkpoint=checkpoint)
    numbers = _numbers(found)
    return Result(
        task,
        {key: value for key, value in numbers.items() if value is not None},
        found.warnings,
        tables={
            "trace": found.trace,
            "posterior": pd.DataFrame(sorted(found.posterior.items()), columns=["topics", "probability"]),
        },
        arrays={"fresh_log_estimates": found.fresh_log_estimates},
        answer=numbers,
        volatile=found.volatile,
    )


def _numbers(found: TopicPosterior) -> dict[str, Any]:
    keys = ("mode", "acceptance_rate", "longest_stay", "log_estimate_sd", "rhat", "total_variation")
    return {key: getattr(found, key) for key in keys}
