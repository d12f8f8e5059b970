"""Single-site collapsed Gibbs (Griffiths & Steyvers 2004), with the dense conditional [Zhang & Sisson 5].

A sweep leaves p(z | w) invariant. Its transition density g(z, z') is the product of the normalised conditionals of the
chosen topics. Tokens are visited by document or by term, and g depends on this order.
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
    """log g(z, target): the log density of reaching `target` from this state in one sweep. The state is unchanged."""
    return scan(_sweep, state.copy(), order, state.target(target), NO_WORDS)


def _sweep(*arrays: Any) -> float:
    """Draw all tokens of a scan, or force them to the target; returns log g."""
    return visit_tokens(0, len(arrays[0]), *arrays)
