"""Rates, deaths, errors and auxiliary draws of the nonparametric methods, by hand from made-up numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import dirichlet

import oracle
from bayestopics.base.checkpoint import NoCheckpoint
from bayestopics.nonparametric import compute, hdp_truncation_free
from bayestopics.nonparametric.components import Components
from bayestopics.nonparametric.compute import split
from bayestopics.nonparametric.concentrations import GammaPrior, draw_concentration, draw_gamma
from bayestopics.nonparametric.dp_truncation_free import TruncationFreeDPMixture
from bayestopics.nonparametric.hdp_gibbs import draw_assignments
from bayestopics.nonparametric.hdp_held_out import EstimatedHeldOut, _broken, _log_mixture, _of_active
from bayestopics.nonparametric.hdp_state import HdpPrior, random_start
from bayestopics.nonparametric.hdp_truncation_free import Drawn, TruncationFreeHDP

ONE_WORD = np.eye(3, dtype=int)[[0, 1]]  # two documents of one word each: one table each


@pytest.mark.parametrize("kind", [TruncationFreeHDP, TruncationFreeDPMixture])
@pytest.mark.parametrize(
    ("first_pass", "documents", "sums"),
    [
        ("fading", 6, [2, 3, 4, 14 / 3, 46 / 9]),
        ("fading", None, [2, 3, 4, 5, 6]),
        ("sequential", 6, [2, 4, 6, 6, 6]),
        ("sequential", None, [2, 4, 6, 8, 10]),
    ],
)
def test_the_rate_of_the_first_pass_and_of_those_after_it(
    kind: Any, first_pass: str, documents: int | None, sums: list[float]
) -> None:
    """Guards against a rate of S / n before n documents were seen, one that falls on afterwards, and a batch that
    counts n / S times or fades itself. Sums are those before times 1 - S / min(n_t, n), plus the batch's two documents.
    A sequential first pass does not fade.
    """
    learner = kind(3, np.random.default_rng(1), documents, first_pass=first_pass)
    for expected in sums:
        learner.partial_fit(ONE_WORD)
        assert learner.components.sizes.sum() == pytest.approx(expected)
        assert learner.components.totals.sum() == pytest.approx(expected)
        stored = learner.components.weight * learner.components.stored
        assert_allclose(stored.sum(axis=1), [expected / 2, expected / 2, 0])


def test_blocks_move_in_every_batch_of_the_first_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against a first pass that ends with its first batch, or one batch too late."""
    moved: list[bool] = []

    def draw(*given: Any) -> Drawn:
        moved.append(bool(given[-2]))  # (components, gamma, concentration, bags, sweeps, blocks, rng)
        return Drawn(np.zeros(2, np.int64), np.array([2]))

    monkeypatch.setattr(hdp_truncation_free, "draw_batch", draw)
    for documents, blocks in ((6, [True, True, True, False, False]), (None, [True] * 5)):
        moved.clear()
        learner = TruncationFreeHDP(3, np.random.default_rng(1), documents, block_moves=True)
        for _ in range(5):
            learner.partial_fit(ONE_WORD)
        assert moved == blocks
    assert not TruncationFreeHDP(3, np.random.default_rng(1), 6).settings["block_moves"]


def test_a_topic_lives_as_long_as_it_has_one_token() -> None:
    """Guards against > for >=: after a first batch topics of one token are common."""
    learner = TruncationFreeHDP(3, np.random.default_rng(2))
    learner.components = Components(3, 0.1, 4)
    learner.components.totals[:] = [0.999, 1.0, 1.001, 0.0]
    assert learner._alive().tolist() == [False, True, True, False]
    assert learner.used_components() == 2
    mixture = TruncationFreeDPMixture(3, np.random.default_rng(2))
    mixture.components = Components(3, 0.1, 3)
    mixture.components.sizes[:] = [0.999, 1.0, 7.0]
    assert mixture._alive().tolist() == [False, True, True]


def test_the_weights_of_topics_that_come_and_go_stay_one() -> None:
    """Guards against a topic that dies with its weight: all weights are the concentration, whoever has them."""
    corpus = oracle.random_corpus(np.random.default_rng(3), 30, 4, 5)
    rng = np.random.default_rng(4)
    state = random_start(corpus, HdpPrior(2.0, 1.5, 0.5), 12, rng)
    for _ in range(20):
        before = set(state.active.tolist())
        state = draw_assignments(state, rng)
        assert state.alpha.sum() + state.alpha_new[0] == pytest.approx(1.5)
        if before - set(state.active.tolist()):
            break
    else:
        pytest.fail("no topic died: the test says nothing")


class Told:
    """In the place of a generator: gives these numbers, and tells what a gamma variable was asked for."""

    def __init__(self, w: list[float], uniforms: list[float]) -> None:
        self.w, self.uniforms = np.array(w), np.array(uniforms)
        self.asked: list[Any] = []

    def beta(self, a: float, b: np.ndarray) -> np.ndarray:
        self.asked += [a, b.tolist()]
        return self.w

    def random(self, size: int) -> np.ndarray:
        assert size == len(self.uniforms)
        return self.uniforms

    def gamma(self, shape: float, scale: float) -> float:
        self.asked += [shape, scale]
        return 0.0


