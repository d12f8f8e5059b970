"""Weeding: superfluous topics are taken out of a chain over (T, z) during its burn-in.

A chain that grew from few topics may have one that takes a few words from all the others. Such a topic is not like any
other, so it cannot be merged, and on a large corpus it shrinks too slowly to go by itself. Here it is annealed away
while all other topics adapt: the target p(w, z | T) gets the extra weight exp(-lambda m_k), where m_k is the number of
tokens of topic k and lambda rises from 0 until the topic is empty. The work of this path is an estimate, too low on
average (annealed importance sampling, Neal 2001), of the log of the mass that has no token in k over the mass of the
labelled mode where the chain is. Together with the price of an empty topic it says whether one topic less is more
probable. Only then does the topic go.

This only chooses where the chain that is kept begins; the law of that chain does not depend on it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.soft_topic import soft_sweep
from bayestopics.lda.state import unsigned
from bayestopics.lda.uniforms import new_words

STEPS = (300, 1200, 4800)  # from lambda = 0 to an empty topic: more, if with fewer the answer is open
OPEN = 50.0  # nats: a topic that seems to be worth more than its price and this stays, without longer paths
POWER = 5
BEYOND = 6.0  # nats: the last lambda is that much more than log N, so that hardly a token is left


def ladder(tokens: int, steps: int) -> np.ndarray:
    """The lambdas. The small ones are closer together: there the topic has many tokens, and loses them all at once."""
    return (np.log(tokens) + BEYOND) * np.linspace(0.0, 1.0, steps + 1) ** POWER


def anneal_away(
    corpus: Corpus,
    topic: int,
    topics: int,
    counts: tuple[np.ndarray, np.ndarray, np.ndarray],
    assignments: np.ndarray,
    alpha: float,
    eta: float,
    steps: int,
    least: float,
    rng: np.random.Generator,
) -> tuple[float, int]:
    """Empty this topic step by step; the counts and assignments are changed. Returns the work and the number of sweeps,
    which is smaller if the work, which only falls, has come below `least`."""
    lambdas, work = ladder(corpus.token_count, steps).tolist(), 0.0
    documents, terms, drawn = unsigned(corpus.documents, corpus.terms, assignments)
    table = np.arange(np.bincount(corpus.terms).max() + 1) + eta
    powers = np.empty((corpus.term_count, topics))
    unused = np.zeros(1, np.int32), np.zeros((1, 3)), False  # what a sweep of the chain learns
    for sweep, (last, now) in enumerate(pairwise(lambdas)):
        work -= (now - last) * int(counts[2][topic])
        if work < least:
            return work, sweep
        tilt = np.full(corpus.token_count + 1, np.exp(-now))  # of all sizes of the topic
        data = (documents, terms, topics, *counts, alpha, eta, drawn, topic, tilt)
        soft_sweep(*data, *unused, 1.0, table, powers, new_words(rng))
    return work, steps
