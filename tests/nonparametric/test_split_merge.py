"""Split-merge moves: their ratio against the densities of both states, edge cases, counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hdp_oracle
import oracle
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.uniforms import new_words
from bayestopics.nonparametric import split_merge as module
from bayestopics.nonparametric.hdp_gibbs import sweep
from bayestopics.nonparametric.hdp_state import HdpPrior, HdpState, from_assignments, log_joint, random_start
from bayestopics.nonparametric.split_merge import (
    CHOICES,
    RULES,
    place,
    split_log_ratio,
    split_merge,
    tables_expected,
)

PRIORS = [HdpPrior(1.0, 1.0, 0.3), HdpPrior(0.4, 2.5, 0.2), HdpPrior(3.0, 0.5, 1.0)]
every_variant = pytest.mark.parametrize("variant", RULES)
every_choice = pytest.mark.parametrize("choice", CHOICES)


def random_state(rng: np.random.Generator, prior: HdpPrior, tokens: int = 12) -> tuple[Corpus, HdpState]:
    corpus = oracle.random_corpus(rng, tokens, documents=3, terms=4)
    return corpus, random_start(corpus, prior, int(rng.integers(1, 4)), rng)


@every_choice
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_ratio_is_that_of_the_densities_of_both_states(prior: HdpPrior, choice: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        corpus, state = random_state(rng, prior)
        topic = int(np.argmax(state.topic_total))
        tokens = rng.permutation(np.flatnonzero(state.assignments == topic))
        side, share = rng.integers(2, size=len(tokens)).astype(np.int8), rng.uniform(0.05, 0.95)
        side[:2] = 0, 1
        whole = state.alpha[topic]
        value = split_log_ratio(state, place(state, tokens, side, whole / 2, None), whole, share, state.topics, choice)
        path = (tokens.tolist(), side.tolist(), float(share))
        expected = hdp_oracle.log_split_ratio(corpus, prior, state.assignments, state.beta, *path, choice)
        assert_allclose(value, expected, atol=1e-10)


@every_choice
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_a_split_and_its_reverse_merge_multiply_to_one(
    prior: HdpPrior, choice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An accepted split is proposed backwards: the same topics, seeds and order."""
    rng, seen, kept = np.random.default_rng(2), 0, []
    original = module.place
    monkeypatch.setattr(module, "place", lambda *path: kept.append(original(*path)) or kept[-1])
    while seen < 100:
        _, state = random_state(rng, prior)
        state, move = split_merge(state, rng, choice=choice)
        if not (move.split and move.accepted):
            continue
        seen += 1
        tokens = kept[-1].tokens
        first, second = state.assignments[tokens[:2]]
        pair, side = state.alpha[[first, second]], (state.assignments[tokens] == second).astype(np.int8)
        again = original(state, tokens, side, pair.sum() / 2, None)
        back = split_log_ratio(state, again, pair.sum(), pair[0] / pair.sum(), state.topics - 1, choice)
        assert_allclose(move.log_ratio - back, 0.0, atol=1e-10)


