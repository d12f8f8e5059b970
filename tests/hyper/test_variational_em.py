"""The variational bound: complete, below log m(h) on enumerable corpora, equal to it for one topic, never falling."""

import numpy as np
import pytest
from scipy.special import digamma as scipy_digamma
from scipy.special import gammaln

import oracle
from bayestopics.base.problems import InputError
from bayestopics.base.special import digamma
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.hyper import variational_em as module
from bayestopics.hyper.variational_em import MeanField, expected_log, variational_em
from bayestopics.lda.state import Prior
from bayestopics.lda.urns import ENDS

TINY = oracle.tiny_corpus([[0, 2, 2, 2], [], [1, 2], [0, 2]], 3)
STARTS = [Prior(0.05, 0.05), Prior(0.5, 0.5), Prior(5.0, 5.0)]


def simulated():
    """A corpus of the paper's, with an empty document."""
    corpus = simulate_lda(20, 80, 20, 4, 0.2, 0.8, np.random.default_rng(1)).corpus
    return corpus.select_tokens(corpus.documents != 7)


def value(field: MeanField) -> float:
    return field.bound(field.tokens()[0])


def log_dirichlet(parameters: np.ndarray, logs: np.ndarray) -> float:
    """The expectation of a Dirichlet's log density, given that of the logs of its variables."""
    return float(gammaln(parameters.sum()) - gammaln(parameters).sum() + np.sum((parameters - 1) * logs))


def plain_bound(corpus, field: MeanField) -> float:
    """E[log p(w, z, theta, beta)] - E[log q], term by term and token by token; all documents have tokens."""
    topics = field.gamma.shape[1]
    log_theta, log_beta = expected_log(field.gamma, axis=1), expected_log(field.lambda_, axis=0)
    result = 0.0
    for d, v in zip(corpus.documents, corpus.terms, strict=True):
        logs = log_theta[d] + log_beta[v]
        phi = np.exp(logs) / np.exp(logs).sum()
        result += np.sum(phi * (log_theta[d] + log_beta[v] - np.log(phi)))
    for gamma, logs in zip(field.gamma, log_theta, strict=True):
        result += log_dirichlet(np.full(topics, field.alpha), logs) - log_dirichlet(gamma, logs)
    for lambda_, logs in zip(field.lambda_.T, log_beta.T, strict=True):
        result += log_dirichlet(np.full(len(lambda_), field.eta), logs) - log_dirichlet(lambda_, logs)
    return result


def test_the_bound_has_all_its_terms():
    corpus = oracle.tiny_corpus([[0, 2, 2, 2], [1, 2], [0, 2]], 3)
    rng = np.random.default_rng(1)
    field = MeanField(corpus, 2, Prior(0.3, 0.7), rng)
    field.gamma, field.lambda_ = rng.gamma(1.0, 1.0, (3, 2)), rng.gamma(1.0, 1.0, (3, 2))
    assert value(field) == pytest.approx(plain_bound(corpus, field), rel=1e-12)


@pytest.mark.parametrize("start", STARTS)
def test_no_update_lets_the_bound_fall(start):
    field = MeanField(simulated(), 4, start, np.random.default_rng(2))
    values = [value(field)]
    for _ in range(60):
        field.update_documents()
        values.append(value(field))
        field.update_topics(field.tokens()[1])
        values.append(value(field))
        field.update_prior()
        values.append(value(field))
    assert np.diff(values).min() > -1e-11 * abs(values[-1])  # rounding
    assert values[-1] - values[0] > 100


def test_an_update_with_a_fault_is_caught():
    """eta left out of lambda, as if the topics had no prior."""
    field = MeanField(simulated(), 4, Prior(0.5, 0.5), np.random.default_rng(2))
    falls = []
    for _ in range(30):
        field.update_documents()
        before = value(field)
        field.lambda_ = field.tokens()[1] + 0.01 * field.eta
        falls.append(value(field) - before)
    assert min(falls) < -1.0


def test_the_update_of_h_is_exact():
    field = MeanField(simulated(), 4, Prior(0.5, 0.5), np.random.default_rng(3))
    for _ in range(5):
        field.update_documents()
        field.update_topics(field.tokens()[1])
    field.update_prior()
    best, h = value(field), (field.alpha, field.eta)
    for factor in (0.99, 1.01):
        field.alpha, field.eta = h[0] * factor, h[1]
        assert value(field) < best
        field.alpha, field.eta = h[0], h[1] * factor
        assert value(field) < best


