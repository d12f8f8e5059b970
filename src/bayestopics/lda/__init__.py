"""LDA with a fixed number of topics: densities, and the samplers by name.

A sampler is one module with `init(corpus, topics, prior, rng) -> State`, `sweep(state, rng) -> Info` and, where its
transition density has a closed form, `transition_density(state, target) -> float`; `warm()` if a tiny corpus does not
reach all of its kernels. To add one: write the file, and name it here; the tests, the benchmarks and the command line
find it.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from bayestopics.base.problems import InputError

# by name, not imported: the code hash of a run then holds its own sampler, and not all the others
SAMPLERS: dict[str, str] = {
    "single-site": "bayestopics.lda.single_site",
    "sparse": "bayestopics.lda.sparse",
    "blocked-backward": "bayestopics.lda.blocked_backward",
    "blocked-nested": "bayestopics.lda.blocked_nested",
    "grouped": "bayestopics.lda.grouped",
    "augmented": "bayestopics.lda.augmented",
}


def sampler(name: str) -> ModuleType:
    if name not in SAMPLERS:
        raise InputError(f"unknown sampler {name!r}; known are {', '.join(SAMPLERS)}")
    return import_module(SAMPLERS[name])
