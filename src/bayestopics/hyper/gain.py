"""What an asymmetric alpha gains: log m at its top, less log m at the best single alpha, by integrating the score.

Chains go from one to the other along a straight line in log h, half of them from either end, and at every rung the mean
of the score along the line estimates the derivative of log m there [Fisher; thermodynamic integration]. Each chain has
its own integral, so their scatter gives the error, and a difference between the two starts shows chains that depend on
where they came from.

With a single alpha all T! orders of the topics count equally, at the other end hardly more than one. So topics exchange
their labels after each sweep (`hyper.labels`): without these moves the gain would be up to log T! too large. They end a
short way from the single alpha, and there the integrand rises fast; so the rungs are dense there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from bayestopics.base.checkpoint import Checkpoint
from bayestopics.base.progress import totalling
from bayestopics.base.seeds import generator
from bayestopics.base.wording import NAT
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.score_chains import Crew, leg

RUNGS = 16
POWER = 3  # a rung at u between 0 and 1 lies at this power of u along the line
FALSE_ALARM = 1e-3  # the probability that a right difference between the starts counts as too large
LEAST = 1.0  # nats: smaller differences are not worth a warning


@dataclass(frozen=True, eq=False)
class Gain:
    of_chains: np.ndarray  # float64[m]: the integral of each chain; those with even numbers start at the single alpha

    @property
    def log_m(self) -> float:
        return float(self.of_chains.mean())

    @property
    def standard_error(self) -> float | None:
        chains = len(self.of_chains)
        return float(self.of_chains.std(ddof=1) / np.sqrt(chains)) if chains > 1 else None

    def summary(self) -> dict[str, Any]:
        return {"log_m": self.log_m, "standard_error": self.standard_error, "chains": self.of_chains.tolist()}

    def warnings(self) -> list[str]:
        """Where the two starts differ by more than their errors."""
        below, above = self.of_chains[::2], self.of_chains[1::2]
        if len(above) < 2:
            return []
        error = np.hypot(*(one.std(ddof=1) / np.sqrt(len(one)) for one in (below, above)))
        apart = float(abs(below.mean() - above.mean()))
        if apart <= max(stdtrit(len(self.of_chains) - 2, 1 - FALSE_ALARM / 2) * error, LEAST):
            return []
        return [
            f"The gain over a single alpha differs by {apart:.1f} nats ({NAT}) between chains that start there and "
            "chains that start at the asymmetric alpha, so they depend on their start. Use more sweeps (--sweeps)."
        ]


def rungs() -> tuple[np.ndarray, np.ndarray]:
    """Where the rungs are along the line, from 0 to 1, and their weights, by the rule of Gauss and Legendre in u."""
    nodes, weights = np.polynomial.legendre.leggauss(RUNGS)
    u = (nodes + 1) / 2
    return u**POWER, weights / 2 * POWER * u ** (POWER - 1)


def gain(
    crew: Crew, ends: tuple[np.ndarray, np.ndarray], states: tuple[list[np.ndarray], list[np.ndarray]], sweeps: int
) -> Gain:
    """log m at the second end less log m at the first, log h being (log alpha_1, ..., log alpha_T, log eta); the
    chains of each end are in `states`. At every rung a chain keeps `sweeps` sweeps and drops as many before."""
    along, weights = rungs()
    line = ends[0] + along[:, None] * (ends[1] - ends[0])
    jobs = []
    for number in range(len(states[0])):
        side = number % 2
        name = f"gain/{number}"
        way = line if side == 0 else line[::-1]
        how = {"sweeps": sweeps, "burn_in": sweeps, "batches": 1, "sampler": crew.sampler, "relabel": True}
        jobs.append((crew.topics, crew.seed, name, way, states[side][number], how, crew.checkpoint.part(name)))
    found = crew.run(_climb, jobs, 2 * sweeps * RUNGS * len(jobs))
    scores = np.array([one if number % 2 == 0 else one[::-1] for number, one in enumerate(found)])
    return Gain(np.einsum("ckp,p,k->c", scores, ends[1] - ends[0], weights))


def _climb(
    corpus: Corpus,
    topics: int,
    seed: int,
    name: str,
    way: np.ndarray,
    assignments: np.ndarray,
    how: dict[str, Any],
    checkpoint: Checkpoint,
    progress: Callable[[int], None],
) -> np.ndarray:
    """float64[rungs, p]: the mean score of one chain at every rung, in the order of its way."""
    means = []
    with totalling(progress):
        for number, x in enumerate(way):
            rng, part = generator(seed, f"hyper/score/{name}/{number}"), checkpoint.part(f"rung-{number}")
            made = leg(corpus, topics, np.exp(x), assignments, rng=rng, checkpoint=part, **how)
            means.append(made.scores.mean(axis=0))
            assignments = made.assignments
    return np.array(means)
