"""The truncated DP mixture: its bound against set partitions, its updates, and what it recovers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp, psi
from scipy.stats import beta, dirichlet

import variational_oracle as oracle
from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric.components import Components
from bayestopics.nonparametric.dp_mixture import plug_in
from bayestopics.nonparametric.dp_truncated import TruncatedDPMixture
from bayestopics.nonparametric.sticks import ClosedSticks, best_closed_sticks
from bayestopics.nonparametric.stream import Bags, minibatches
from bayestopics.nonparametric.truncated import component_divergence, digamma, expected_log_rows

DOCUMENTS = np.array([[2, 0, 1], [0, 3, 0], [1, 1, 0], [0, 2, 0], [3, 0, 0]])
CORPUS = Corpus.from_sparse(DOCUMENTS)


def evidence(eta: float, concentration: float) -> float:
    """log p(x), all set partitions of the documents summed out."""
    return float(logsumexp(list(oracle.dp_law(oracle.prior_only(3, eta, concentration), DOCUMENTS).values())))


@pytest.mark.parametrize("concentration", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("eta", [0.1, 2.0])
def test_the_bound_never_falls_and_stays_below_the_evidence(eta: float, concentration: float) -> None:
    for seed in range(10):
        learner = TruncatedDPMixture(3, np.random.default_rng(seed), 5, eta, concentration, truncation=6)
        bounds = learner.fit(CORPUS, 200, tolerance=1e-12)
        assert np.all(np.diff(bounds) > -1e-9)
        assert len(bounds) > 2
        assert bounds[-1] < evidence(eta, concentration)


def test_the_bound_is_tight_where_one_component_is_certain() -> None:
    """With a concentration near 0, the factorised q loses nothing: the bound is within 1e-3 of the evidence."""
    learner = TruncatedDPMixture(3, np.random.default_rng(0), 5, 2.0, 1e-4, truncation=3)
    best = learner.fit(CORPUS, 500, tolerance=1e-12)[-1]
    assert 0 < evidence(2.0, 1e-4) - best < 1e-3


def test_a_bound_without_its_divergences_is_caught() -> None:
    """A control for the test above: with the divergence of q(theta) left out, the bound rises above the evidence."""
    learner = TruncatedDPMixture(3, np.random.default_rng(0), 5, 0.1, 0.3, truncation=6)
    best = learner.fit(CORPUS, 200)[-1]
    assert best + component_divergence(learner.components) > evidence(0.1, 0.3)


def test_the_bound_is_the_expectation_it_is_said_to_be() -> None:
    """E_q[log p(x, z, theta, b) - log q] with theta and b drawn from q: within 5 standard errors, 6e-7."""
    rng = np.random.default_rng(1)
    learner = TruncatedDPMixture(3, rng, 5, 0.6, 0.8, truncation=3)
    learner.fit(CORPUS, 2)
    sticks, bags = learner.sticks(), Bags.of(CORPUS, 3)
    q, normalisers = learner.responsibilities(bags, sticks)
    bound = normalisers.sum() - component_divergence(learner.components) - sticks.divergence()
    draws, lam = 40_000, learner.components.rows(np.arange(3)).T
    theta = np.stack([rng.dirichlet(row, draws) for row in lam], axis=1)
    b = rng.beta(sticks.u, sticks.v, (draws, 2))
    pi = np.column_stack((b[:, 0], (1 - b[:, 0]) * b[:, 1], (1 - b[:, 0]) * (1 - b[:, 1])))
    log_pi = np.empty_like(pi)
    log_pi[:, sticks.order] = np.log(pi)
    values = np.einsum("dk,dv,skv->s", q, DOCUMENTS, np.log(theta)) + np.einsum("dk,sk->s", q, log_pi)
    values -= np.sum(q * np.log(q))
    for k in range(3):
        values += dirichlet.logpdf(theta[:, k].T, np.full(3, 0.6)) - dirichlet.logpdf(theta[:, k].T, lam[k])
    values += np.sum(beta.logpdf(b, 1, 0.8) - beta.logpdf(b, sticks.u, sticks.v), axis=1)
    error = values.std() / np.sqrt(draws)
    assert abs(values.mean() - bound) < 5 * error
    assert abs(values.mean() - bound - sticks.divergence()) > 50 * error  # a control


def test_order_by_size_is_the_best_but_for_large_concentrations() -> None:
    rng = np.random.default_rng(2)
    for concentration, always in ((0.5, True), (1.0, True), (30.0, False)):
        by_size = []
        for _ in range(50):
            sizes = rng.gamma(0.5, 10.0, 4)
            before = rng.permutation(4)
            chosen = best_closed_sticks(sizes, concentration, before)
            by_size.append(np.array_equal(chosen.order, np.argsort(-sizes)))
        assert all(by_size) == always


def test_sticks_of_one_size_in_closed_form() -> None:
    sticks = ClosedSticks.of(np.array([2.0, 5.0]), 0.7)
    assert sticks.order.tolist() == [1, 0]
    assert_allclose(sticks.mean_weights(), [2.7 / 8.7, 6 / 8.7])
    assert_allclose(sticks.expected_logs(), [psi(2.7) - psi(8.7), psi(6) - psi(8.7)])


def test_a_whole_corpus_at_full_rate_is_the_batch_update() -> None:
    stochastic, batch = (TruncatedDPMixture(3, np.random.default_rng(3), 5, truncation=4) for _ in range(2))
    stochastic.updates = -1  # so that t = 0, and rho = 1
    stochastic.partial_fit(CORPUS)
    batch.fit(CORPUS, 1)
    faded = stochastic.components.weight * stochastic.components.stored
    assert_allclose(faded, batch.components.weight * batch.components.stored, atol=1e-12)
    assert_allclose(stochastic.components.sizes, batch.components.sizes)


def test_rates_are_those_of_the_paper() -> None:
    """The sizes start at 0 and approach n; what is missing is the product of 1 - rho_t."""
    learner = TruncatedDPMixture(3, np.random.default_rng(4), 1000, truncation=4)
    learner.components.sizes[:] = 0.0
    learner.partial_fit(DOCUMENTS)
    learner.partial_fit(DOCUMENTS)
    left = (1 - 2**-0.6) * (1 - 3**-0.6)
    assert learner.components.sizes.sum() == pytest.approx(1000 * (1 - left))


def test_digamma() -> None:
    x = np.geomspace(1e-8, 1e9, 2001)
    assert_allclose([digamma(value) for value in x], psi(x), rtol=1e-10, atol=1e-10)
    components = Components(3, 0.2, 2)
    components.stored[1] = [3.0, 4.0]
    components.totals[:] = [3.0, 4.0]
    assert_allclose(expected_log_rows(components, np.array([1])), [psi([3.2, 4.2]) - psi([3.6, 4.6])])


def test_a_stream_recovers_separate_components() -> None:
    """Four components share no word, so held-out words are as probable as under the document's component."""
    rng = np.random.default_rng(5)
    theta = np.kron(np.eye(4), np.full(10, 0.1))
    counts = np.array([rng.multinomial(50, theta[k]) for k in rng.integers(4, size=500)])
    learner = TruncatedDPMixture(40, rng, 400, truncation=20)
    for batch in minibatches(Corpus.from_sparse(counts[:400]), 100, rng, passes=10):
        learner.partial_fit(batch)
    truth = np.log(0.1) + np.log(0.25) / 50
    assert abs(plug_in(learner, counts[400:]).per_word - truth) < 0.1
    assert 4 <= learner.used_components() <= 6
