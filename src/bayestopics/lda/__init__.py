"""LDA with a fixed number of topics: densities, and the samplers by name.

A sampler is one module with `init(corpus, topics, prior, rng) -> State` and `sweep(state, rng) -> Info`. If its
transition density has a closed form, it also has `transition_density(state, target) -> float`; if a sweep over a tiny
corpus does not reach all of its kernels, it has `compile_rest()`. To add a sampler, write its file and add its line
here; the commands, the tests and the benchmarks use this registry.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from bayestopics.base.problems import InputError


@dataclass(frozen=True)
class Sampler:
    """Where a sampler is, and what it can do."""

    name: str
    module: str  # named but not imported, so that the code hash of a run covers only its own sampler
    transition_density: bool = True  # g(z, z') has a closed form, and each sweep reports it
    draws_parameters: bool = False  # each sweep draws theta and beta that belong to its z
    orders: bool = False  # tokens can be visited by document or by term
    parallel: bool = False  # a sweep uses several threads
    over_machines: bool = False  # `lda.over_machines` makes its sweeps on a cluster
    side_by_side: bool = False  # `lda.lanes` runs eight of its chains at once

    @property
    def estimates_evidence(self) -> bool:
        """It can be the inner sampler of the pseudo-marginal estimate, and so of PMMH."""
        return self.transition_density or self.draws_parameters


SAMPLERS: dict[str, Sampler] = {
    entry.name: entry
    for entry in (
        Sampler("single-site", "bayestopics.lda.single_site", orders=True, side_by_side=True),
        Sampler("sparse", "bayestopics.lda.sparse", orders=True),
        Sampler("blocked-backward", "bayestopics.lda.blocked_backward"),
        Sampler("blocked-nested", "bayestopics.lda.blocked_nested"),
        Sampler("grouped", "bayestopics.lda.grouped", transition_density=False, draws_parameters=True, parallel=True),
        Sampler("augmented", "bayestopics.lda.augmented", draws_parameters=True),
        Sampler(
            "partially-collapsed",
            "bayestopics.lda.partially_collapsed",
            transition_density=False,
            parallel=True,
            over_machines=True,
        ),
    )
}


STARTS = ("random", "progressive")  # of a chain: `lda.starts`


def sampler_entry(name: str) -> Sampler:
    if name not in SAMPLERS:
        raise InputError(f"unknown sampler {name!r}; choose from {', '.join(SAMPLERS)}")
    return SAMPLERS[name]


def sampler(name: str) -> ModuleType:
    return import_module(sampler_entry(name).module)
