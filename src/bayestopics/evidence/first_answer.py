"""A first answer to "how many topics?", in seconds: many topics, merged step by step, and each step rated.

Annealing finds more topics than the corpus is likely to have. Then the pairs that cost least (`walk.merging_costs`) are
merged, a fifth of the topics at a time, down to a single topic; after each step sweeps let the topics adapt, with alpha
and eta drawn along. To merge only while it pays would end far too high: with many topics alpha becomes small, and then
one topic more costs little. So the steps are compared with each other: the log mass around z, by short annealing from a
reference and back (`walk`), plus the prior of T. From the best step a short chain over (T, z, alpha, eta) goes on,
pushed at first (`jump`), because a topic whose words belong to several others cannot be merged away.

This is a place to start from, and no posterior: it has no error, and one run from above proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, isqrt
from time import process_time

import numpy as np

from bayestopics.base.guard import finite, not_finite
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence import reference
from bayestopics.evidence.jump import TRACE, Chain, Sampler
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.evidence.walk import log_mass, merge
from bayestopics.lda import single_site
from bayestopics.lda.given_z import draw_alpha, draw_eta
from bayestopics.lda.state import Prior, State, from_assignments
from bayestopics.lda.urns import ENDS

LEAST, MOST = 8, 150  # topics to begin with; between these, half of the square root of the number of tokens
START = Prior(0.1, 0.1)
STEPS = 100  # of the annealing that finds them
SETTLE = 20  # sweeps after each step
SHARE = 0.2  # of the topics: how many pairs are merged in a step
SHORT = 20  # sweeps in one part of a rating
PUSHED, FREE = 100, 200  # iterations of the short chain
TIMED = 40  # further iterations, which tell how long one takes


@dataclass
class FirstAnswer:
    topics: int
    assignments: np.ndarray  # int32[N]
    alpha: float
    eta: float
    seconds: float  # of one iteration
    rating: float  # seconds to rate as many topics
    steps: list[tuple[int, float]] = field(default_factory=list)  # T and log mass of each step


def first_answer(corpus: Corpus, topic_prior: TopicPrior, rng: np.random.Generator) -> FirstAnswer:
    low, high = topic_prior.low, topic_prior.high
    many = max(LEAST, min(MOST, isqrt(corpus.token_count) // 2), low)
    state = reference.find_topics(corpus, many if high is None else min(many, high), START, STEPS, rng)
    steps: list[tuple[int, float]] = []
    for_each: list[float] = []  # seconds of each rating, for one topic
    best = state
    while True:
        state = _settle(corpus, state, rng)
        log_masses, began = [mass for _, mass in steps], process_time()
        steps.append((state.topics, rate(corpus, state, topic_prior, rng)))
        for_each.append((process_time() - began) / state.topics)
        if steps[-1][1] > max(log_masses, default=-np.inf):
            best = state
        if state.topics == low:
            break
        state = merge(corpus, state, max(low, state.topics - ceil(SHARE * state.topics)))
    topics, assignments, alpha, eta, seconds = _short_chain(corpus, best, topic_prior, rng)
    # the shortest: in others something may have been compiled, and small numbers of topics take longer for each
    return FirstAnswer(topics, assignments, alpha, eta, seconds, min(for_each) * topics, steps)


def _settle(corpus: Corpus, state: State, rng: np.random.Generator) -> State:
    """Sweeps, with alpha and eta drawn after each."""
    alpha, eta = float(state.alpha[0]), float(state.eta)
    for sweep in range(SETTLE):
        single_site.sweep(state, rng)
        if state.topics > 1:
            alpha = draw_alpha(state.document_topic, corpus.document_lengths, alpha, rng)
        eta = draw_eta(state.term_topic, state.topic_total, eta, rng)
        if not finite((alpha, eta)):
            raise not_finite("alpha or eta while topics settle", sweep, state)
        state = from_assignments(corpus, state.topics, Prior(alpha, eta), state.assignments)
    return state


def rate(corpus: Corpus, state: State, topic_prior: TopicPrior, rng: np.random.Generator) -> float:
    """The log of the mass around this z, times nu(T)."""
    prior = Prior(float(state.alpha[0]), float(state.eta))
    return log_mass(corpus, state.copy(), prior, SHORT, rng) + topic_prior.log_density(state.topics)


def _short_chain(
    corpus: Corpus, state: State, topic_prior: TopicPrior, rng: np.random.Generator
) -> tuple[int, np.ndarray, float, float, float]:
    """The most probable T along a short chain; z, alpha and eta of the last of its states with this T; and the seconds
    of an iteration as it will be in the chains that follow, after all that it needs is compiled."""
    prior = Prior(float(state.alpha[0]), float(state.eta))
    trace = np.empty((PUSHED + FREE, len(TRACE)))
    chain = Chain(0, state.topics, rng, state.assignments, state.topics, 0, {}, {}, trace, [{}])
    sampler, last = Sampler(corpus, prior, topic_prior, chain, levels=False), {}  # there is no time to learn them
    sampler.hyper = ENDS
    for i in counted(range(PUSHED + FREE), "a first answer", "iteration"):
        if i == PUSHED:
            sampler.stop_pushing()
        sampler.iterate(learning=True, pushed=i < PUSHED)
        sampler.record(0 if i >= PUSHED + FREE // 2 else None)
        if not finite((sampler.alpha, sampler.eta)):
            raise not_finite("alpha or eta of a first answer", i, chain)
        last[chain.topics] = (chain.assignments.copy(), sampler.alpha, sampler.eta)
    shares = chain.shares[0]
    best = max((t for t in shares if t in last), key=shares.__getitem__)
    return (best, *last[best], _seconds(corpus, prior, topic_prior, chain))


def _seconds(corpus: Corpus, prior: Prior, topic_prior: TopicPrior, chain: Chain) -> float:
    """Of one iteration; this chain goes on, and is not used any more."""
    sampler = Sampler(corpus, prior, topic_prior, chain)
    sampler.hyper, began = ENDS, process_time()
    for _ in range(TIMED):
        sampler.iterate(learning=False)
    return (process_time() - began) / TIMED
