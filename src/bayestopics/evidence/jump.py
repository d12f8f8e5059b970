"""A Markov chain over the number of topics T and the assignments z together.

The target is the posterior p(T, z | w), on all T at once. One iteration is

1. a sweep: every token is drawn given all others, with a soft topic that can grow and shrink (`soft_topic`);
2. a draw of T and of the soft topic given the partition of the tokens: with K topics in use, p(T | z) is
   proportional to nu(T) T! / (T - K)! prod_d G(T alpha) / G(n_d + T alpha), times the mean weight of the soft topic;
3. now and then, a split of a topic or a merge of two (`pair_moves`);
4. if h is sampled too, a draw of alpha and of eta given T and z (`lda.given_z`), under a prior that is uniform in their
   logs and the same for all T. An empty topic is cheap if alpha is small and dear if it is large. So on small corpora,
   where alpha is uncertain, the weights of the soft topic depend on the level of alpha, and the draw of alpha has the
   mean weight in it, too. On larger ones they are those of a typical alpha.

Each keeps the posterior times the mean weight of the soft topic. So draws are weighted by the inverse of that mean; and
because the law of T given the partition is known, all T get their share of each draw. The weights of the soft topic are
learnt during the burn-in and then kept, so that the chain that is used has a fixed law.

The burn-in (`burn_in`) only decides where that chain begins, and has three parts:

1. In the first quarter, or less, a chain that starts with several topics is warm and cools slowly: it samples
   p(z) p(w | z)^b, where b rises to 1. In the warmth, topics that are not needed dissolve. alpha and eta keep their
   start meanwhile, because random topics look as if alpha were infinite.
2. Then, on larger corpora or if an empty topic is dear, and unless the chain starts from topics that were found, it
   tries other topics and goes on from the best ones. Up to here a chain is also pushed on from T and sizes at which it
   stays (Wang & Landau 2001).
3. In the last quarter, or less, superfluous topics are taken out now and then (`weeding`), and the soft topic is led
   through all sizes to learn its weights (`scan`).

A large corpus has only a part of its documents in the first half, because topics of many tokens shrink and grow slowly;
then the other documents join, and the third part begins.

Chains from different starts are independent of each other, and the same for any number of workers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.guard import finite, not_finite
from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.base.processes import in_processes
from bayestopics.base.progress import Progress
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.burn_in import Best, Schedule, draw_part, next_phase, part_of, power
from bayestopics.evidence.pair_moves import Pair
from bayestopics.evidence.pmmh import Walk
from bayestopics.evidence.soft_topic import Bias, Normaliser, SoftTopic, centre_of, level_of, log_weight, soft_sweep
from bayestopics.evidence.topic_law import BATCHES
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.evidence.walk import merging_costs
from bayestopics.lda.density import log_joint
from bayestopics.lda.given_z import Ends, draw_alpha, draw_eta, of_alpha, slice_step
from bayestopics.lda.state import Prior, State, count, unsigned
from bayestopics.lda.uniforms import new_words

EVERY = 20  # iterations from one split or merge to the next, on average
GENTLE = 25.0  # nats: pairs are merged with probability proportional to exp(-merging cost / GENTLE)
TOKENS, SWEEPS = 10_000, 10  # on small corpora an iteration has several sweeps: to draw TOKENS, but at most SWEEPS
# Up to the last part of the burn-in each sweep lowers the weight of its T and of its size of the soft topic, so that
# the chain is pushed on: by this many nats, constant at first and then falling as 1 / sweep. Then this is undone.
GAIN, STEADY = 0.05, 2000
DEEPEST = 30.0  # nats: by how much a T can be lowered; but by no more than the penalty of an empty topic
NEGLIGIBLE = 40.0 + DEEPEST  # nats: values of T that are less likely than the best one by more are not drawn
SMALL = 10_000  # tokens: up to here the weights of the soft topic have levels of alpha, if alpha is sampled
# Topics come and go slowly on larger corpora, and where the last of TEN topics costs more than so many nats when it is
# empty. There a chain searches.
DEAR, TEN = 20.0, 10
ROOM = 8  # columns of counts beyond the topics, so that arrays are not made anew for each new topic
TRACE = ("topics", "occupied", "soft_size", "log_weight", "log_joint", "mean_topics", "alpha", "eta")
MOVES = ("iteration", "split", "tokens", "log_work", "log_ratio", "accepted")


@dataclass
class Drawn:
    """One of several states, drawn by their weights."""

    assignments: np.ndarray  # int32[N]
    alpha: float
    eta: float
    weight: float  # of all states


@dataclass
class Chain:
    """One chain over (T, z); everything that its next iteration needs."""

    number: int
    start: int
    rng: np.random.Generator
    assignments: np.ndarray  # int32[N]
    topics: int
    soft: int  # the number of the soft topic
    soft_topics: dict[int, SoftTopic]  # its weights, by the level of alpha; without levels, at 0
    lifts: dict[int, float]  # log of the extra weight of each T
    trace: np.ndarray  # float64[iterations, len(TRACE)]
    shares: list[dict[int, float]] = field(default_factory=list)  # of each batch of kept iterations: its weight by T
    moves: list[tuple[float, ...]] = field(default_factory=list)
    weight: float = 0.0  # of all kept iterations
    drawn: np.ndarray | None = None  # int32[N]: the assignments of one of them, drawn by their weights
    done: int = 0
    cools: bool = False  # whether it begins warm
    searches: bool = False  # whether it tries other topics in the burn-in, and is weeded
    best: Best | None = None  # while it tries others
    part: np.ndarray | None = None  # the numbers of the tokens that it has, if not all
    hyper: tuple[float, float] | None = None  # alpha and eta, if they are sampled
    drawn_by_topics: dict[int, Drawn] = field(default_factory=dict)  # one state for each T, if they are sampled


class Sampler:
    """A chain with its counts, for one corpus and prior."""

    def __init__(
        self, corpus: Corpus, prior: Prior, topic_prior: TopicPrior, chain: Chain, levels: bool | None = None
    ) -> None:
        """`levels`: whether the weights of the soft topic depend on alpha; by default, on small corpora."""
        self.corpus, self.prior, self.topic_prior, self.chain = corpus, prior, topic_prior, chain
        self.alpha, self.eta = chain.hyper or (float(prior.alpha), float(prior.eta))  # type: ignore[arg-type]
        self.normaliser = Normaliser(corpus.document_lengths, self.alpha)
        self.b = 1.0  # of the target p(z) p(w | z)^b
        self.sweeps = min(max(1, TOKENS // corpus.token_count), SWEEPS)  # in an iteration
        self.hyper: Ends | None = None  # the ends of the prior of alpha and eta, if they are drawn as well
        self._levels = corpus.token_count <= SMALL if levels is None else levels
        # with what a checkpoint does not hold
        chain.soft_topics = {level: replace(one) for level, one in chain.soft_topics.items()}
        self.soft_topic = self._soft_topic_at(self.alpha)
        self.counts = self.counted(chain.topics + ROOM)
        self._largest = int(np.bincount(corpus.terms, minlength=1).max())

    def counted(self, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return count(self.corpus, columns, self.chain.assignments)

    @property
    def sizes(self) -> np.ndarray:
        return self.counts[2][: self.chain.topics]

    def iterate(self, learning: bool, pushed: bool = False) -> None:
        """One iteration; `learning` from its sweeps, and `pushed` on by them, only during the burn-in."""
        chain = self.chain
        for _ in range(self.sweeps):
            self._sweep(learning)
            if learning:
                self._learn(GAIN * min(1.0, STEADY / (self.soft_topic.sweeps + 1)) if pushed else 0.0)
        if self.b == 1.0 and chain.rng.random() < 1 / EVERY:
            self._split_or_merge()
        if self.hyper is not None:
            self._draw_hyper(learning, self.hyper)
        self.draw_topics()

    def _learn(self, gain: float) -> None:
        """Learn from the last sweep: the weights of the soft topic and of T."""
        chain, soft_topic = self.chain, self.soft_topic
        soft_topic.learn(chain.topics, int(self.sizes[chain.soft]), gain)
        if gain > 0:
            deepest = min(DEEPEST, soft_topic.penalty(chain.topics))
            chain.lifts[chain.topics] = max(chain.lifts.get(chain.topics, 0.0) - gain, -deepest)

    def stop_pushing(self) -> None:
        self.chain.lifts.clear()
        for soft_topic in self.chain.soft_topics.values():
            soft_topic.raise_all()

    def set_topics(self, topics: int) -> None:
        """A new T, or the smallest that the prior allows."""
        self.chain.topics = max(topics, self.topic_prior.low)
        self.counts = self.counted(self.chain.topics + ROOM)

    # -- 1. the sweep ------------------------------------------------------------------------------------

    def _sweep(self, learning: bool) -> None:
        self.sweep_with(self._bias(self.chain.topics).tilt_used, learning)

    def sweep_with(self, tilt: np.ndarray, learning: bool = True) -> None:
        """A sweep with these weights of the sizes of the soft topic, each over that of the size before it."""
        chain, soft_topic = self.chain, self.soft_topic
        documents, terms, assignments = unsigned(self.corpus.documents, self.corpus.terms, chain.assignments)
        counts = (chain.topics, *self.counts, self.alpha, self.eta, assignments)
        soft = (chain.soft, tilt, soft_topic.bins, soft_topic.rates_of(chain.topics), learning)
        table = (np.arange(self._largest + 1) + self.eta) ** self.b
        powers = np.empty((self.corpus.term_count, chain.topics))
        soft_sweep(documents, terms, *counts, *soft, self.b, table, powers, new_words(chain.rng))

    # -- 2. T and the soft topic given the partition -----------------------------------------------------

    def draw_topics(self) -> None:
        """Draw T, then the soft topic. What is needed for the weight of this state is kept in `law`."""
        chain = self.chain
        used = self.empty_last()
        self.law = self.topics_given(used, self.sizes[:used])
        values, _, tilted = self.law
        chain.topics = int(values[_draw(tilted, chain.rng)])
        if chain.topics > self.counts[2].size:
            self.counts = self.counted(chain.topics + ROOM)
        chain.soft = _draw(self._bias(chain.topics)(self.sizes), chain.rng)

    def topics_given(self, used: int, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The possible T given a partition with `used` topics of these sizes; the log of p(T, partition | w) for each,
        without what does not depend on T; and the same times the mean weight of the soft topic."""
        values: list[int] = []
        exact: list[float] = []
        tilted: list[float] = []
        topics = max(used, self.topic_prior.low)
        while topics in self.topic_prior:
            values.append(topics)
            exact.append(self.log_exact(topics, used))
            tilted.append(exact[-1] + self._log_tilt(topics, sizes))
            falling = topics >= used + self.topic_prior.rises  # under a Poisson prior it can fall and rise again before
            if falling and all(x[-1] < max(x) - NEGLIGIBLE and x[-1] < x[-2] for x in (exact, tilted)):
                break
            topics += 1
        return np.array(values), np.array(exact), np.array(tilted)

    def log_exact(self, topics: int, used: int) -> float:
        """log p(T, partition | w), without what does not depend on T."""
        labellings = math.lgamma(topics + 1) - math.lgamma(topics - used + 1)
        return self.topic_prior.log_density(topics) + self.normaliser(topics) + labellings

    def _log_tilt(self, topics: int, sizes: np.ndarray) -> float:
        """log of the mean weight of the soft topic, plus the lift of T."""
        weight = log_weight(self._bias(topics), sizes, topics - len(sizes))
        return weight + self.chain.lifts.get(topics, 0.0)

    def empty_last(self) -> int:
        """Renumber the topics so that the empty ones come last; returns how many are in use."""
        chain, last = self.chain, self.chain.topics - 1
        for topic in np.flatnonzero(self.sizes == 0)[::-1]:
            if topic != last:
                _rename(chain.assignments, *self.counts, last, int(topic))
            last -= 1
        return last + 1

    # -- 3. splits and merges ----------------------------------------------------------------------------

    def _split_or_merge(self) -> None:
        chain = self.chain
        used = self.empty_last()
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
        return self.log_exact(topics, len(sizes)) + self._log_tilt(topics, sizes)

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
            self.counts = self.counted(chain.topics + ROOM)

    # -- 4. alpha and eta ---------------------------------------------------------------------------------

    def _draw_hyper(self, learning: bool, ends: Ends) -> None:
        """Draw alpha and eta given T and z. If the weights of the soft topic have levels, they depend on alpha, so the
        soft topic is summed out; it is drawn next."""
        chain, topics, lengths = self.chain, self.chain.topics, self.corpus.document_lengths
        document_topic, term_topic, topic_total = (counts[..., :topics] for counts in self.counts)
        of_z = of_alpha(document_topic, lengths)

        def log_density(log_alpha: float) -> float:
            alpha = float(np.exp(log_alpha))
            bias = self._soft_topic_at(alpha).bias_at(topics, Normaliser(lengths, alpha))
            return of_z(log_alpha) + log_weight(bias, self.sizes, 0)

        if self._levels:
            self.alpha = float(np.exp(slice_step(log_density, np.log(self.alpha), ends, chain.rng)))
            self.soft_topic = self._soft_topic_at(self.alpha)
        else:
            self.alpha = draw_alpha(document_topic, lengths, self.alpha, chain.rng, ends)
            if learning and topics > 1:
                self.soft_topic.follow(self.alpha)
        self.eta = draw_eta(term_topic, topic_total, self.eta, chain.rng, ends)
        self.normaliser, chain.hyper = Normaliser(lengths, self.alpha), (self.alpha, self.eta)

    def _bias(self, topics: int) -> Bias:
        """The weights at the present alpha."""
        return self.soft_topic.bias_at(topics, self.normaliser) if self._levels else self.soft_topic.bias(topics)

    def _soft_topic_at(self, alpha: float) -> SoftTopic:
        """The weights at this alpha. A level that was never visited has those of a first guess."""
        soft_topics, level = self.chain.soft_topics, level_of(alpha) if self._levels else 0
        if level not in soft_topics:
            centre = centre_of(level) if soft_topics else alpha  # the first is that of the start
            soft_topics[level] = SoftTopic(self.corpus.token_count, self.corpus.document_lengths, centre)
        return soft_topics[level]

    # -- what is kept ------------------------------------------------------------------------------------

    def record(self, batch: int | None) -> None:
        """Write this state with its weight into the trace, and the share of every T, with the weight of the partition,
        into a batch. If alpha and eta are sampled, the trace has another T, drawn from its law given the partition: a
        chain whose soft topic stays small may never have the T that is most probable."""
        chain, number = self.chain, self.chain.topics
        values, exact, tilted = self.law
        log_weight = (exact - tilted)[values == number][0]
        weight = float(np.logaddexp.reduce(exact) - np.logaddexp.reduce(tilted))
        given = np.exp(exact - np.logaddexp.reduce(exact))
        if chain.hyper is not None:
            number, log_weight = int(values[_draw(exact, chain.rng)]), weight
        row = (number, np.sum(self.sizes > 0), self.sizes[chain.soft], log_weight)
        other = self.normaliser(number) - self.normaliser(chain.topics)  # an empty topic changes nothing else
        log_joint = self.log_joint() + other if chain.part is None else math.nan
        chain.trace[chain.done] = (*row, log_joint, given @ values, self.alpha, self.eta)
        chain.done += 1
        if batch is not None:
            shares = chain.shares[batch]
            for topics, share in zip(values.tolist(), given.tolist(), strict=True):
                shares[topics] = shares.get(topics, 0.0) + math.exp(weight) * share
            chain.weight += math.exp(weight)
            if chain.rng.random() * chain.weight < math.exp(weight):
                chain.drawn = chain.assignments.copy()
            if chain.hyper is not None:
                self._keep_by_topics(number, math.exp(weight))

    def _keep_by_topics(self, topics: int, weight: float) -> None:
        """This partition takes the place of the one that is kept for this T, with the probability of its weight."""
        chain, before = self.chain, self.chain.drawn_by_topics.get(topics)
        total = weight + (before.weight if before else 0.0)
        if before is None or chain.rng.random() * total < weight:
            before = Drawn(chain.assignments.copy(), self.alpha, self.eta, total)
        before.weight = total
        chain.drawn_by_topics[topics] = before

    def log_joint(self) -> float:
        """log p(w, z | T) of the present state."""
        document_topic, term_topic, totals = (np.ascontiguousarray(c[..., : self.chain.topics]) for c in self.counts)
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
    hyper: Ends | None = None,
    found: np.ndarray | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> Chain:
    """Run one chain to its end, from its checkpoint if there is one. With `hyper`, alpha and eta are sampled as well,
    between these ends; `found` are assignments to start from."""
    chain = checkpoint.load() or _new_chain(corpus, prior, walk, number, seed, found)
    sampler = Sampler(part_of(corpus, chain.part), prior, walk.topics, chain)
    if chain.part is not None:  # an iteration takes as long as with all documents
        sampler.sweeps = min(corpus.token_count // len(chain.part), SWEEPS)
    schedule = Schedule(corpus, sampler, walk.burn_in)
    while chain.done < len(chain.trace):
        sampler = next_phase(corpus, sampler, schedule)
        kept = chain.done - walk.burn_in
        sampler.b = power(chain, schedule)
        sampler.hyper = hyper if chain.done >= schedule.trials and sampler.b == 1.0 else None
        sampler.iterate(learning=kept < 0, pushed=chain.done < schedule.settling)
        sampler.record(kept * BATCHES // walk.iterations if kept >= 0 else None)
        if not finite(chain.trace[chain.done - 1][5]):
            raise not_finite("the mean of T given the partition", chain.done - 1, chain.assignments)
        progress(chain.done)
        if checkpoint.due() or chain.done == len(chain.trace):
            checkpoint.save(chain)
    return chain


def _new_chain(
    corpus: Corpus, prior: Prior, walk: Walk, number: int, seed: int, found: np.ndarray | None = None
) -> Chain:
    """A chain from random topics, or from those that were found."""
    rng, start = generator(seed, f"jump/chain-{number}"), walk.starts[number]
    part = draw_part(corpus, rng) if found is None and walk.burn_in > 1 else None
    normaliser = Normaliser(corpus.document_lengths, float(prior.alpha))  # type: ignore[arg-type]
    searches = corpus.token_count > SMALL or normaliser(TEN - 1) - normaliser(TEN) > DEAR
    corpus = part_of(corpus, part)
    assignments = rng.integers(start, size=corpus.token_count, dtype=np.int32) if found is None else found.copy()
    trace = np.full((walk.burn_in + walk.iterations, len(TRACE)), np.nan)
    batches: list[dict[int, float]] = [{} for _ in range(BATCHES)]
    chain = Chain(number, start, rng, assignments, start, 0, {}, {}, trace, batches, part=part)
    chain.cools, chain.searches = start > 1 and found is None, searches and found is None
    return chain


def run_chains(
    corpus: Corpus,
    prior: Prior,
    walk: Walk,
    *,
    hyper: Ends | None = None,
    found: Mapping[int, np.ndarray] | None = None,
    seed: int = 0,
    workers: int = 1,
    checkpoint: Checkpoint | None = None,
) -> list[Chain]:
    """Run the chains of a walk, at most `workers` at a time; the bits do not depend on `workers`. With `hyper`, alpha
    and eta are sampled as well, between these ends, from those of the prior on. Chains start from random topics, or
    from `found`, the assignments by the number of the chain."""
    if np.ndim(prior.alpha) > 0:
        raise InputError("alpha must be one number, because the number of topics changes")
    if hyper is not None:
        prior = Prior(float(np.clip(prior.alpha, *hyper)), float(np.clip(prior.eta, *hyper)))
    if corpus.token_count == 0:
        raise InputError(f"{corpus.name}: the corpus has no words")
    parts = [(checkpoint or NoCheckpoint()).part(f"chain-{number}") for number in range(len(walk.starts))]
    length = walk.burn_in + walk.iterations
    jobs = [(prior, walk, number, seed, part, hyper, (found or {}).get(number)) for number, part in enumerate(parts)]
    if min(workers, len(jobs)) > 1:
        return in_processes(run_chain, corpus, jobs, len(jobs) * length, min(workers, len(jobs)), "iteration")
    chains: list[Chain] = []
    with Progress("topics", len(jobs) * length, "iteration") as bar:
        for job in jobs:
            before = len(chains) * length
            chains.append(run_chain(corpus, *job, progress=lambda done, before=before: bar.reach(before + done)))  # type: ignore[misc]
    return chains
