"""Births from the data and merges in the DP mixture: the log odds of two components, what is merged, what waits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayestopics.base.problems import InputError
from bayestopics.nonparametric import dp_truncation_free
from bayestopics.nonparametric.components import Components
from bayestopics.nonparametric.dp_truncation_free import TruncationFreeDPMixture
from bayestopics.nonparametric.merging import dp_log_odds, means_of_pair, merge_components

THETA = np.array([[0.7, 0.1, 0.4], [0.2, 0.3, 0.25], [0.1, 0.6, 0.35]])


def test_the_odds_of_two_components_of_a_mixture() -> None:
    counts, weights = np.array([[2, 0, 1], [0, 1, 3]]), (0.3, 0.1)
    expected = 0.0
    for document in counts:
        one, other, merged = (np.prod(THETA[:, k] ** document) for k in range(3))
        expected += np.log((0.75 * one + 0.25 * other) / merged)
    assert dp_log_odds(counts, THETA, weights) == pytest.approx(expected)


def three_components() -> Components:
    components = Components(3, 0.5, 3)
    components.stored[:] = [[4, 0, 8], [2, 1, 4], [0, 9, 0]]
    components.totals[:], components.sizes[:], components.weight = [3, 5, 6], [1, 2, 3], 0.5
    return components


def test_a_merge_adds_the_sums_and_the_worst_pair_goes_first() -> None:
    components = three_components()
    assert merge_components(components, lambda first, second: -1.0 if (first, second) == (0, 2) else -0.5) == 1
    assert_array_equal(components.stored, [[12, 0], [6, 1], [0, 9]])
    assert_array_equal(components.totals, [9, 5])
    assert_array_equal(components.sizes, [4, 2])
    assert merge_components(components, lambda *_: 0.0) == 0
    assert merge_components(Components(3, 0.5), lambda *_: -1.0) == 0


def test_means_of_a_pair() -> None:
    """lambda is eta plus half of what is stored; eta counts once in the sums."""
    expected = np.array([[2.5, 0.5, 2.5], [1.5, 1.0, 2.0], [0.5, 5.0, 5.0]])
    assert_allclose(means_of_pair(three_components(), 0, 1), expected / expected.sum(axis=0))


def test_twins_are_merged_and_others_are_not() -> None:
    """Two copies of one component and another one; the batch is drawn from the model."""
    rng = np.random.default_rng(2)
    learner = TruncationFreeDPMixture(20, rng, eta=0.1, births="data")
    learner.components.grow(3)
    for k, terms in enumerate((slice(0, 10), slice(0, 10), slice(10, 20))):
        learner.components.stored[terms, k], learner.components.totals[k], learner.components.sizes[k] = 50, 500, 50
    learner.documents_seen = dp_truncation_free.MERGE_EVERY - 40
    batch = rng.multinomial(8, np.repeat([[1.0, 0.0], [0.0, 1.0]], 10, axis=1) / 10, size=(20, 2)).reshape(40, 20)
    learner.partial_fit(batch)
    assert np.count_nonzero(learner.components.totals > 20) == 2
    assert learner.components.totals.sum() == pytest.approx(1500 + 320)


def test_documents_wait_until_enough_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are learnt together, or at the end of the first pass, and a saved learner still has them."""
    monkeypatch.setattr(dp_truncation_free, "COLLECTED", 5)
    batch = np.array([[2, 1, 0], [0, 1, 1]])
    for documents, tokens in ((None, [0, 0, 15, 20]), (4, [0, 10, 10])):
        learner = TruncationFreeDPMixture(3, np.random.default_rng(3), documents, births="data")
        for expected in tokens:
            learner = TruncationFreeDPMixture.from_state_dict(learner.state_dict()).partial_fit(batch)
            assert learner.components.totals.sum() == pytest.approx(expected)


def test_unknown_rules_are_refused() -> None:
    for options in ({"births": "none"}, {"first_pass": "slow"}):
        with pytest.raises(InputError, match="known are"):
            TruncationFreeDPMixture(3, np.random.default_rng(4), **options)
