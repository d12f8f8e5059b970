"""The annealed estimate of m(T) for PMMH: annealing from references that pilot runs for each T have fitted.

An estimate is the mean of several annealing runs, each from a reference of its own. It is unbiased, like (4.9), and
scatters by a few nats where (4.9) scatters by hundreds. One run is not enough: PMMH wants a scatter of 1 to 2 nats,
and where topics come and go longer ladders help less than more runs.

A pilot run finds the topics, and makes the reference and the ladder (see `reference`). It has a random generator of its
own, so it depends neither on the state of the chain nor on the estimates; hence they are unbiased whatever it finds.
But if it misses the best topics of a T, all weights that share it are too small, nearly always. So there are several,
and they are shared within one chain only: chains whose pilot runs had different luck disagree. The fresh estimates at
the mode have pilot runs of their own.

The z that comes with an estimate is the last of one of its paths, chosen with probability proportional to their
weights. A path from the reference stays in one labelling of the topics, so z is relabelled by a random permutation.
Then E[estimate 1(z = .)] = p(w, z = . | T), as for (4.9).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from bayestopics.base.problems import InputError
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.tiny import tiny_corpus
from bayestopics.evidence import reference
from bayestopics.evidence.pseudo_marginal import PseudoMarginal
from bayestopics.evidence.recipe import FRESH
from bayestopics.evidence.reference import Prepared
from bayestopics.lda.state import Prior

STEPS = 1000
RUNS = (
    4  # on lda-6-few, one run of 1000 steps scatters by 2 to 3 nats near the mode, and the mean of four by 1.1 to 2.1
)
PILOT = 1000  # on lda-6, shorter pilot runs find topics that differ by tens of nats; longer ones make no difference


@dataclass(frozen=True)
class Annealed:
    """How an estimate is made."""

    steps: int = STEPS  # of annealing, from the reference to the posterior
    runs: int = RUNS  # whose mean is the estimate
    pilot: int = PILOT  # the least length of a pilot run
    together: ClassVar[int] = 1  # how many estimates are made at once
    shorter: ClassVar[tuple[int, ...]] = ()  # no estimate begins with another one

    def __post_init__(self) -> None:
        if min(self.steps, self.runs, self.pilot) < 1:
            sizes = f"{self.runs} of {self.steps}, and a pilot run of {self.pilot}"
            raise InputError(f"an estimate needs at least 1 run of 1 annealing step and a pilot run of 1, not {sizes}")

    def settings(self) -> dict[str, Any]:
        return {"estimate": "annealed", "inner": self.steps, "runs": self.runs}

    def estimates(self, corpus: Corpus, prior: Prior, seed: int, assignments: bool) -> AnnealedEstimates:
        """Their z costs nothing."""
        return AnnealedEstimates(corpus, prior, self, seed)

    def compile(self) -> None:
        reference.repeat(tiny_corpus(), 2, Prior(0.5, 0.5), 1, np.random.default_rng(0))


@dataclass(frozen=True, eq=False)
class AnnealedEstimates:
    """Independent estimates. Each is identified by a stream, T and a number, which, with the seed, decide its bits."""

    corpus: Corpus
    prior: Prior
    inner: Annealed
    seed: int
    _pilots: dict[tuple[int, str], Prepared] = field(default_factory=dict, init=False, repr=False)

    def make(self, topics: int, number: int, stream: str = "") -> PseudoMarginal:
        rng = generator(self.seed, f"annealed/{stream}/{topics}/{number}")
        log_weights, last = [], []  # of the paths; the weights of a run's one or two paths have the run's mean
        for run in range(self.inner.runs):
            name = f"{stream}/{number}/{run}" if stream == FRESH else f"{stream}/{run}"
            prepared = self._pilot(topics, name) if stream == FRESH else self._shared(topics, name)
            paths = reference.paths(self.corpus, topics, self.prior, prepared, rng)
            log_weights += [log_weight - math.log(len(paths)) for log_weight, _ in paths]
            last += [assignments for _, assignments in paths]
        log_estimate = float(np.logaddexp.reduce(log_weights)) - math.log(self.inner.runs)
        chosen = last[_choose(np.array(log_weights), rng)]
        return PseudoMarginal(log_estimate, np.array(log_weights), _relabelled(chosen, topics, rng))

    def make_all(self, keys: Sequence[tuple[int, int, str]]) -> list[PseudoMarginal]:
        """The estimates with these (T, number, stream)."""
        return [self.make(*key) for key in keys]

    def _shared(self, topics: int, name: str) -> Prepared:
        if (topics, name) not in self._pilots:
            self._pilots[topics, name] = self._pilot(topics, name)
        return self._pilots[topics, name]

    def _pilot(self, topics: int, name: str) -> Prepared:
        rng, steps = generator(self.seed, f"annealed/pilot/{name}/{topics}"), max(self.inner.pilot, self.inner.steps)
        found = reference.find_topics(self.corpus, topics, self.prior, steps, rng)
        return reference.prepare(self.corpus, found, self.prior, steps, self.inner.steps, rng)


def _choose(log_weights: np.ndarray, rng: np.random.Generator) -> int:
    """One of the paths, with probability proportional to its weight; any if all weights are 0."""
    largest = log_weights.max()
    weights = np.exp(log_weights - largest) if math.isfinite(largest) else np.ones(len(log_weights))
    return int(rng.choice(len(weights), p=weights / weights.sum()))


def _relabelled(assignments: np.ndarray, topics: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(topics).astype(np.int32)[assignments]
