"""Which topics of the best chain the other chains found too.

Chains from random starts may end in different modes, and then some of their topics differ. The topics of each other
chain are matched to those of the best chain (`lda.alignment`, on the means over the draws). The similarity of a pair is
the mean over the draws of the overlap of the two topics, and its interval covers 95 % of the draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.alignment import matched, overlap
from bayestopics.runs.draws import beta_of

SAME = 0.7  # a topic that is merged with another of its size in the other chain has an overlap of 0.5, the same topic 1
ENDS = (2.5, 97.5)  # percentiles of the draws


def reproducibility(
    corpus: Corpus, draws: list[list[np.ndarray]], means: list[np.ndarray], best: int, eta: float
) -> pd.DataFrame:
    """One row per topic of the best chain and other chain: its match there, their similarity and its interval."""
    topics = len(means[best])
    rows = []
    for chain, mean in enumerate(means):
        if chain == best:
            continue
        pairs = matched(overlap(means[best], mean))
        drawn = np.array(
            [
                np.minimum(beta_of(corpus, ours, topics, eta)[0], beta_of(corpus, theirs, topics, eta)[0][pairs]).sum(1)
                for ours, theirs in zip(draws[best], draws[chain], strict=True)
            ]
        )  # draws x topics
        low, high = np.percentile(drawn, ENDS, axis=0)
        columns = {"topic": np.arange(topics), "chain": chain, "match": pairs, "similarity": drawn.mean(axis=0)}
        rows.append(pd.DataFrame({**columns, "low": low, "high": high}))
    table = pd.concat(rows, ignore_index=True)
    return table.assign(found=table["similarity"] >= SAME).sort_values(["topic", "chain"], ignore_index=True)


def of_topics(table: pd.DataFrame) -> dict[int, dict[str, Any]]:
    """By topic: in how many chains it is (its own among them), how similar it is there, and whether that is enough.

    The interval reaches from the lowest to the highest end of those of the chains. A topic is stable if more than half
    of the other chains have it.
    """
    found = {}
    for topic, rows in table.groupby("topic"):
        others = int(rows["found"].sum())
        found[int(topic)] = {
            "chains": 1 + others,
            "similarity": float(rows["similarity"].mean()),
            "similarity_interval": [float(rows["low"].min()), float(rows["high"].max())],
            "stable": 2 * others > len(rows),
        }
    return found


def doubts(found: dict[int, dict[str, Any]]) -> list[str]:
    unstable = sorted(topic for topic, one in found.items() if not one["stable"])
    if not unstable:
        return []
    alone = len(unstable) == 1
    names = f"Topic {unstable[0]} is" if alone else f"Topics {', '.join(map(str, unstable))} are"
    return [
        f"{names} unstable (marked with ?): most of the other chains do not have {'it' if alone else 'them'}. Do not "
        f"rely on {'it' if alone else 'them'}; more sweeps (--sweeps), a longer burn-in (--burn-in) or fewer topics "
        "(--topics) may help."
    ]
