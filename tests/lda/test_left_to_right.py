"""Left-to-right: unbiased, by enumeration of the topics of a tiny document; the published form is caught."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import norm

import oracle
from bayestopics.base.problems import InputError
from bayestopics.lda.left_to_right import given_beta, given_topics_of_others, log_mean_of_products
from bayestopics.lda.state import CHANGING, Prior, State, from_assignments
from bayestopics.lda.uniforms import new_words

FALSE_ALARM = 1e-6  # of each statistical assertion, over seeds
PARTICLES = 40_000


def deviation(ratios: np.ndarray) -> float:
    """How many standard errors the mean of independent estimates, over the exact value, is away from 1."""
    return float(abs(np.mean(ratios) - 1) / (np.std(ratios, ddof=1) / np.sqrt(len(ratios))))


LIMIT = norm.isf(FALSE_ALARM / 2)

# -- beta given ------------------------------------------------------------------------------------

RANDOM_BETA = np.random.default_rng(1).dirichlet([0.5] * 4, size=3).T  # 4 terms, 3 topics
CONTRAST = np.array([[0.9, 0.05], [0.05, 0.9], [0.05, 0.05]])
DOCUMENTS = {
    "two topics": ([0, 1, 0, 1, 2], np.log(CONTRAST), 0.3),
    "unequal alpha": ([0, 1, 1, 0, 2, 2], np.log(CONTRAST), (0.2, 1.5)),
    "three topics": ([0, 3, 1, 1, 2, 0], np.log(RANDOM_BETA), (0.1, 0.6, 2.0)),
    "large alpha": ([3, 3, 2, 1], np.log(RANDOM_BETA), 20.0),
    "tiny beta": ([0, 1, 1, 0], np.array([[-3000.0, -3002.0], [-900.0, -898.0]]), 0.5),
}


def exact_given_beta(terms: list[int], log_beta: np.ndarray, alpha: float | tuple[float, ...]) -> float:
    """log sum_z p(z | alpha) prod_n beta(w_n | z_n)."""
    topics = log_beta.shape[1]
    z = oracle.all_assignments(len(terms), topics)
    prior = oracle.log_prior(np.zeros(len(terms), int), z, np.broadcast_to(np.asarray(alpha, float), (topics,)))
    return float(logsumexp(prior + log_beta[np.array(terms), z].sum(axis=1)))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_products_along_particles_are_unbiased(name: str) -> None:
    terms, log_beta, alpha = DOCUMENTS[name]
    steps = given_beta(terms, log_beta, alpha, PARTICLES, new_words(np.random.default_rng(2)))
    assert steps.shape == (PARTICLES, len(terms))
    assert deviation(np.exp(steps.sum(axis=1) - exact_given_beta(terms, log_beta, alpha))) < LIMIT


def published(steps: np.ndarray, particles: int) -> np.ndarray:
    """Products over words of the mean over particles, one for each group of particles."""
    return np.exp(logsumexp(steps.reshape(-1, particles, steps.shape[1]), axis=1) - np.log(particles)).prod(axis=1)


def test_the_published_form_is_caught() -> None:
    terms, log_beta, alpha = [0, 1, 0, 1, 0, 1], np.log(CONTRAST), 0.1
    steps = given_beta(terms, log_beta, alpha, PARTICLES, new_words(np.random.default_rng(3)))
    exact = np.exp(exact_given_beta(terms, log_beta, alpha))
    assert deviation(np.exp(steps.sum(axis=1)) / exact) < LIMIT
    assert deviation(published(steps, 20) / exact) > 2 * LIMIT


def test_a_list_of_alphas_is_one_a_topic() -> None:
    words = new_words(np.random.default_rng(4))
    steps = [given_beta([0, 1, 1], np.log(CONTRAST), alpha, 3, words.copy()) for alpha in (0.4, (0.4, 0.4))]
    assert_array_equal(*steps)


def test_one_topic_is_exact() -> None:
    steps = given_beta([2, 0, 2], np.log(CONTRAST[:, :1]), 0.3, 2, new_words(np.random.default_rng(5)))
    assert_allclose(np.exp(steps), [[0.05, 0.9, 0.05]] * 2, rtol=1e-14)


@pytest.mark.parametrize("alpha", [1e-50, 1e6])
def test_nothing_overflows(alpha: float) -> None:
    """Each of two words can only come from a topic of its own: p = (1/2) e^-1 times alpha / (2 alpha + 1) e^-1."""
    log_beta = np.array([[-1.0, -5000.0], [-5000.0, -1.0]])
    steps = given_beta([0, 1], log_beta, alpha, 50, new_words(np.random.default_rng(6)))
    assert_allclose(steps.sum(axis=1), np.log(0.5) + np.log(alpha / (2 * alpha + 1)) - 2, rtol=1e-12)


# -- beta integrated out ---------------------------------------------------------------------------

CORPUS = oracle.tiny_corpus([[0, 0, 1], [1, 2, 2, 0, 0], [2, 1]], 4)  # term 3 does not occur
OWN = CORPUS.documents == 1
TOPICS_OF_OTHERS = np.array([0, 1, 1, 0, 1])


@pytest.fixture(params=[Prior((0.3, 0.8), 0.2), Prior(0.1, 2.0), Prior(5.0, 1e-3)], ids=str)
def others(request: pytest.FixtureRequest) -> State:
    return from_assignments(CORPUS.select_tokens(~OWN), 2, request.param, TOPICS_OF_OTHERS)


def exact_given_topics(others: State) -> float:
    """p(w_d | z_-d, w_-d) = sum_{z_d} p(w, z) / p(w_-d, z_-d)."""
    prior = Prior(tuple(others.alpha.tolist()), others.eta)
    z = np.empty((2 ** OWN.sum(), CORPUS.token_count), np.int32)
    z[:, OWN], z[:, ~OWN] = oracle.all_assignments(OWN.sum(), 2), TOPICS_OF_OTHERS
    rest = oracle.log_joint(CORPUS.select_tokens(~OWN), TOPICS_OF_OTHERS[None], 2, prior)
    return float(logsumexp(oracle.log_joint(CORPUS, z, 2, prior)) - rest[0])


def test_integrated_products_are_unbiased(others: State) -> None:
    rng = np.random.default_rng(7)
    before = others.copy()
    steps = given_topics_of_others(rng.permutation(CORPUS.terms[OWN]), others, PARTICLES, new_words(rng))
    assert deviation(np.exp(steps.sum(axis=1) - exact_given_topics(others))) < LIMIT
    for name in CHANGING:
        assert_array_equal(getattr(others, name), getattr(before, name))


def test_the_smallest_prior_stays_finite() -> None:
    smallest = from_assignments(CORPUS.select_tokens(~OWN), 2, Prior(1e-50, 1e-50), TOPICS_OF_OTHERS)
    steps = given_topics_of_others([3, 3, 0, 2, 3], smallest, 20, new_words(np.random.default_rng(8)))
    assert np.all(np.isfinite(steps))


# -- particles -------------------------------------------------------------------------------------


def test_particles_are_averaged_after_the_product() -> None:
    steps = np.log([[0.5, 0.1], [0.2, 0.4]])
    assert log_mean_of_products(steps) == pytest.approx(np.log((0.05 + 0.08) / 2), rel=1e-14)
    assert log_mean_of_products(steps - 1000) == pytest.approx(np.log(0.065) - 2000, rel=1e-14)
    assert log_mean_of_products(np.empty((3, 0))) == 0.0  # an empty document


@pytest.mark.parametrize(("terms", "particles"), [([0, 3], 2), ([-1], 2), ([[0]], 2), ([0], 0)])
def test_bad_documents_are_refused(terms: list, particles: int) -> None:
    with pytest.raises(InputError, match=r"a document is a list of terms|at least 1 particle"):
        given_beta(terms, np.log(CONTRAST), 0.3, particles, new_words(np.random.default_rng(9)))


def test_a_beta_that_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="log beta is not finite"):
        given_beta([0], np.full((2, 2), np.nan), 0.3, 1, new_words(np.random.default_rng(10)))