def test_concentrations_given_their_auxiliary_variables() -> None:
    """Guards against a forgotten coin, a rate for a scale, and documents without words (Teh et al. 2006)."""
    rng: Any = Told([0.3, 0.6], [0.1, 0.9])  # 0.1 (3 + 2) < 3, but 0.9 (5 + 2) > 5
    draw_concentration(2.0, 7, np.array([3, 0, 5]), GammaPrior(1.5, 4.0), rng)
    scale = 1 / (4.0 - np.log(0.3) - np.log(0.6))
    assert rng.asked == [3.0, [3, 5], pytest.approx(1.5 + 7 - 1), pytest.approx(scale)]
    rng = Told([0.2], [0.5])  # 0.5 (11 + 2) < 11
    draw_gamma(2.0, 4, 11, GammaPrior(1.5, 4.0), rng)
    assert rng.asked == [3.0, [11], pytest.approx(1.5 + 4 - 1), pytest.approx(1 / (4.0 - np.log(0.2)))]


def test_the_error_of_a_held_out_score_by_hand() -> None:
    """Guards against errors that are not those of a mean, and small ones where the delta method does not hold."""
    found = EstimatedHeldOut(np.array([[0.0, 0.3, -0.3], [-1.0, 3.0, 1.0]]), 5)
    assert found.standard_error == pytest.approx(np.sqrt(0.3**2 / 3 + 2.0**2) / 5)
    likelihoods = np.log(np.exp(found.log_estimates).mean(axis=1))
    assert_allclose(found.log_likelihoods, likelihoods)
    assert found.per_word == pytest.approx(likelihoods.sum() / 5)


def test_the_density_of_a_proposal_over_that_of_the_prior() -> None:
    """Guards against a constant that is missing, and a share of the prior on the wrong side."""
    alpha, counts = np.array([0.3, 1.5, 0.7]), np.array([2.6, 0.0, 1.1])  # no sum with log-gamma 0
    phi = np.random.default_rng(5).dirichlet(alpha + 1, 4)
    log_ratio = np.array([dirichlet.logpdf(row, alpha + counts) - dirichlet.logpdf(row, alpha) for row in phi])
    assert_allclose(_log_mixture(np.log(phi), alpha, counts, 0.0), log_ratio)
    assert_allclose(_log_mixture(np.log(phi), alpha, counts, 0.1), np.log(0.1 + 0.9 * np.exp(log_ratio)))
    assert_allclose(_log_mixture(np.log(phi), alpha, counts, 1.0), 0.0)


def test_the_held_out_documents_are_the_last_ones() -> None:
    """Guards against documents that are learnt from and held out too."""
    corpus = oracle.tiny_corpus([[d] for d in range(10)], 10)
    for share, many in ((0.2, 2), (0.01, 1), (0.36, 4)):
        training, held_out = split(corpus, share)
        assert held_out is not None
        assert training.terms.tolist() == list(range(10 - many))
        assert held_out.terms.tolist() == list(range(10 - many, 10))
    assert split(corpus, None) == (corpus, None)


def test_pieces_of_what_is_left_add_up_to_it() -> None:
    """Guards against a last piece that is lost: all topics together have the concentration as their weight."""
    corpus = oracle.random_corpus(np.random.default_rng(3), 30, 4, 5)
    for gamma in (0.5, 2.0, 40.0):
        state = random_start(corpus, HdpPrior(gamma, 1.5, 0.5), 6, np.random.default_rng(4))
        model = _broken(_of_active(state), np.random.default_rng(5))
        assert model.alpha.sum() == pytest.approx(1.5, rel=1e-12)
        assert model.alpha[: state.topics].tolist() == state.alpha[state.active].tolist()
        assert len(model.alpha) == len(model.topic_total) == model.term_topic.shape[1]
        assert model.topic_total.sum() == 30


def test_which_states_of_a_chain_see_the_held_out_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against states of the burn-in, and a last state that nobody looks at: 20 of 50, evenly spaced."""
    corpus, seen = oracle.random_corpus(np.random.default_rng(6), 30, 6, 5), []
    sweeps = iter(range(1000))

    def step(state: Any, *_: Any, **__: Any) -> tuple[Any, list[Any]]:
        return state.changed(gamma=float(next(sweeps))), []

    def look(states: Any, held_out: Any, particles: int, rng: Any) -> EstimatedHeldOut:
        seen.append((int(states[0].gamma), particles))
        return EstimatedHeldOut(np.zeros((1, 1)), 1)

    monkeypatch.setattr(compute, "step", step)
    monkeypatch.setattr(compute, "log_joint", lambda state: 0.0)
    monkeypatch.setattr(compute, "left_to_right_of_states", look)
    settings = compute.HdpSettings(sweeps=50, burn_in=7, heldout=0.3)
    done = compute.sample(corpus, settings, 1, lambda _: np.random.default_rng(7), NoCheckpoint(), lambda _: None)
    assert len(done.rows) == 57
    assert [sweep for sweep, _ in seen] == [6 + round(2.5 * k) for k in range(1, 21)]
    assert seen[-1] == (56, 3)
