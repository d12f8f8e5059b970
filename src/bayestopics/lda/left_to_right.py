"""Left-to-right (Wallach, Murray, Salakhutdinov & Mimno 2009): the probability of a document, theta integrated out.

A particle goes through the document word by word. Before word n it updates the topics of the earlier words by one Gibbs
sweep. Then p_n = sum_t p(w_n | t) p(t | earlier topics) is its probability of word n, and a topic is drawn for word n.
A sweep leaves the distribution of the topics so far invariant, so the product of p_n along one particle is unbiased,
and so is the mean of these products over particles. The published form, the product over n of the mean of p_n over
particles, is not unbiased.

Beta is given, or it is integrated out given the topics of the other documents, which has the same mean and far less
noise. The cost is n_d^2 / 2 draws per particle; with beta given, the time of a draw is proportional to the number of
topics in the document.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.lda.dense import visit_tokens
from bayestopics.lda.state import State
from bayestopics.lda.uniforms import uniform


class Others(NamedTuple):
    """What is needed about the topics of the other documents, if there is no complete state."""

    term_topic: np.ndarray  # [V, T], whole numbers
    topic_total: np.ndarray  # [T], whole numbers
    alpha: np.ndarray  # float64[T]
    eta: float


def log_mean_of_products(log_steps: np.ndarray) -> float:
    """log of the mean over particles (rows) of prod_n p_n."""
    products = log_steps.sum(axis=1)
    largest = products.max()
    return float(largest + np.log(np.mean(np.exp(products - largest))))


def given_beta(
    terms: np.ndarray, log_beta: np.ndarray, alpha: float | np.ndarray, particles: int, words: np.ndarray
) -> np.ndarray:
    """log p_n of every particle (rows) and word of the document; their products estimate p(w_d | beta, alpha).

    `log_beta` is V x T, and may be arbitrarily low; `words` seed the generator (see `lda.uniforms`).
    """
    alpha = np.array(np.broadcast_to(np.asarray(alpha, dtype=np.float64), log_beta.shape[1:]))
    log_weights = log_beta[_checked(terms, len(log_beta), particles)]
    # each row is scaled so that its largest entry is 1: entries that then underflow have no weight anyway
    scale = log_weights.max(axis=1, keepdims=True)
    if not np.all(np.isfinite(scale)):
        raise InputError("log beta is not finite for a word of the document")
    return _given_beta(np.exp(log_weights - scale), alpha, particles, words) + scale[:, 0]


def given_topics_of_others(terms: np.ndarray, others: State | Others, particles: int, words: np.ndarray) -> np.ndarray:
    """The same with beta integrated out given z and w of the other documents: products estimate p(w_d | z_-d, w_-d).

    `others` does not contain the document's words, and is not changed.
    """
    kinds, rows = np.unique(_checked(terms, len(others.term_topic), particles), return_inverse=True)
    counts = (others.term_topic[kinds], others.topic_total.astype(np.int64), others.alpha, others.eta)
    return _given_counts(rows, *counts, len(others.term_topic) * others.eta, particles, words)


def _checked(terms: np.ndarray, term_count: int, particles: int) -> np.ndarray:
    """Check the terms and the number of particles, because kernels do not."""
    terms = np.asarray(terms, dtype=np.int64)
    if terms.ndim != 1 or np.any((terms < 0) | (terms >= term_count)):
        raise InputError(f"a document is a list of terms in 0..{term_count - 1}")
    if particles < 1:
        raise InputError(f"left-to-right needs at least 1 particle, not {particles}")
    return terms


@kernel
def _given_beta(beta: np.ndarray, alpha: np.ndarray, particles: int, words: np.ndarray) -> np.ndarray:
    """beta[n, t]: the probability of word n in topic t.

    The weight of a topic is n_dt beta_nt + alpha_t beta_nt. Few topics have words of the document, so the first parts
    are summed for each draw; the sums of the second parts are computed once.
    """
    length, topics = beta.shape
    total_alpha = alpha.sum()
    prior = np.empty((length, topics))  # sum_{s <= t} alpha_s beta_ns
    for n in range(length):
        mass = 0.0
        for t in range(topics):
            mass += alpha[t] * beta[n, t]
            prior[n, t] = mass
    log_steps = np.empty((particles, length))
    z, cumulative = np.empty(length, np.int64), np.empty(topics)
    present, place, counts = np.empty(topics, np.int64), np.empty(topics, np.int64), np.empty(topics, np.int64)
    for r in range(particles):
        number = 0  # of topics present; counts[j] is n_dt of topic present[j], place its inverse
        place[:] = -1
        for n in range(length):
            for i in range(n + 1):  # the earlier words, then word n itself
                if i < n:
                    j = place[z[i]]
                    counts[j] -= 1
                    if counts[j] == 0:
                        number -= 1
                        present[j], counts[j] = present[number], counts[number]
                        place[present[j]] = j
                        place[z[i]] = -1
                mass = 0.0
                for j in range(number):
                    mass += counts[j] * beta[i, present[j]]
                    cumulative[j] = mass
                total = mass + prior[i, -1]
                if i == n:
                    log_steps[r, n] = np.log(total / (n + total_alpha))  # p_n
                threshold = uniform(words) * total
                if threshold < mass:
                    j = 0
                    while cumulative[j] <= threshold:
                        j += 1
                    t = present[j]
                else:  # rounding may make it as large as the total: then the last topic that has a weight is taken
                    t = np.searchsorted(prior[i], threshold - mass, side="right")
                    t = min(t, np.searchsorted(prior[i], prior[i, -1], side="left"))
                z[i] = t
                if place[t] < 0:
                    place[t], present[number], counts[number] = number, t, 0
                    number += 1
                counts[place[t]] += 1
    return log_steps


@kernel
def _given_counts(
    rows: np.ndarray,
    row_topic: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    total_eta: float,
    particles: int,
    words: np.ndarray,
) -> np.ndarray:
    """rows[n]: the row of word n in `row_topic`, the counts m_vt of the other documents."""
    length, topics = len(rows), len(alpha)
    document = np.zeros(length, np.int64)  # one document: number 0
    etas = np.full(topics, eta)
    total_alpha = alpha.sum()
    log_steps = np.empty((particles, length))
    for r in range(particles):
        z = np.zeros(length, np.int64)
        in_document, in_rows, total = np.zeros((1, topics), np.int64), row_topic.copy(), topic_total.copy()
        weights = np.empty(topics)
        for n in range(length):
            visit_tokens(0, n, document, rows, in_document, in_rows, total, alpha, etas, total_eta, z, None, words)
            v, mass = rows[n], 0.0
            for t in range(topics):  # (n_dt + alpha_t) (m_tv + eta) / (m_t + V eta), the words so far among the counts
                weights[t] = (in_document[0, t] + alpha[t]) * (in_rows[v, t] + eta) / (total[t] + total_eta)
                mass += weights[t]
            log_steps[r, n] = np.log(mass / (n + total_alpha))  # p_n
            threshold = uniform(words) * mass
            for t in range(topics):
                z[n] = t
                threshold -= weights[t]
                if threshold < 0.0:
                    break
            in_document[0, z[n]] += 1
            in_rows[v, z[n]] += 1
            total[z[n]] += 1
    return log_steps