@pytest.mark.parametrize("topics", [2, 3])
@pytest.mark.parametrize("start", STARTS)
def test_never_above_the_evidence(start, topics):
    for seed in range(2):
        found = variational_em(TINY, topics, rng=np.random.default_rng(seed), steps=20, tolerance=0.0, start=start)
        logs = [oracle.enumerate_all(TINY, topics, Prior(*h)).log_evidence for h in found.path[:-1]]
        assert np.all(found.bounds <= np.array(logs) + 1e-12)
        assert np.diff(found.bounds).min() > -1e-12


def one_topic() -> tuple[float, float]:
    """The bound and log m(h) with one topic, where q is the posterior."""
    prior = Prior(0.3, 0.7)
    field = MeanField(TINY, 1, prior, np.random.default_rng(1))
    field.update_documents()
    field.update_topics(field.tokens()[1])
    return value(field), oracle.enumerate_all(TINY, 1, prior).log_evidence


def test_with_one_topic_it_is_the_evidence():
    found, exact = one_topic()
    assert found == pytest.approx(exact, rel=1e-12)


def test_a_forgotten_constant_is_caught(monkeypatch):
    """lG(K x) of the priors, K of their parameters x."""
    right = module.divergence

    def wrong(parameters, prior, axis):
        return right(parameters, prior, axis) + parameters.shape[1 - axis] * gammaln(parameters.shape[axis] * prior)

    monkeypatch.setattr(module, "divergence", wrong)
    found, exact = one_topic()
    assert found != pytest.approx(exact, abs=0.1)


def test_an_empty_document_changes_nothing():
    without = oracle.tiny_corpus([[0, 2, 2, 2], [1, 2], [0, 2]], 3)
    one, other = (variational_em(c, 2, rng=np.random.default_rng(4), steps=30) for c in (TINY, without))
    np.testing.assert_array_equal(one.path, other.path)
    np.testing.assert_array_equal(one.bounds, other.bounds)
    np.testing.assert_array_equal(one.gamma[[0, 2, 3]], other.gamma)
    assert one.gamma[1].tolist() == [one.prior.alpha] * 2


def test_topics_that_share_no_term_do_not_underflow():
    """exp E[log theta] is zero in one topic, exp E[log beta] in the other: the update is still that of the logs."""
    field = MeanField(oracle.tiny_corpus([[0, 1]], 2), 2, Prior(0.01, 0.01), np.random.default_rng(1))
    field.gamma, field.lambda_ = np.array([[2.0, 1e-4]]), np.array([[1.0, 1e-5], [1e-4, 1.0]])
    logs = expected_log(field.gamma, axis=1) + expected_log(field.lambda_, axis=0)
    assert np.exp(logs[1]).sum() == 0  # of the second word
    field.update_documents()
    assert np.all(np.isfinite(field.gamma))
    assert field.gamma.sum() == pytest.approx(2.02)
    assert np.isfinite(value(field))


def test_a_runaway_alpha_is_held_and_said():
    """With even shares of topics everywhere the larger alpha the better."""
    found = variational_em(simulated(), 4, rng=np.random.default_rng(0), start=Prior(20.0, 20.0))
    assert found.prior.alpha == ENDS[1]
    assert found.warnings == ["The best alpha is at the end of its range, 10000; the true best may lie beyond."]
    assert np.diff(found.bounds).min() > -1e-11 * abs(found.bounds[-1])


def test_stops_and_repeats():
    found = variational_em(simulated(), 4, rng=np.random.default_rng(5))
    again = variational_em(simulated(), 4, rng=np.random.default_rng(5))
    np.testing.assert_array_equal(found.path, again.path)
    assert found.converged
    assert len(found.path) == len(found.bounds) + 1
    assert found.gamma.shape == (20, 4)
    assert found.lambda_.shape == (20, 4)
    assert not variational_em(simulated(), 4, rng=np.random.default_rng(5), steps=3).converged
    settled = variational_em(simulated(), 4, rng=np.random.default_rng(5), steps=3, passes=20)
    assert settled.bounds[0] > found.bounds[0]  # more passes before the first update of h


def test_h_without_a_meaning_and_nothing_to_do():
    rng = np.random.default_rng(1)
    with pytest.raises(InputError, match="alpha has no meaning"):
        variational_em(TINY, 1, rng=rng)
    with pytest.raises(InputError, match="one number"):
        variational_em(TINY, 2, rng=rng, start=Prior((0.1, 0.2), 0.5))
    with pytest.raises(InputError, match="at least 1 step and 1 pass are needed"):
        variational_em(TINY, 2, rng=rng, passes=0)


def test_digamma():
    x = np.geomspace(1e-6, 1e7, 1000)
    np.testing.assert_allclose([digamma(y) for y in x], scipy_digamma(x), rtol=1e-14, atol=2e-15)
