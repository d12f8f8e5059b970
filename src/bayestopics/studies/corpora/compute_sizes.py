"""Study `corpora`: the sizes of one corpus."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayestopics.corpus.corpus import Corpus
from bayestopics.predict.completion import split
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """The sizes of a corpus, and the share of its words that occur once in their document.

    With `heldout_documents`, the same share is also computed for the training part, averaged over `splits` random
    splits (Zhang & Sisson hold out half of the words of the last documents).
    """
    counts = corpus.counts.data
    metrics: dict[str, float] = {key: value for key, value in corpus.summary().items() if not isinstance(value, str)}
    metrics |= {
        "longest_document": int(corpus.document_lengths.max()),
        "largest_count": int(counts.max()),
        "words_once_share": words_once(corpus),
    }
    tables = {}
    if held_out := task.params.get("heldout_documents"):
        rng = task.generator("splits")
        shares = [words_once(split(corpus, held_out, rng)[0]) for _ in range(task.params["splits"])]
        metrics["training_words_once_share"] = float(np.mean(shares))
        metrics["training_words_once_sd"] = float(np.std(shares, ddof=1))
        tables["splits"] = pd.DataFrame({"training_words_once_share": shares})
    return Result(task, metrics, tables=tables)


def words_once(corpus: Corpus) -> float:
    """The share of the tokens whose term occurs exactly once in their document."""
    counts = corpus.counts.data
    return float(np.sum(counts == 1) / counts.sum())
