"""Single-site collapsed Gibbs (Griffiths & Steyvers 2004), with the dense conditional [Zhang & Sisson 5].

Tokens are visited by document. A sweep leaves p(z | w) invariant, and its transition density g(z, z') is the product
of the chosen normalised conditionals.
"""

from __future__ import annotations

import math

import numpy as np

from bayestopics.corpus.corpus import Corpus
from bayestopics.jit import kernel
from bayestopics.lda.state import Prior, State, random_start
from bayestopics.lda.transition import Info


def init(corpus: Corpus, topics: int, prior: Prior, rng: np.random.Generator) -> State:
    return random_start(corpus, topics, prior, rng)


def sweep(state: State, rng: np.random.Generator) -> Info:
    """Update every assignment once, in place."""
    uniforms = rng.random(len(state.assignments))
    prior_and_data = (state.documents, state.terms, state.alpha, state.eta)
    counts = (state.document_topic, state.term_topic, state.topic_total)
    return Info(_sweep(*prior_and_data, *counts, state.assignments, uniforms, state.assignments, False))


def transition_density(state: State, target: np.ndarray) -> float:
    """log g(z, target): the log density of reaching `target` from this state in one sweep. The state stays as it is."""
    prior_and_data = (state.documents, state.terms, state.alpha, state.eta)
    counts = (state.document_topic.copy(), state.term_topic.copy(), state.topic_total.copy())
    forced = np.array(target, dtype=np.int32)
    return _sweep(*prior_and_data, *counts, state.assignments.copy(), np.empty(0), forced, True)


@kernel
def _sweep(
    documents: np.ndarray,
    terms: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    assignments: np.ndarray,
    uniforms: np.ndarray,
    target: np.ndarray,
    forced: bool,
) -> float:
    """One sweep, drawn with `uniforms`, or forced to `target`; returns log g."""
    topics = len(alpha)
    total_eta = term_topic.shape[0] * eta
    cumulative = np.empty(topics)
    inverse_total = 1.0 / (topic_total + total_eta)
    log_g = 0.0
    product = 1.0  # of chosen conditionals: its log is taken only before it underflows
    for i in range(len(terms)):
        by_document = document_topic[documents[i]]
        by_term = term_topic[terms[i]]
        old = assignments[i]
        # take the token out
        by_document[old] -= 1
        by_term[old] -= 1
        topic_total[old] -= 1
        inverse_total[old] = 1.0 / (topic_total[old] + total_eta)
        # the conditional (5), cumulated
        mass = 0.0
        for t in range(topics):
            mass += (by_document[t] + alpha[t]) * (by_term[t] + eta) * inverse_total[t]
            cumulative[t] = mass
        # choose
        if forced:
            new = target[i]
        else:
            threshold = uniforms[i] * mass
            new = 0
            while cumulative[new] <= threshold and new < topics - 1:
                new += 1
        product *= (by_document[new] + alpha[new]) * (by_term[new] + eta) * inverse_total[new] / mass
        if product < 1e-100:  # one more conditional, 1e-160 at the least, does not underflow
            log_g += math.log(product)
            product = 1.0
        # put it back
        assignments[i] = new
        by_document[new] += 1
        by_term[new] += 1
        topic_total[new] += 1
        inverse_total[new] = 1.0 / (topic_total[new] + total_eta)
    return log_g + math.log(product)
