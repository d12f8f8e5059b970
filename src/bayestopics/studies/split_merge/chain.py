"""Study `split_merge`: its samplers, which all use the same Gibbs sweep."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayestopics.base.guard import not_finite, possible_log
from bayestopics.nonparametric.hdp_gibbs import sweep
from bayestopics.nonparametric.hdp_state import HdpState, to_arrays
from bayestopics.nonparametric.split_merge import split_merge

# name -> arguments of `hdp_gibbs`; one move after each sweep, as in the paper
MOVES_OF: dict[str, dict[str, Any]] = {
    "gibbs": {"moves": 0},
    "exact": {"moves": 1, "variant": "exact", "choice": "uniform"},
    "exact-words": {"moves": 1, "variant": "exact", "choice": "words"},
    "paper": {"moves": 1, "variant": "paper", "choice": "uniform"},
}
ENOUGH_TO_COMPILE = 10  # moves: enough to make both a split and a merge


def advance(state: HdpState, sampler: str, rng: np.random.Generator) -> HdpState:
    """One sweep and the moves after it; the arrays of `state` are changed in place."""
    moves = dict(MOVES_OF[sampler])
    state = sweep(state, rng)
    for _ in range(moves.pop("moves")):
        state, move = split_merge(state, rng, **moves)
        if not possible_log(move.log_ratio):
            raise not_finite("the log ratio of a split or merge", 0, to_arrays(state))
    return state


def compile_sampler(state: HdpState, sampler: str) -> None:
    """Compile everything, so that the first sweep does not include compilation; `state` does not change."""
    state, rng = state.copy(), np.random.default_rng(0)
    for _ in range(ENOUGH_TO_COMPILE):
        state = advance(state, sampler, rng)
