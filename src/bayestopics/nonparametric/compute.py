"""The number of topics when the model has no fixed one: what `bayestopics hdp` prints.

Samplers give the posterior of K, the number of topics in use; variational methods a single number, that of the
components in use at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import mcse
from bayestopics.nonparametric.dp_mixture import collapsed
from bayestopics.nonparametric.dp_truncated import TruncatedDPMixture
from bayestopics.nonparametric.dp_truncation_free import TruncationFreeDPMixture
from bayestopics.nonparametric.hdp_chain import HdpChain, hdp_gibbs
from bayestopics.nonparametric.hdp_held_out import EstimatedHeldOut, left_to_right, left_to_right_of_states
from bayestopics.nonparametric.hdp_state import HdpPrior
from bayestopics.nonparametric.hdp_truncated import TruncatedHDP
from bayestopics.nonparametric.hdp_truncation_free import TruncationFreeHDP
from bayestopics.nonparametric.split_merge import VARIANTS
from bayestopics.nonparametric.stream import Learner, minibatches
from bayestopics.problems import InputError
from bayestopics.seeds import generator

LEARNERS: dict[tuple[str, str], Callable[..., Learner]] = {
    ("hdp", "truncation-free"): TruncationFreeHDP,
    ("hdp", "truncated"): TruncatedHDP,
    ("dp-mixture", "truncation-free"): TruncationFreeDPMixture,
    ("dp-mixture", "truncated"): TruncatedDPMixture,
}
SWEEPS = {"gibbs": 500, "split-merge": 500, "truncation-free": 10, "truncated": 10}  # if none are given
MODELS, METHODS = ("hdp", "dp-mixture"), tuple(SWEEPS)
MOVES = {"gibbs": 0, "split-merge": 10}  # after a sweep; on a small corpus ten take longer than it
STATES = 20  # of a chain, over which held-out probabilities are averaged
PARTICLES = 60  # of left-to-right a document, over all states; each costs half the square of its length, times K
TOP_WORDS = 10
SHORTEST_HALF = 16  # sweeps, for a standard error that means something
DRIFT = 3.0  # standard errors between the halves of a chain
FEW = 0.5  # the share of the largest estimate in a document's mean, beyond which that is worth little


@dataclass(frozen=True)
class Task:
    """What to do, in numbers that make sense together."""

    model: str = "hdp"
    method: str = "gibbs"
    variant: str = "exact"  # of split-merge
    eta: float = 0.1
    gamma: float = 1.0  # of the top level
    concentration: float = 1.0  # of the documents; a DP mixture has none
    sweeps: int | None = None  # kept, or passes over the documents; None: SWEEPS
    burn_in: int = 500  # of the samplers
    batch_size: int = 100  # of the variational methods
    heldout: float | None = None  # the share of the documents, the last ones

    def __post_init__(self) -> None:
        known = {"model": MODELS, "method": METHODS, "variant": VARIANTS}
        for name, names in known.items():
            if getattr(self, name) not in names:
                raise InputError(f"unknown {name} {getattr(self, name)!r}; known are {', '.join(names)}")
        if self.sampled and self.model != "hdp":
            raise InputError(f"{self.method} is for the hdp; a {self.model} has truncation-free and truncated")
        if self.variant == "paper" and self.method != "split-merge":
            raise InputError(f"variant paper is of split-merge; {self.method} has none")
        if self.work < 1 or self.burn_in < 0 or self.batch_size < 1:
            sizes = f"{self.work} sweeps, {self.burn_in} of burn-in and batches of {self.batch_size}"
            raise InputError(f"nothing to do with {sizes}")
        if self.heldout is not None and not 0.0 < self.heldout < 1.0:
            raise InputError(f"the held-out share must be between 0 and 1, not {self.heldout}")
        HdpPrior(self.gamma, self.concentration, self.eta)

    @property
    def sampled(self) -> bool:
        return self.method in MOVES

    @property
    def work(self) -> int:
        return SWEEPS[self.method] if self.sweeps is None else self.sweeps

    def generator(self, seed: int, part: str) -> np.random.Generator:
        return generator(seed, f"hdp/{self.model}/{self.method}/{part}")


def hdp(corpus: Corpus, *, seed: int = 0, **options: Any) -> dict[str, Any]:
    """{"topics": {K: probability}, "mode", "acceptance_rate", "heldout_per_word", "seconds", "warnings", ...}.

    The options are the fields of `Task`: hdp(corpus, method="split-merge", heldout=0.1).

    `topics` is the share of the kept sweeps with K topics; of a variational method, the number of its components that
    hold a document (DP mixture) or a token (HDP) at the end, with probability 1. `acceptance_rate` is that of all
    split-merge moves of the kept sweeps, `seconds` those of the sweeps or passes, compilation left out, `top_words`
    the topics of the last state.

    `heldout_per_word` is sum_d log p(x_d) / tokens over the held-out documents, each on its own:
    - of the DP mixture, p is E_q[p(x)], exactly (`dp_mixture.collapsed`);
    - of the HDP by a variational method, p is an unbiased estimate by 60 particles of left-to-right of p(x) at the
      means of pi and theta (`hdp_held_out.left_to_right`);
    - of the HDP by a sampler, p is the mean over 20 states (or all, if fewer are kept), evenly spaced and the last one
      among them, of unbiased estimates of p(x | z, beta), 60 particles in all: under the posterior unbiased for p(x |
      the other documents), topics and weights integrated out (`hdp_held_out.left_to_right_of_states`).
    The log of an unbiased estimate is too low on average, the more so the larger `heldout_standard_error` is; that is
    from the scatter of the estimates of each document, as if they were independent, and 0 for the DP mixture.
    """
    task = Task(**options)
    training, held_out = split(corpus, task.heldout)
    _warm(task)
    doubts = _doubts_of_input(corpus, task)
    run = _sampled if task.sampled else _learned
    result, found = run(training, held_out, task, seed)
    doubts += result.pop("warnings")
    if isinstance(found, EstimatedHeldOut) and found.share_of_the_largest > FEW and found.log_estimates.shape[1] > 1:
        share = f"{found.share_of_the_largest:.0%}"
        doubts.append(f"one estimate makes up {share} of a held-out document's mean: heldout_per_word is too low")
    result["heldout_per_word"] = None if found is None else found.per_word
    result["heldout_standard_error"] = None if found is None else _standard_error(found)
    keys = ["topics", "mode", "acceptance_rate", "heldout_per_word", "heldout_standard_error", "seconds", "top_words"]
    return {key: result[key] for key in keys} | {"warnings": doubts}


def split(corpus: Corpus, share: float | None) -> tuple[Corpus, Corpus | None]:
    """The documents to learn from, and the last ones, that share of all, at least one."""
    if share is None:
        return corpus, None
    first = corpus.document_count - max(1, round(share * corpus.document_count))
    if first < 1:
        raise InputError(f"{corpus.name}: no document is left to learn from")
    parts = ((corpus.counts[:first], "the rest of"), (corpus.counts[first:], "the held-out documents of"))
    training, held_out = (
        Corpus.from_sparse(counts, corpus.vocabulary, name=f"{which} {corpus.name}") for counts, which in parts
    )
    return training, held_out


def _warm(task: Task) -> None:
    """Compile all that is timed, or take it from the cache."""
    tokens = np.array([0, 1])
    tiny = Corpus.from_counts(tokens, tokens, np.array([2, 1]), document_count=2, term_count=2)
    if task.sampled:
        _chains(tiny, Task(task.model, task.method, task.variant, sweeps=20, burn_in=0), 1, np.random.default_rng(0))
    else:
        _learn(tiny, Task(task.model, task.method, sweeps=2, batch_size=2), np.random.default_rng(0))


# -- the two kinds of methods --------------------------------------------------------------------------


def _sampled(training: Corpus, held_out: Corpus | None, task: Task, seed: int) -> tuple[dict[str, Any], Any]:
    states = 1 if held_out is None else min(STATES, task.work)
    chains = _chains(training, task, states, task.generator(seed, "chain"))
    topics = np.concatenate([chain.topics for chain in chains])
    numbers, counts = np.unique(topics, return_counts=True)
    moves = np.sum([chain.splits.sum(axis=0) + chain.merges.sum(axis=0) for chain in chains], axis=0)
    last = chains[-1].last
    result = {
        "topics": dict(zip(numbers.tolist(), (counts / len(topics)).tolist(), strict=True)),
        "mode": int(numbers[np.argmax(counts)]),
        "acceptance_rate": float(moves[1] / moves[0]) if moves[0] else None,
        "seconds": sum(chain.seconds for chain in chains),
        "top_words": top_words(training, last.term_topic[:, last.active]),
        "warnings": drift(topics),
    }
    if held_out is None:
        return result, None
    rng = task.generator(seed, "held out")
    return result, left_to_right_of_states([chain.last for chain in chains], held_out, PARTICLES // states, rng)


def _chains(training: Corpus, task: Task, parts: int, rng: np.random.Generator) -> list[HdpChain]:
    """One chain, cut into parts of equal length: their last states are kept."""
    prior = {"eta": task.eta, "gamma": task.gamma, "concentration": task.concentration}
    ends = np.linspace(0, task.work, parts + 1).round().astype(int)
    chains: list[HdpChain] = []
    for sweeps in np.diff(ends).tolist():
        place = {"start": chains[-1].last} if chains else {"burn_in": task.burn_in}
        moves = {"moves": MOVES[task.method], "variant": task.variant}
        chains.append(hdp_gibbs(training, **prior, sweeps=sweeps, **place, **moves, rng=rng))  # type: ignore[arg-type]
    return chains


def _learned(training: Corpus, held_out: Corpus | None, task: Task, seed: int) -> tuple[dict[str, Any], Any]:
    learner, seconds = _learn(training, task, task.generator(seed, "learner"))
    used, components = learner.used_components(), learner.components
    result = {
        "topics": {used: 1.0},
        "mode": used,
        "acceptance_rate": None,
        "seconds": seconds,
        "top_words": top_words(training, components.weight * components.stored)[:used],
        "warnings": [f"{task.method} depends on its start: another seed may end with another number of topics"],
    }
    if held_out is None:
        return result, None
    if task.model == "dp-mixture":
        return result, collapsed(learner, held_out)
    return result, left_to_right(learner, held_out, PARTICLES, task.generator(seed, "held out"))


def _learn(training: Corpus, task: Task, rng: np.random.Generator) -> tuple[Learner, float]:
    """After so many passes; and the seconds that they took."""
    prior = {"gamma": task.gamma, "concentration": task.concentration}
    if task.model == "dp-mixture":
        prior = {"concentration": task.gamma}
    kind = LEARNERS[task.model, task.method]
    learner = kind(training.term_count, rng, documents=training.document_count, eta=task.eta, **prior)
    begin = time.perf_counter()
    for batch in minibatches(training, task.batch_size, rng, passes=task.work):
        learner.partial_fit(batch)
    return learner, time.perf_counter() - begin


# -- what is said about it -----------------------------------------------------------------------------


def top_words(corpus: Corpus, counts: np.ndarray) -> list[dict[str, Any]]:
    """Topics (columns of terms x topics) largest first: their share of the tokens and most frequent words."""
    totals = counts.sum(axis=0)
    order = np.argsort(-totals, kind="stable")
    best = np.argsort(-counts, axis=0, kind="stable")[:TOP_WORDS]
    return [
        {
            "topic": rank,
            "share": float(totals[k] / totals.sum()),
            "words": [corpus.vocabulary[v] for v in best[:, k] if counts[v, k] > 0],
        }
        for rank, k in enumerate(order)
    ]


def drift(topics: np.ndarray) -> list[str]:
    """Whether K still has a direction: its means over the first and the second half of the kept sweeps."""
    half = len(topics) // 2
    if half < SHORTEST_HALF:
        return [f"{len(topics)} kept sweeps are too few to tell whether the number of topics has settled"]
    first, second = topics[:half], topics[half:]
    apart, error = abs(second.mean() - first.mean()), float(np.hypot(mcse(first), mcse(second)))
    if apart <= DRIFT * error:
        return []
    means = f"{first.mean():.2f} in the first half, {second.mean():.2f} in the second"
    return [f"the number of topics still drifts ({means}): take a longer burn-in"]


def _standard_error(found: Any) -> float:
    """Of a single estimate a document there is no error to be had."""
    if not isinstance(found, EstimatedHeldOut):
        return 0.0
    return found.standard_error if found.log_estimates.shape[1] > 1 else float("nan")


def _doubts_of_input(corpus: Corpus, task: Task) -> list[str]:
    said = []
    if corpus.empty_documents:
        said.append(f"{corpus.empty_documents} documents are empty: they are kept, and say nothing")
    if task.model == "dp-mixture" and task.concentration != Task.concentration:
        said.append("a dp-mixture has no document level: the concentration is not used, gamma is")
    if task.variant == "paper":
        said.append("the paper's acceptance ratio leaves factors out: its law is not the posterior; exact is")
    return said
