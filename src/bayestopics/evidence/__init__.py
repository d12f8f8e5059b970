"""The evidence m(T) = p(w | T, alpha, eta) and the posterior of the number of topics: the registry of estimators.

The evidence is the probability of the whole corpus given T topics. An estimator is one module with
`repeat(corpus, topics, prior, sweeps, rng) -> float`, which returns one estimate of log m(T). To add an estimator,
write its file and add its line here. The modules are named but not imported: the command line needs only the names, and
the code hash of a run then covers its own estimator and not all the others.
"""

from __future__ import annotations

from dataclasses import dataclass

ANNEALING = "annealing"  # the method with several paths from a start to the posterior


@dataclass(frozen=True)
class Estimator:
    """Where an estimator is, and what is known about its estimates."""

    name: str
    module: str
    path: bool = False  # it is a path of the method "annealing"
    unbiased: bool = False
    has_variance: bool = True  # whether the variance is finite
    trusted: bool = True
    walks: bool = False  # `walk` first searches all T for good topics, and `repeat` starts from them
    one_labelling: bool = False  # too low by log T! if a chain never swaps the labels of its topics
    family: tuple[str, ...] = ()  # all estimators that share one chain: `repeat` returns one number for each

    @property
    def stream(self) -> str:
        """The name of its stream of random numbers; estimators that share a chain share the stream."""
        return self.module.rpartition(".")[2] if self.family else self.name


BOTH = ("harmonic-z", "harmonic-psi")

ESTIMATORS: dict[str, Estimator] = {
    entry.name: entry
    for entry in (
        Estimator("reference", "bayestopics.evidence.reference", path=True, unbiased=True, walks=True),
        Estimator("ais", "bayestopics.evidence.annealing", path=True, unbiased=True),
        Estimator("replica-exchange", "bayestopics.evidence.replica_exchange", path=True),
        Estimator("smc", "bayestopics.evidence.smc", path=True, unbiased=True),
        Estimator("both-ways", "bayestopics.evidence.both_ways", path=True, walks=True),
        Estimator("pseudo-marginal", "bayestopics.evidence.pseudo_marginal", unbiased=True),
        Estimator("chib", "bayestopics.evidence.chib", trusted=False, one_labelling=True),
        Estimator("chib-independent", "bayestopics.evidence.chib_independent", trusted=False),
        Estimator("harmonic-z", "bayestopics.evidence.harmonic", trusted=False, family=BOTH),
        # the variance is infinite once a term occurs more than eta times
        Estimator("harmonic-psi", "bayestopics.evidence.harmonic", trusted=False, has_variance=False, family=BOTH),
    )
}
PATHS = tuple(name for name, entry in ESTIMATORS.items() if entry.path)
METHODS = (ANNEALING, *(name for name, entry in ESTIMATORS.items() if not entry.path))


@dataclass(frozen=True)
class Chains:
    """The defaults of a method that samples the posterior of T."""

    starts: tuple[int, ...]
    iterations: int
    burn_in: int


WALKS = {"jump": Chains((1, 30, 60), 5000, 5000), "pmmh": Chains((5, 30), 1000, 200)}
