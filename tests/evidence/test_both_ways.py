"""Evidence from annealing both ways, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

import oracle
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.errors.bennett import bennett
from bayestopics.evidence import both_ways, reference
from bayestopics.lda.state import Prior, random_start

TINY, PRIOR = oracle.random_corpus(np.random.default_rng(11), 8, 3, 3), Prior(0.4, 0.3)


@pytest.mark.parametrize("topics", [2, 3])
def test_both_ways_and_their_middle_are_exact(topics: int) -> None:
    """The mean weight there is m(T), that of the way back 1 / m(T), and Bennett's value is between them."""
    exact, rng = oracle.enumerate_all(TINY, topics, PRIOR).log_evidence, np.random.default_rng(5)
    middle, there, back = [], [], []
    for _ in range(12):
        works = both_ways.paths(TINY, random_start(TINY, topics, PRIOR, rng), PRIOR, 100, 20, 150, rng)
        middle.append(bennett(*works))
        there.append(logsumexp(works[0]) - np.log(150))
        back.append(np.log(150) - logsumexp(-works[1]))
    for values in (middle, there, back):
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        assert 0 < error < 0.1
        assert abs(np.mean(values) - exact) < 5 * error


def test_the_middle_is_nearer_than_either_way() -> None:
    """With the same steps, on a corpus whose topics are clear. The reference of a long path tells the truth."""
    made = simulate_lda(documents=40, length=60, terms=40, topics=4, alpha=0.2, eta=0.2, rng=np.random.default_rng(1))
    prior, rng = Prior(0.2, 0.2), np.random.default_rng(2)
    found = reference.find_topics(made.corpus, 4, prior, 200, rng)
    truth = np.mean([reference.repeat(made.corpus, 4, prior, 3000, rng, found.copy()) for _ in range(4)])
    works = both_ways.paths(made.corpus, found, prior, 100, 40, 16, rng)
    assert np.mean(works[0]) < truth - 0.5
    assert np.mean(works[1]) > truth + 0.5
    assert abs(bennett(*works) - truth) < 0.5 * min(truth - np.mean(works[0]), np.mean(works[1]) - truth)


def test_ends_that_are_far_apart() -> None:
    """Logs far below the smallest number: the middle is between the nearest of both ends."""
    assert bennett(np.array([-3000.0, -2500.0]), np.array([2500.0, 3100.0])) == pytest.approx(0.0, abs=1e-6)


def test_an_estimate_is_the_middle() -> None:
    made = [both_ways.repeat(TINY, 3, PRIOR, 40, np.random.default_rng(seed)) for seed in range(200)]
    exact = oracle.enumerate_all(TINY, 3, PRIOR).log_evidence
    assert abs(np.mean(made) - exact) < 4 * np.std(made, ddof=1) / np.sqrt(200)
