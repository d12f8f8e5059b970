"""Study `corpora`: what every corpus is, beside what the papers say of it (claims H7 and B2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.stopwatch import Stopwatch
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.registry import Entry
from bayestopics.predict.completion import split
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.claims import Answer, Records, require
from bayestopics.studies.corpora.tables import SIZES


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Sizes of a corpus, and the share of its words that occur once in their document.

    With `heldout_documents` also of the training part, averaged over `splits` random splits (Zhang & Sisson hold out
    half of the words of the last documents).
    """
    watch = Stopwatch()
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
    return Result(task, metrics, tables=tables, volatile=watch.volatile())


def words_once(corpus: Corpus) -> float:
    """The share of the tokens whose term occurs exactly once in their document."""
    counts = corpus.counts.data
    return float(np.sum(counts == 1) / counts.sum())


# -- claims --------------------------------------------------------------------------------------


def claim_h7(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """H7: D, V and N of C-1..C-9. Reproduced if all 27 numbers agree, partly if at least 24 do."""
    said = {p["id"]: (name, p) for name, e in entries.items() for p in e.papers if str(p["id"]).startswith("C-")}
    require(records, [name for name, _ in said.values()])
    different = []
    for corpus_id, (name, paper) in sorted(said.items()):
        for size in SIZES:
            ours = records[name].metrics[size]
            if ours != paper[size]:
                different.append(f"{corpus_id} {size}: {ours:.0f}, paper {paper[size]}")
    checked = len(said) * len(SIZES)
    agree = checked - len(different)
    verdict = "reproduced" if not different else "partly" if agree >= 24 else "not reproduced"
    return Answer(f"{agree} of {checked} numbers agree" + "".join(f"; {item}" for item in different), "exact", verdict)


def claim_b2(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """B2: share of KOS words that occur once in their document, in the training part.

    Reproduced if the paper's rounded percentage is within 0.05 points (its rounding) plus two standard deviations
    over random splits of ours.
    """
    require(records, ["kos"])
    metrics = records["kos"].metrics
    share, whole = metrics["training_words_once_share"], metrics["words_once_share"]
    deviation = metrics["training_words_once_sd"]
    near = abs(100 * share - numbers["percent"]) <= 0.05 + 200 * deviation
    return Answer(
        f"{share:.2%} of the training words ({whole:.2%} of all words)",
        f"{deviation:.2%} (standard deviation over splits)",
        "reproduced" if near else "not reproduced",
    )
