"""Full Bayes against enumeration: the density of the draws of (log alpha, log eta) is m(h)."""

import numpy as np
import pytest
from scipy.stats import kstest

import oracle
from bayestopics.base.problems import InputError
from bayestopics.errors import mcse
from bayestopics.hyper.full_bayes import FullBayes, full_bayes
from bayestopics.lda.density import log_joint
from bayestopics.lda.given_z import of_alpha, of_eta, slice_step
from bayestopics.lda.state import Prior, from_assignments

CORPUS, TOPICS = oracle.tiny_corpus([[0, 0, 1], [1, 2], []], 3), 2


def test_the_draws_have_the_law_of_h():
    """Shares of the cells of a grid over (log alpha, log eta), within narrow ends, against the integral of m(h)."""
    ends = {"alphas": (0.05, 5.0), "etas": (0.05, 5.0)}
    edges = np.linspace(*np.log((0.05, 5.0)), 5)
    fine = [
        (a, e)
        for a in np.linspace(edges[0], edges[-1], 25)[:-1] + 0.096
        for e in np.linspace(edges[0], edges[-1], 25)[:-1] + 0.096
    ]
    logs = np.array([oracle.enumerate_all(CORPUS, TOPICS, Prior(*np.exp(h))).log_evidence for h in fine])
    cells = [np.clip(np.searchsorted(edges, np.array(fine)[:, k]) - 1, 0, 3) for k in (0, 1)]
    law = np.bincount(cells[0] * 4 + cells[1], weights=np.exp(logs - logs.max()), minlength=16)
    law /= law.sum()
    draws = np.log(full_bayes(CORPUS, TOPICS, sweeps=20_000, burn_in=100, rng=np.random.default_rng(1), **ends).draws)
    found = [np.clip(np.searchsorted(edges, draws[:, k]) - 1, 0, 3) for k in (0, 1)]
    visits = (found[0] * 4 + found[1])[:, None] == np.arange(16)
    scores = (visits.mean(axis=0) - law) / mcse(visits.astype(float))
    assert np.abs(scores).max() < 5.0  # Student t with 140 degrees, 16 cells: 3e-5; midpoints are off by under 0.1 %
    # a flat law would be seen
    assert np.abs((visits.mean(axis=0) - 1 / 16) / mcse(visits.astype(float))).max() > 5.0


def test_conditionals_are_the_joint_density():
    z = np.array([0, 1, 1, 0, 1])
    state = from_assignments(CORPUS, TOPICS, Prior(0.3, 0.7), z)
    values = []
    for alpha, eta in ((0.3, 0.7), (1.4, 0.2)):
        joint = log_joint(from_assignments(CORPUS, TOPICS, Prior(alpha, eta), z))
        parts = of_alpha(state.document_topic, CORPUS.document_lengths)(np.log(alpha))
        parts += of_eta(state.term_topic, state.topic_total)(np.log(eta))
        values.append(joint - parts)
    assert values[0] == pytest.approx(values[1])


def test_slices_of_a_normal_law():
    rng, x, draws = np.random.default_rng(2), 0.0, []
    for i in range(20_000):
        x = slice_step(lambda y: -0.5 * (y - 1) ** 2 / 0.09, x, (1e-9, 1e9), rng)
        if i % 10 == 0:  # slices of a normal law are nearly independent after ten
            draws.append(x)
    assert kstest((np.array(draws) - 1) / 0.3, "norm").pvalue > 1e-6


def test_nothing_to_do():
    with pytest.raises(InputError, match="at least 1 sweep is needed"):
        full_bayes(CORPUS, 2, sweeps=0, burn_in=0, rng=np.random.default_rng(1))


def test_the_mode_and_the_widths():
    rng = np.random.default_rng(3)
    draws = np.exp(rng.normal(np.log([0.2, 3.0]), [0.1, 0.3], (5000, 2)))
    state = from_assignments(CORPUS, TOPICS, Prior(0.3, 0.7), np.array([0, 1, 1, 0, 1]))
    found = FullBayes(draws, state)
    assert np.log(found.mode) == pytest.approx(np.log([0.2, 3.0]), abs=0.15)
    assert found.deviations == pytest.approx([0.1, 0.3], rel=0.1)
    still = FullBayes(np.full((100, 2), 0.5), state)
    assert still.mode == pytest.approx([0.5, 0.5])
    value, x, step = of_alpha(state.document_topic, CORPUS.document_lengths), np.log(draws[-1, 0]), 1e-3
    bend = (value(x + step) - 2 * value(x) + value(x - step)) / step**2
    assert found.steps[0] == (pytest.approx(1 / np.sqrt(-bend), rel=1e-2) if bend < 0 else np.inf)
