"""The labels of topics, where every topic has its own alpha: chains are matched, or exchange them.

log m does not change if the alphas of two topics are exchanged, so its top has T! images. On most corpora a chain never
exchanges two topics by itself, and stays near one image. `aligned` renames the topics of chains from different starts,
so that all are near the same one. `Exchange` is a Gibbs move that exchanges labels, for where all images count.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln

from bayestopics.base.jit import kernel
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.louis import by_topic
from bayestopics.lda.state import State, count

ROUNDS = 2  # how often every pair of topics may exchange its labels after a sweep


def aligned(corpus: Corpus, topics: int, states: list[np.ndarray]) -> list[np.ndarray]:
    """The assignments of every chain, renamed so that its topics resemble those of the first chain."""
    first = count(corpus, topics, states[0])[1]
    return [matching(first, count(corpus, topics, one)[1])[one].astype(np.int32) for one in states]


def matching(first: np.ndarray, other: np.ndarray) -> np.ndarray:
    """int64[T]: the topic of the first that each topic of the other resembles, from their counts (terms x topics).

    The sum over topics and terms of sqrt(m_tv m'_tv) is as large as it can be.
    """
    alike = np.einsum("vt,vs->ts", np.sqrt(other), np.sqrt(first))
    return np.asarray(linear_sum_assignment(alike, maximize=True)[1])


class Exchange:
    """A move over the T! names of a state's topics, given everything else: pairs of topics exchange their labels.

    p(w | z, eta) does not depend on the names, and p(z | alpha) depends on them through
    sum_t M[t, label of t], M[t, s] = sum_d lG(n_dt + alpha_s) - lG(alpha_s).
    """

    def __init__(self, corpus: Corpus, alpha: np.ndarray) -> None:
        counts = np.arange(corpus.document_lengths.max() + 1)
        self.table = gammaln(counts + alpha[:, None]) - gammaln(alpha)[:, None]

    def __call__(self, state: State, rng: np.random.Generator) -> None:
        weights = np.einsum("tc,sc->ts", by_topic(state, self.table.shape[1]), self.table)
        labels, pairs = np.arange(state.topics), state.topics * (state.topics - 1) // 2
        _exchange(weights, labels, rng.random(ROUNDS * pairs))
        rename(state, labels)


def rename(state: State, labels: np.ndarray) -> None:
    """Topic t becomes topic labels[t], in place."""
    before = np.argsort(labels)
    state.assignments[:] = labels[state.assignments]
    state.document_topic[:] = state.document_topic[:, before]
    state.term_topic[:] = state.term_topic[:, before]
    state.topic_total[:] = state.topic_total[before]


@kernel
def _exchange(weights: np.ndarray, labels: np.ndarray, uniforms: np.ndarray) -> None:
    topics, used = len(labels), 0
    while used < len(uniforms):
        for t in range(topics):
            for s in range(t):
                a, b = labels[t], labels[s]
                more = weights[t, b] + weights[s, a] - weights[t, a] - weights[s, b]
                # Gibbs, not Metropolis: with equal alphas every exchange would be accepted, always the same ones
                if uniforms[used] * (1 + np.exp(-more)) < 1:
                    labels[t], labels[s] = b, a
                used += 1
