"""The evidence m(T) = p(w | T, alpha, eta), and the posterior of the number of topics: the estimators by name, and what
each is worth.

An estimator is one module with `repeat(corpus, topics, prior, sweeps, rng) -> float`, one log-estimate of log m(T). To
add one: write the file, and add its line here. The modules are named, not imported: the command line asks for the names
alone, and the code hash of a run holds its own estimator, and not all the others.
"""

from __future__ import annotations

from dataclasses import dataclass

ANNEALING = "annealing"  # the method that has several paths


@dataclass(frozen=True)
class Estimator:
    """Where an estimator is, and what is known of its estimates."""

    name: str
    module: str
    path: bool = False  # from the prior to the posterior: it is a path of the method "annealing"
    unbiased: bool = False
    has_variance: bool = True
    trusted: bool = True
    walks: bool = False  # good topics are looked for over all T first (`walk`), and `repeat` takes them
    one_labelling: bool = False  # a chain that keeps to one labelling of its topics makes it too low by log T!
    family: tuple[str, ...] = ()  # the names of all that come from the same chain: `repeat` gives as many numbers

    @property
    def stream(self) -> str:
        """The name of its random numbers, which those from the same chain share."""
        return self.module.rpartition(".")[2] if self.family else self.name


BOTH = ("harmonic-z", "harmonic-psi")

ESTIMATORS: dict[str, Estimator] = {
    entry.name: entry
    for entry in (
        Estimator("reference", "bayestopics.evidence.reference", path=True, unbiased=True, walks=True),
        Estimator("ais", "bayestopics.evidence.annealing", path=True, unbiased=True),
        Estimator("replica-exchange", "bayestopics.evidence.replica_exchange", path=True),
        Estimator("smc", "bayestopics.evidence.smc", path=True, unbiased=True),
        Estimator("pseudo-marginal", "bayestopics.evidence.pseudo_marginal", unbiased=True),
        Estimator("chib", "bayestopics.evidence.chib", trusted=False, one_labelling=True),
        Estimator("harmonic-z", "bayestopics.evidence.harmonic", trusted=False, family=BOTH),
        # no variance once a term occurs more than eta times
        Estimator("harmonic-psi", "bayestopics.evidence.harmonic", trusted=False, has_variance=False, family=BOTH),
    )
}
PATHS = tuple(name for name, entry in ESTIMATORS.items() if entry.path)
METHODS = (ANNEALING, *(name for name, entry in ESTIMATORS.items() if not entry.path))
