"""Topics that are matched: overlaps by hand, the best of all pairings, labels that come back."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from bayestopics.lda.alignment import matched, overlap, relabelled


def test_the_overlap_is_what_two_topics_have_in_common() -> None:
    first, second = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]), np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    assert_allclose(overlap(first, second), [[1.0, 0.0], [0.3, 0.7]])
    distance = np.abs(first[1] - second[0]).sum() / 2  # total variation
    assert_allclose(overlap(first, second)[1, 0], 1 - distance)


def test_the_pairs_have_the_largest_sum() -> None:
    """Guards a match of each topic with its nearest, which gives two topics the same one."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        similarity = rng.random((5, 5))
        best = max(permutations(range(5)), key=lambda order: similarity[np.arange(5), order].sum())
        assert_array_equal(matched(similarity), best)
    assert_array_equal(matched(np.array([[0.9, 0.8], [0.9, 0.1]])), [1, 0])


def test_more_topics_than_there_are_matches() -> None:
    assert_array_equal(matched(np.array([[0.2], [0.9], [0.1]])), [-1, 0, -1])


def test_labels_come_back() -> None:
    rng = np.random.default_rng(2)
    reference = rng.integers(4, size=200).astype(np.uint8)
    order = np.array([2, 0, 3, 1], np.uint8)
    assert_array_equal(relabelled(order[reference], reference, 4), reference)
    noisy = np.where(rng.random(200) < 0.3, rng.integers(4, size=200), reference).astype(np.uint8)
    found = relabelled(order[noisy], reference, 4)
    assert found.dtype == np.uint8
    assert_array_equal(found, noisy)
