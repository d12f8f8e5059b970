"""The posterior of T from weighted batches: by hand, the coverage of its errors, R-hat, and every doubt."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from bayestopics.base.problems import InputError
from bayestopics.evidence.topic_law import BATCHES, TopicLaw, doubts, law, rhat, rhat_of
from bayestopics.evidence.topic_prior import TopicPrior


def table(weights: Any) -> pd.DataFrame:
    """From weights[chain][batch] = {topics: weight}."""
    rows = [
        (chain, batch, topics, weight)
        for chain, batches in enumerate(weights)
        for batch, shares in enumerate(batches)
        for topics, weight in shares.items()
    ]
    return pd.DataFrame(rows, columns=["chain", "batch", "topics", "weight"])


def test_two_chains_by_hand() -> None:
    """The first chain has the shares 3/4 and 1/4, the second 1/2 and 1/2, whatever their total weights are."""
    found = law(table([[{2: 2.0}, {2: 1.0, 5: 1.0}], [{2: 30.0, 5: 10.0}, {5: 20.0}]]))
    assert found.posterior == pytest.approx({2: 0.625, 5: 0.375})
    assert found.by_chain == [pytest.approx({2: 0.75, 5: 0.25}), pytest.approx({2: 0.5, 5: 0.5})]
    assert found.mean == pytest.approx(2 * 0.625 + 5 * 0.375)
    assert found.mode == 2
    assert found.total_variation == pytest.approx(0.25)
    assert found.largest_batch == pytest.approx(40 / 60)
    # batches: their part of the share of T = 2, minus the posterior times their part of the weight
    batches = np.array([1 / 2 - 0.625 / 2, 1 / 4 - 0.625 / 2, 1 / 2 - 0.625 * 2 / 3, -0.625 / 3])
    from_batches = np.sqrt(4 / 3 * np.sum(batches**2)) / 2
    from_chains = np.sqrt(2 * (0.125**2 + 0.125**2)) / 2
    error = max(from_batches, from_chains)
    assert found.standard_error == pytest.approx({2: error, 5: error})
    assert found.mean_error == pytest.approx(3 * error)
    assert found.effective_sample_size == pytest.approx(9 * 0.625 * 0.375 / (3 * error) ** 2)
    # halves: T is 2; 2 or 5; 2 (3/4) or 5; 5
    means, variances = np.array([2.0, 3.5, 2.75, 5.0]), 9 * np.array([0.0, 1 / 4, 3 / 16, 0.0])
    assert found.rhat == pytest.approx(np.sqrt(1 + means.var(ddof=1) / variances.mean()))


def test_the_error_of_whole_chains_counts_if_it_is_larger() -> None:
    found = law(table([[{2: 1.0}] * 4, [{3: 1.0}] * 4]))
    assert found.standard_error == pytest.approx({2: 0.5, 3: 0.5})
    assert found.rhat == np.inf
    assert found.total_variation == 1.0


def test_chains_that_are_nearly_certain_agree() -> None:
    """Guards the ratio of two tiny variances."""
    for share, agree in ((0.0, True), (1e-6, True), (0.009, True), (0.011, False), (0.5, False)):
        sure, other = [{4: 1.0}] * 4, [{4: 1.0 - share, 5: share}] * 4
        assert (law(table([sure, other])).rhat == 1.0) is agree


def test_one_chain_and_one_batch() -> None:
    one = law(table([[{2: 1.0}, {3: 1.0}]]))
    assert (one.rhat, one.total_variation) == (None, None)
    assert one.standard_error == pytest.approx({2: 0.5, 3: 0.5})
    single = law(table([[{2: 1.0, 3: 1.0}]]))
    assert (single.mean, single.mean_error, single.effective_sample_size) == (2.5, None, None)
    assert np.all(np.isnan(list(single.standard_error.values())))


def test_a_number_of_topics_that_never_changes_has_no_error() -> None:
    """Thirds do not add up to 1 exactly: rounding is not taken for a few draws."""
    found = law(table([[{7: 1.0}] * 3] * 2))
    assert (found.posterior, found.standard_error) == (pytest.approx({7: 1.0}), pytest.approx({7: 0.0}, abs=1e-12))
    assert (found.rhat, found.effective_sample_size) == (1.0, None)


def test_a_chain_without_weight_is_refused() -> None:
    with pytest.raises(InputError, match="--iterations"):
        law(table([[{2: 1.0}], [{2: 0.0}]]))


# -- coverage ----------------------------------------------------------------------------------------


def batches_of(topics: np.ndarray, log_weights: np.ndarray) -> pd.DataFrame:
    """From draws, chains x iterations; a draw of weight w has the share w."""
    chains, iterations = topics.shape
    number = np.arange(iterations) * BATCHES // iterations
    frame = pd.DataFrame(
        {
            "chain": np.repeat(np.arange(chains), iterations),
            "batch": np.tile(number, chains),
            "topics": topics.ravel(),
            "weight": np.exp(log_weights).ravel(),
        }
    )
    return frame.groupby(["chain", "batch", "topics"], as_index=False).sum()


def weighted_chains(rng: np.random.Generator, chains: int, iterations: int, stay: float) -> pd.DataFrame:
    """T = 1, 2, 3 with probabilities .2, .5, .3 under the weights, .4, .35, .25 without; it stays with probability
    `stay` and is drawn anew otherwise."""
    drawn = rng.choice([1, 2, 3], size=(chains, iterations), p=DRAWN)
    renewed = rng.random((chains, iterations)) >= stay
    renewed[:, 0] = True
    last = np.maximum.accumulate(np.where(renewed, np.arange(iterations), 0), axis=1)
    topics = np.take_along_axis(drawn, last, axis=1)
    return batches_of(topics, np.log(LAW / DRAWN)[topics - 1])


LAW, DRAWN = np.array([0.2, 0.5, 0.3]), np.array([0.4, 0.35, 0.25])
REPEATS = 120


@pytest.mark.parametrize("chains", [1, 3])
@pytest.mark.parametrize("stay", [0.0, 0.9])
def test_errors_cover(chains: int, stay: float) -> None:
    """Two errors to either side hold the truth in 95 of 100 runs or more, and are no wider than need be: with three
    chains the larger of two errors is taken, which makes it at most twice as large on average."""
    rng = np.random.default_rng(3)
    found = [law(weighted_chains(rng, chains, 2000, stay)) for _ in range(REPEATS)]
    values = np.array([[one.posterior[t] for t in (1, 2, 3)] for one in found])
    errors = np.array([[one.standard_error[t] for t in (1, 2, 3)] for one in found])
    held = np.sum(np.abs(values - LAW) < 2.09 * errors, axis=0)  # Student t with 19 degrees
    assert binom.cdf(held, REPEATS, 0.95).min() * 3 > 1e-5
    spread = values.std(axis=0, ddof=1)
    assert np.all(errors.mean(axis=0) < 2 * spread)
    assert np.all(errors.mean(axis=0) > 0.7 * spread)


def test_rhat_of_equal_and_of_different_chains() -> None:
    assert rhat(np.array([2.0, 2.0]), np.array([1.0, 3.0])) == 1.0
    assert rhat(np.array([2.0, 2.0]), np.array([0.0, 0.0])) == 1.0
    assert rhat(np.array([2.0, 3.0]), np.array([0.0, 0.0])) == np.inf
    assert rhat(np.array([1.0, 3.0]), np.array([2.0, 2.0])) == pytest.approx(np.sqrt(2))
    rng = np.random.default_rng(4)
    equal = law(weighted_chains(rng, 3, 2000, 0.0))
    assert equal.rhat is not None
    assert equal.rhat < 1.02
    assert not doubts(equal, TopicPrior(1, 9), (1, 2, 3))


def test_rhat_of_weighted_draws() -> None:
    values = np.array([[1.0, 3.0, 1.0, 3.0], [3.0, 9.0, 1.0, 1.0]])
    weights = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0]])
    # the halves: 1 and 3; 1 and 3; 3; 1
    between, within = np.var([2, 3, 2, 1], ddof=1), np.mean([1, 0, 1, 0])
    assert rhat_of(values, weights) == pytest.approx(np.sqrt(1 + between / within))
    assert rhat_of(values[:1], weights[:1]) is None
    assert rhat_of(values[:, :1], weights[:, :1]) is None
    assert rhat_of(values, np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]])) is None


# -- doubts ------------------------------------------------------------------------------------------

FINE = TopicLaw({3: 0.9, 4: 0.1}, {3: 0.01, 4: 0.01}, 3.1, 0.01, 3, 1.0, 900.0, 0.05, 0.06, [{3: 0.9, 4: 0.1}] * 2, 40)
DOUBTS: dict[str, tuple[dict[str, Any], str]] = {
    "R-hat": ({"rhat": 1.06, "total_variation": 0.9}, r"3\.1 from 1, 3\.1 from 30.*R-hat .* is 1\.06"),
    "infinite R-hat": ({"rhat": np.inf}, "is more than 100,"),
    "huge R-hat": ({"rhat": 283776.66, "effective_sample_size": 2.0}, "is more than 100,"),  # nothing about draws
    "variation": ({"total_variation": 0.21}, "0.21 in total variation"),
    "draws": ({"effective_sample_size": 99.0}, "about 99 independent draws"),
    "batch": ({"largest_batch": 0.51}, "carries 51% of its weight"),
    "end": ({"posterior": {3: 0.94, 9: 0.06}}, "6% of the posterior is at the largest number of topics, 9"),
}


@pytest.mark.parametrize(("change", "words"), DOUBTS.values(), ids=DOUBTS)
def test_every_doubt_is_told(change: dict[str, Any], words: str) -> None:
    (said,) = doubts(replace(FINE, **change), TopicPrior(1, 9), (1, 30))
    assert re.search(words, said)


LIMITS = {"rhat": 1.05, "total_variation": 0.2, "effective_sample_size": 100.0, "largest_batch": 0.5}


def test_at_the_limits_there_is_no_doubt() -> None:
    at_the_end = {"posterior": {3: 0.95, 9: 0.05}}
    assert not doubts(FINE, TopicPrior(1, 9), (1, 30))
    assert not doubts(replace(FINE, **LIMITS, **at_the_end), TopicPrior(1, 9), (1, 30))
    assert not doubts(replace(FINE, effective_sample_size=None), TopicPrior(1, None, "poisson", 3.0), (1, 30))


def test_a_single_chain_is_doubted() -> None:
    alone = replace(FINE, rhat=None, total_variation=None, by_chain=FINE.by_chain[:1])
    (said,) = doubts(alone, TopicPrior(1, 9), (30,))
    assert "--start 1,30,60" in said