@every_choice
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_a_merge_has_the_ratio_of_the_split_that_undoes_it(
    prior: HdpPrior, choice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A merge has its own code: its ratio is first bounded from the counts, and then found from the allocation."""
    rng, seen, kept = np.random.default_rng(9), 0, []
    original = module.place
    monkeypatch.setattr(module, "place", lambda *path: kept.append(original(*path)) or kept[-1])
    while seen < 100:
        corpus, before = random_state(rng, prior)
        after, move = split_merge(before.copy(), rng, choice=choice)
        if move.split or not move.accepted:
            continue
        seen += 1
        tokens = kept[-1].tokens
        first, second = before.assignments[tokens[:2]]
        side = (before.assignments[tokens] == second).astype(int)
        share = before.alpha[first] / (before.alpha[first] + before.alpha[second])
        _, z = np.unique(after.assignments, return_inverse=True)
        path = (tokens.tolist(), side.tolist(), float(share))
        split = hdp_oracle.log_split_ratio(corpus, prior, z, after.beta, *path, choice)
        assert_allclose(move.log_ratio, -split, atol=1e-10)


def test_all_allocations_together_have_probability_one() -> None:
    """All orders of four tokens of a topic and all ways to place them, with another topic present."""
    corpus, prior = oracle.tiny_corpus([[0, 0, 1], [1, 2]], 3), PRIORS[0]
    state = from_assignments(corpus, prior, np.array([0, 0, 1, 0, 0]), np.array([0.3, 0.5, 0.2]))
    total = 0.0
    for tokens, side in hdp_oracle.all_splits([0, 1, 3, 4]):
        halves = place(state, np.array(tokens), np.array(side, np.int8), state.alpha[0] / 2, None)
        total += math.exp(halves.log_allocation)
        expected = hdp_oracle.log_allocation(corpus, prior, tokens, side, 0.3)
        assert_allclose(halves.log_allocation, expected, atol=1e-12)
    assert_allclose(total, math.factorial(4), rtol=1e-12)


def test_drawn_allocations_have_the_probability_that_they_tell() -> None:
    """The expected tables are those with half the weight."""
    rng = np.random.default_rng(3)
    _, state = random_state(rng, PRIORS[0], tokens=40)
    topic = int(np.argmax(state.topic_total))
    tokens = rng.permutation(np.flatnonzero(state.assignments == topic))
    side = np.zeros(len(tokens), np.int8)
    side[1] = 1
    drawn = place(state, tokens, side, state.alpha[topic] / 2, new_words(rng))
    again = place(state, tokens, drawn.side, state.alpha[topic] / 2, None)
    assert drawn.log_allocation == again.log_allocation
    assert_array_equal(drawn.in_document, again.in_document)
    weight = 0.7
    expected = [sum(weight / (weight + i) for n in column for i in range(n)) for column in drawn.in_document.T]
    assert_allclose(tables_expected(drawn.in_document, weight), expected, rtol=1e-12)


@every_variant
@every_choice
def test_counts_equal_a_recount_after_every_move(variant: str, choice: str) -> None:
    rng = np.random.default_rng(4)
    corpus = oracle.random_corpus(rng, 60, documents=5, terms=6)
    state, accepted = random_start(corpus, HdpPrior(2.0, 2.0, 0.5), 4, rng), 0
    for _ in range(300):
        before = state.copy()
        state, move = split_merge(state, rng, variant, choice)
        check_consistent(corpus, state)
        accepted += move.accepted
        if move.accepted:
            assert state.topics == before.topics + (1 if move.split else -1)
        else:
            assert log_joint(state) == log_joint(before)
        state = sweep(state, rng)
    assert accepted > 10


def check_consistent(corpus: Corpus, state: HdpState) -> None:
    """The counts equal a recount, free labels have no weight, and the weights sum to the concentration."""
    labels = np.arange(state.labels)
    topic = state.assignments[:, None] == labels
    for kept, row in ((state.document_topic, corpus.documents), (state.term_topic, corpus.terms)):
        assert_array_equal(kept, (row == np.arange(len(kept))[:, None]).astype(int) @ topic)
    assert_array_equal(state.topic_total, topic.sum(axis=0))
    assert_array_equal(state.alpha > 0, state.topic_total > 0)
    assert_allclose(state.alpha.sum() + state.alpha_new[0], state.concentration, rtol=1e-9)


@every_variant
@every_choice
def test_one_topic_is_never_merged_and_one_token_never_split(variant: str, choice: str) -> None:
    single = oracle.tiny_corpus([[0]], 2)
    state = from_assignments(single, PRIORS[0], np.array([0]), np.array([0.5, 0.5]))
    rng = np.random.default_rng(5)
    for _ in range(20):
        state, move = split_merge(state, rng, variant, choice)
        assert (move.accepted, move.log_ratio, state.topics) == (False, -math.inf, 1)


@every_choice
def test_two_tokens_split_and_merge(choice: str) -> None:
    corpus, rng = oracle.tiny_corpus([[0, 1]], 2), np.random.default_rng(6)
    state = from_assignments(corpus, PRIORS[0], np.array([0, 0]), np.array([0.5, 0.5]))
    seen = set()
    for _ in range(200):
        state, move = split_merge(state, rng, choice=choice)
        seen.add((move.split, state.topics))
    assert {(True, 2), (False, 1)} <= seen


def test_unknown_variants_and_choices_are_refused() -> None:
    _, state = random_state(np.random.default_rng(7), PRIORS[0])
    for options in ({"variant": "naive"}, {"choice": "topics"}):
        with pytest.raises(InputError, match="variants are exact and paper; choices are uniform and words"):
            split_merge(state, np.random.default_rng(8), **options)
