"""Where a chain starts: `random`, a uniform topic for each token, or `progressive`, each token given those before it.

A progressive start costs one sweep of `single-site`, and is as good as several sweeps from a random start. It changes
where the chain begins, and nothing about the law that it converges to: after the burn-in there is no trace of it.
Progressive starts of different chains are more alike than random ones, so R-hat has less to go by.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayestopics.base.jit import kernel, sum_kernel
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda import STARTS
from bayestopics.lda.state import Prior, State, random_start, unsigned
from bayestopics.lda.uniforms import new_words, uniform


def progressive_start(corpus: Corpus, topics: int, prior: Prior, rng: np.random.Generator) -> State:
    """Draw the tokens in turn from the collapsed conditional, given the tokens before them only."""
    alpha, words = prior.alpha_vector(topics), new_words(rng)
    document_topic = np.zeros((corpus.document_count, topics), np.int32)
    term_topic = np.zeros((corpus.term_count, topics), np.int32)
    counts = (document_topic, term_topic, np.zeros(topics, np.int64))
    assignments, eta = np.zeros(corpus.token_count, np.int32), float(prior.eta)
    state = State(corpus.documents, corpus.terms, alpha, eta, assignments, *counts)
    documents, terms, drawn = unsigned(corpus.documents, corpus.terms, assignments)
    _draw(documents, terms, alpha, eta, corpus.term_count * eta, *counts, drawn, words)
    return state


def start_of(name: str) -> Callable[[Corpus, int, Prior, np.random.Generator], State]:
    if name not in STARTS:
        raise InputError(f"unknown start {name!r}; choose from {', '.join(STARTS)}")
    return dict(zip(STARTS, (random_start, progressive_start), strict=True))[name]


@sum_kernel
def _mass(row: np.ndarray, eta: float, factor: np.ndarray) -> float:
    mass = 0.0
    for t in range(len(factor)):
        mass += (row[t] + eta) * factor[t]
    return mass


@kernel
def _draw(
    documents: np.ndarray,
    terms: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    total_eta: float,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    assignments: np.ndarray,
    words: np.ndarray,
) -> None:
    topics = len(alpha)
    factor = np.empty(topics)  # (n_dt + alpha_t) / (m_t + V eta), for the document that is being drawn
    for i in range(len(terms)):
        d, row = documents[i], term_topic[terms[i]]
        if i == 0 or d != documents[i - 1]:
            for t in range(topics):
                factor[t] = (document_topic[d, t] + alpha[t]) / (topic_total[t] + total_eta)
        threshold, new = uniform(words) * _mass(row, eta, factor), topics - 1
        for t in range(topics):
            threshold -= (row[t] + eta) * factor[t]
            if threshold < 0.0:
                new = t
                break
        assignments[i] = new
        row[new] += 1
        document_topic[d, new] += 1
        topic_total[new] += 1
        factor[new] = (document_topic[d, new] + alpha[new]) / (topic_total[new] + total_eta)
