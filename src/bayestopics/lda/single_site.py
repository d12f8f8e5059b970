"""Single-site collapsed Gibbs (Griffiths & Steyvers 2004), with the dense conditional [Zhang & Sisson 5].

Tokens are visited by document. A sweep leaves p(z | w) invariant, and its transition density g(z, z') is the product
of the chosen normalised conditionals.
"""

from __future__ import annotations

import math

import numpy as np

from bayestopics.corpus.corpus import Corpus
from bayestopics.jit import kernel
from bayestopics.lda.dense import draw_one
from bayestopics.lda.state import Prior, State, random_start
from bayestopics.lda.transition import Info
from bayestopics.lda.uniforms import NO_WORDS, new_words, uniform


def init(corpus: Corpus, topics: int, prior: Prior, rng: np.random.Generator) -> State:
    return random_start(corpus, topics, prior, rng)


def sweep(state: State, rng: np.random.Generator) -> Info:
    """Update every assignment once, in place."""
    return Info(_sweep(*state.arrays(), state.assignments, False, new_words(rng)))


def transition_density(state: State, target: np.ndarray) -> float:
    """log g(z, target): the log density of reaching `target` from this state in one sweep. The state stays as it is."""
    return _sweep(*state.copy().arrays(), state.target(target), True, NO_WORDS)


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
    target: np.ndarray,
    forced: bool,
    words: np.ndarray,
) -> float:
    """One sweep, drawn, or forced to `target`; returns log g."""
    total_eta = term_topic.shape[0] * eta
    inverse_total = 1.0 / (topic_total + total_eta)
    cumulative = np.empty(len(alpha))
    log_g = 0.0
    product = 1.0  # of chosen conditionals: its log is taken only before it underflows
    for i in range(len(terms)):
        by_document, by_term = document_topic[documents[i]], term_topic[terms[i]]
        old = assignments[i]
        # take the token out
        by_document[old] -= 1
        by_term[old] -= 1
        topic_total[old] -= 1
        inverse_total[old] = 1.0 / (topic_total[old] + total_eta)
        # choose
        wanted = target[i] if forced else -1
        new, chance = draw_one(by_document, by_term, inverse_total, alpha, eta, wanted, uniform(words), cumulative)
        product *= chance
        if product < 1e-100:
            log_g += math.log(product)
            product = 1.0
        # put it back
        assignments[i] = new
        by_document[new] += 1
        by_term[new] += 1
        topic_total[new] += 1
        inverse_total[new] = 1.0 / (topic_total[new] + total_eta)
    return log_g + math.log(product)
