"""Leave-one-out scores S(T) for several T; a checkpoint is saved after each T."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import pandas as pd

from bayestopics.base.checkpoint import Checkpoint
from bayestopics.base.progress import counted
from bayestopics.base.stopwatch import Stopwatch
from bayestopics.base.wording import by_topics, explain_once
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.state import Prior
from bayestopics.predict.leave_one_out import LeaveOneOutScore, score

WORK = ("sampler", "sweeps", "burn_in", "thin", "documents", "chains", "forget", "steps", "tolerance")
Scores = dict[int, tuple[LeaveOneOutScore, float]]  # T -> its score and CPU seconds


def scores_by_topics(
    corpus: Corpus,
    topics: Iterable[int],
    prior: Prior,
    work: Mapping[str, Any],
    *,
    seed: int,
    checkpoint: Checkpoint,
    description: str,
) -> Scores:
    """The scores by T. The same documents are left out for every T, so differences between T have little error."""
    made: Scores = checkpoint.load() or {}
    for count in counted(topics, description, "T"):
        if count not in made:
            watch = Stopwatch()
            found = score(corpus, count, prior, seed=seed, **{key: work[key] for key in WORK if key in work})
            made[count] = found, watch.volatile()["cpu_seconds"]  # CPU time depends less on how busy the machine is
            checkpoint.save(made)
    return made


def documents_table(made: Scores) -> pd.DataFrame:
    """One row per T and document."""
    return pd.DataFrame({"topics": topics, **asdict(row)} for topics, (one, _) in made.items() for row in one.documents)


def warnings_of(made: Scores) -> list[str]:
    return explain_once(by_topics((topics, said) for topics, (one, _) in made.items() for said in one.warnings))
