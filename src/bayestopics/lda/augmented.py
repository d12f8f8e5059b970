"""Augmented collapsed Gibbs [George & Doss, section 2.4]: a single-site sweep over z, then (theta, beta) given z.

The chain of z and its transition density are the same as for `single-site`.
"""

from __future__ import annotations

import numpy as np

from bayestopics.lda import single_site
from bayestopics.lda.parameters import draw_parameters
from bayestopics.lda.single_site import init, transition_density
from bayestopics.lda.state import State
from bayestopics.lda.transition import Info

__all__ = ["init", "sweep", "transition_density"]


def sweep(state: State, rng: np.random.Generator) -> Info:
    """Update every assignment once, in place; then draw the parameters."""
    info = single_site.sweep(state, rng)
    return Info(info.log_transition, draw_parameters(state, rng))
