"""Study `number_of_topics`, jump: chains over (T, z) from several starts, and the posterior of T from all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numba
import pandas as pd

from bayestopics.base.seeds import seed_from
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.pmmh import Walk
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.runs import jump
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

SHOWN = 1000  # rows of each chain that are kept in the trace


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, before: Sequence[Result] = ()) -> Result:
    """The tables of `runs.jump`, with a trace that is thinned, and `chains`, one row per chain."""
    params = task.params
    topics = TopicPrior(1, params["most"])
    walk = Walk(topics, tuple(params["starts"]), params["iterations"], params["burn_in"])
    seeded = replace(task, seed=seed_from(task.generator()))
    found = jump.compute(seeded, corpus, checkpoint, walk=walk, workers=numba.get_num_threads())
    trace = found.tables["trace"]
    every = max(1, (params["iterations"] + params["burn_in"]) // SHOWN)
    tables = {
        "trace": trace[trace["step"] % every == 0].reset_index(drop=True),
        "chains": pd.DataFrame(found.answer["chains"]),
        **{name: found.tables[name] for name in ("posterior", "batches")},
    }
    return replace(found, task=task, tables=tables, arrays={}, answer={})
