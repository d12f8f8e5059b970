"""Getting it right (Geweke 2004): simulate assignments and words jointly in two ways, and compare.

Marginal-conditional: (z, w) drawn from the model, independently. Successive-conditional: w redrawn given z, then one
sweep of the sampler under test. Both have p(z, w) as their law, if and only if the sweep leaves p(z | w) invariant;
unlike enumeration this looks at every corpus that the prior allows, and at more tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy.stats import f as fisher

import oracle
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda import SAMPLERS, sampler
from bayestopics.lda.state import Prior, State, from_assignments

LENGTHS, TERMS, TOPICS, PRIOR = [5, 4, 1, 0], 3, 3, Prior((0.4, 0.7, 1.0), 0.3)
DOCUMENTS = np.repeat(np.arange(len(LENGTHS)), LENGTHS).astype(np.int32)
VOCABULARY = tuple(str(v) for v in range(TERMS))
ITERATIONS, BATCHES = 20_000, 100
INDEPENDENT = 100_000  # marginal-conditional draws: vectorised, hence cheap
FALSE_ALARM = 1e-6  # of one test, over seeds

STATISTICS = ["log p(w, z)", "log p(w | z)", "largest topic", "squared topic sizes", "squared document-topic counts"]
STATISTICS += ["squared topic-term counts", "squared document-term counts", "size of topic 0"]

Step = Callable[[State, np.random.Generator], np.ndarray]  # the assignments after one sweep


def draw_topics(draws: int, rng: np.random.Generator) -> np.ndarray:
    """z from the model (M x N): theta, then the topics."""
    theta = rng.dirichlet(PRIOR.alpha, size=(draws, len(LENGTHS)))[:, DOCUMENTS]
    return invert(theta.cumsum(axis=-1), rng.random(theta.shape[:-1]))


def draw_topic_laws(draws: int, rng: np.random.Generator) -> np.ndarray:
    """beta from the model, cumulated (M x T x V)."""
    return rng.dirichlet(np.full(TERMS, PRIOR.eta), size=(draws, TOPICS)).cumsum(axis=-1)


def invert(cumulative: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Draws from distribution functions along the last axis."""
    return np.sum(cumulative[..., :-1] <= uniforms[..., None], axis=-1, dtype=np.int32)


@cache
def marginal_conditional() -> np.ndarray:
    """The statistics of independent draws of (z, w)."""
    rng = np.random.default_rng(2004)
    z, beta = draw_topics(INDEPENDENT, rng), draw_topic_laws(INDEPENDENT, rng)
    return statistics(z, invert(beta[np.arange(INDEPENDENT)[:, None], z], rng.random(z.shape)))


def successive_conditional(step: Step, rng: np.random.Generator) -> np.ndarray:
    """The statistics of (z, w) along a chain that starts in the model: w | z with a fresh beta, then z | w."""
    z = draw_topics(1, rng)[0]
    beta, uniforms = draw_topic_laws(ITERATIONS, rng), rng.random((ITERATIONS, len(z)))
    topics, words = np.empty((2, ITERATIONS, len(z)), np.int32)
    for i in range(ITERATIONS):
        terms = invert(beta[i, z], uniforms[i])
        order = np.lexsort((terms, DOCUMENTS))  # a corpus has its tokens sorted
        corpus = Corpus(DOCUMENTS, terms[order], len(LENGTHS), VOCABULARY)
        z = step(from_assignments(corpus, TOPICS, PRIOR, z[order]), rng)
        topics[i], words[i] = z, corpus.terms
    return statistics(topics, words)


def statistics(z: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """STATISTICS of each row of (z, w). None depends on the order of the tokens, and only the last on labels."""
    topic, term = z[:, :, None] == np.arange(TOPICS), terms[:, :, None] == np.arange(TERMS)
    document = DOCUMENTS[:, None] == np.arange(len(LENGTHS))
    document_topic = np.einsum("mnt,nd->mdt", topic, document, dtype=np.int64)
    document_term = np.einsum("mnv,nd->mdv", term, document, dtype=np.int64)
    topic_term = np.einsum("mnt,mnv->mtv", topic, term, dtype=np.int64)
    size = topic.sum(axis=1)
    log_prior = oracle.log_prior(DOCUMENTS, z, np.array(PRIOR.alpha))
    log_likelihood = oracle.log_likelihood(terms, z, TOPICS, PRIOR.eta, TERMS)
    squares = [np.square(counts).sum(axis=(1, 2)) for counts in (document_topic, topic_term, document_term)]
    sizes = [size.max(axis=1), np.square(size).sum(axis=1)]
    return np.column_stack([log_prior + log_likelihood, log_likelihood, *sizes, *squares, size[:, 0]])


def check_right(step: Step, seed: int) -> None:
    """Hotelling's T^2 of the differences of all statistics, with the covariance of batch means for the chain.

    The statistics are strongly correlated and a fault moves them apart, so that this sees faults that z statistics
    one by one, with Bonferroni, do not. Over 30 seeds of a right sampler the p-values looked uniform.
    """
    chain = successive_conditional(step, np.random.default_rng(seed))
    independent = marginal_conditional()
    means = chain.reshape(BATCHES, -1, chain.shape[1]).mean(axis=1)
    covariance = np.cov(means.T) / BATCHES + np.cov(independent.T) / INDEPENDENT
    difference = chain.mean(axis=0) - independent.mean(axis=0)
    t_squared, k = difference @ np.linalg.solve(covariance, difference), len(difference)
    p_value = fisher.sf(t_squared * (BATCHES - k) / (k * (BATCHES - 1)), k, BATCHES - k)
    each = dict(zip(STATISTICS, np.round(difference / np.sqrt(np.diag(covariance)), 1), strict=True))
    assert p_value > FALSE_ALARM, f"p = {p_value:.1g}; standardised differences: {each}"


@pytest.mark.parametrize("name", SAMPLERS)
def test_joint_simulations_agree(name: str) -> None:
    module = sampler(name)

    def step(state: State, rng: np.random.Generator) -> np.ndarray:
        module.sweep(state, rng)
        return state.assignments

    check_right(step, seed=1)


@pytest.mark.parametrize("fault", ["decrement", "topic total"])  # the two that are hardest to see
def test_joint_simulations_of_a_broken_sampler_disagree(fault: str) -> None:
    def step(state: State, rng: np.random.Generator) -> np.ndarray:
        uniform = rng.random(len(DOCUMENTS))
        return oracle.plain_sweep(state, lambda i, p: sum(uniform[i] >= c for c in (p[0], p[0] + p[1])), fault)[0]

    with pytest.raises(AssertionError, match="standardised"):
        check_right(step, seed=2)
