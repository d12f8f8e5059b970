"""theta of new documents: against enumeration of all topics of their words, for any number of threads."""

from __future__ import annotations

from itertools import product
from typing import Any

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln

from bayestopics.base.problems import InputError
from bayestopics.base.processes import using_threads
from bayestopics.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.predict.new_documents import NewDocuments, burn_in_of, infer

VOCABULARY = ("ant", "bee", "cow")
ALPHA = np.array([0.5, 0.2, 0.1])
BETAS = [
    np.array([[0.6, 0.1, 0.0], [0.3, 0.2, 0.5], [0.1, 0.7, 0.5]]),
    np.array([[0.5, 0.2, 0.1], [0.4, 0.2, 0.4], [0.1, 0.6, 0.5]]),
]  # terms x topics
DOCUMENTS = Corpus.from_sparse([[2, 1, 0], [0, 0, 0], [1, 1, 3]], VOCABULARY)


def exact(terms: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and second moments of theta, from all T^n topics of the words."""
    z = np.array(list(product(range(3), repeat=len(terms))), dtype=int).reshape(3 ** len(terms), len(terms))
    counts = np.stack([(z == t).sum(axis=1) for t in range(3)], axis=1) + alpha
    with np.errstate(divide="ignore"):
        log_weight = gammaln(counts).sum(axis=1) + np.log(beta)[terms, z].sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    weight, size = weight / weight.sum(), len(terms) + alpha.sum()
    return weight @ counts / size, weight @ (counts * (counts + 1)) / (size * (size + 1))


def moments(alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the mixture over both draws of beta, for each document."""
    mean, deviation = [], []
    for d in range(3):
        terms = DOCUMENTS.terms[DOCUMENTS.documents == d]
        first, second = (np.mean(one, axis=0) for one in zip(*(exact(terms, alpha, b) for b in BETAS), strict=True))
        mean.append(first)
        deviation.append(np.sqrt(second - first**2))
    return np.array(mean), np.array(deviation)


@pytest.fixture(scope="module")
def repeats() -> list[NewDocuments]:
    return [infer(DOCUMENTS, VOCABULARY, BETAS, ALPHA, sweeps=2000, burn_in=10, seed=seed) for seed in range(16)]


def distance(repeats: list[NewDocuments], exact: tuple[np.ndarray, np.ndarray]) -> float:
    """Of the mean over the repeats, in its standard errors, for the worst of all means and deviations."""
    made = np.array([(one.mean, one.deviation) for one in repeats])[:, :, [0, 2]]  # of the documents with words
    error = made.std(axis=0, ddof=1) / np.sqrt(len(made))
    return float(np.max(np.abs(made.mean(axis=0) - np.array(exact)[:, [0, 2]]) / error))


def test_enumeration(repeats: list[NewDocuments]) -> None:
    assert distance(repeats, moments(ALPHA)) < 5
    assert_allclose(repeats[0].mean[1], ALPHA / ALPHA.sum(), rtol=1e-12)  # without words, the prior, exactly
    assert_allclose(repeats[0].deviation[1], moments(ALPHA)[1][1], rtol=1e-12)


def test_enumeration_can_fail(repeats: list[NewDocuments]) -> None:
    assert distance(repeats, moments(1.1 * ALPHA)) > 5
    assert distance(repeats, moments(ALPHA[::-1])) > 5


def test_the_number_of_threads_changes_no_bit() -> None:
    law = simulate_lda(40, 30, 20, 4, 0.2, 0.2, np.random.default_rng(1))
    beta = np.random.default_rng(2).dirichlet(np.full(20, 0.2), 4).T
    made: list[Any] = []
    for threads in {1, numba.get_num_threads()}:
        with using_threads(threads):
            made.append(infer(law.corpus, law.corpus.vocabulary, [beta, beta], np.full(4, 0.1), sweeps=3, burn_in=2))
    assert_array_equal(made[0].mean, made[-1].mean)
    assert_array_equal(made[0].deviation, made[-1].deviation)
    assert_allclose(made[0].mean.sum(axis=1), 1)


def test_unknown_words_are_left_out_and_counted() -> None:
    """Guards a term that is looked up by its number, not by its name."""
    moved = Corpus.from_sparse([[3, 2, 1, 0], [4, 0, 0, 0]], ("dog", "ant", "bee", "cow"))
    found = infer(moved, VOCABULARY, BETAS, ALPHA, seed=1)
    assert found.unknown.tolist() == [3, 4]
    known = Corpus.from_sparse([[2, 1, 0], [0, 0, 0]], VOCABULARY)
    assert_array_equal(found.mean, infer(known, VOCABULARY, BETAS, ALPHA, seed=1).mean)
    assert_allclose(found.mean[1], ALPHA / ALPHA.sum())


def test_documents_do_not_depend_on_each_other() -> None:
    alone = infer(Corpus.from_sparse([[1, 1, 3]], VOCABULARY), VOCABULARY, BETAS, ALPHA)
    assert_array_equal(infer(DOCUMENTS, VOCABULARY, BETAS, ALPHA).mean[2:], alone.mean)


def test_refusals() -> None:
    with pytest.raises(InputError, match="at least 1 sweep"):
        infer(DOCUMENTS, VOCABULARY, BETAS, ALPHA, sweeps=0)
    with pytest.raises(InputError, match="at least one draw"):
        infer(DOCUMENTS, VOCABULARY, [], ALPHA)
    with pytest.raises(InputError, match="positive probability"):
        infer(DOCUMENTS, VOCABULARY, [np.zeros((3, 3))], ALPHA)


def test_further_draws_have_a_shorter_burn_in() -> None:
    assert [burn_in_of(draw, 10) for draw in range(3)] == [10, 2, 2]
    assert [burn_in_of(draw, 0) for draw in range(2)] == [0, 0]
    assert burn_in_of(1, 3) == 1
