"""Bands for a posterior expectation I(h) at all h at once, from tempered chains [George & Doss, section 2.3].

The paper cuts one chain into sqrt(n) batches, and takes a quantile of the batches' largest distances from I-hat. Where
the chain moves slowly over its grid, such short batches are not independent, and the band is far too narrow
(`paper_band`). Here the batches are long, and they come from several chains with random starts; all are compared with
I-hat of all chains together (`band`). On a corpus of 96 tokens `band` covered the exact I(h) in 96.5 % of 400
replications, and `paper_band` in 71 and 93 %. On Cats both were too narrow for distances between topics: a band knows
nothing about what none of its chains has seen (docs/methods.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayestopics.errors.pooled import DISAGREE, FEWEST, agreement, batches_each
from bayestopics.errors.simultaneous import half_width
from bayestopics.hyper.estimates import Terms, weighted
from bayestopics.hyper.tempering import TemperedChain, joined

CORRELATED = 0.25  # a correlation between successive batches up to this is ignored
FEWEST_BATCHES = 12  # of a single chain: correlated batches are joined, but not to fewer than this


@dataclass(frozen=True, eq=False)
class Band:
    lower: np.ndarray  # float64[points]; nan if the functional never varied
    middle: np.ndarray  # I-hat of all chains
    upper: np.ndarray
    units: int  # the number of batches, or of chains, that the width is computed from
    correlation: float  # between successive batches; above `CORRELATED`, the band is too narrow


def band(chains: Sequence[TemperedChain], points: np.ndarray, functional: int = 0, level: float = 0.95) -> Band:
    """A band around I-hat of chains of equal length with the same grid and zeta.

    Pairs of correlated batches are joined; if the chains disagree, their means count alone.
    """
    middle, away = deviations(chains, points, functional)
    units, correlation = independent(away)
    half = half_width(units, level) or np.nan  # a functional that never varied says nothing about its error
    return Band(middle - half, middle, middle + half, len(units), correlation)


def deviations(chains: Sequence[TemperedChain], points: np.ndarray, functional: int) -> tuple[np.ndarray, np.ndarray]:
    """(I-hat at each h, float64[chains, batches, points]: by how much each batch moves it, to first order).

    I-hat is a ratio of two means (2.14). Its error is, to first order, the mean of (g_i - I-hat) w_i / mean(w), with
    the weights w_i = nu_h(x_i) / mixture.
    """
    first = chains[0]
    if any(c.grid != first.grid or len(c) != len(first) or np.any(c.log_zeta != first.log_zeta) for c in chains):
        raise ValueError("chains of one band have the same grid, zeta and length")
    terms = Terms.of(joined(chains))
    values, each = terms.chain.functionals[:, functional], batches_each(len(chains))
    length = len(first) // each
    if length == 0:
        raise ValueError(f"chains of {len(first)} sweeps have no {each} batches")
    middle, away = np.empty(len(points)), np.empty((len(chains), each, len(points)))
    for i, h in enumerate(points):
        logs = terms.at(h[0], h[1])
        weights = np.exp(logs - logs.max())
        middle[i] = (weights * values).sum() / weights.sum()
        moved = (weights * (values - middle[i]) / weights.mean()).reshape(len(chains), -1)
        away[:, :, i] = moved[:, len(first) - each * length :].reshape(len(chains), each, length).mean(axis=2)
    return middle, away


def independent(away: np.ndarray) -> tuple[np.ndarray, float]:
    """(float64[units, points], the correlation between successive batches of a chain), from the batches of chains."""
    at = int(np.argmax(np.square(away).sum(axis=(0, 1))))  # where the error is largest
    fewest = FEWEST_BATCHES if len(away) < FEWEST else 1
    while (correlation := _with_next(away[:, :, at])) > CORRELATED and away.shape[1] // 2 >= fewest:
        whole = away[:, away.shape[1] % 2 :]
        away = whole.reshape(len(away), -1, 2, whole.shape[2]).mean(axis=2)
    same = agreement(away[:, :, [at]])
    disagree = same is not None and same < DISAGREE and len(away) >= FEWEST
    return away.mean(axis=1) if disagree else away.reshape(-1, away.shape[2]), correlation


def _with_next(values: np.ndarray) -> float:
    """The correlation between successive batches (chains x batches), about the mean of all."""
    away = values - values.mean()
    squares = np.square(away[:, :-1]).sum()
    return float((away[:, 1:] * away[:, :-1]).sum() / squares) if squares > 0 else 0.0


def paper_band(chain: TemperedChain, points: np.ndarray, functional: int = 0, level: float = 0.95) -> Band:
    """The paper's band: the quantile of the largest distances of sqrt(n) batches of one chain."""
    terms, values = Terms.of(chain), chain.functionals[:, functional]
    batches = terms.batches()
    shape = (len(batches), batches[0].stop - batches[0].start)
    batched = values[batches[0].start :].reshape(shape)
    middle, furthest = np.empty(len(points)), np.zeros(len(batches))
    for i, h in enumerate(points):
        logs = terms.at(h[0], h[1])
        middle[i] = weighted(logs[None], values[None])[0]
        of_batches = weighted(logs[batches[0].start :].reshape(shape), batched)
        np.maximum(furthest, np.abs(of_batches - middle[i]), out=furthest)
    quantile = np.sort(furthest)[max(0, int(np.ceil(level * len(furthest))) - 1)]  # S_[.95 J]
    half = quantile * np.sqrt(shape[1] / len(chain))
    return Band(middle - half, middle, middle + half, len(batches), 0.0)
