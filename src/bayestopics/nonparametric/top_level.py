"""The top-level weights given the assignments: tables, then beta ~ Dirichlet(m_1 .. m_K, gamma) (Teh et al. 2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayestopics.lda.uniforms import new_words
from bayestopics.nonparametric.antoniak import draw_topic_tables
from bayestopics.nonparametric.concentrations import ConcentrationPriors, draw_concentration, draw_gamma

if TYPE_CHECKING:
    from bayestopics.nonparametric.hdp_state import HdpState

SMALLEST_WEIGHT = 1e-150  # of beta, so that its products with concentrations and counts fit into doubles


def draw_weights(state: HdpState, rng: np.random.Generator, resample: ConcentrationPriors | None = None) -> HdpState:
    """Draw beta in place, and before it gamma and the concentration if they have priors."""
    tables = draw_topic_tables(state.document_topic, state.alpha, new_words(rng))
    gamma, concentration, total = state.gamma, state.concentration, int(tables.sum())
    if resample is not None:
        lengths = np.bincount(state.documents)
        gamma = draw_gamma(gamma, state.topics, total, resample.gamma, rng)
        concentration = draw_concentration(concentration, total, lengths, resample.concentration, rng)
        state = state.changed(gamma=gamma, concentration=concentration)
    state.alpha[:], state.alpha_new[0] = weights_of_tables(tables, gamma, concentration, rng)
    return state


def weights_of_tables(
    tables: np.ndarray, gamma: float, concentration: float, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """concentration * beta, of the topics and of all others together."""
    weights = rng.standard_gamma(tables)  # 0 for a free label
    # log G(a) = log G(a + 1) + log(U) / a: a gamma variable with a small shape would underflow
    weight_new = np.exp(np.log(rng.standard_gamma(gamma + 1.0)) - rng.standard_exponential() / gamma)
    scale = concentration / (weights.sum() + weight_new)
    return scale * weights, max(scale * weight_new, concentration * SMALLEST_WEIGHT)
