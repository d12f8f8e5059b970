"""Merges for the truncation-free methods: two components become one if one predicts the next batch at least as well.

The words of a batch that was not learnt yet, in a pair of components, are predicted by the two and by one component
with the sums of both; q is at its means. No penalty for the number of components is needed, because what they have
learnt too well does not help to predict. Given q, the comparison is exact:
- DP mixture: a document has the probability (pi_1 p_1(x) + pi_2 p_2(x)) / (pi_1 + pi_2), or p(x) of the sums.
- HDP: the tokens of the pair in a document are a Polya urn with weights b pi_1 and b pi_2. The probability of labels
  depends only on how many of them are 1, so the sum over all labels is a sum over this number: prod_i (theta_2i +
  theta_1i t) is a polynomial, and its coefficient of t^n is the sum over all labels with n tokens in the first topic.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bayestopics.base.jit import kernel
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


@kernel
def hdp_log_odds(
    offsets: np.ndarray,
    terms: np.ndarray,
    z: np.ndarray,
    first: int,
    second: int,
    theta: np.ndarray,
    alpha: tuple[float, float],
) -> float:
    """The log of p(words | two topics) / p(words | one), for the tokens that have one of the two in z.

    theta is as in `means_of_pair`, and alpha = b pi of both; document d has tokens offsets[d] .. offsets[d + 1] - 1.
    """
    result = 0.0
    sums = np.empty(np.diff(offsets).max() + 1)  # the coefficients of the polynomial
    for d in range(len(offsets) - 1):
        count, sums[0] = 0, 1.0
        for i in range(offsets[d], offsets[d + 1]):
            if z[i] == first or z[i] == second:
                zero, one = theta[terms[i], 0] / theta[terms[i], 2], theta[terms[i], 1] / theta[terms[i], 2]
                count += 1
                sums[count] = 0.0
                for n in range(count, 0, -1):
                    sums[n] = sums[n] * one + sums[n - 1] * zero
                sums[0] *= one
                largest = sums[: count + 1].max()
                if not 1e-100 < largest < 1e100:
                    sums[: count + 1] /= largest
                    result += math.log(largest)
        if count > 0:
            result += _log_urn(sums[: count + 1], alpha[0], alpha[1])
    return result


@kernel
def _log_urn(sums: np.ndarray, first: float, second: float) -> float:
    """The log of the sum over n of sums[n] times the probability of labels with n of one kind."""
    count = len(sums) - 1
    logs = np.empty(count + 1)
    for n in range(count + 1):
        urns = math.lgamma(first + n) - math.lgamma(first) + math.lgamma(second + count - n) - math.lgamma(second)
        logs[n] = urns + math.log(sums[n]) if sums[n] > 0.0 else -np.inf
    largest = logs.max()
    both = math.lgamma(first + second + count) - math.lgamma(first + second)
    return largest + math.log(np.exp(logs - largest).sum()) - both


def dp_log_odds(counts: np.ndarray, theta: np.ndarray, weights: tuple[float, float]) -> float:
    """The same for documents x terms counts of the documents of two components, whose weights are E[pi]."""
    shares = np.log(np.array(weights) / sum(weights))
    logs = counts @ np.log(theta)
    return float(np.sum(np.logaddexp(logs[:, 0] + shares[0], logs[:, 1] + shares[1]) - logs[:, 2]))
