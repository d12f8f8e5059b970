"""Which topic is which: topics have no labels of their own, so two sets of topics are matched before they are compared.

The similarity of two topics is their overlap, sum_v min(beta_v, beta'_v): the share of the probability that they have
in common, which is 1 minus their total variation distance. The pairs with the largest sum of similarities are found as
an assignment problem. Two draws of the same tokens are matched by the number of tokens on which they agree, which takes
one pass over the tokens.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from bayestopics.base.jit import sum_kernel

STEP = 1_000_000  # tokens at a time, which saves memory


def overlap(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The overlap of each row of `first` with each row of `second`; rows are distributions of terms."""
    return _overlap(np.ascontiguousarray(first, np.float64), np.ascontiguousarray(second, np.float64))


@sum_kernel
def _overlap(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    result = np.zeros((len(first), len(second)))
    for t in range(len(first)):
        for s in range(len(second)):
            total = 0.0
            for v in range(first.shape[1]):
                total += min(first[t, v], second[s, v])
            result[t, s] = total
    return result


def matched(similarity: np.ndarray) -> np.ndarray:
    """For each row, the column that it is paired with, so that the sum of similarities is largest; -1 without one."""
    pairs = np.full(len(similarity), -1)
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    pairs[rows] = columns
    return pairs


def relabelled(assignments: np.ndarray, reference: np.ndarray, topics: int) -> np.ndarray:
    """The same partition of the tokens, with the labels that agree with `reference` on as many tokens as possible."""
    agreeing = np.zeros(topics * topics, np.int64)
    for first in range(0, len(assignments), STEP):
        here = slice(first, first + STEP)
        pairs = assignments[here].astype(np.int64) * topics + reference[here]
        agreeing += np.bincount(pairs, minlength=topics * topics)
    names = matched(agreeing.reshape(topics, topics))
    if np.array_equal(names, np.arange(topics)):  # no copy of what is as it should be
        return assignments
    return names.astype(assignments.dtype)[assignments]
