"""Merges for the DP mixture: two components become one if one predicts the next batch at least as well.

The documents of a batch that was not learnt yet, in a pair of components, are predicted by the two and by one component
with the sums of both; q is at its means. No penalty for the number of components is needed, because what they have
learnt too well does not help to predict. Given q, the comparison is exact: a document has the probability
(pi_1 p_1(x) + pi_2 p_2(x)) / (pi_1 + pi_2), or p(x) of the sums.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayestopics.nonparametric.components import Components

NEAREST = 3  # components with which each is compared: those with less similar words differ more
LogOdds = Callable[[int, int], float]  # of two components over one


def merge_components(components: Components, log_odds: LogOdds) -> int:
    """Merge pairs whose log odds are below 0, the lowest first; returns how many were merged.

    A component takes part in one merge per call, because a merge changes the odds of its other pairs.
    """
    pairs = similar_pairs(components)
    odds = np.array([log_odds(*pair) for pair in pairs])
    kept, done = np.ones(components.count, bool), np.zeros(components.count, bool)
    for place in np.argsort(odds, kind="stable").tolist():
        first, second = pairs[place]
        if odds[place] < 0.0 and not (done[first] or done[second]):
            done[[first, second]], kept[second] = True, False
            for sums in (components.stored, components.totals, components.sizes):
                sums[..., first] += sums[..., second]
    if not kept.all():
        components.keep(kept)
    return int(np.count_nonzero(~kept))


def similar_pairs(components: Components) -> list[tuple[int, int]]:
    """Each component with those whose words are most similar, by the cosine of the roots of their counts."""
    roots = np.sqrt(components.stored)
    roots /= np.maximum(np.linalg.norm(roots, axis=0), 1e-300)
    cosine = roots.T @ roots
    np.fill_diagonal(cosine, -1.0)
    nearest = np.argsort(-cosine, axis=1, kind="stable")[:, : max(min(NEAREST, components.count - 1), 0)]
    return sorted({(min(k, j), max(k, j)) for k in range(components.count) for j in nearest[k].tolist()})


def means_of_pair(components: Components, first: int, second: int) -> np.ndarray:
    """E[theta] of both components and of one with the sums of both: V x 3."""
    counts = components.weight * components.stored[:, [first, second]]
    lambdas = np.column_stack((counts, counts.sum(axis=1))) + components.eta
    return np.asarray(lambdas / lambdas.sum(axis=0))


def dp_log_odds(counts: np.ndarray, theta: np.ndarray, weights: tuple[float, float]) -> float:
    """The log of p(documents | two components) / p(documents | one), for documents x terms counts of the documents of
    two components, whose weights are E[pi]; theta is as in `means_of_pair`."""
    shares = np.log(np.array(weights) / sum(weights))
    logs = counts @ np.log(theta)
    return float(np.sum(np.logaddexp(logs[:, 0] + shares[0], logs[:, 1] + shares[1]) - logs[:, 2]))
