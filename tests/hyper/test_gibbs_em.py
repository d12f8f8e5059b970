"""Gibbs-EM against enumeration: G(h), its maximum by both updates, one step, and where the steps end."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import t as student

import oracle
from bayestopics.base.problems import InputError
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.hyper import gibbs_em as module
from bayestopics.hyper.gibbs_em import Histograms, gibbs_em, rate
from bayestopics.lda import SAMPLERS, single_site
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.lda.urns import ENDS, Urns

CORPUS, TOPICS = oracle.tiny_corpus([[0, 2, 2, 2], [2, 2, 2], [0, 2]], 3), 2  # m(h) has its top inside: see below
SEPARATE = oracle.tiny_corpus([[0, 0, 0, 0], [1, 1, 1, 2], [0]], 3)  # one topic a document: alpha goes to 0
CHAINS = 16
# Student t with CHAINS - 1 degrees, two-sided, Bonferroni over six samplers and two numbers: 1e-5 in all
LIMIT = float(student.isf(1e-5 / 2 / 12, CHAINS - 1))


def enumerated(corpus, topics: int, prior: Prior) -> tuple[Urns, Urns]:
    """E[log p(z | alpha)] and E[log p(w | z, eta)] over all z of a tiny corpus, given w at this prior."""
    exact = oracle.enumerate_all(corpus, topics, prior)
    by_document, by_term = oracle.counts_of(exact, exact.assignments)

    def histogram(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weights = np.broadcast_to(exact.posterior[:, None], (len(counts), counts[0].size))
        how_often = np.bincount(counts.astype(int).ravel(), weights=weights.ravel())
        return np.arange(len(how_often)), how_often

    lengths = histogram(by_document.sum(axis=2))
    return (
        Urns(*histogram(by_document), *lengths, topics),
        Urns(*histogram(by_term), *histogram(by_term.sum(axis=1)), corpus.term_count),
    )


def exact_step(h: np.ndarray) -> np.ndarray:
    """EM without Monte Carlo error."""
    return np.array([urns.argmax() for urns in enumerated(CORPUS, TOPICS, Prior(*h))])


def slope(corpus, topics: int, h: np.ndarray) -> np.ndarray:
    """The derivatives of log m(h) by log alpha and log eta, numerically."""
    moves = 1e-4 * np.eye(2)
    ends = [[oracle.enumerate_all(corpus, topics, Prior(*(h * np.exp(s * x)))) for s in (1, -1)] for x in moves]
    return np.array([(up.log_evidence - down.log_evidence) / 2e-4 for up, down in ends])


def simulated(sweeps: int = 20) -> tuple[Histograms, list[np.ndarray]]:
    """Histograms of a chain on a corpus of the paper's, with an empty document, and its assignments."""
    corpus, rng = simulated_corpus(), np.random.default_rng(3)
    state, histograms, visited = single_site.init(corpus, 4, Prior(0.3, 0.6), rng), Histograms(corpus), []
    for _ in range(sweeps):
        single_site.sweep(state, rng)
        histograms.add(state)
        visited.append(state.assignments.copy())
    return histograms, visited


def simulated_corpus():
    corpus = simulate_lda(20, 80, 20, 4, 0.2, 0.8, np.random.default_rng(1)).corpus
    return corpus.select_tokens(corpus.documents != 7)


# -- the M step --------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [(0.2, 0.8), (1e-3, 40.0), (300.0, 0.01)])
def test_histograms_know_the_mean_of_the_log_densities(h):
    histograms, visited = simulated()
    corpus = simulated_corpus()
    logs = [log_joint(from_assignments(corpus, 4, Prior(*h), z)) for z in visited]
    found = histograms.documents().log_density(h[0]) + histograms.topics().log_density(h[1])
    assert found == pytest.approx(np.mean(logs), rel=1e-10)


@pytest.mark.parametrize("x", [0.02, 0.7, 30.0])
def test_derivatives(x):
    for urns in (simulated()[0].documents(), simulated()[0].topics()):
        step = 1e-5 * x
        numerical = (urns.log_density(x + step) - urns.log_density(x - step)) / (2 * step)
        assert urns.derivative(x) == pytest.approx(numerical, rel=1e-5)


