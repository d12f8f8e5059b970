"""Births from the data and merges: the log odds of two components by enumeration, what is merged, and what waits."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayestopics.base.problems import InputError
from bayestopics.nonparametric import truncation_free
from bayestopics.nonparametric.components import Components
from bayestopics.nonparametric.dp_truncation_free import TruncationFreeDPMixture
from bayestopics.nonparametric.hdp_truncation_free import TruncationFreeHDP
from bayestopics.nonparametric.merging import dp_log_odds, hdp_log_odds, means_of_pair, merge_components

THETA = np.array([[0.7, 0.1, 0.4], [0.2, 0.3, 0.25], [0.1, 0.6, 0.35]])
ALPHA = (0.4, 1.1)
TERMS = [0, 2, 2, 1]
both = pytest.mark.parametrize("kind", [TruncationFreeHDP, TruncationFreeDPMixture])


def exact_odds(alpha: tuple[float, float]) -> float:
    """The sum over all labels of a document's tokens: a Polya urn times the words, over the words of one topic."""
    total = 0.0
    for labels in product((0, 1), repeat=len(TERMS)):
        urn, weight = list(alpha), 1.0
        for v, label in zip(TERMS, labels, strict=True):
            weight *= urn[label] / sum(urn) * THETA[v, label] / THETA[v, 2]
            urn[label] += 1
        total += weight
    return total


def test_the_odds_of_two_topics_are_those_of_the_enumeration() -> None:
    """Tokens of other topics do not matter, long documents do not overflow. Controls: other weights."""
    document = (np.array([0, 6]), np.array([0, 2, 1, 2, 1, 0]), np.array([5, 3, 4, 5, 3, 4]))
    document[1][[0, 1, 3, 4]] = TERMS
    assert hdp_log_odds(*document, 3, 5, THETA, ALPHA) == pytest.approx(np.log(exact_odds(ALPHA)), rel=1e-12)
    for alpha in ((1.1, 0.4), (40.0, 110.0)):
        assert hdp_log_odds(*document, 3, 5, THETA, alpha) != pytest.approx(np.log(exact_odds(ALPHA)), rel=1e-3)
    many = (np.array([0, 0, 900]), np.repeat(TERMS, 225), np.zeros(900, int))
    assert np.isfinite(hdp_log_odds(*many, 0, 1, THETA * 1e-3, ALPHA))


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


@both
def test_twins_are_merged_and_others_are_not(kind: Any) -> None:
    """Two copies of one component and another one; the batch is drawn from the model."""
    rng = np.random.default_rng(2)
    learner = kind(20, rng, eta=0.1, births="data")
    learner.components.grow(3)
    for k, terms in enumerate((slice(0, 10), slice(0, 10), slice(10, 20))):
        learner.components.stored[terms, k], learner.components.totals[k], learner.components.sizes[k] = 50, 500, 50
    learner.documents_seen = truncation_free.MERGE_EVERY - 40
    batch = rng.multinomial(8, np.repeat([[1.0, 0.0], [0.0, 1.0]], 10, axis=1) / 10, size=(20, 2)).reshape(40, 20)
    learner.partial_fit(batch)
    assert np.count_nonzero(learner.components.totals > 20) == 2
    assert learner.components.totals.sum() == pytest.approx(1500 + 320)


@both
def test_documents_wait_until_enough_are_there(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are learnt together, or at the end of the first pass, and a saved learner still has them."""
    monkeypatch.setattr(truncation_free, "COLLECTED", 5)
    batch = np.array([[2, 1, 0], [0, 1, 1]])
    for documents, tokens in ((None, [0, 0, 15, 20]), (4, [0, 10, 10])):
        learner = kind(3, np.random.default_rng(3), documents, births="data")
        for expected in tokens:
            learner = kind.from_state_dict(learner.state_dict()).partial_fit(batch)
            assert learner.components.totals.sum() == pytest.approx(expected)


def test_unknown_rules_are_refused() -> None:
    for options in ({"births": "none"}, {"first_pass": "slow"}):
        with pytest.raises(InputError, match="known are"):
            TruncationFreeHDP(3, np.random.default_rng(4), **options)
