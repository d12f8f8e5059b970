"""Evidence from annealing both ways: from a fitted reference to the posterior, and back.

The log of a path from the reference (`reference`) is too low on average, because the path lags behind; that of a path
back, from a draw of the posterior, is too high by about as much. Bennett's (1976) equation finds the value between
that the works of both agree with. Its error is far smaller than the distance of the two, but the estimate is not
unbiased; and where one way hardly lags behind, there is no gain. The draws are from a chain at the topics that were
found: on real corpora the chain stays with these topics, so the estimate is of the mass around them, and log m(T) may
be larger.
"""

from __future__ import annotations

import numpy as np

from bayestopics.corpus.corpus import Corpus
from bayestopics.errors.bennett import bennett
from bayestopics.evidence.reference import MINIMUM, Path, anneal, anneal_backward, find_topics, prepare, start
from bayestopics.lda import single_site
from bayestopics.lda.state import Prior, State, from_assignments

PATHS = 2  # each way: fewer but longer paths lag less
APART = 4  # a draw of the posterior comes after a quarter of a path's length in sweeps


def repeat(
    corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator, found: State | None = None
) -> float:
    """One estimate of log m(T). Topics are found by `sweeps` annealing sweeps from the prior, or are given (and
    changed). `sweeps` sweeps of the sampler make the reference, and then there are `sweeps` annealing steps each way,
    on `PATHS` paths."""
    state = found or find_topics(corpus, topics, prior, sweeps, rng)
    works = paths(corpus, state, prior, sweeps, max(MINIMUM, sweeps // PATHS), PATHS, rng)
    return bennett(*works) if np.isfinite(works).all() else -np.inf


def paths(
    corpus: Corpus, state: State, prior: Prior, sweeps: int, steps: int, count: int, rng: np.random.Generator
) -> np.ndarray:
    """float64[2, count]: the log-weights of paths there, and back; all are about log m(T). `state` is changed."""
    reference, ladder, _ = prepare(corpus, state, prior, sweeps, steps, rng)
    works, log_shares = np.empty((2, count)), np.empty(count)
    for number in range(count):
        path, log_shares[number] = start(corpus, state.topics, prior, reference, rng)
        works[0, number] = -np.inf if path is None else anneal(path, ladder, rng)
        for _ in range(max(MINIMUM, steps // APART)):
            single_site.sweep(state, rng)
        z = state.assignments
        drawn = reference.names(z)[z] if reference.symmetric else z
        end = from_assignments(corpus, state.topics, prior, drawn)
        works[1, number] = anneal_backward(Path(end, reference), ladder, rng)
    # both begin or end at the reference within its region, which has a share of it only
    return works + np.logaddexp.reduce(log_shares) - np.log(count)
