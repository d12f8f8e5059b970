"""The corpora that the programs run on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.registry import Registry
from bayestopics.corpus.synthetic import simulate_lda

SIMULATED = "simulated"  # it has few terms, so rows of term counts are long, which is hard for `sparse`
STAND_IN = "reuters-395"  # inside the package lda


def within_reach(names: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """The available corpora, one stand-in for all the others, and how to get the others."""
    registry, names = Registry(), list(dict.fromkeys(names))
    places = registry.where([name for name in names if name != SIMULATED])
    missing = [name for name, place in places.items() if place is None]
    left_out = {name: f"not available, so {STAND_IN} is used instead; {registry.how_to_get(name)}" for name in missing}
    present = [name for name in names if name not in missing]
    if missing and STAND_IN not in present:
        present.insert(0, STAND_IN)
    return present, left_out


def load(name: str) -> Corpus:
    if name != SIMULATED:
        return Registry().load(name)
    rng = np.random.default_rng(0)
    simulated = simulate_lda(documents=2000, length=100, terms=100, topics=20, alpha=0.1, eta=0.1, rng=rng)
    return replace(simulated.corpus, name=SIMULATED)
