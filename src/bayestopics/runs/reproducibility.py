"""Which topics of the best chain the other chains found too.

Chains from random starts may end in different modes, and then some of their topics differ. The topics of each other
chain are matched to those of the best chain (`lda.alignment`, on the means over the draws). A chain may have another
number of topics; a topic without a match there has the similarity 0.

Two draws of one chain differ too: a topic with few tokens overlaps with itself, half a chain later, by perhaps 0.7. So
the similarity of two topics is the mean over the draws of their overlap, divided by what each of them has with itself
(the root of the product of the two), and at most 1. Its interval covers 95 % of the draws.
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
    own = _overlap_with_itself(corpus, draws[best], topics, eta)
    rows = []
    for chain, mean in enumerate(means):
        if chain == best:
            continue
        number, pairs = len(mean), matched(overlap(means[best], mean))
        drawn = np.array(
            [
                np.minimum(beta_of(corpus, ours, topics, eta)[0], beta_of(corpus, theirs, number, eta)[0][pairs]).sum(1)
                for ours, theirs in zip(draws[best], draws[chain], strict=True)
            ]
        )  # draws x topics
        theirs = _overlap_with_itself(corpus, draws[chain], number, eta)[pairs]
        drawn = np.where(pairs >= 0, np.minimum(drawn / np.sqrt(own * theirs), 1), 0.0)
        low, high = np.percentile(drawn, ENDS, axis=0)
        columns = {"topic": np.arange(topics), "chain": chain, "match": pairs, "similarity": drawn.mean(axis=0)}
        rows.append(pd.DataFrame({**columns, "low": low, "high": high}))
    table = pd.concat(rows, ignore_index=True)
    return table.assign(found=table["similarity"] >= SAME).sort_values(["topic", "chain"], ignore_index=True)


def _overlap_with_itself(corpus: Corpus, draws: list[np.ndarray], topics: int, eta: float) -> np.ndarray:
    """float64[topics]: the mean overlap of each topic with itself half a chain later; 1 if there is a single draw."""
    later = len(draws) // 2
    if later == 0:
        return np.ones(topics)
    betas = [beta_of(corpus, draw, topics, eta)[0] for draw in draws]
    return np.mean([np.minimum(*pair).sum(1) for pair in zip(betas, betas[later:], strict=False)], axis=0)


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


MANY = 10  # unstable topics that are no longer named one by one
OF_FIT = "more sweeps (--sweeps), a longer burn-in (--burn-in) or fewer topics (--topics)"


def doubts(found: dict[int, dict[str, Any]], remedy: str = OF_FIT) -> list[str]:
    unstable = sorted(topic for topic, one in found.items() if not one["stable"])
    if not unstable:
        return []
    alone = len(unstable) == 1
    names = f"Topic {unstable[0]} is" if alone else f"Topics {', '.join(map(str, unstable))} are"
    if len(unstable) > MANY:
        names = f"{len(unstable)} of the {len(found)} topics are"
    if len(unstable) == len(found) > 1:
        names = f"All {len(found)} topics are"
    return [
        f"{names} unstable (marked with ?): most of the other chains do not have {'it' if alone else 'them'}. Do not "
        f"rely on {'it' if alone else 'them'}; {remedy} may help."
    ]