def test_minkas_fixed_point_is_the_exact_maximum():
    """From anywhere, and never downwards: what it maximises in a step is a lower bound, where it ends is not."""
    for urns in (simulated()[0].documents(), simulated()[0].topics()):
        best = urns.argmax()
        assert urns.derivative(best) * best == pytest.approx(0, abs=1e-8 * urns.slopes(best)[0] * best)
        assert urns.log_density(best) > max(urns.log_density(0.99 * best), urns.log_density(1.01 * best))
        for start in (1e-3, 0.5, 100.0):
            assert urns.minka(start) == pytest.approx(best, rel=1e-7)
        path = [0.01]
        for _ in range(30):
            up, down = urns.slopes(path[-1])
            path.append(path[-1] * up / down)
        assert np.all(np.diff([urns.log_density(x) for x in path]) > 0)
        assert path[1] != pytest.approx(best, rel=0.1)  # one step alone is not there


def test_the_maximum_of_even_and_of_separate_urns_is_at_an_end():
    even = Urns(np.array([3]), np.array([20.0]), np.array([6]), np.array([10.0]), 2)
    separate = Urns(np.array([6]), np.array([10.0]), np.array([6]), np.array([10.0]), 2)
    assert even.argmax() == ENDS[1]
    assert separate.argmax() == ENDS[0]
    assert even.minka(1.0) > 1e3  # on the way
    assert separate.minka(1.0) < 1e-3


# -- EM ----------------------------------------------------------------------------------------------


def test_fishers_identity():
    """The derivative of G at the h of the chain is that of log m(h)."""
    h = np.array([0.7, 0.4])
    found = [x * urns.derivative(x) for x, urns in zip(h, enumerated(CORPUS, TOPICS, Prior(*h)), strict=True)]
    np.testing.assert_allclose(found, slope(CORPUS, TOPICS, h), rtol=1e-5)


def test_steps_without_error_climb_and_end_at_a_stationary_point():
    h, logs = np.array([1.0, 0.5]), []
    for _ in range(60):
        logs.append(oracle.enumerate_all(CORPUS, TOPICS, Prior(*h)).log_evidence)
        h = exact_step(h)
    assert np.all(np.diff(logs) > -1e-12)
    assert np.all((h > 10 * ENDS[0]) & (h < ENDS[1] / 10))  # inside
    np.testing.assert_allclose(slope(CORPUS, TOPICS, h), 0, atol=1e-6)
    assert np.abs(slope(CORPUS, TOPICS, np.array([1.0, 0.5]))).max() > 0.01  # not everywhere


def one_step(sampler: str, update: str = "exact") -> np.ndarray:
    """log h after a step, one row per chain."""
    options = {"sweeps": 1000, "burn_in": 20, "steps": 1, "start": Prior(1.0, 0.5)}
    rngs = [np.random.default_rng([4, number]) for number in range(CHAINS)]
    runs = [gibbs_em(CORPUS, TOPICS, rng=rng, sampler=sampler, update=update, **options) for rng in rngs]
    return np.log([task.path[-1] for task in runs])


def off(found: np.ndarray, truth: np.ndarray) -> float:
    """The largest distance of the mean of the rows, in standard errors."""
    return float(np.max(np.abs(found.mean(axis=0) - truth) / (found.std(axis=0, ddof=1) / np.sqrt(len(found)))))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_step_is_that_of_enumeration(sampler):
    assert off(one_step(sampler), np.log(exact_step(np.array([1.0, 0.5])))) < LIMIT


def test_a_wrong_posterior_is_caught(monkeypatch):
    """The chain runs at another h than the one it is asked for."""
    right = single_site.init
    monkeypatch.setattr(single_site, "init", lambda c, t, prior, rng: right(c, t, Prior(0.3, 0.5), rng))
    assert off(one_step("single-site"), np.log(exact_step(np.array([1.0, 0.5])))) > LIMIT


def test_both_updates_take_the_same_path():
    """With the same seed the chains are the same as long as h is, but for rounding; after that the noise differs."""
    np.testing.assert_allclose(one_step("single-site", "minka"), one_step("single-site"), rtol=1e-6)


