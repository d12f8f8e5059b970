"""Simulated corpora against the laws they should follow.

Every random check is a test with false-alarm rate FALSE_ALARM = 1e-4: a chi-square test of frequencies, or a
mean within 3.9 Monte Carlo standard errors of its exact value. There are about 80 of them, so that under new
seeds a correct generator fails somewhere with probability below 1 %. Seeds are fixed. The negative controls
hand the same checks a wrong law, which must be rejected at 1e-9.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import chisquare, norm

from bayestopics.corpus.synthetic import (
    GENERATORS,
    Simulated,
    load_truth,
    simulate_bars,
    simulate_dp_mixture,
    simulate_hdp,
    simulate_lda,
    simulate_overlapping_topics,
)
from bayestopics.problems import InputError

FALSE_ALARM = 1e-4
REJECTED = 1e-9  # what a wrong law must reach

ARGUMENTS: dict[str, dict[str, Any]] = {
    "lda": dict(documents=30, length=20, terms=12, topics=4, alpha=0.3, eta=0.5, poisson=True),
    "bars": dict(documents=30, length=20, side=3, alpha=0.2),
    "overlapping-topics": dict(documents=4, length=50, topics=6),
    "hdp": dict(documents=30, length=20, terms=12, gamma=2.0, concentration=1.5, eta=0.5, poisson=True),
    "dp-mixture": dict(documents=30, length=20, terms=12, concentration=1.5, eta=0.5, poisson=True),
}


def simulate(name: str, seed: int = 1, **changes: Any) -> Simulated:
    return GENERATORS[name](**(ARGUMENTS[name] | changes), rng=np.random.default_rng(seed))


# -- checks -----------------------------------------------------------------------------------------


def frequency_p_value(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """Chi-square test of counts; the rarest cells are pooled until each expects at least 5."""
    order = np.argsort(probabilities)
    expected = probabilities[order] * counts.sum()
    cell = np.minimum(np.floor(np.cumsum(expected) / 5), np.where(expected >= 5, np.inf, 1e9))
    cell = np.where(expected >= 5, 1e9 + np.arange(len(expected)), cell)  # common cells stay apart
    _, cell = np.unique(cell, return_inverse=True)
    pooled = np.bincount(cell, expected)
    if pooled[0] < 5 and len(pooled) > 1:
        cell, pooled = np.maximum(cell - 1, 0), None
        pooled = np.bincount(cell, expected)
    return float(chisquare(np.bincount(cell, counts[order]), pooled).pvalue)
