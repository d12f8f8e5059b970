"""The log joint density and the posterior means against enumeration and closed forms.

Tolerance 1e-11: a density here is a sum of fewer than 100 log-gammas, each below 100 and right to about 1e-15 of
its size.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln, logsumexp

import oracle
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.lda.density import document_topic_mean, log_joint, topic_term_mean
from bayestopics.lda.state import LARGEST, SMALLEST, Prior, from_assignments

TOLERANCE = 1e-11
PRIORS = [Prior(0.1, 0.01), Prior(1, 1), Prior((0.2, 3.0, 0.7), 0.4), Prior((1e-6, 50.0, 1.0), 1e3)]


def random_case(seed: int) -> tuple[Corpus, np.ndarray]:
    """A corpus of 9 tokens with an empty document and an unused term or more, and assignments to 3 topics."""
    rng = np.random.default_rng(seed)
    corpus = oracle.random_corpus(rng, tokens=9, documents=5, terms=5)
    corpus = dataclasses.replace(corpus, document_count=6, vocabulary=(*corpus.vocabulary, "unused"))
    return corpus, rng.integers(3, size=9)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_log_joint_equals_the_formula(prior: Prior, seed: int) -> None:
    corpus, z = random_case(seed)
    expected = oracle.log_joint(corpus, z[None], 3, prior)[0]
    assert_allclose(log_joint(from_assignments(corpus, 3, prior, z)), expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_log_joint_equals_the_formula_on_long_documents() -> None:
    """Large counts: relative 1e-12, since 40,000 log-gammas of size up to 1e4 lose that much at the worst."""
    simulated = simulate_lda(20, 1000, 30, 5, 0.3, 0.1, np.random.default_rng(1))
    z, prior = simulated.truth["assignments"], Prior((0.3, 0.1, 2.0, 1.0, 5.0), 0.05)
    expected = oracle.log_joint(simulated.corpus, z[None], 5, prior)[0]
    assert_allclose(log_joint(from_assignments(simulated.corpus, 5, prior, z)), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_one_topic_is_the_evidence_in_closed_form(seed: int) -> None:
    """log m(1) = lG(V eta) - lG(N + V eta) + sum_v lG(n_v + eta) - lG(eta), whatever alpha is."""
    corpus, _ = random_case(seed)
    eta, terms, counts = 0.3, corpus.term_count, np.bincount(corpus.terms, minlength=corpus.term_count)
    expected = gammaln(terms * eta) - gammaln(9 + terms * eta) + np.sum(gammaln(counts + eta) - gammaln(eta))
    prior = Prior(0.7, eta)
    assert_allclose(log_joint(from_assignments(corpus, 1, prior, np.zeros(9))), expected, rtol=TOLERANCE)
    assert_allclose(oracle.enumerate_all(corpus, 1, prior).log_evidence, expected, rtol=TOLERANCE)


@pytest.mark.parametrize("prior", [Prior(0.4, 0.2), Prior((0.2, 1.5), 0.7)], ids=str)
def test_the_joint_sums_to_one_over_all_corpora_and_assignments(prior: Prior) -> None:
    """No constant is missing, in the package or in the oracle: sum over w of m(w) = 1, for 3^4 corpora of 4 tokens."""
    documents = np.array([0, 0, 0, 2], np.int32)
    package, enumerated = [], []
    for terms in oracle.all_assignments(4, 3):
        corpus = Corpus(documents.copy(), terms.copy(), document_count=3, vocabulary=("a", "b", "c"))
        exact = oracle.enumerate_all(corpus, 2, prior)
        enumerated.append(exact.log_evidence)
        package += [log_joint(exact.state(row)) for row in range(len(exact.assignments))]
    assert_allclose([logsumexp(enumerated), logsumexp(package)], 0.0, atol=TOLERANCE)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_names_of_topics_documents_and_terms_mean_nothing(prior: Prior) -> None:
    corpus, z = random_case(11)
    rng = np.random.default_rng(12)
    expected = log_joint(from_assignments(corpus, 3, prior, z))
    topic, document, term = rng.permutation(3), rng.permutation(6), rng.permutation(6)
    alpha = np.empty(3)
    alpha[topic] = prior.alpha  # alpha goes with its topic
    renamed = Corpus(
        document[corpus.documents].astype(np.int32), term[corpus.terms].astype(np.int32), 6, corpus.vocabulary
    )
    moved = from_assignments(renamed, 3, Prior(tuple(alpha), prior.eta), topic[z])
    assert_allclose(log_joint(moved), expected, rtol=TOLERANCE)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_posterior_means_are_the_ratio_of_joints_with_one_more_token(prior: Prior) -> None:
    """p(w + v, z + t | ...) / p(w, z) = E[theta_dt | z] E[beta_tv | z]."""
    corpus, z = random_case(21)
    state = from_assignments(corpus, 3, prior, z)
    theta, beta = document_topic_mean(state), topic_term_mean(state)
    for d, v, t in [(0, 0, 0), (5, 2, 1), (3, 5, 2)]:
        longer = Corpus(np.append(corpus.documents, np.int32(d)), np.append(corpus.terms, np.int32(v)), 6, ("",) * 6)
        ratio = log_joint(from_assignments(longer, 3, prior, np.append(z, t))) - log_joint(state)
        assert_allclose(ratio, np.log(theta[d, t] * beta[t, v]), atol=TOLERANCE * 100)  # cancellation of two densities


@pytest.mark.parametrize("alpha", [(0.1, 0.2), [0.1, 0.2], np.array([0.1] * 4), 0.0, -1.0, np.nan, np.inf, (0.1, 0, 1)])
def test_impossible_alpha_is_refused(alpha: object) -> None:
    corpus, z = random_case(1)
    with pytest.raises(InputError, match="alpha"):
        from_assignments(corpus, 3, Prior(alpha, 0.1), z)  # type: ignore[arg-type]


@pytest.mark.parametrize("eta", [0.0, -0.1, np.nan, np.inf, SMALLEST / 2, LARGEST * 2])
def test_impossible_eta_is_refused(eta: float) -> None:
    with pytest.raises(InputError, match="eta"):
        Prior(0.1, eta)


@pytest.mark.parametrize("topics", [0, -1])
def test_impossible_topics_are_refused(topics: int) -> None:
    with pytest.raises(InputError, match="at least 1"):
        Prior(0.1, 0.1).alpha_vector(topics)


@pytest.mark.parametrize("z", [[0] * 8, [0] * 8 + [3], [0] * 8 + [-1]])
def test_impossible_assignments_are_refused(z: list[int]) -> None:
    corpus, _ = random_case(1)
    with pytest.raises(ValueError, match="one topic"):
        from_assignments(corpus, 3, Prior(), np.array(z))
