"""LDA at an inverse temperature b: single-site Gibbs sampling of z from p(z) p(w | z)^b, between prior and posterior.

The conditional probability of topic t for a token is proportional to (n_dt + alpha_t) [(m_tv + eta) / (m_t + V eta)]^b,
with counts that leave the token out. The powers of the terms' counts are looked up in a table and kept in a matrix, so
a sweep costs hardly more than one at b = 1.
"""

from __future__ import annotations

import math

import numpy as np

from bayestopics.base.jit import kernel, sum_kernel
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.dense import CANCELLED
from bayestopics.lda.density import log_likelihood
from bayestopics.lda.state import Prior, State, from_assignments, unsigned
from bayestopics.lda.uniforms import new_words, uniform


def draw_prior(corpus: Corpus, topics: int, prior: Prior, rng: np.random.Generator) -> State:
    """Draw z from p(z), that is at b = 0: a Polya urn in each document."""
    assignments = np.empty(corpus.token_count, np.int32)
    _draw_urns(corpus.documents, prior.alpha_vector(topics), assignments, new_words(rng))
    return from_assignments(corpus, topics, prior, assignments)


@kernel
def _draw_urns(documents: np.ndarray, alpha: np.ndarray, assignments: np.ndarray, words: np.ndarray) -> None:
    counts, current, length, total = np.zeros(len(alpha)), -1, 0, alpha.sum()
    for i in range(len(documents)):
        if documents[i] != current:
            current, length = documents[i], 0
            counts[:] = 0.0
        threshold = uniform(words) * (length + total)
        t = 0
        while t < len(alpha) - 1:
            threshold -= counts[t] + alpha[t]
            if threshold < 0.0:
                break
            t += 1
        assignments[i] = t
        counts[t] += 1.0
        length += 1


class Tempered:
    """A state that can sweep at any b, and that keeps its log p(w | z) up to date."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.log_likelihood = log_likelihood(state)
        self._largest = int(np.bincount(state.terms, minlength=1).max())
        self._powers = np.empty(state.term_topic.shape)

    def sweep(self, b: float, rng: np.random.Generator) -> float:
        """One sweep at b; returns the new log p(w | z)."""
        state = self.state
        table = (np.arange(self._largest + 1) + state.eta) ** b
        documents, terms, assignments = unsigned(state.documents, state.terms, state.assignments)
        counts = (state.document_topic, state.term_topic, state.topic_total)
        data = (documents, terms, *counts, state.alpha, state.eta, assignments)
        self.log_likelihood += _sweep(*data, b, table, self._powers, new_words(rng))
        return self.log_likelihood


@sum_kernel
def mass_of(v: int, powers: np.ndarray, factor: np.ndarray) -> float:
    mass = 0.0
    for t in range(len(factor)):
        mass += powers[v, t] * factor[t]
    return mass


@kernel
def mass_of_others(v: int, powers: np.ndarray, factor: np.ndarray, old: int) -> float:
    mass = 0.0
    for t in range(len(factor)):
        if t != old:
            mass += powers[v, t] * factor[t]
    return mass


@kernel
def _sweep(
    documents: np.ndarray,
    terms: np.ndarray,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    assignments: np.ndarray,
    b: float,
    table: np.ndarray,
    powers: np.ndarray,
    words: np.ndarray,
) -> float:
    """One sweep; returns by how much log p(w | z) rose. table[c] = (c + eta)^b; `powers` is room for V x T numbers."""
    topics, total_eta = len(alpha), len(term_topic) * eta
    for v in range(len(term_topic)):
        for t in range(topics):
            powers[v, t] = table[term_topic[v, t]]
    # (m_t + V eta)^-b, with all tokens and with one token less; each changes only when a token moves
    total, less = (topic_total + total_eta) ** -b, np.maximum(topic_total - 1 + total_eta, 0.0) ** -b
    factor = np.empty(topics)
    rise, product, current = 0.0, 1.0, -1
    for i in range(len(assignments)):
        d, v, old = documents[i], terms[i], assignments[i]
        if d != current:
            current = d
            for t in range(topics):
                factor[t] = (document_topic[d, t] + alpha[t]) * total[t]
        own = (document_topic[d, old] - 1 + alpha[old]) * less[old]
        chosen = table[term_topic[v, old] - 1] * own
        with_token = mass_of(v, powers, factor)
        others = with_token - powers[v, old] * factor[old]
        if others < CANCELLED * with_token:
            others = mass_of_others(v, powers, factor, old)
        threshold = uniform(words) * (others + chosen) - chosen
        if threshold < 0.0:
            continue
        new = int(old)
        for t in range(topics):
            if t != old:
                new = t
                threshold -= powers[v, t] * factor[t]
                if threshold < 0.0:
                    break
        if new == old:
            continue
        # p(w | z) gains a token at `new`, and loses one at `old`
        product *= (term_topic[v, new] + eta) / (topic_total[new] + total_eta)
        product *= (topic_total[old] - 1 + total_eta) / (term_topic[v, old] - 1 + eta)
        if not 1e-100 < product < 1e100:
            rise += math.log(product)
            product = 1.0
        assignments[i] = new
        document_topic[d, old] -= 1
        document_topic[d, new] += 1
        term_topic[v, old] -= 1
        term_topic[v, new] += 1
        topic_total[old] -= 1
        topic_total[new] += 1
        powers[v, old], powers[v, new] = table[term_topic[v, old]], table[term_topic[v, new]]
        total[old], less[new] = less[old], total[new]
        less[old] = (topic_total[old] - 1 + total_eta) ** -b if topic_total[old] > 0 else 0.0
        total[new] = (topic_total[new] + total_eta) ** -b
        factor[old], factor[new] = own, (document_topic[d, new] + alpha[new]) * total[new]
    return rise + math.log(product)
