"""HDP chains: state and counts, labels that come and go, tables, concentrations, the public function."""

from __future__ import annotations

import hashlib
from functools import cache
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hdp_oracle
import oracle
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import mcse
from bayestopics.lda.uniforms import new_words
from bayestopics.nonparametric import hdp_blocked, hdp_gibbs
from bayestopics.nonparametric.antoniak import draw_topic_tables
from bayestopics.nonparametric.concentrations import ConcentrationPriors, GammaPrior
from bayestopics.nonparametric.hdp_chain import HdpChain
from bayestopics.nonparametric.hdp_chain import hdp_gibbs as run
from bayestopics.nonparametric.hdp_state import HdpPrior, from_assignments, log_joint, make_room, random_start
from nonparametric.test_split_merge import check_consistent

TINY = oracle.tiny_corpus([[0, 0, 1], [1, 2], []], 3)
both = pytest.mark.parametrize("module", [hdp_gibbs, hdp_blocked], ids=["plain", "blocked"])


def moderate() -> Corpus:
    """300 tokens in 15 documents, with many repeated (document, term) pairs."""
    token = np.arange(300)
    return Corpus.from_counts(token % 15, token**2 % 13, np.ones(300, int), document_count=15, term_count=13)


# -- the state ---------------------------------------------------------------------------------------


def test_log_joint_is_that_of_the_oracle() -> None:
    rng, prior = np.random.default_rng(1), HdpPrior(0.7, 2.0, 0.3)
    state = random_start(moderate(), prior, 5, rng)
    expected = hdp_oracle.log_joint(moderate(), prior, state.assignments, state.beta)
    assert_allclose(log_joint(state), expected, rtol=1e-12)


def test_making_room_changes_labels_only() -> None:
    state = random_start(moderate(), HdpPrior(), 5, np.random.default_rng(2))
    empty = state.assignments == 1  # a gap among the labels
    state.assignments[empty] = 0
    for counts in (state.document_topic, state.term_topic, state.topic_total, state.alpha):
        counts[..., 0] += counts[..., 1]
        counts[..., 1] = 0
    roomy = make_room(state)
    check_consistent(moderate(), roomy)
    assert_array_equal(roomy.active, np.arange(4))
    assert_array_equal(hdp_oracle.codes(roomy.assignments[:8]), hdp_oracle.codes(state.assignments[:8]))
    assert_allclose(log_joint(roomy), log_joint(state), rtol=1e-12)


def test_assignments_that_leave_a_topic_empty_are_refused() -> None:
    corpus = oracle.tiny_corpus([[0, 1]], 2)
    for z, beta in (([0, 2], [0.2, 0.2, 0.2, 0.4]), ([0, 1], [0.5, 0.5]), ([0], [0.5, 0.5])):
        with pytest.raises(ValueError, match="a topic for each token"):
            from_assignments(corpus, HdpPrior(), np.array(z), np.array(beta))


@pytest.mark.parametrize("wrong", [{"gamma": 0.0}, {"concentration": np.nan}, {"eta": -1.0}, {"gamma": "1"}])
def test_impossible_priors_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        HdpPrior(**wrong)


# -- sweeps ------------------------------------------------------------------------------------------

EXTREME = [HdpPrior(1.0, 1.0, 0.1), HdpPrior(1e-3, 1e-3, 1e-50), HdpPrior(1e6, 1e6, 1e6), HdpPrior(1e-3, 1e6, 1e-6)]


@both
@pytest.mark.parametrize("prior", EXTREME, ids=str)
def test_counts_equal_a_recount_after_every_sweep(module: ModuleType, prior: HdpPrior) -> None:
    """From one topic to nearly one per token (gamma = 1e6), so that labels run out in the middle of a sweep."""
    rng = np.random.default_rng(3)
    state = random_start(moderate(), prior, 3, rng)
    for _ in range(15):
        state = module.sweep(state, rng)
        check_consistent(moderate(), state)
        assert np.isfinite(log_joint(state))


@both
def test_labels_run_out_and_are_freed(module: ModuleType) -> None:
    rng = np.random.default_rng(4)
    state = random_start(moderate(), HdpPrior(1e6, 1e6, 1.0), 3, rng)
    state = hdp_gibbs.sweep(state, rng)
    assert state.topics > 100
    state = state.changed(gamma=1e-3, concentration=1.0, alpha=state.alpha / 1e6, alpha_new=state.alpha_new / 1e6)
    for _ in range(100):
        state = module.sweep(state, rng)
    assert state.topics < 40
    assert state.labels < 100


@both
def test_all_randomness_comes_from_the_generator(module: ModuleType) -> None:
    chains = []
    for seed in (5, 5, 6):
        rng = np.random.default_rng(seed)
        state = random_start(moderate(), HdpPrior(), 4, rng)
        for _ in range(5):
            state = module.sweep(state, rng)
        chains.append(state.assignments)
    assert_array_equal(chains[0], chains[1])
    assert np.any(chains[0] != chains[2])


