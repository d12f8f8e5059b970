"""A Markov chain over the number of topics T and the assignments z together.

The target is the posterior p(T, z | w), on all T at once. One iteration is

1. a sweep: every token is drawn given all others, with a soft topic that can grow and shrink (`soft_topic`);
2. a draw of T and of the soft topic given the partition of the tokens: with K topics in use, p(T | z) is
   proportional to nu(T) T! / (T - K)! prod_d G(T alpha) / G(n_d + T alpha), times the mean weight of the soft topic;
3. now and then, a split of a topic or a merge of two (`pair_moves`).

Each keeps the posterior times the mean weight of the soft topic. So draws are weighted by the inverse of that mean; and
because the law of T given the partition is known, all T get their share of each draw. The weights of the soft topic are
learnt during the burn-in and then kept, so that the chain that is used has a fixed law. In the first half of the
burn-in a chain is also pushed on from T and sizes at which it stays (Wang & Landau 2001), to come near the posterior.

Chains from different starts are independent of each other, and the same for any number of workers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.base.processes import in_processes
from bayestopics.base.progress import Progress
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.pair_moves import Pair
from bayestopics.evidence.pmmh import Walk
from bayestopics.evidence.soft_topic import SoftTopic, log_weight, soft_sweep
from bayestopics.evidence.topic_law import BATCHES
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.evidence.walk import merging_costs
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import Prior, State, count, unsigned
from bayestopics.lda.uniforms import new_words

EVERY = 20  # iterations from one split or merge to the next, on average
GENTLE = 25.0  # nats: pairs are merged with probability proportional to exp(-merging cost / GENTLE)
TOKENS, SWEEPS = 10_000, 10  # on small corpora an iteration has several sweeps: to draw TOKENS, but at most SWEEPS
# During the first half of the burn-in each sweep lowers the weight of its T and of its size of the soft topic, so that
# the chain is pushed on: by this many nats, constant at first and then falling as 1 / sweep. Then this is undone.
GAIN, STEADY = 0.05, 2000
DEEPEST = 30.0  # nats: by how much a T can be lowered; but by no more than the penalty of an empty topic
NEGLIGIBLE = 40.0 + DEEPEST  # nats: values of T that are less likely than the best one by more are not drawn
ROOM = 8  # columns of counts beyond the topics, so that arrays are not made anew for each new topic
TRACE = ("topics", "occupied", "soft_size", "log_weight", "log_joint", "mean_topics")
MOVES = ("iteration", "split", "tokens", "log_work", "log_ratio", "accepted")


@dataclass
class Chain:
    """One chain over (T, z); everything that its next iteration needs."""

    number: int
    start: int
    rng: np.random.Generator
    assignments: np.ndarray  # int32[N]
    topics: int
    soft: int  # the number of the soft topic
    soft_topic: SoftTopic  # its weights
    lifts: dict[int, float]  # log of the extra weight of each T
    trace: np.ndarray  # float64[iterations, len(TRACE)]
    shares: list[dict[int, float]] = field(default_factory=list)  # of each batch of kept iterations: its weight by T
    moves: list[tuple[float, ...]] = field(default_factory=list)
    weight: float = 0.0  # of all kept iterations
    drawn: np.ndarray | None = None  # int32[N]: the assignments of one of them, drawn by their weights
    done: int = 0


class Sampler:
    """A chain with its counts, for one corpus and prior."""

    def __init__(self, corpus: Corpus, prior: Prior, topic_prior: TopicPrior, chain: Chain) -> None:
        self.corpus, self.prior, self.topic_prior, self.chain = corpus, prior, topic_prior, chain
        self.alpha, self.eta = float(prior.alpha), float(prior.eta)  # type: ignore[arg-type]
        self.soft_topic = chain.soft_topic = replace(chain.soft_topic)  # with what a checkpoint does not hold
        self._counts = self._counted(chain.topics + ROOM)

    def _counted(self, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return count(self.corpus, columns, self.chain.assignments)

    @property
    def sizes(self) -> np.ndarray:
        return self._counts[2][: self.chain.topics]

    def iterate(self, learning: bool, pushed: bool = False) -> None:
        """One iteration; `learning` from its sweeps, and `pushed` on by them, only during the burn-in."""
        chain = self.chain
        for _ in range(min(max(1, TOKENS // self.corpus.token_count), SWEEPS)):
            self._sweep(learning)
            if learning:
                self._learn(GAIN * min(1.0, STEADY / (self.soft_topic.sweeps + 1)) if pushed else 0.0)
        if chain.rng.random() < 1 / EVERY:
            self._split_or_merge()
        self._draw_topics()

    def _learn(self, gain: float) -> None:
        """Learn from the last sweep: the weights of the soft topic and of T."""
        chain, soft_topic = self.chain, self.soft_topic
        soft_topic.learn(chain.topics, int(self.sizes[chain.soft]), gain)
        if gain > 0:
            deepest = min(DEEPEST, soft_topic.penalty(chain.topics))
            chain.lifts[chain.topics] = max(chain.lifts.get(chain.topics, 0.0) - gain, -deepest)

    def stop_pushing(self) -> None:
        self.chain.lifts.clear()
        self.soft_topic.raise_all()

    # -- 1. the sweep ------------------------------------------------------------------------------------

    def _sweep(self, learning: bool) -> None:
        chain, soft_topic = self.chain, self.soft_topic
        documents, terms, assignments = unsigned(self.corpus.documents, self.corpus.terms, chain.assignments)
        rates, bias = soft_topic.rates_of(chain.topics), soft_topic.bias(chain.topics)
        counts = (chain.topics, *self._counts, self.alpha, self.eta, assignments)
        soft = (chain.soft, bias.tilt, soft_topic.bins, rates, learning)
        soft_sweep(documents, terms, *counts, *soft, new_words(chain.rng))

    # -- 2. T and the soft topic given the partition -----------------------------------------------------

    def _draw_topics(self) -> None:
        """Draw T, then the soft topic. What is needed for the weight of this state is kept in `law`."""
        chain = self.chain
        used = self._empty_last()
        self.law = self.topics_given(used, self.sizes[:used])
        values, _, tilted = self.law
        chain.topics = int(values[_draw(tilted, chain.rng)])
        if chain.topics > self._counts[2].size:
            self._counts = self._counted(chain.topics + ROOM)
        chain.soft = _draw(self.soft_topic.bias(chain.topics)(self.sizes), chain.rng)

    def topics_given(self, used: int, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The possible T given a partition with `used` topics of these sizes; the log of p(T, partition | w) for each,
        without what does not depend on T; and the same times the mean weight of the soft topic."""
        values: list[int] = []
        exact: list[float] = []
        tilted: list[float] = []
        topics = max(used, self.topic_prior.low)
        while topics in self.topic_prior:
            values.append(topics)
            exact.append(self._log_exact(topics, used))
            tilted.append(exact[-1] + self._log_tilt(topics, sizes))
            falling = topics >= used + self.topic_prior.rises  # under a Poisson prior it can fall and rise again before
            if falling and all(x[-1] < max(x) - NEGLIGIBLE and x[-1] < x[-2] for x in (exact, tilted)):
                break
            topics += 1
        return np.array(values), np.array(exact), np.array(tilted)

    def _log_exact(self, topics: int, used: int) -> float:
        """log p(T, partition | w), without what does not depend on T."""
        labellings = math.lgamma(topics + 1) - math.lgamma(topics - used + 1)
        return self.topic_prior.log_density(topics) + self.soft_topic.normaliser(topics) + labellings

    def _log_tilt(self, topics: int, sizes: np.ndarray) -> float:
        """log of the mean weight of the soft topic, plus the lift of T."""
        weight = log_weight(self.soft_topic.bias(topics), sizes, topics - len(sizes))
        return weight + self.chain.lifts.get(topics, 0.0)

    def _empty_last(self) -> int:
        """Renumber the topics so that the empty ones come last; returns how many are in use."""
        chain, last = self.chain, self.chain.topics - 1
        for topic in np.flatnonzero(self.sizes == 0)[::-1]:
            if topic != last:
                _rename(chain.assignments, *self._counts, last, int(topic))
            last -= 1
        return last + 1

    # -- 3. splits and merges ----------------------------------------------------------------------------

    def _split_or_merge(self) -> None:
        chain = self.chain
        used = self._empty_last()
        if chain.rng.random() < 0.5:
            self._split(used)
        elif used > 1:
            self._merge(used)

    def _split(self, used: int) -> None:
        """Split one of the topics in use, each with the same probability."""
        chain, rng = self.chain, self.chain.rng
        if chain.topics + 1 not in self.topic_prior:
            return
        tokens = np.flatnonzero(chain.assignments == rng.integers(used))
        labels, log_work = self._pair(tokens).split(rng)
        if np.ptp(labels) == 0:  # one half is empty: not a split
            return
        before, assignments = chain.assignments, chain.assignments.copy()
        assignments[tokens[labels == 1]] = used
        sizes = np.append(self.sizes[:used], np.sum(labels == 1))
        sizes[before[tokens[0]]] -= sizes[-1]
        log_ratio = log_work + self._log_topics(chain.topics + 1, sizes)
        log_ratio -= self._log_topics(chain.topics, self.sizes[:used])
        log_ratio += self._log_pair(assignments, used + 1, int(before[tokens[0]]), used) + math.log(used / 2)
        self._decide(True, len(tokens), log_work, log_ratio, assignments, used + 1, 1)

    def _merge(self, used: int) -> None:
        """Merge a pair of topics; pairs whose merger costs little are more likely."""
        chain, rng = self.chain, self.chain.rng
        if chain.topics - 1 not in self.topic_prior:
            return
        log_chances = self._log_pairs(chain.assignments, used)
        rows, columns = np.triu_indices(used, 1)
        chosen = _draw(log_chances, rng)
        first, second = int(rows[chosen]), int(columns[chosen])
        tokens = np.flatnonzero((chain.assignments == first) | (chain.assignments == second))
        log_work = self._pair(tokens).merge(chain.assignments[tokens] == second, rng)
        assignments = chain.assignments.copy()
        assignments[tokens] = first
        assignments[assignments == used - 1] = second if second != used - 1 else first
        sizes = self.sizes[:used].copy()
        sizes[first] += sizes[second]
        sizes[second] = sizes[used - 1]
        log_ratio = -log_work + self._log_topics(chain.topics - 1, sizes[:-1])
        log_ratio -= self._log_topics(chain.topics, self.sizes[:used])
        log_ratio -= float(log_chances[chosen]) + math.log((used - 1) / 2)
        self._decide(False, len(tokens), log_work, log_ratio, assignments, used - 1, -1)

    def _pair(self, tokens: np.ndarray) -> Pair:
        corpus = self.corpus
        return Pair(corpus.documents[tokens], corpus.terms[tokens], corpus.term_count, self.alpha, self.eta)

    def _log_topics(self, topics: int, sizes: np.ndarray) -> float:
        """What the log density of a state has beside the tokens of the pair."""
        return self._log_exact(topics, len(sizes)) + self._log_tilt(topics, sizes)

    def _log_pairs(self, assignments: np.ndarray, used: int) -> np.ndarray:
        """log probabilities of the pairs, in the order of np.triu_indices."""
        counts = count(self.corpus, used, assignments)
        alpha = np.full(used, self.alpha)
        state = State(self.corpus.documents, self.corpus.terms, alpha, self.eta, assignments, *counts)
        logs = -merging_costs(state)[np.triu_indices(used, 1)] / GENTLE
        return logs - np.logaddexp.reduce(logs)

    def _log_pair(self, assignments: np.ndarray, used: int, first: int, second: int) -> float:
        rows, columns = np.triu_indices(used, 1)
        return float(self._log_pairs(assignments, used)[(rows == first) & (columns == second)][0])

    def _decide(
        self, split: bool, tokens: int, log_work: float, log_ratio: float, assignments: np.ndarray, used: int, more: int
    ) -> None:
        chain = self.chain
        accepted = math.log1p(-chain.rng.random()) < log_ratio
        chain.moves.append((chain.done, float(split), float(tokens), log_work, log_ratio, float(accepted)))
        if accepted:
            chain.assignments, chain.topics = assignments, chain.topics + more
            self._counts = self._counted(chain.topics + ROOM)

    # -- what is kept ------------------------------------------------------------------------------------

    def record(self, batch: int | None) -> None:
        """Write this state with its weight into the trace, and the share of every T, with the weight of the partition,
        into a batch."""
        chain = self.chain
        values, exact, tilted = self.law
        log_weight = (exact - tilted)[values == chain.topics][0]
        weight = float(np.logaddexp.reduce(exact) - np.logaddexp.reduce(tilted))
        given = np.exp(exact - np.logaddexp.reduce(exact))
        row = (chain.topics, np.sum(self.sizes > 0), self.sizes[chain.soft], log_weight)
        chain.trace[chain.done] = (*row, self.log_joint(), given @ values)
        chain.done += 1
        if batch is not None:
            shares = chain.shares[batch]
            for topics, share in zip(values.tolist(), given.tolist(), strict=True):
                shares[topics] = shares.get(topics, 0.0) + math.exp(weight) * share
            chain.weight += math.exp(weight)
            if chain.rng.random() * chain.weight < math.exp(weight):
                chain.drawn = chain.assignments.copy()

    def log_joint(self) -> float:
        """log p(w, z | T) of the present state."""
        document_topic, term_topic, totals = (np.ascontiguousarray(c[..., : self.chain.topics]) for c in self._counts)
        data = (self.corpus.documents, self.corpus.terms, np.full(self.chain.topics, self.alpha), self.eta)
        return log_joint(State(*data, self.chain.assignments, document_topic, term_topic, totals))


