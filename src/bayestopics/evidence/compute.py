"""`evidence`: log m(T) for several T, by the method of one's choice, from independent repeats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.annealing import PILOT_STEPS, anneal, ladder_from, pilot
from bayestopics.evidence.chib import chib
from bayestopics.evidence.estimate import combine
from bayestopics.evidence.harmonic import harmonic
from bayestopics.evidence.pseudo_marginal import estimate
from bayestopics.evidence.replica_exchange import exchange
from bayestopics.evidence.smc import smc
from bayestopics.lda.state import Prior
from bayestopics.problems import InputError
from bayestopics.seeds import generator

LEVELS = 30  # of replica exchange
PARTICLES = 10  # of sequential Monte Carlo
METHODS = ("annealing", "pseudo-marginal", "chib", "harmonic-z", "harmonic-psi")
PATHS = ("ais", "replica-exchange", "smc")

One = Callable[[Corpus, int, Prior, int, np.random.Generator], float]  # corpus, topics, prior, sweeps, rng


def _ais(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> float:
    return anneal(corpus, topics, prior, _ladder(corpus, topics, prior, sweeps, rng), rng)


def _exchange(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> float:
    ladder = _ladder(corpus, topics, prior, LEVELS, rng)
    return exchange(corpus, topics, prior, ladder, max(4, sweeps), rng).log_evidence


def _smc(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> float:
    ladder = _ladder(corpus, topics, prior, max(2, sweeps // PARTICLES), rng)
    return smc(corpus, topics, prior, ladder, PARTICLES, rng)


def _ladder(corpus: Corpus, topics: int, prior: Prior, steps: int, rng: np.random.Generator) -> np.ndarray:
    """From a pilot of its own for each repeat, so that repeats are independent."""
    return ladder_from(*pilot(corpus, topics, prior, rng, min(PILOT_STEPS, max(20, steps))), steps)


def _harmonic_z(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> float:
    return harmonic(corpus, topics, prior, sweeps=sweeps, burn_in=sweeps // 2, rng=rng)[0]


def _harmonic_psi(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> float:
    return harmonic(corpus, topics, prior, sweeps=sweeps, burn_in=sweeps // 2, rng=rng)[1]


def _chib(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> float:
    return chib(corpus, topics, prior, sweeps=sweeps, pilot=max(1, sweeps // 3), rng=rng).log_evidence


def _pseudo_marginal(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> float:
    return estimate(corpus, topics, prior, inner=sweeps, rng=rng).log_estimate


ESTIMATORS: dict[str, One] = {
    "ais": _ais,
    "replica-exchange": _exchange,
    "smc": _smc,
    "pseudo-marginal": _pseudo_marginal,
    "harmonic-z": _harmonic_z,
    "harmonic-psi": _harmonic_psi,
    "chib": _chib,
}
UNBIASED = ("ais", "smc", "pseudo-marginal")
NOT_TO_BE_TRUSTED = ("harmonic-z", "harmonic-psi", "chib")


def evidence(
    corpus: Corpus,
    topics: Sequence[int],
    prior: Prior,
    *,
    method: str = "annealing",
    path: str = "ais",
    sweeps: int = 2000,
    repeats: int = 4,
    seed: int = 0,
) -> dict[str, Any]:
    """log m(T) of each T, with its error, from `repeats` independent repeats.

    `sweeps` is the length of one repeat: steps of the ladder for ais and smc (for smc divided among its particles),
    sweeps of every replica for replica-exchange, kept sweeps for chib (a pilot of a third comes first) and the harmonic
    means (a burn-in of half comes first), m for pseudo-marginal.
    """
    if method not in METHODS or path not in PATHS:
        raise InputError(f"methods are {', '.join(METHODS)}, paths {', '.join(PATHS)}; not {method}, {path}")
    if min(sweeps, repeats) < 1:
        raise InputError(f"nothing to do with {sweeps} sweeps and {repeats} repeats")
    name = path if method == "annealing" else method
    found, doubts = [], []
    for count in topics:
        prior.alpha_vector(count)
        keys = [f"evidence/{name}/{count}/{repeat}" for repeat in range(repeats)]
        estimates = [ESTIMATORS[name](corpus, count, prior, sweeps, generator(seed, key)) for key in keys]
        found.append(combine(np.array(estimates), unbiased=name in UNBIASED))
        doubts += [f"T={count}: {warning}" for warning in found[-1].warnings]
    if name in NOT_TO_BE_TRUSTED:
        doubts.append(f"{name} is here to be compared with: its estimates are far off, and scatter little")
    return {
        "topics": list(topics),
        "log_evidence": [one.log_evidence for one in found],
        "standard_error": [one.standard_error for one in found],
        "log_estimates": [one.log_estimates for one in found],
        "unbiased": name in UNBIASED,
        "warnings": doubts,
    }
