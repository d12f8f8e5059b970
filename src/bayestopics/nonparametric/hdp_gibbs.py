"""Gibbs sampling for the HDP by direct assignment (Teh et al. 2006, section 5.3).

A token joins topic k with weight (n_dk + a beta_k) (m_kv + eta) / (m_k + V eta), or a new topic with a beta_u / V. A
new topic breaks a Beta(1, gamma) share off beta_u, and a topic that loses its last token gives its weight back. One
free label, the candidate, stands for the new topic: without tokens and with alpha = a beta_u it has the right weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bayestopics.base.jit import kernel, sum_kernel
from bayestopics.lda.dense import CANCELLED
from bayestopics.lda.state import unsigned
from bayestopics.lda.uniforms import new_words, uniform
from bayestopics.nonparametric.concentrations import ConcentrationPriors
from bayestopics.nonparametric.hdp_state import HdpState, fitted, make_room
from bayestopics.nonparametric.top_level import SMALLEST_WEIGHT, draw_weights


def sweep(state: HdpState, rng: np.random.Generator, resample: ConcentrationPriors | None = None) -> HdpState:
    """Draw every assignment once, then beta (and both concentrations, if they have priors)."""
    return draw_weights(draw_assignments(state, rng), rng, resample)


def draw_assignments(state: HdpState, rng: np.random.Generator) -> HdpState:
    words = new_words(rng)

    def visit(state: HdpState, start: int) -> int:
        documents, terms, assignments = unsigned(state.documents, state.terms, state.assignments)
        return visit_tokens(start, len(terms), documents, terms, *model(state), assignments, words)

    return through(visit, state)


def through(visit: Callable[[HdpState, int], int], state: HdpState) -> HdpState:
    """Visit tokens from 0 on; a kernel that stops before the end lacks labels, gets more, and continues."""
    state = fitted(state)
    reached = visit(state, 0)
    while reached < len(state.assignments):
        state = make_room(state)
        reached = visit(state, reached)
    return state


def model(state: HdpState) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, float, float, float]:
    """The arguments of the kernels, in their order."""
    counts = (state.document_topic, state.term_topic, state.topic_total)
    return (*counts, state.alpha, state.alpha_new, state.gamma, state.eta, state.total_eta)


@kernel
def free_label(topic_total: np.ndarray, alpha: np.ndarray) -> int:
    """The first label without tokens and weight; -1 if there is none."""
    for t in range(len(alpha)):
        if topic_total[t] == 0 and alpha[t] == 0.0:
            return t
    return -1


@kernel
def break_stick(label: int, alpha: np.ndarray, alpha_new: np.ndarray, gamma: float, words: np.ndarray) -> None:
    """Give a free label a Beta(1, gamma) share of alpha_new."""
    log_left = math.log(1.0 - uniform(words)) / gamma
    alpha[label] = max(-math.expm1(log_left) * alpha_new[0], SMALLEST_WEIGHT)
    alpha_new[0] = max(math.exp(log_left) * alpha_new[0], SMALLEST_WEIGHT)


@sum_kernel
def _mass(v: int, term_topic: np.ndarray, eta: float, factor: np.ndarray) -> float:
    mass = 0.0
    for t in range(len(factor)):
        mass += (term_topic[v, t] + eta) * factor[t]
    return mass


@kernel
def _mass_of_others(v: int, term_topic: np.ndarray, eta: float, factor: np.ndarray, old: int) -> float:
    mass = 0.0
    for t in range(len(factor)):
        if t != old:
            mass += (term_topic[v, t] + eta) * factor[t]
    return mass


@kernel
def visit_tokens(
    start: int,
    end: int,
    documents: np.ndarray,
    terms: np.ndarray,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    alpha_new: np.ndarray,
    gamma: float,
    eta: float,
    total_eta: float,
    assignments: np.ndarray,
    words: np.ndarray,
) -> int:
    """Draw the topics of tokens start .. end - 1 in turn; returns the first that was not drawn for lack of labels.

    As in `lda.dense`, `factor` is kept per document, the counts include the token, and rows are written when it moves.
    """
    labels = len(alpha)
    factor = np.empty(labels)
    candidate = free_label(topic_total, alpha)
    current = -1
    for i in range(start, end):
        if candidate < 0:
            return i
        d, v = documents[i], terms[i]
        if d != current:
            current = d
            for t in range(labels):
                factor[t] = (document_topic[d, t] + alpha[t]) / (topic_total[t] + total_eta)
            factor[candidate] = alpha_new[0] / total_eta
        old = int(assignments[i])
        last = topic_total[old] == 1
        if last:  # it is the last token of its topic, which goes with it
            document_topic[d, old], term_topic[v, old], topic_total[old] = 0, 0, 0
            alpha_new[0] += alpha[old]
            alpha[old] = 0.0
            own, chosen, factor[old] = 0.0, 0.0, 0.0
            factor[candidate] = alpha_new[0] / total_eta
            mass = _mass(v, term_topic, eta, factor)
        else:
            own = (document_topic[d, old] - 1 + alpha[old]) / (topic_total[old] - 1 + total_eta)
            chosen = (term_topic[v, old] - 1 + eta) * own
            with_token = _mass(v, term_topic, eta, factor)
            others = with_token - (term_topic[v, old] + eta) * factor[old]
            if others < CANCELLED * with_token:
                others = _mass_of_others(v, term_topic, eta, factor, old)
            mass = others + chosen
        threshold = uniform(words) * mass - chosen  # its current topic comes first, because most tokens stay
        if threshold < 0.0:
            continue
        new = candidate
        for t in range(labels):
            if t != old and factor[t] > 0.0:
                new = t
                threshold -= (term_topic[v, t] + eta) * factor[t]
                if threshold < 0.0:
                    break
        if not last:
            document_topic[d, old] -= 1
            term_topic[v, old] -= 1
            topic_total[old] -= 1
            factor[old] = own
        if new == candidate:
            break_stick(new, alpha, alpha_new, gamma, words)
        assignments[i] = new
        document_topic[d, new] += 1
        term_topic[v, new] += 1
        topic_total[new] += 1
        factor[new] = (document_topic[d, new] + alpha[new]) / (topic_total[new] + total_eta)
        if new == candidate:
            candidate = free_label(topic_total, alpha)
            if candidate >= 0:
                factor[candidate] = alpha_new[0] / total_eta
    return end
