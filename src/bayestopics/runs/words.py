"""Topics as records and commands show them, from a matrix of counts (terms x topics)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayestopics.corpus.corpus import Corpus

TOP_WORDS = 10


def top_words(corpus: Corpus, counts: np.ndarray) -> list[dict[str, Any]]:
    """The topics, largest first: share of the tokens and most frequent words. `topic` is the column of the counts."""
    share = _shares(counts)
    best = np.argsort(-counts, axis=0, kind="stable")[:TOP_WORDS]
    return [
        {
            "topic": int(t),
            "share": float(share[t]),
            "words": [corpus.vocabulary[v] for v in best[:, t] if counts[v, t] > 0],
        }
        for t in np.argsort(-share, kind="stable")
    ]


def topics_table(corpus: Corpus, counts: np.ndarray, eta: float) -> pd.DataFrame:
    """E[beta | z] with one row per topic and term that occurs in it, sorted by topic and probability."""
    beta = counts.T + eta
    beta /= beta.sum(axis=1, keepdims=True)
    terms, topics = np.nonzero(counts)
    table = pd.DataFrame(
        {"topic": topics, "term": np.array(corpus.vocabulary)[terms], "probability": beta[topics, terms]}
    )
    return table.sort_values(["topic", "probability", "term"], ascending=[True, False, True], ignore_index=True)


def topic_shares(counts: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"topic": np.arange(counts.shape[1]), "share": _shares(counts)})


def _shares(counts: np.ndarray) -> np.ndarray:
    totals = counts.sum(axis=0)
    return totals / totals.sum()
