"""Single-site collapsed Gibbs (Griffiths & Steyvers 2004), with the dense conditional [Zhang & Sisson 5].

A sweep leaves p(z | w) invariant, and its transition density g(z, z') is the product of the chosen normalised
conditionals. Tokens are visited by document or by term: g depends on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayestopics.lda.dense import visit_tokens
from bayestopics.lda.state import State, random_start, scan
from bayestopics.lda.transition import Info
from bayestopics.lda.uniforms import NO_WORDS, new_words

init = random_start


def sweep(state: State, rng: np.random.Generator, order: str = "document") -> Info:
    """Update every assignment once, in place."""
    return Info(scan(_sweep, state, order, None, new_words(rng)))


def transition_density(state: State, target: np.ndarray, order: str = "document") -> float:
    """log g(z, target): the log density of reaching `target` from this state in one sweep. The state stays as it is."""
    return scan(_sweep, state.copy(), order, state.target(target), NO_WORDS)


def _sweep(*arrays: Any) -> float:
    """All tokens of a scan, drawn, or forced to its target; returns log g."""
    return visit_tokens(0, len(arrays[0]), *arrays)
