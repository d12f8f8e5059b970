"""Sweeps of the partially collapsed sampler over the machines of a cluster: the same bits as on one machine.

The documents are cut into parts. In a sweep, one worker draws the topics and the others fetch them; each part is drawn
where its assignments are; and the assignments come back in two bytes per token, from which the counts follow. Dask
draws the parts of a worker that died again elsewhere, from its own copy of the assignments: it gets one in every
ROOTED-th sweep, so that it never has to go back further.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bayestopics.base.cluster import Cluster
from bayestopics.base.processes import thread_limit
from bayestopics.lda import partially_collapsed
from bayestopics.lda.partially_collapsed import Topics
from bayestopics.lda.state import State, recount
from bayestopics.lda.transition import Info

ROOTED = 5  # sweeps
PARTS = 2  # for each worker, so that none waits long for the last


@dataclass(eq=False)
class Spread:
    """What the workers have of a chain."""

    cluster: Cluster
    ends: np.ndarray  # part p has the documents ends[p] .. ends[p + 1] - 1
    offsets: np.ndarray  # of the documents' tokens
    tokens: list[Any]  # futures of (terms, offsets, first document) of each part
    topics: list[Any]  # futures of the assignments of each part
    last: np.ndarray  # the assignments that these futures have
    sweeps: int = 0


def sweep(state: State, rng: np.random.Generator, cluster: Cluster) -> Info:
    """Like `partially_collapsed.sweep`."""
    seeds = rng.integers(2**64, size=3, dtype=np.uint64)
    spread = state.__dict__.get("spread")
    if spread is None or spread.cluster is not cluster:
        spread = state.__dict__["spread"] = _spread(state, cluster)
    kind = np.uint16 if state.topics <= 2**16 else np.uint32
    if spread.sweeps % ROOTED == 0 or not np.array_equal(spread.last, state.assignments):
        bounds = spread.offsets[spread.ends]
        parts = [state.assignments[a:b].astype(kind) for a, b in pairwise(bounds)]
        spread.topics = [cluster.submit(_as_it_is, part) for part in parts]
    counts = (state.term_topic, state.topic_total, state.alpha, state.eta)
    drawn = cluster.submit(_draw_topics, *counts, seeds, cluster.threads)
    spread.topics = [
        cluster.submit(_draw_part, tokens, topics, drawn, state.topics, seeds[2], cluster.threads)
        for tokens, topics in zip(spread.tokens, spread.topics, strict=True)
    ]
    state.assignments[:] = np.concatenate(cluster.client.gather(spread.topics))
    spread.last, spread.sweeps = state.assignments.copy(), spread.sweeps + 1
    recount(*state.arrays())
    return Info(None)


def _spread(state: State, cluster: Cluster) -> Spread:
    """Cut the documents into parts with about the same number of tokens, and send their tokens."""
    offsets = state.offsets()
    count = PARTS * cluster.workers
    goals = np.arange(1, count) * len(state.terms) // count
    ends = np.unique([0, *np.searchsorted(offsets, goals), len(offsets) - 1])
    tokens = []
    for first, last in pairwise(ends):
        begin, end = offsets[first], offsets[last]
        tokens.append(cluster.held(state.terms[begin:end], offsets[first : last + 1] - begin, int(first)))
    return Spread(cluster, ends, offsets, tokens, [], state.assignments.copy())


# -- in a worker -----------------------------------------------------------------------------------


def _as_it_is(part: np.ndarray) -> np.ndarray:
    return part


def _draw_topics(
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    seeds: np.ndarray,
    threads: int | None,
) -> Topics:
    with thread_limit(threads):
        return partially_collapsed.draw_topics(term_topic.copy(), topic_total.copy(), alpha.copy(), eta, seeds)


def _draw_part(
    tokens: tuple[np.ndarray, np.ndarray, int],
    before: np.ndarray,
    drawn: Topics,
    topics: int,
    seed: np.uint64,
    threads: int | None,
) -> np.ndarray:
    terms, offsets, first = tokens
    assignments, none = before.astype(np.int32), np.empty((0, topics), np.int32)
    counts = (none, none, np.zeros(topics, np.int64))
    with thread_limit(threads):
        partially_collapsed.draw_assignments(terms, assignments, offsets.copy(), first, drawn, counts, seed)
    return assignments.astype(before.dtype)