def test_ends_near_the_top_of_m():
    """Independent runs, averaged over their last steps: Monte Carlo EM is off by its noise, not by a bias."""
    h = np.array([1.0, 0.5])
    for _ in range(60):
        h = exact_step(h)
    options = {"sweeps": 200, "burn_in": 10, "steps": 25, "tolerance": 0.0, "start": Prior(1.0, 0.5)}
    rngs = [np.random.default_rng([5, number]) for number in range(CHAINS)]
    found = [np.log(gibbs_em(CORPUS, TOPICS, rng=rng, **options).path[15:]).mean(axis=0) for rng in rngs]
    assert off(np.array(found), np.log(h)) < LIMIT


# -- lengths, stopping, edges ------------------------------------------------------------------------


def test_lengths_double_up_to_the_longest():
    options = {"burn_in": 1, "steps": 5, "tolerance": 0.0, "longest": 20, "rng": np.random.default_rng(1)}
    for lengths, first, expected in (
        ("doubling", 4, [4, 8, 16, 20, 20]),
        ("doubling", 40, [40] * 5),
        ("constant", 4, [4] * 5),
    ):
        found = gibbs_em(CORPUS, 2, sweeps=first, lengths=lengths, **options)
        assert found.sweeps.tolist() == expected


def test_stops_when_h_stands_still():
    options = {"sweeps": 20, "burn_in": 1, "steps": 10}
    found = gibbs_em(CORPUS, 2, rng=np.random.default_rng(1), tolerance=100.0, **options)
    assert found.converged
    assert len(found.sweeps) == len(found.path) - 1 == module.STEADY
    assert found.last.alpha[0] == found.prior.alpha
    assert not gibbs_em(CORPUS, 2, rng=np.random.default_rng(1), tolerance=0.0, **options).converged


@pytest.mark.parametrize("update", module.UPDATES)
def test_a_maximum_at_the_end_of_the_range_is_said(update):
    options = {"sweeps": 50, "burn_in": 5, "steps": 30, "update": update}
    found = gibbs_em(SEPARATE, 2, rng=np.random.default_rng(1), start=Prior(0.05, 0.5), **options)
    assert found.path[-1, 0] == pytest.approx(ENDS[0], rel=10.0)
    assert "The best alpha is at the end of its range, 0.0001" in found.warnings[0]
    assert np.all(np.isfinite(found.path))


def test_an_empty_document_changes_nothing():
    tokens = [[0, 1, 1], [1, 2], [0, 0, 2]]
    found = [
        gibbs_em(oracle.tiny_corpus(t, 3), 2, sweeps=50, burn_in=5, steps=3, rng=np.random.default_rng(1)).path
        for t in (tokens, [*tokens, []])
    ]
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_h_without_a_meaning_and_bad_options():
    options = {"sweeps": 5, "burn_in": 0, "rng": np.random.default_rng(1)}
    for corpus, topics in ((CORPUS, 1), (oracle.tiny_corpus([[0, 0]], 1), 2), (oracle.tiny_corpus([[0], [1]], 2), 2)):
        with pytest.raises(InputError, match="has no meaning"):
            gibbs_em(corpus, topics, **options)
    with pytest.raises(InputError, match="one number"):
        gibbs_em(CORPUS, 2, **options, start=Prior((0.1, 0.2), 0.5))
    with pytest.raises(InputError, match="update is one of"):
        gibbs_em(CORPUS, 2, **options, update="newton")
    with pytest.raises(InputError, match="lengths is one of"):
        gibbs_em(CORPUS, 2, **options, lengths="long")
    with pytest.raises(InputError, match="at least 1 step and 1 sweep are needed"):
        gibbs_em(CORPUS, 2, **{**options, "sweeps": 0})


def test_the_rate_of_em_near_its_end():
    """The slowest direction of exact steps near the best h, by differences. Guards the information that is there for
    what is missing; 20,000 sweeps know the rate to about 1 %."""

    def height(x: np.ndarray) -> float:
        return -oracle.enumerate_all(CORPUS, TOPICS, Prior(*np.exp(x))).log_evidence

    top = minimize(height, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-10}).x
    away = 0.02 * np.eye(2)
    moved = [np.log(exact_step(np.exp(top + x)) / exact_step(np.exp(top - x))) / 0.04 for x in away]
    slowest = np.linalg.eigvals(np.array(moved)).real.max()
    found = rate(CORPUS, TOPICS, Prior(*np.exp(top)), sweeps=20_000, burn_in=100, rng=np.random.default_rng(7))
    assert found == pytest.approx(slowest, rel=0.04)
    assert 0.5 < slowest < 1
