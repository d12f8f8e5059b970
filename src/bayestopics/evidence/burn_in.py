"""The burn-in of a chain over (T, z): what brings it near the posterior, and is over before the chain is used.

`jump` tells what happens when. Nothing here has to keep the posterior, because the law of the chain that is kept does
not depend on where it begins.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence import weeding
from bayestopics.lda import single_site
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.lda.uniforms import new_words, uniform

if TYPE_CHECKING:
    from bayestopics.evidence.jump import Chain, Sampler

PART = 60_000  # tokens: a corpus of more than twice as many begins with a part of about this size
SETTLE = 20  # sweeps of all documents, when they have joined
WARMEST = 0.88  # the first b of a chain that cools: 0.85, 0.88 and 0.94 were tried on whales, with little difference
GROWN = 1.25  # times its start: then a chain comes from below
WEEDED = 0.5  # of the mean size: larger topics are not superfluous
WEEDINGS = 4  # in the second half of the burn-in, each with at most as many sweeps for topics that stay as a quarter of it


def next_phase(corpus: Corpus, sampler: Sampler, burn_in: int) -> Sampler:
    """What happens once, before the next iteration, in the burn-in."""
    chain, quarter, half = sampler.chain, burn_in // 4, burn_in // 2
    if chain.large and chain.done == quarter and np.sum(sampler.sizes > 0) > GROWN * chain.start:
        chain.doubled = double(sampler)
    if chain.done == half:
        sampler.stop_pushing()
    if chain.large and half <= chain.done < burn_in and (chain.done - half) % ceil((burn_in - half) / WEEDINGS) == 0:
        weed(sampler, quarter * sampler.sweeps)
    if chain.done == half and chain.part is not None:
        sampler = join(corpus, sampler)
    return sampler


def warmth(chain: Chain, burn_in: int) -> float:
    """How warm the next iteration is: 1 at the beginning of each cooling, 0 at its end and outside of it."""
    quarter, half = burn_in // 4, burn_in // 2
    if chain.done < quarter:
        return (quarter - chain.done) / quarter if chain.cools else 0.0
    return (half - chain.done) / (half - quarter) if chain.done < half and chain.doubled else 0.0


# -- topics that are too few, or superfluous ----------------------------------------------------------------


def double(sampler: Sampler) -> bool:
    """Halve all topics at random, or the largest, as far as the prior allows; returns whether any was halved."""
    chain, used = sampler.chain, sampler.empty_last()
    more = min(used, (sampler.topic_prior.high or 2 * used) - used)
    for new, topic in enumerate(np.argsort(-sampler.sizes[:used], kind="stable")[:more], start=used):
        tokens = np.flatnonzero(chain.assignments == topic)
        chain.assignments[tokens[chain.rng.random(len(tokens)) < 0.5]] = new
    sampler.set_topics(used + more)
    sampler.draw_topics()
    return more > 0


def weed(sampler: Sampler, most: int) -> None:
    """Take out the superfluous ones of the topics below half the mean size, the smallest first (`weeding`), with at
    most so many sweeps for those that stay."""
    chain, left = sampler.chain, most
    tried: list[int] = []  # since the last topic that went
    while left > 0:
        used = sampler.empty_last()
        sampler.set_topics(used)  # an empty topic would take in what another loses
        small = [topic for topic in np.argsort(sampler.sizes[:used], kind="stable").tolist() if topic not in tried]
        if used == 1 or chain.topics - 1 not in sampler.topic_prior or not small:
            break
        if sampler.sizes[small[0]] >= WEEDED * sampler.sizes.sum() / used:
            break
        price = sampler.log_exact(chain.topics - 1, used - 1) - sampler.log_exact(chain.topics, used)
        gone, sweeps = _goes(sampler, small[0], price, left)
        left -= 0 if gone else sweeps
        tried = [] if gone else [*tried, small[0]]
    sampler.draw_topics()


def _goes(sampler: Sampler, topic: int, price: float, most: int) -> tuple[bool, int]:
    """Anneal this topic away, in more and more steps while it is open whether that is worth its price. If not,
    everything is as before. Returns whether the topic has gone, and the number of sweeps."""
    chain, before, columns, sweeps = sampler.chain, sampler.chain.assignments.copy(), sampler.counts[2].size, 0
    for steps in weeding.STEPS:
        if price <= 0 or sweeps + steps > most:
            break
        data = (sampler.corpus, topic, chain.topics, sampler.counts, chain.assignments, sampler.alpha, sampler.eta)
        work, made = weeding.anneal_away(*data, steps, -price - weeding.OPEN, chain.rng)
        sweeps += made
        if work + price > 0 and sampler.sizes[topic] == 0:
            sampler.empty_last()
            chain.topics -= 1
            return True, sweeps
        chain.assignments = before.copy()
        sampler.counts = sampler.counted(columns)
        if made < steps:
            break
    return False, sweeps


# -- a part of the documents ---------------------------------------------------------------------------------


def draw_part(corpus: Corpus, rng: np.random.Generator) -> np.ndarray | None:
    """The numbers of the tokens of random documents, about PART of them; None for a corpus that is not large."""
    if corpus.token_count <= 2 * PART:
        return None
    order = rng.permutation(corpus.document_count)
    reached = np.cumsum(corpus.document_lengths[order])
    many = max(int(np.sum(reached <= PART)), int(np.argmax(reached > 0)) + 1)  # at least one that has tokens
    return np.flatnonzero(np.isin(corpus.documents, order[:many]))


def part_of(corpus: Corpus, part: np.ndarray | None) -> Corpus:
    """The corpus with these tokens alone; the documents of all others are empty."""
    if part is None:
        return corpus
    return Corpus(corpus.documents[part], corpus.terms[part], corpus.document_count, corpus.vocabulary)


def join(corpus: Corpus, sampler: Sampler) -> Sampler:
    """The same chain with all documents. The new tokens get topics by what their terms had in the part alone. They
    settle before topics can come and go: a new topic would gain from their disorder."""
    chain, assignments = sampler.chain, np.full(corpus.token_count, -1, np.int32)
    assert chain.part is not None
    used = sampler.empty_last()
    shares = np.cumsum(sampler.counts[1][:, :used] + sampler.eta, axis=1)
    assignments[chain.part] = chain.assignments
    _spread(corpus.terms, shares, assignments, new_words(chain.rng))
    state = from_assignments(corpus, used, Prior(sampler.alpha, sampler.eta), assignments)
    for _ in range(SETTLE):
        single_site.sweep(state, chain.rng)
    chain.assignments, chain.part, chain.soft_topics = state.assignments, None, {}
    joined = type(sampler)(corpus, sampler.prior, sampler.topic_prior, chain)
    joined.set_topics(used)
    joined.draw_topics()
    return joined


@kernel
def _spread(terms: np.ndarray, shares: np.ndarray, assignments: np.ndarray, words: np.ndarray) -> None:
    """Draw the topics of the tokens that have none; `shares` are the cumulated weights of the topics for each term."""
    for i in range(len(terms)):
        if assignments[i] < 0:
            row = shares[terms[i]]
            assignments[i] = min(np.searchsorted(row, uniform(words) * row[-1], side="right"), len(row) - 1)