def _draw(log_weights: np.ndarray, rng: np.random.Generator) -> int:
    sums = np.cumsum(np.exp(log_weights - log_weights.max()))
    return int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))


@kernel
def _rename(
    assignments: np.ndarray,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    old: int,
    new: int,
) -> None:
    """Topic `old` gets the number `new`, which no token has."""
    for i in range(len(assignments)):
        if assignments[i] == old:
            assignments[i] = new
    for counts in (document_topic, term_topic):
        for row in range(len(counts)):
            counts[row, new] = counts[row, old]
            counts[row, old] = 0
    topic_total[new] = topic_total[old]
    topic_total[old] = 0


# -- the run ---------------------------------------------------------------------------------------------


def run_chain(
    corpus: Corpus,
    prior: Prior,
    walk: Walk,
    number: int,
    seed: int,
    checkpoint: Checkpoint,
    progress: Callable[[int], object] = lambda _: None,
) -> Chain:
    """Run one chain to its end, from its checkpoint if there is one."""
    chain = checkpoint.load() or _new_chain(corpus, prior, walk, number, seed)
    sampler = Sampler(corpus, prior, walk.topics, chain)
    while chain.done < len(chain.trace):
        kept, pushed = chain.done - walk.burn_in, chain.done < walk.burn_in // 2
        if chain.done == walk.burn_in // 2:
            sampler.stop_pushing()
        sampler.iterate(learning=kept < 0, pushed=pushed)
        sampler.record(kept * BATCHES // walk.iterations if kept >= 0 else None)
        progress(chain.done)
        if checkpoint.due() or chain.done == len(chain.trace):
            checkpoint.save(chain)
    return chain


def _new_chain(corpus: Corpus, prior: Prior, walk: Walk, number: int, seed: int) -> Chain:
    """A chain from random topics."""
    rng, start = generator(seed, f"jump/chain-{number}"), walk.starts[number]
    assignments = rng.integers(start, size=corpus.token_count, dtype=np.int32)
    trace = np.full((walk.burn_in + walk.iterations, len(TRACE)), np.nan)
    soft_topic = SoftTopic(corpus.token_count, corpus.document_lengths, float(prior.alpha))  # type: ignore[arg-type]
    return Chain(number, start, rng, assignments, start, 0, soft_topic, {}, trace, [{} for _ in range(BATCHES)])


def run_chains(
    corpus: Corpus, prior: Prior, walk: Walk, *, seed: int = 0, workers: int = 1, checkpoint: Checkpoint | None = None
) -> list[Chain]:
    """Run the chains of a walk, at most `workers` at a time; the bits do not depend on `workers`."""
    if np.ndim(prior.alpha) > 0:
        raise InputError("alpha must be one number, because the number of topics changes")
    if corpus.token_count == 0:
        raise InputError(f"{corpus.name}: the corpus has no words")
    parts = [(checkpoint or NoCheckpoint()).part(f"chain-{number}") for number in range(len(walk.starts))]
    length = walk.burn_in + walk.iterations
    jobs = [(prior, walk, number, seed, part) for number, part in enumerate(parts)]
    if min(workers, len(jobs)) > 1:
        return in_processes(run_chain, corpus, jobs, len(jobs) * length, min(workers, len(jobs)), "iteration")
    chains: list[Chain] = []
    with Progress("topics", len(jobs) * length, "iteration") as bar:
        for job in jobs:
            before = len(chains) * length
            chains.append(run_chain(corpus, *job, progress=lambda done, before=before: bar.reach(before + done)))  # type: ignore[misc]
    return chains


def trace_table(chains: list[Chain]) -> pd.DataFrame:
    """One row per iteration and chain, with the burn-in."""
    tables = []
    for chain in chains:
        table = pd.DataFrame(chain.trace, columns=list(TRACE))
        whole = {name: table[name].astype(np.int64) for name in TRACE[:3]}
        table = table.assign(**whole)
        table.insert(0, "chain", chain.number)
        table.insert(1, "step", np.arange(len(table)))
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def batches_table(chains: list[Chain]) -> pd.DataFrame:
    """The weight of every T in each batch of each chain; `topic_law.law` makes the posterior from it."""
    rows = [
        (chain.number, batch, topics, weight)
        for chain in chains
        for batch, shares in enumerate(chain.shares)
        for topics, weight in sorted(shares.items())
    ]
    return pd.DataFrame(rows, columns=["chain", "batch", "topics", "weight"])


def moves_table(chains: list[Chain]) -> pd.DataFrame:
    """One row per proposed split or merge."""
    tables: list[Any] = []
    for chain in chains:
        table = pd.DataFrame(chain.moves, columns=list(MOVES))
        table = table.astype({"iteration": np.int64, "split": bool, "tokens": np.int64, "accepted": bool})
        table.insert(0, "chain", chain.number)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)
