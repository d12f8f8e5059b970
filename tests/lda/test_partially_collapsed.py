"""The partially collapsed sampler beyond its law, which `exact/test_samplers.py` checks: threads, and extreme draws."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest

from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.base.processes import using_threads
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.lda import partially_collapsed
from bayestopics.lda.gamma_draws import log_gamma_draw
from bayestopics.lda.state import Prior, State, from_assignments, random_start
from bayestopics.lda.uniforms import split_words

FALSE_ALARM = 1e-6


def after_sweeps(topics: int, prior: Prior) -> State:
    rng = np.random.default_rng(4)
    corpus = simulate_lda(documents=60, length=30, terms=1200, topics=4, alpha=0.3, eta=0.3, rng=rng).corpus
    state = partially_collapsed.init(corpus, topics, prior, rng)
    for _ in range(3):
        partially_collapsed.sweep(state, rng)
    return state


@pytest.mark.parametrize(("topics", "prior"), [(4, Prior(0.3, 0.3)), (700, Prior(0.01, 0.01)), (3, Prior(1e-9, 2.0))])
def test_the_number_of_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch, topics: int, prior: Prior) -> None:
    """With 700 topics documents use lists, and topics are empty; a tiny alpha means double precision."""
    alone = after_sweeps(topics, prior)
    monkeypatch.setattr(partially_collapsed, "PARALLEL_FROM", 0)
    monkeypatch.setattr("numba.get_num_threads", lambda: 3)
    together = after_sweeps(topics, prior)
    assert np.any(together.assignments != together.assignments[0])
    for one, other in zip(alone.arrays()[4:], together.arrays()[4:], strict=True):
        assert_array_equal(one, other)


def test_more_threads_than_there_can_be_are_refused() -> None:
    with pytest.raises(InputError, match="1000000 threads are not possible"), using_threads(1_000_000):
        pass


@kernel
def many_draws(shape: float, count: int) -> np.ndarray:
    words, draws = split_words(np.uint64(7), 0), np.empty(count)
    for i in range(count):
        draws[i] = log_gamma_draw(shape, 0.0, words)
    return draws


@pytest.mark.parametrize("shape", [0.02, 0.7, 1.0, 6.5])
def test_gamma_draws_have_their_law(shape: float) -> None:
    """By the power of the gamma's distribution function, which does not underflow for a small shape."""
    from scipy.special import gammainc, gammaln

    draws = many_draws(shape, 20_000)
    small = draws < -30.0  # where the distribution function is x^a / Gamma(a + 1)
    levels = np.where(small, np.exp(shape * draws - gammaln(shape + 1.0)), gammainc(shape, np.exp(draws)))
    assert kstest(levels, "uniform").pvalue > FALSE_ALARM


def test_gamma_draws_of_a_tiny_shape_are_finite() -> None:
    assert np.all(np.isfinite(many_draws(1e-50, 1000)))


def topics_of(state: State, seeds: np.ndarray) -> partially_collapsed.Topics:
    return partially_collapsed.draw_topics(state.term_topic, state.topic_total, state.alpha, state.eta, seeds)


def test_topics_sum_to_one_and_empty_ones_do_too() -> None:
    rng = np.random.default_rng(5)
    corpus = simulate_lda(documents=9, length=30, terms=40, topics=4, alpha=0.3, eta=0.3, rng=rng).corpus
    for eta in (1e-50, 0.01, 3.0):
        state = from_assignments(corpus, 5, Prior(0.1, eta), rng.integers(3, size=corpus.token_count))
        drawn = topics_of(state, rng.integers(2**64, size=3, dtype=np.uint64))
        assert_allclose(drawn.beta[:, :5].sum(axis=0, dtype=float), 1.0, rtol=1e-6)
        assert not drawn.beta[:, 5:].any()
        assert_allclose(drawn.dense.sum(axis=1), 0.1 * drawn.beta.sum(axis=1, dtype=float), rtol=1e-6)


def test_topics_have_the_moments_of_their_dirichlet() -> None:
    """Student t of 400 independent draws of each probability; Bonferroni."""
    rng, draws = np.random.default_rng(6), 400
    corpus = simulate_lda(documents=5, length=30, terms=6, topics=2, alpha=0.3, eta=0.3, rng=rng).corpus
    state = random_start(corpus, 2, Prior(0.1, 0.3), rng)
    seeds = rng.integers(2**64, size=(draws, 3), dtype=np.uint64)
    beta = np.array([topics_of(state, each).beta[:, :2] for each in seeds])
    shape = state.term_topic + 0.3
    mean = shape / shape.sum(axis=0)
    statistic = (beta.mean(axis=0) - mean) / (beta.std(axis=0) / np.sqrt(draws))
    assert np.abs(statistic).max() < 6.0  # of 12: about 1e-8 each
    variance = mean * (1.0 - mean) / (shape.sum(axis=0) + 1.0)
    assert_allclose(beta.var(axis=0).sum(), variance.sum(), rtol=0.25)  # the standard error is 4 %
