"""Densities of LDA with theta and beta integrated out, including all constants that depend on T, alpha or eta."""

from __future__ import annotations

import math

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.lda.state import State


def log_joint(state: State) -> float:
    """log p(w, z | T, alpha, eta), with theta and beta integrated out. For T = 1 it is log m(1), the evidence."""
    return float(_log_prior_assignments(state.document_topic, state.alpha)) + log_likelihood(state)


def log_likelihood(state: State) -> float:
    """log p(w | z, eta), with beta integrated out."""
    return float(_log_likelihood(state.term_topic, state.topic_total, state.eta))


@kernel
def _log_prior_assignments(document_topic: np.ndarray, alpha: np.ndarray) -> float:
    """log p(z): sum_d lG(sum alpha) - lG(n_d + sum alpha) + sum_t lG(n_dt + alpha_t) - lG(alpha_t)."""
    documents, topics = document_topic.shape
    total_alpha = alpha.sum()
    constant = math.lgamma(total_alpha)
    log_gamma_alpha = np.array([math.lgamma(a) for a in alpha])
    result = 0.0
    for d in range(documents):
        length = 0
        for t in range(topics):
            n = document_topic[d, t]
            if n > 0:  # a zero count adds nothing
                length += n
                result += math.lgamma(n + alpha[t]) - log_gamma_alpha[t]
        result += constant - math.lgamma(length + total_alpha)
    return result


@kernel
def _log_likelihood(term_topic: np.ndarray, topic_total: np.ndarray, eta: float) -> float:
    """log p(w | z): sum_t lG(V eta) - lG(m_t + V eta) + sum_v lG(m_tv + eta) - lG(eta)."""
    terms, topics = term_topic.shape
    log_gamma_eta = math.lgamma(eta)
    result = 0.0
    for v in range(terms):
        for t in range(topics):
            m = term_topic[v, t]
            if m > 0:
                result += math.lgamma(m + eta) - log_gamma_eta
    for t in range(topics):
        result += math.lgamma(terms * eta) - math.lgamma(topic_total[t] + terms * eta)
    return result


def topic_term_mean(state: State) -> np.ndarray:
    """E[beta | z], T x V [Zhang & Sisson, after 13]."""
    counts = state.term_topic.T + state.eta
    return counts / counts.sum(axis=1, keepdims=True)


def document_topic_mean(state: State) -> np.ndarray:
    """E[theta | z], D x T [Zhang & Sisson, after 13]."""
    counts = state.document_topic + state.alpha
    return counts / counts.sum(axis=1, keepdims=True)
