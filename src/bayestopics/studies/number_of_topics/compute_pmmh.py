"""Study `number_of_topics`, PMMH: one chain over T from one start [Chen & Doss, figures 1 and 3, table 2]."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bayestopics.base.seeds import seed_from
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.pmmh import Walk, given_by, pmmh
from bayestopics.evidence.pseudo_marginal import Inner
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, before: Sequence[Result] = ()) -> Result:
    return walk(task, corpus, checkpoint, TopicPrior(task.params["least"], task.params["most"]), *before)


def walk(
    task: Task, corpus: Corpus, checkpoint: Checkpoint, topics: TopicPrior, longer: Result | None = None
) -> Result:
    """The first half of the chain is burn-in, but the trace and the running means cover all of it. The proposals have
    their own table, because they hardly compress.

    `longer` is a chain from the same start with more inner sweeps. Its estimates begin with the sweeps that are needed
    here, so that wherever it has been no new estimate is made.
    """
    params = task.params
    burn_in = params["iterations"] // 2
    given = given_by(longer.tables["proposals"], params["start"], params["inner"]) if longer else None
    found = pmmh(
        corpus,
        Prior(params["alpha"], params["eta"]),
        Walk(topics, (params["start"],), params["iterations"] - burn_in, burn_in),
        Inner(
            params["inner"],
            params["sampler"],
            start=params.get("z_start", "uniform"),
            shorter=tuple(params.get("shorter", ())),
        ),
        seed=seed_from((longer.task if longer else task).generator()),
        given=given,
        checkpoint=checkpoint,
    )
    trace = found.trace[["step", "topics", "log_estimate", "accepted"]]
    metrics = {
        "mode": found.mode,
        "probability_of_mode": found.posterior[found.mode],
        "last_topics": int(trace["topics"].iloc[-1]),
        "running_mean": float(trace["topics"].mean()),
        "acceptance_rate": found.acceptance_rate,
        "longest_stay": found.longest_stay,
        "log_estimate_sd": found.log_estimate_sd,
        "largest_log_estimate": float(trace["log_estimate"].max()),
    }
    shares = pd.DataFrame(sorted(found.posterior.items()), columns=["topics", "probability"])
    return Result(
        task,
        metrics,
        found.warnings,
        tables={"trace": trace, "posterior": shares, "proposals": found.trace.filter(like="proposed")},
        arrays={"fresh_log_estimates": found.fresh_log_estimates},
        volatile=found.volatile,
    )
