"""Blocked Gibbs for the HDP: all tokens of a (document, term) pair at once [Zhang & Sisson's open question].

With a finite set of topics, a block would be drawn as in LDA. But there are infinitely many unseen topics, and a block
may open several of them. So we take the block out; topics that only it had become unseen. We order the unseen topics by
size-biased picks and restrict the block to the seen topics and the first CANDIDATES of this order. The order does not
depend on which of them the block uses, so this is Gibbs on an extended state: given the order, the block's own topics
must be among the first CANDIDATES (otherwise the block stays as it is), and its new assignments are drawn from these.
Given the state, the next topic in the order is either a topic of the block, in proportion to its weight, or a topic
that nobody has, with weight beta_u. The latter takes a Beta(1, gamma) share of beta_u, because size-biased picks of a
Dirichlet process are its stick-breaking.
"""

from __future__ import annotations

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.lda.block import add_block, block_end, largest_block, settle, weights
from bayestopics.lda.blocked_backward import _backward, _forward
from bayestopics.lda.state import unsigned
from bayestopics.lda.uniforms import new_words, uniform
from bayestopics.nonparametric import hdp_gibbs
from bayestopics.nonparametric.concentrations import ConcentrationPriors
from bayestopics.nonparametric.hdp_gibbs import break_stick, free_label, model, through, visit_tokens
from bayestopics.nonparametric.hdp_state import SPARE, HdpState
from bayestopics.nonparametric.top_level import draw_weights

CANDIDATES = 4  # unseen topics that a block may open; any number up to SPARE is exact
# Some sweeps go token by token: a block with more than CANDIDATES topics of its own would otherwise never change, and
# if gamma is far above CANDIDATES, the first few unseen topics weigh too little.
PLAIN_SWEEPS = 1 / 16
assert CANDIDATES <= SPARE


def sweep(state: HdpState, rng: np.random.Generator, resample: ConcentrationPriors | None = None) -> HdpState:
    """Draw every block once, then beta (and both concentrations, if they have priors)."""
    return draw_weights(draw_assignments(state, rng), rng, resample)


def draw_assignments(state: HdpState, rng: np.random.Generator) -> HdpState:
    if rng.random() < PLAIN_SWEEPS:
        return hdp_gibbs.draw_assignments(state, rng)
    tokens, *data, starts = state.by_block
    documents, terms = unsigned(*data)
    words = new_words(rng)

    def visit(state: HdpState, start: int) -> int:
        assignments = state.assignments[tokens]
        reached = _sweep(start, documents, terms, *model(state), assignments.view(np.uint32), words, starts)
        state.assignments[tokens] = assignments
        return reached

    return through(visit, state)


@kernel
def _order_unseen(
    topic_total: np.ndarray, alpha: np.ndarray, alpha_new: np.ndarray, gamma: float, words: np.ndarray
) -> bool:
    """Give weights and labels to the first CANDIDATES unseen topics; returns whether they include all of the block's.

    The block is not in the counts, so a label with weight but without tokens is a topic that only the block had.
    """
    labels = len(alpha)
    left = np.zeros(labels, np.bool_)  # topics of the block that are not placed yet
    for t in range(labels):
        left[t] = topic_total[t] == 0 and alpha[t] > 0.0
    for _ in range(CANDIDATES):
        of_block = 0.0
        for t in range(labels):
            of_block += alpha[t] if left[t] else 0.0
        threshold = uniform(words) * (of_block + alpha_new[0])
        if threshold < of_block:
            next_topic = -1
            for t in range(labels):
                if left[t]:
                    next_topic = t
                    threshold -= alpha[t]
                    if threshold < 0.0:
                        break
            left[next_topic] = False
        else:
            break_stick(free_label(topic_total, alpha), alpha, alpha_new, gamma, words)
    return not left.any()


@kernel
def _return_unused(topic_total: np.ndarray, alpha: np.ndarray, alpha_new: np.ndarray) -> None:
    for t in range(len(alpha)):
        if topic_total[t] == 0 and alpha[t] > 0.0:
            alpha_new[0] += alpha[t]
            alpha[t] = 0.0


@kernel
def _sweep(
    start: int,
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
    starts: np.ndarray,
) -> int:
    """Draw tokens and blocks from `start` on, in the order of `State.by_block`; returns the first that lacks labels."""
    labels = len(alpha)
    largest = largest_block(documents, terms)
    table, constants = np.empty((labels, largest + 1)), np.empty((labels, largest + 1))
    counts, inverse_total, rows = np.zeros(labels, np.int64), np.empty(labels), np.empty((2, labels))
    model = (document_topic, term_topic, topic_total, alpha, alpha_new, gamma, eta, total_eta)
    inverse_total[:] = 1.0 / (topic_total + total_eta)
    while start < len(assignments):
        d = int(documents[start])
        first_block = starts[2 * d + 1]
        if start < first_block:  # words that occur once
            reached = visit_tokens(start, first_block, documents, terms, *model, assignments, words)
            if reached < first_block:
                return reached
            start = first_block
            inverse_total[:] = 1.0 / (topic_total + total_eta)
            continue
        if np.sum(topic_total == 0) < CANDIDATES:
            return start
        end = block_end(documents, terms, start)
        size = end - start
        by_document, by_term = document_topic[d], term_topic[terms[start]]
        block = (assignments, start, end, by_document, by_term, topic_total, inverse_total, total_eta)
        add_block(-1, *block)
        if _order_unseen(topic_total, alpha, alpha_new, gamma, words):
            weights(size, by_document, by_term, topic_total, alpha, eta, total_eta, inverse_total, rows, table)
            _forward(size, labels, table, constants)
            _backward(size, labels, table, constants, counts, words)
            settle(assignments, start, end, counts, None, words)
        add_block(1, *block)
        _return_unused(topic_total, alpha, alpha_new)
        start = end
    return start