# -- tables ------------------------------------------------------------------------------------------


def test_tables_of_topics_lie_between_documents_and_tokens() -> None:
    state = random_start(moderate(), HdpPrior(), 4, np.random.default_rng(8))
    tables = draw_topic_tables(state.document_topic, state.alpha, new_words(np.random.default_rng(9)))
    assert np.all(tables >= (state.document_topic > 0).sum(axis=0))
    assert np.all(tables <= state.topic_total)


# -- concentrations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["plain", "blocked"])
def test_concentrations_have_their_posterior(sampler: str) -> None:
    """E[gamma], E[concentration] and E[K], against quadrature over enumerated evidences; false-alarm rate 1e-6.

    With exponential priors the integrals are Gauss-Laguerre sums.
    """
    rng = np.random.default_rng(10)
    chain = run(TINY, eta=0.3, sweeps=8_000, resample=ConcentrationPriors(), sampler=sampler, rng=rng)
    columns = np.column_stack([chain.concentrations, chain.topics])
    deviations = (columns.mean(axis=0) - expected_with_concentrations(TINY)) / mcse(columns)
    assert np.abs(deviations).max() < 5.5, deviations  # three of them, t with 88 degrees of freedom


@cache
def expected_with_concentrations(corpus: Corpus) -> np.ndarray:
    nodes, weights = np.polynomial.laguerre.laggauss(7)
    total, sums = 0.0, np.zeros(3)
    for gamma, first in zip(nodes, weights, strict=True):
        for concentration, second in zip(nodes, weights, strict=True):
            exact = hdp_oracle.posterior(corpus, HdpPrior(float(gamma), float(concentration), 0.3))
            weight = first * second * np.exp(exact.log_evidence)
            total += weight
            sums += weight * np.array([gamma, concentration, exact.topics @ np.arange(len(exact.topics))])
    return sums / total


def test_impossible_gamma_priors_are_refused() -> None:
    with pytest.raises(InputError, match="shape and rate"):
        GammaPrior(0.0, 1.0)


# -- the public function -----------------------------------------------------------------------------


def short(**options: object) -> HdpChain:
    options = {"gamma": 5.0, "concentration": 5.0} | options
    return run(moderate(), sweeps=6, burn_in=2, moves=3, topics=4, rng=np.random.default_rng(11), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("sampler", ["plain", "blocked"])
@pytest.mark.parametrize("variant", ["exact", "paper"])
def test_a_chain_tells_what_it_did(sampler: str, variant: str) -> None:
    chain = short(sampler=sampler, variant=variant)
    assert chain.topics.shape == chain.log_joint.shape == (6,)
    assert chain.splits.shape == chain.merges.shape == chain.concentrations.shape == (6, 2)
    assert_array_equal(chain.splits[:, 0] + chain.merges[:, 0], 3)
    assert np.all(chain.splits[:, 1] <= chain.splits[:, 0])
    assert chain.topics[-1] == chain.last.topics
    assert chain.log_joint[-1] == log_joint(chain.last)
    assert chain.seconds > 0
    check_consistent(moderate(), chain.last)


def test_without_moves_there_is_no_acceptance() -> None:
    chain = run(moderate(), sweeps=2, rng=np.random.default_rng(12))
    assert np.isnan(chain.acceptance).all()


def test_a_chain_goes_on_from_another_and_leaves_it_alone() -> None:
    first = short()
    before = first.last.copy()
    second = short(start=first.last)
    assert_array_equal(first.last.assignments, before.assignments)
    assert_array_equal(first.last.alpha, before.alpha)
    assert np.any(second.last.assignments != before.assignments)


def test_impossible_chains_are_refused() -> None:
    for options, words in (
        ({"sampler": "sparse"}, "plain, blocked"),
        ({"variant": "x"}, "variants"),
        ({"topics": 0}, "at least 1"),
    ):
        with pytest.raises(InputError, match=words):
            run(moderate(), **({"sweeps": 2, "rng": np.random.default_rng(13)} | options))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="nothing to do"):
        run(moderate(), sweeps=0, rng=np.random.default_rng(14))


# Shows that something changed, not that it is wrong: (sha256 of the assignments, log joint) after eight sweeps.
FINGERPRINTS = {
    ("plain", "exact", "uniform"): ("91c0dd91e1de73ed", -847.603840641),
    ("blocked", "exact", "words"): ("5b4788f0b22c6966", -679.93087363),
    ("plain", "paper", "uniform"): ("bf51c3c3f11d018b", -676.382187126),
}


@pytest.mark.parametrize(("sampler", "variant", "choice"), FINGERPRINTS)
def test_fingerprint(sampler: str, variant: str, choice: str) -> None:
    chain = short(sampler=sampler, variant=variant, choice=choice)
    digest = hashlib.sha256(chain.last.assignments.astype("<i4").tobytes()).hexdigest()[:16]
    assert (digest, round(chain.log_joint[-1], 9)) == FINGERPRINTS[sampler, variant, choice]
