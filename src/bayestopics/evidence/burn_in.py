"""The burn-in of a chain over (T, z): what brings it near the posterior, and is over before the chain is used.

`jump` tells what happens when. Nothing here has to keep the posterior, because the law of the chain that is kept does
not depend on where it begins.

The posterior of a real corpus has many modes, which differ in a few topics, and a chain leaves none of them. So in the
middle of the burn-in other topics are tried, again and again, as in basin hopping (Wales & Doye 1997): some topics are
halved at random, or dissolved in the others; the chain is warmed and cools; and it goes on from the topics before or
after, whichever have more mass around them. The first trials halve all topics, as long as that makes them better: so a
chain from one topic does not stick where each further topic would have to take its words from many others. Before that,
if it started with many topics, and after it, a chain merges those that are most alike, a fifth of them at a time, and
goes on from the best number: so it does not have to lose them one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence import weeding
from bayestopics.evidence.scan import scan
from bayestopics.evidence.walk import log_mass, merge
from bayestopics.lda import single_site
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.lda.uniforms import new_words, uniform

if TYPE_CHECKING:
    from bayestopics.evidence.jump import Chain, Sampler

PART = 60_000  # tokens: a corpus of more than twice as many begins with a part of about this size
SETTLE = 20  # sweeps after a merger, and of all documents when they have joined
WARMEST = 0.88  # the first b of a chain that cools: 0.85, 0.88 and 0.94 were tried on whales, with little difference
TRIAL = 500  # sweeps in which other topics are tried
COLD = 0.2  # the share of them with b = 1
LEAST = 6  # trials: if the burn-in is short, they are shorter
WARM = (0.86, 0.97)  # the first b of a trial is uniform between these
SHARES = (-0.1, -0.05, 0.0, 0.1, 0.2, 0.4)  # of the topics are halved, or, if negative, dissolved; each as often
MERGED = 0.2  # of the topics, in one step on the way down from many topics
HOPELESS = 200.0  # nats: if the topics have become so much worse on this way, it ends
ENDS = 5000  # sweeps: more than this is not needed for the first and the last part of a burn-in
SHORT = 20  # sweeps in one part of a rating
NEAR = 20.0  # nats, about the error of one rating on whales: topics that look worse than the best ones by more are so
TIMES = 3  # ratings are averaged before topics count as better: otherwise the luckiest rating would soon be the best
# The best topics are rated again after each trial, until they have so many ratings; if alpha and eta are sampled, the
# old ones fade from here on.
ENOUGH = 30
WEEDED = 0.5  # of the mean size: larger topics are not superfluous
SCANNED = 0.1  # of all sweeps of a burn-in: in each of two scans of the sizes of the soft topic, at the most
WEEDINGS = 4  # in the last part of the burn-in, each with at most as many sweeps for topics that stay as that part has


@dataclass
class Best:
    """The best topics so far of a chain that tries others."""

    assignments: np.ndarray  # int32[n]
    rating: float  # the mean of `times` ratings
    log_joint: float  # of these topics, at the alpha and eta of the last one
    times: int = TIMES
    doubling: bool = True  # whether all topics were halved in each trial so far, and each was a success
    doubled: bool = False  # whether such a trial was a success
    since: int = 0  # the iteration at which the present trial began
    warmest: float = 1.0  # the first b of this trial


class Schedule:
    """When the parts of a burn-in begin and end, in iterations."""

    def __init__(self, corpus: Corpus, sampler: Sampler, burn_in: int) -> None:
        self.burn_in, searches = burn_in, sampler.chain.searches
        end = min(ceil(burn_in / 4), ceil(ENDS / sampler.sweeps))
        self.trials = end if searches else burn_in // 4  # the first one begins; before, a chain from many topics cools
        self.settling = burn_in - end if searches and not _is_large(corpus) else burn_in // 2
        self.trial = max(1, min(ceil(TRIAL / sampler.sweeps), (self.settling - self.trials) // LEAST))
        self.last = self.trials + (self.settling - self.trials) // self.trial * self.trial  # the end of the last trial
        self.weeding = max(1, ceil((burn_in - self.settling) / WEEDINGS))  # from one to the next


def next_phase(corpus: Corpus, sampler: Sampler, schedule: Schedule) -> Sampler:
    """What happens once, before the next iteration, in the burn-in."""
    chain, burn_in = sampler.chain, schedule.burn_in
    if chain.searches and chain.done in range(schedule.trials, min(schedule.last + 1, burn_in), schedule.trial):
        next_trial(sampler, schedule)
    if chain.done == schedule.settling:
        sampler.stop_pushing()
    if chain.searches and chain.done in range(schedule.settling, burn_in, schedule.weeding):
        weed(sampler, (burn_in - schedule.settling) * sampler.sweeps)
    if chain.done == schedule.settling and chain.part is not None:
        sampler = join(corpus, sampler)
    if chain.searches and burn_in > 0 and chain.done in (schedule.settling, burn_in):
        scan(sampler, int(SCANNED * burn_in * sampler.sweeps))
    return sampler


def power(chain: Chain, schedule: Schedule) -> float:
    """The b of the next iteration: it rises to 1 in each cooling, and outside of them it is 1."""
    if chain.best is not None:
        cooled = (chain.done - chain.best.since) / ((1 - COLD) * schedule.trial)
        return min(1.0, chain.best.warmest + (1 - chain.best.warmest) * cooled)
    if chain.cools and chain.done < schedule.trials:
        return WARMEST + (1 - WARMEST) * chain.done / schedule.trials
    return 1.0


# -- other topics are tried -----------------------------------------------------------------------------------


def next_trial(sampler: Sampler, schedule: Schedule) -> None:
    """Compare what the last trial has found with the best topics, go on from the better ones, and begin the next."""
    chain = sampler.chain
    if chain.best is None:
        sampler.set_topics(sampler.empty_last())
        if chain.cools:
            merge_down(sampler)
        chain.best = _best_here(sampler)
    else:
        _compare(sampler, chain.best)
        if chain.best.doubled and not chain.best.doubling:  # the last doubling may have gone too far
            _put(sampler, chain.best.assignments)
            merge_down(sampler)
            chain.best = replace(_best_here(sampler), doubling=False)
    best = chain.best
    _put(sampler, best.assignments)
    if chain.done == schedule.last:
        chain.best = None
        return
    best.since = chain.done
    best.warmest = WARMEST if best.doubling else chain.rng.uniform(*WARM)
    share = 1.0 if best.doubling else chain.rng.choice(SHARES)
    (halve if share >= 0 else dissolve)(sampler, abs(share))


def _best_here(sampler: Sampler) -> Best:
    found = sampler.chain.assignments.copy()
    return Best(found, _mean_rating(sampler, found), _log_joint(sampler, found))


def merge_down(sampler: Sampler) -> None:
    """Merge topics step by step, as far as the prior allows; the chain goes on from the best step."""
    chain, corpus, low = sampler.chain, sampler.corpus, sampler.topic_prior.low
    highest, found = rate(sampler), chain.assignments.copy()
    while (used := sampler.empty_last()) > low:
        state = from_assignments(corpus, used, Prior(sampler.alpha, sampler.eta), chain.assignments)
        state = merge(corpus, state, max(low, used - ceil(MERGED * used)))
        for _ in range(SETTLE):
            single_site.sweep(state, chain.rng)
        _put(sampler, state.assignments)
        rating = rate(sampler)
        if rating > highest:
            highest, found = rating, chain.assignments.copy()
        elif rating < highest - HOPELESS:
            break
    _put(sampler, found)


def _compare(sampler: Sampler, best: Best) -> None:
    """If the present topics have more mass around them than the best ones, they are the best from now on."""
    chain, rating = sampler.chain, rate(sampler)
    found = chain.assignments.copy()
    if chain.hyper is not None or best.times < ENOUGH:
        _renew(sampler, best)
    if rating > best.rating - NEAR:
        rating = _mean_rating(sampler, found)
    if rating > best.rating:
        best.assignments, best.rating, best.times = found, rating, TIMES
        best.log_joint, best.doubled = _log_joint(sampler, found), best.doubling
    else:
        best.doubling = False


def _renew(sampler: Sampler, best: Best) -> None:
    """Rate the best topics once more: they may only have been lucky. If alpha and eta have changed, older ratings still
    count: the mass around the topics has changed by nearly the same factor as their density."""
    now = _log_joint(sampler, best.assignments)
    before, again = best.rating + now - best.log_joint, _mean_rating(sampler, best.assignments, 1)
    best.rating, best.log_joint = (best.times * before + again) / (best.times + 1), now
    best.times = min(best.times + 1, ENOUGH)


def _log_joint(sampler: Sampler, assignments: np.ndarray) -> float:
    prior = Prior(sampler.alpha, sampler.eta)
    return log_joint(from_assignments(sampler.corpus, int(assignments.max()) + 1, prior, assignments))


def _mean_rating(sampler: Sampler, assignments: np.ndarray, times: int = TIMES) -> float:
    ratings = []
    for _ in range(times):
        _put(sampler, assignments)
        ratings.append(rate(sampler))
    return float(np.mean(ratings))


def _put(sampler: Sampler, assignments: np.ndarray) -> None:
    sampler.chain.assignments = assignments.copy()
    sampler.set_topics(int(assignments.max()) + 1)
    sampler.draw_topics()


def rate(sampler: Sampler) -> float:
    """The log of the mass around the present topics, times nu(T). The empty ones are dropped."""
    chain = sampler.chain
    sampler.set_topics(sampler.empty_last())
    prior = Prior(sampler.alpha, sampler.eta)
    state = from_assignments(sampler.corpus, chain.topics, prior, chain.assignments.copy())
    return log_mass(sampler.corpus, state, prior, SHORT, chain.rng) + sampler.topic_prior.log_density(chain.topics)


def halve(sampler: Sampler, share: float) -> None:
    """Halve some topics at random, as far as the prior allows: any, or one and those that are most like it."""
    chain, used = sampler.chain, sampler.empty_last()
    order = chain.rng.permutation(used)
    if chain.rng.random() < 0.5:
        terms = sampler.counts[1][:, :used] / np.linalg.norm(sampler.counts[1][:, :used], axis=0)
        order = np.argsort(-(terms.T @ terms[:, order[0]]), kind="stable")
    most = (sampler.topic_prior.high or 2 * used) - used
    more = order[: min(ceil(share * used), most)]
    for new, topic in enumerate(more, start=used):
        tokens = np.flatnonzero(chain.assignments == topic)
        chain.assignments[tokens[chain.rng.random(len(tokens)) < 0.5]] = new
    sampler.set_topics(used + len(more))
    sampler.draw_topics()


def dissolve(sampler: Sampler, share: float) -> None:
    """Give the tokens of some topics to others that have their terms, as far as the prior allows: of any, or of the
    smallest ones."""
    chain, used = sampler.chain, sampler.empty_last()
    order = chain.rng.permutation(used)
    if chain.rng.random() < 0.5:
        order = np.argsort(sampler.sizes[:used], kind="stable")
    most = max(0, used - sampler.topic_prior.low)
    gone, stay = np.split(order, [min(ceil(share * used), most)])
    numbers = np.full(used, -1, np.int32)
    numbers[stay] = np.arange(len(stay))
    chain.assignments = numbers[chain.assignments]
    shares = np.cumsum(sampler.counts[1][:, stay] + sampler.eta, axis=1)
    _spread(sampler.corpus.terms, shares, chain.assignments, new_words(chain.rng))
    sampler.set_topics(used - len(gone))
    sampler.draw_topics()


# -- superfluous topics ---------------------------------------------------------------------------------------


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


def _is_large(corpus: Corpus) -> bool:
    return corpus.token_count > 2 * PART


def share_of_part(corpus: Corpus) -> float:
    """The share of the tokens that a chain has in the first half of its burn-in."""
    return PART / corpus.token_count if _is_large(corpus) else 1.0


def draw_part(corpus: Corpus, rng: np.random.Generator) -> np.ndarray | None:
    """The numbers of the tokens of random documents, about PART of them; None for a corpus that is not large."""
    if not _is_large(corpus):
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
