"""Pseudo-marginal Metropolis-Hastings (PMMH) over the number of topics [Chen & Doss, section 4.2].

T moves up or down by one, or further (`reach`), and m(T) is replaced by an unbiased estimate (4.9). The estimate of
the current T is kept until a proposal is accepted; it is never made again. Then the distribution of T converges to its
posterior for every number of inner sweeps, and so does the distribution of (T, z).

The estimates do not depend on the state of the chain, so they can be made ahead of time. The k-th estimate for T in a
chain has a random generator of its own. Each estimate is used once; one that was not needed waits for the next visit
to its T. So the chain is the same, bit for bit, for any number of workers. For the same reason chains with different
numbers of inner sweeps can share estimates: an estimate of 100 sweeps begins with one of 50 (`shorter`, `given`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations, count
from typing import Any, Protocol

import numpy as np
import pandas as pd

from bayestopics.base import processes
from bayestopics.base.checkpoint import Checkpoint
from bayestopics.base.guard import not_finite, possible_log
from bayestopics.base.problems import InputError
from bayestopics.base.progress import Progress
from bayestopics.base.seeds import generator
from bayestopics.base.wording import NAT, nats
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors.convergence import rhat
from bayestopics.evidence.pseudo_marginal import Inner
from bayestopics.evidence.recipe import FRESH, Estimates, Recipe
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior

FRESH_ESTIMATES = 20  # at the mode, for their standard deviation
# beyond these limits a chain cannot be trusted
LARGEST_SD = 3.0  # nats; theory recommends 1 to 2 (Doucet et al. 2015, Sherlock et al. 2015)
LEAST_ACCEPTANCE = 0.01
LONGEST_STAY = 0.1  # as a share of the chain
LARGEST_RHAT = 1.01  # Vehtari et al. 2021
LARGEST_VARIATION = 0.2  # total variation between the posteriors of two chains
FRESH_STREAM = -1  # stands in the place of a chain's number
RECENT = 100  # steps whose acceptance rate predicts the next steps
LEAST_LIKELY = 1e-3  # estimates that are less likely to be needed are not made ahead
COLUMNS = ("topics", "log_estimate", "proposed", "log_estimate_proposed", "accepted")  # of the trace
ACCEPTED = COLUMNS.index("accepted")


# -- the walk over T ------------------------------------------------------------------------------------


def neighbours(prior: TopicPrior, topics: int, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """The T to propose, at most `reach` away and the largest first, and their weights: 1 / distance^2."""
    low, high = topics - reach, topics + reach
    all_of_them = np.arange(high if prior.high is None else min(high, prior.high), max(low, prior.low) - 1, -1)
    others = all_of_them[all_of_them != topics]
    return others, 1.0 / (others - topics) ** 2


def propose(prior: TopicPrior, topics: int, uniform: float, reach: int = 1) -> int:
    """Another T, with probability proportional to its weight. With a reach of 1, as in the paper, this is T + 1 or
    T - 1 with probability 1/2 each, or the only neighbour at an end of the range."""
    others, weights = neighbours(prior, topics, reach)
    below = np.searchsorted(np.cumsum(weights), uniform * weights.sum(), side="right")
    return int(others[min(below, len(others) - 1)])


def log_proposal(prior: TopicPrior, topics: int, reach: int = 1) -> float:
    """log q(T, T') without the weight of the distance, which is the same both ways: the boundary correction of (4.5)
    is the difference of two of these."""
    return -math.log(neighbours(prior, topics, reach)[1].sum())


# -- a chain -------------------------------------------------------------------------------------------

Key = tuple[int, int, int]  # chain, T, number of the estimate


@dataclass(frozen=True)
class Made:
    """A finished estimate."""

    log_estimate: float
    assignments: np.ndarray | None = None  # in the smallest integers that hold them; None if no observer needs them
    shorter: tuple[float, ...] = ()  # log-estimates from its first sweeps alone


class Observer(Protocol):
    """Looks at every kept state. The steps of one chain come in order; the chains may alternate in any way.

    It is saved with the checkpoint (`base.packing`), and so must be a dataclass.
    """

    def observe(self, chain: int, step: int, topics: int, assignments: np.ndarray) -> None: ...


@dataclass
class Chain:
    """One chain over T. The uniform random numbers of its proposals and acceptances are drawn beforehand."""

    number: int
    prior: TopicPrior
    start: int
    uniforms: np.ndarray  # float64[iterations, 2]
    reach: int = 1  # the largest distance of a proposal
    current: Made | None = None  # the estimate of the current T; None before the first
    topics: int = 0
    used: dict[int, int] = field(default_factory=dict)  # estimates used for each T
    rows: list[tuple[Any, ...]] = field(default_factory=list)  # of the trace

    @property
    def finished(self) -> bool:
        return self.current is not None and len(self.rows) == len(self.uniforms)

    def needs(self) -> Key:
        """The estimate that the next step needs."""
        topics = self.start if self.current is None else self._proposal(len(self.rows), self.topics)
        return self.number, topics, self.used.get(topics, 0)

    def advance(self, made: Made) -> None:
        """Make one step, with the estimate that it needs."""
        _, proposed, number = self.needs()
        self.used[proposed] = number + 1
        if self.current is None:
            self.topics, self.current = proposed, made
            return
        accepted = self._accepts(len(self.rows), self.topics, self.current, proposed, made)
        if accepted:
            self.topics, self.current = proposed, made
        now = (self.topics, self.current.log_estimate)
        self.rows.append((*now, proposed, made.log_estimate, accepted, *made.shorter))

    def _proposal(self, step: int, topics: int) -> int:
        return propose(self.prior, topics, self.uniforms[step, 0], self.reach)

    def _accepts(self, step: int, topics: int, current: Made, proposed: int, made: Made) -> bool:
        log_ratio = (  # (4.5)
            made.log_estimate
            + self.prior.log_density(proposed)
            + log_proposal(self.prior, proposed, self.reach)
            - current.log_estimate
            - self.prior.log_density(topics)
            - log_proposal(self.prior, topics, self.reach)
        )
        return math.log1p(-self.uniforms[step, 1]) < log_ratio

    def ahead(self, made: dict[Key, Made]) -> Iterator[tuple[float, Key]]:
        """(-probability, key) of the estimates that may be needed, most likely first; the first is certain.

        This walks over the tree of possible futures. Once T is known, so is the proposal. If both estimates are
        there, so is the acceptance; if not, its probability is taken from the recent steps.
        """
        yield -1.0, self.needs()
        recent = self.rows[-RECENT:]
        acceptance = (1 + sum(row[ACCEPTED] for row in recent)) / (2 + len(recent))
        order = count()  # among equal probabilities, the first comes first
        todo: list[tuple[float, int, int, int, Made | None, dict[int, int]]] = []
        if self.current is not None:
            todo.append((-1.0, next(order), len(self.rows), self.topics, self.current, {}))
        while todo:
            minus, _, step, topics, current, more = heapq.heappop(todo)
            if step == len(self.uniforms) or -minus < LEAST_LIKELY:
                continue
            proposed = self._proposal(step, topics)
            key = (self.number, proposed, self.used.get(proposed, 0) + more.get(proposed, 0))
            yield minus, key
            more = more | {proposed: more.get(proposed, 0) + 1}
            next_made, chance = made.get(key), acceptance
            if current is not None and next_made is not None:
                chance = float(self._accepts(step, topics, current, proposed, next_made))
            heapq.heappush(todo, (minus * chance, next(order), step + 1, proposed, next_made, more))
            heapq.heappush(todo, (minus * (1 - chance), next(order), step + 1, topics, current, more))


# -- making estimates ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Wanted:
    """Which estimates to make, and whether their assignments are needed."""

    estimates: Estimates
    assignments: bool


def _make(wanted: Wanted, keys: Sequence[Key]) -> list[Made]:
    streams = (FRESH if chain == FRESH_STREAM else f"chain-{chain}" for chain, _, _ in keys)
    named = [(topics, number, stream) for (_, topics, number), stream in zip(keys, streams, strict=True)]
    made = []
    for (topics, _, _), result in zip(named, wanted.estimates.make_all(named), strict=True):
        z = result.assignments.astype(np.min_scalar_type(topics - 1)) if wanted.assignments else None
        made.append(
            Made(result.log_estimate, z, tuple(result.after(inner) for inner in wanted.estimates.inner.shorter))
        )
    return made


class _Here:
    """Makes estimates in this process, in groups of the size that is fastest."""

    def __init__(self, wanted: Wanted) -> None:
        self.made: dict[Key, Made] = {}  # finished and not yet used
        self.count = 0
        self._wanted = wanted

    def work(self, wishes: Iterable[Key]) -> None:
        """Make at least the first of these estimates."""
        keys = _distinct((key for key in wishes if key not in self.made), self._wanted.estimates.inner.together)
        self.made.update(zip(keys, _make(self._wanted, keys), strict=True))
        self.count += len(keys)


class _Pool:
    """Makes estimates in several processes."""

    def __init__(self, submit: Callable[..., Future], workers: int, together: int) -> None:
        self.made: dict[Key, Made] = {}
        self.count = 0
        self._submit, self._workers, self._together = submit, workers, together
        self._running: dict[Future, list[Key]] = {}

    def work(self, wishes: Iterable[Key]) -> None:
        under_way = {key for keys in self._running.values() for key in keys}
        waiting = (key for key in wishes if key not in self.made and key not in under_way)
        # one job more than there are workers, so that no worker waits for this process
        while len(self._running) <= self._workers and (keys := _distinct(waiting, self._together)):
            self._running[self._submit(_make, keys)] = keys
            under_way.update(keys)
        for future in processes.first_done(self._running):
            keys = self._running.pop(future)
            self.made.update(zip(keys, future.result(), strict=True))
            self.count += len(keys)


def _distinct(keys: Iterable[Key], most: int) -> list[Key]:
    """The first `most` different keys."""
    found: dict[Key, None] = {}
    for key in keys:
        found[key] = None
        if len(found) == most:
            break
    return list(found)


@contextmanager
def _makers(wanted: Wanted, workers: int) -> Iterator[_Here | _Pool]:
    wanted.estimates.inner.compile()
    if workers == 1:
        yield _Here(wanted)
    else:
        with processes.pool(workers, wanted) as submit:
            yield _Pool(submit, workers, wanted.estimates.inner.together)


# -- the run -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TopicPosterior:
    """The posterior of T, and diagnostics that say whether to trust it. Only the trace includes the burn-in."""

    trace: pd.DataFrame  # chain, step, topics, log_estimate, proposed, log_estimate_proposed, accepted
    burn_in: int
    posterior: dict[int, float]  # over all chains
    mode: int
    acceptance_rate: float
    longest_stay: int  # the largest number of steps without an acceptance, in any chain
    log_estimate_sd: float  # of fresh estimates at the mode; at T = 2 if the mode is 1, where estimates are exact
    fresh_log_estimates: np.ndarray
    rhat: float | None  # of T, between the chains; None for one chain, or if a chain does not move
    total_variation: float | None  # the largest distance between the posteriors of two chains
    observer: Observer | None  # as given, or as restored from the checkpoint, with all that it has seen
    warnings: list[str]
    volatile: dict[str, int]  # the number of estimates that were made (not all were needed), and of resumptions


@dataclass(frozen=True)
class Walk:
    """The chains over T: one from each of `starts`, with `burn_in` steps that are dropped and `iterations` kept.

    In PMMH, proposals are at most `reach` away; the paper's are 1 away.
    """

    topics: TopicPrior
    starts: tuple[int, ...]
    iterations: int = 1000
    burn_in: int = 0
    reach: int = 1

    def __post_init__(self) -> None:
        if not self.starts or self.iterations < 1 or self.burn_in < 0:
            sizes = f"{len(self.starts)} starts, {self.iterations} iterations and a burn-in of {self.burn_in}"
            raise InputError(f"at least 1 start and 1 iteration are needed, and a burn-in of 0 or more, not {sizes}")
        if self.reach < 1:
            raise InputError(f"the reach of proposals must be at least 1, not {self.reach}")
        for start in self.starts:
            if start not in self.topics:
                low, high = self.topics.low, self.topics.high
                range_of = f"of {low} to {high}" if high else f"from {low} on"
                raise InputError(f"the start at {start} topics is outside the range {range_of}")


def pmmh(
    corpus: Corpus,
    prior: Prior,
    walk: Walk,
    inner: Recipe = Inner(),  # noqa: B008 (frozen)
    *,
    seed: int = 0,
    workers: int = 1,
    fresh: int = FRESH_ESTIMATES,
    observer: Observer | None = None,
    given: Mapping[Key, float] | None = None,
    checkpoint: Checkpoint | None = None,
) -> TopicPosterior:
    """Run the chains of a walk, with estimates made as `inner` says.

    With `inner.shorter`, the trace also records what each proposal's estimate would have been with fewer inner sweeps.
    A single chain with that number of inner sweeps, the same seed and the same start can be `given` these estimates
    (see `given_by`) instead of making them again. `fresh` is the number of estimates that are made at the mode, for
    their standard deviation.
    The caller removes the checkpoint once its record is written. With `workers` > 1 a script needs the usual
    `if __name__ == "__main__":`, because each process imports it.
    """
    if np.ndim(prior.alpha) > 0:
        raise InputError("alpha must be one number, because the number of topics changes")
    if workers < 1 or fresh < 2:
        sizes = f"{workers} workers and {fresh} estimates at the mode"
        raise InputError(f"at least 1 worker and 2 estimates at the mode are needed, not {sizes}")
    if given is not None and observer is not None:
        raise InputError("given estimates have no assignments for an observer to look at")
    burn_in = walk.burn_in
    saved = checkpoint.load() if checkpoint else None
    if saved is None:
        chains, resumed = [_new_chain(number, walk, seed) for number in range(len(walk.starts))], 0
    else:
        chains, observer, resumed = saved[0], saved[1], saved[2] + 1
    needed = observer is not None
    with _makers(Wanted(inner.estimates(corpus, prior, seed, needed), needed), workers) as makers:
        makers.made.update({key: Made(value) for key, value in (given or {}).items()})
        _run(chains, makers, burn_in, observer, checkpoint, resumed)
        trace = pd.concat([_trace(chain, inner.shorter) for chain in chains], ignore_index=True)
        mode = _mode(_posterior(trace[trace["step"] >= burn_in]))
        at_mode = _fresh(makers, max(mode, 2), fresh)
    return _summary(trace, burn_in, at_mode, observer, {"estimates": makers.count, "resumed": resumed})


def _new_chain(number: int, walk: Walk, seed: int) -> Chain:
    uniforms = generator(seed, f"pmmh/chain-{number}").random((walk.burn_in + walk.iterations, 2))
    return Chain(number, walk.topics, walk.starts[number], uniforms, walk.reach)


def _run(
    chains: list[Chain],
    makers: _Here | _Pool,
    burn_in: int,
    observer: Observer | None,
    checkpoint: Checkpoint | None,
    resumed: int,
) -> None:
    total = sum(len(chain.uniforms) for chain in chains)
    with Progress("topics", total, "step") as bar:
        while True:
            for chain in chains:
                while not chain.finished and (made := makers.made.pop(chain.needs(), None)):
                    if not possible_log(made.log_estimate):
                        raise not_finite(f"an estimate of log m({chain.needs()[1]})", len(chain.rows), chain)
                    chain.advance(made)
                    _show(chain, burn_in, observer)
            bar.reach(sum(len(chain.rows) for chain in chains))
            unfinished = [chain for chain in chains if not chain.finished]
            if checkpoint and (checkpoint.due() or not unfinished):
                checkpoint.save((chains, observer, resumed))
            if not unfinished:
                return
            makers.work(key for _, key in heapq.merge(*(chain.ahead(makers.made) for chain in unfinished)))


def _show(chain: Chain, burn_in: int, observer: Observer | None) -> None:
    step = len(chain.rows) - 1
    if observer and step >= burn_in and chain.current is not None and chain.current.assignments is not None:
        observer.observe(chain.number, step, chain.topics, chain.current.assignments)


def _fresh(makers: _Here | _Pool, topics: int, many: int) -> np.ndarray:
    """Log-estimates that no chain has used."""
    keys = [(FRESH_STREAM, topics, number) for number in range(many)]
    while missing := [key for key in keys if key not in makers.made]:
        makers.work(missing)
    return np.array([makers.made[key].log_estimate for key in keys])


# -- the result, and whether to trust it ---------------------------------------------------------------


def _trace(chain: Chain, shorter: Sequence[int]) -> pd.DataFrame:
    trace = pd.DataFrame(chain.rows, columns=[*COLUMNS, *map(_column, shorter)])
    trace.insert(0, "chain", chain.number)
    trace.insert(1, "step", np.arange(len(trace)))
    return trace


def _column(inner: int) -> str:
    return f"log_estimate_proposed_m{inner}"


def given_by(trace: pd.DataFrame, start: int, inner: int) -> dict[Key, float]:
    """The estimates in one chain's trace that a chain with only `inner` inner sweeps can use.

    The estimate of the start is not among them, because it was never proposed.
    """
    if "chain" in trace and trace["chain"].any():
        raise InputError("only the estimates of one chain can be given to another, but this trace has several chains")
    numbers = trace.groupby("proposed").cumcount() + (trace["proposed"] == start)
    keys = zip(trace["proposed"].tolist(), numbers.tolist(), strict=True)
    return {(0, topics, number): value for (topics, number), value in zip(keys, trace[_column(inner)], strict=True)}


def _posterior(trace: pd.DataFrame) -> dict[int, float]:
    topics, counts = np.unique(trace["topics"], return_counts=True)
    return {int(t): float(n / len(trace)) for t, n in zip(topics, counts, strict=True)}


def _mode(posterior: dict[int, float]) -> int:
    return max(posterior, key=posterior.__getitem__)


def _longest_stay(accepted: np.ndarray) -> int:
    """The largest number of steps in a row without a move."""
    moves = np.flatnonzero(accepted)
    return int(np.diff(np.concatenate([[0], moves, [len(accepted)]])).max())


def _rhat(topics: np.ndarray) -> float | None:
    """R-hat of T, chains x steps."""
    if len(topics) < 2 or topics.shape[1] < 4 or np.any(np.ptp(topics, axis=1) == 0):  # a chain that does not move
        return None
    return rhat(topics)


def _total_variation(first: dict[int, float], second: dict[int, float]) -> float:
    return 0.5 * sum(abs(first.get(t, 0.0) - second.get(t, 0.0)) for t in first.keys() | second.keys())


def _summary(
    trace: pd.DataFrame, burn_in: int, at_mode: np.ndarray, observer: Observer | None, volatile: dict[str, int]
) -> TopicPosterior:
    kept = trace[trace["step"] >= burn_in]
    chains = [chain for _, chain in kept.groupby("chain")]
    pairs = combinations([_posterior(chain) for chain in chains], 2)
    posterior = _posterior(kept)
    result = TopicPosterior(
        trace=trace,
        burn_in=burn_in,
        posterior=posterior,
        mode=_mode(posterior),
        acceptance_rate=float(kept["accepted"].mean()),
        longest_stay=max(_longest_stay(chain["accepted"].to_numpy()) for chain in chains),
        log_estimate_sd=float(at_mode.std(ddof=1)),
        fresh_log_estimates=at_mode,
        rhat=_rhat(np.array([chain["topics"].to_numpy() for chain in chains])),
        total_variation=max((_total_variation(*pair) for pair in pairs), default=None),
        observer=observer,
        warnings=[],
        volatile=volatile,
    )
    return replace(result, warnings=_doubts(result, len(chains[0])))


def _doubts(result: TopicPosterior, steps: int) -> list[str]:
    doubts = []
    if result.log_estimate_sd > LARGEST_SD:
        doubts.append(
            f"The estimates of the log evidence log m(T) at T = {max(result.mode, 2)} scatter by about "
            f"{nats(result.log_estimate_sd)} ({NAT}), but only 1 to 2 nats are acceptable: one lucky estimate "
            "can hold the chain at any T. Do not trust this posterior; use annealed estimates (--estimate annealed) "
            "of more steps (--inner), or compare the T with `evidence`."
        )
    variation = 1.0 if result.total_variation is None else result.total_variation
    # chains on precise estimates that meet at one T stay there because all other T are improbable
    settled = result.log_estimate_sd <= LARGEST_SD and variation <= LARGEST_VARIATION
    if result.acceptance_rate < LEAST_ACCEPTANCE and not settled:
        doubts.append(
            f"The chain hardly moves: only {result.acceptance_rate:.2%} of the proposals were accepted, so the "
            "posterior is not reliable. Use more inner sweeps (--inner) or more iterations (--iterations)."
        )
    if result.longest_stay > LONGEST_STAY * steps and not settled:
        doubts.append(
            f"A chain did not move for {result.longest_stay} of its {steps} steps, so it has seen few values of T. "
            "Use more iterations (--iterations)."
        )
    if result.total_variation is not None and result.total_variation > LARGEST_VARIATION:
        doubts.append(
            "The result depends on where the chain starts: the posteriors of two chains differ by "
            f"{result.total_variation:.2f} in total variation (0: equal, 1: nothing in common). "
            "Use more iterations (--iterations)."
        )
    if result.rhat is not None and result.rhat > LARGEST_RHAT:
        doubts.append(
            f"The chains disagree: R-hat of the number of topics is {result.rhat:.3f}, but converged chains have at "
            f"most {LARGEST_RHAT}. Use more iterations (--iterations)."
        )
    return doubts
