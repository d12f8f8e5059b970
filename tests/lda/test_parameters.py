"""Draws of (theta, beta) given z, and the grouped sampler that alternates with them."""

import numba
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import kstest, loggamma

from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.lda import grouped
from bayestopics.lda.parameters import draw_parameters, log_gamma_draws
from bayestopics.lda.state import Prior, random_start
from bayestopics.lda.uniforms import split_words
from bayestopics.runs.chain import compile_sampler


@pytest.mark.parametrize("shape", [0.01, 0.3, 1.0, 2.5, 40.0])
def test_log_gamma_draws_have_their_law(shape):
    """Kolmogorov-Smirnov against scipy's log-gamma; false-alarm rate 1e-6."""
    draws = log_gamma_draws(np.full(20_000, shape), np.random.default_rng(1))
    assert np.all(np.isfinite(draws))
    assert kstest(draws, loggamma(shape).cdf).pvalue > 1e-6


def test_parameters_are_finite_and_normalised_for_tiny_priors():
    rng = np.random.default_rng(2)
    corpus = simulate_lda(documents=30, length=20, terms=200, topics=5, alpha=0.1, eta=0.1, rng=rng).corpus
    state = random_start(corpus, 5, Prior(0.01, 0.01), rng)
    for _ in range(20):
        parameters = draw_parameters(state, rng)
        assert np.all(np.isfinite(parameters.log_theta))
        assert np.all(np.isfinite(parameters.log_beta))
        np.testing.assert_allclose(np.exp(parameters.log_theta).sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(np.exp(parameters.log_beta).sum(axis=0), 1.0, rtol=1e-12)


def test_grouped_does_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(grouped, "PARALLEL_FROM", 0)
    rng = np.random.default_rng(3)
    corpus = simulate_lda(documents=50, length=30, terms=40, topics=4, alpha=0.3, eta=0.3, rng=rng).corpus
    most = numba.get_num_threads()

    def run(threads: int) -> np.ndarray:
        numba.set_num_threads(threads)
        rng = np.random.default_rng(4)
        state = grouped.init(corpus, 4, Prior(0.3, 0.3), rng)
        for _ in range(5):
            grouped.sweep(state, rng)
        return state.assignments

    try:
        results = [run(threads) for threads in range(1, most + 1)]
        monkeypatch.setattr(grouped, "PARALLEL_FROM", 10**9)
        results.append(run(1))  # without threads
    finally:
        numba.set_num_threads(most)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_grouped_draws_from_the_logs_when_every_product_underflows():
    cumulative = np.empty(2)
    largest, mass = grouped._from_logs(np.array([-900.0, 0.0]), np.array([0.0, -901.0]), cumulative)
    assert largest == -900.0
    assert mass == pytest.approx(1.0 + np.exp(-1.0))
    assert cumulative[0] == pytest.approx(1.0)
    log_theta, log_beta = np.array([[-900.0, 0.0]]), np.array([[0.0, -901.0]])
    parameters, token = (np.exp(log_theta), np.exp(log_beta), log_theta, log_beta), np.zeros(1, np.int32)
    log_mass = grouped._draw_document(0, np.array([0, 1]), token, *parameters, np.uint64(1), token.copy())
    assert log_mass == pytest.approx(np.logaddexp(-900.0, -901.0))


def test_grouped_tells_the_likelihood_of_its_parameters():
    rng = np.random.default_rng(5)
    corpus = simulate_lda(documents=20, length=200, terms=300, topics=4, alpha=0.3, eta=0.3, rng=rng).corpus
    state = random_start(corpus, 4, Prior(0.01, 0.01), rng)
    for _ in range(3):
        info = grouped.sweep(state, rng)
        log_theta, log_beta = info.parameters.log_theta, info.parameters.log_beta
        expected = logsumexp(log_theta[corpus.documents] + log_beta[corpus.terms], axis=1).sum()
        assert info.log_likelihood == pytest.approx(expected, rel=1e-12)


def test_warming_compiles_what_a_large_corpus_calls():
    """A sweep whose kernels were warmed compiles nothing, so that no timing holds a compilation."""
    compile_sampler("grouped")
    compiled = len(grouped._draw_in_parallel.signatures)
    assert compiled > 0
    rng = np.random.default_rng(5)
    documents = grouped.PARALLEL_FROM // 100
    corpus = simulate_lda(documents=documents, length=100, terms=50, topics=4, alpha=0.3, eta=0.3, rng=rng).corpus
    grouped.sweep(grouped.init(corpus, 4, Prior(0.3, 0.3), rng), rng)
    assert len(grouped._draw_in_parallel.signatures) == compiled


def test_no_two_documents_share_a_random_number():
    """Guards against streams that overlap: document d + 1 would go on one number behind document d."""
    seed = np.uint64(20)
    words = [split_words(seed, number).tolist() for number in range(100)]
    assert len({word for of_one in words for word in of_one}) == 400
    assert words[7] == split_words(seed, 7).tolist()
    assert words[7] != split_words(np.uint64(21), 7).tolist()
