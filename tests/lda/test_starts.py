"""The progressive start: its law is a product of conditionals, and its counts are right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

import oracle
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.density import log_joint
from bayestopics.lda.starts import progressive_start, start_of
from bayestopics.lda.state import Prior, count, from_assignments

FALSE_ALARM = 1e-6


def law(corpus: Corpus, topics: int, prior: Prior) -> np.ndarray:
    """p(z_1 | w_1) p(z_2 | w_1, w_2, z_1) ... of every assignment, each factor from joint probabilities."""
    result = np.ones(topics**corpus.token_count)
    z = oracle.all_assignments(corpus.token_count, topics)
    for i in range(corpus.token_count):
        first = corpus.select_tokens(np.arange(corpus.token_count) <= i)
        exact = oracle.enumerate_all(first, topics, prior)
        joint = np.exp(exact.log_joint).reshape(-1, topics)  # by what comes before, and the topic of the last token
        result *= (joint / joint.sum(axis=1, keepdims=True)).ravel()[oracle.index_of(z[:, : i + 1], topics)]
    return result


def test_each_token_is_drawn_given_those_before_it() -> None:
    corpus, prior, rng = oracle.tiny_corpus([[0, 0, 1], [1, 2]], 3), Prior((0.3, 1.2), 0.3), np.random.default_rng(1)
    draws, expected = 4000, law(corpus, 2, prior)
    visits = np.bincount(
        [oracle.index_of(progressive_start(corpus, 2, prior, rng).assignments, 2) for _ in range(draws)], minlength=32
    )
    often = expected * draws >= 5
    observed, wanted = (np.append(x[often], x[~often].sum()) for x in (visits, expected * draws))
    assert chisquare(observed, wanted, sum_check=False).pvalue > FALSE_ALARM
    uniform = np.full(32, draws / 32)
    assert chisquare(visits, uniform).pvalue < FALSE_ALARM  # the test can fail


def test_counts_are_those_of_the_assignments_and_the_joint_is_better_than_at_random() -> None:
    corpus, prior = oracle.random_corpus(np.random.default_rng(2), 400, 20, 30), Prior(0.1, 0.05)
    state = progressive_start(corpus, 6, prior, np.random.default_rng(3))
    for kept, recounted in zip(state.arrays()[4:7], count(corpus, 6, state.assignments), strict=True):
        assert np.array_equal(kept, recounted)
    anywhere = np.random.default_rng(4).integers(6, size=400)
    assert log_joint(state) > log_joint(from_assignments(corpus, 6, prior, anywhere)) + 100.0


def test_an_unknown_start_is_refused() -> None:
    with pytest.raises(InputError, match="choose from random, progressive"):
        start_of("best")
