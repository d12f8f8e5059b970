"""The soft topic: its sweep keeps the tilted law, and its weights are numbers for every prior and corpus."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln

import oracle
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence import soft_topic as module
from bayestopics.evidence.soft_topic import IN, OUT, VISITS, Bias, Normaliser, SoftTopic, log_weight, soft_sweep
from bayestopics.lda.state import Prior, count, unsigned
from bayestopics.lda.uniforms import new_words, uniform
from pmmh_oracle import check_means

Counts = tuple[np.ndarray, np.ndarray, np.ndarray]


def bias_of(omega: np.ndarray) -> Bias:
    return Bias(omega, np.exp(np.diff(omega)))


def random_bias(rng: np.random.Generator, size: int) -> Bias:
    """omega from 0 to `size`, where it is 0."""
    return bias_of(np.append(rng.normal(0.0, 1.5, size), 0.0))


def sweep(
    corpus: Corpus,
    topics: int,
    counts: Counts,
    prior: Prior,
    z: np.ndarray,
    soft: int,
    bias: Bias,
    words: np.ndarray,
    power: float = 1.0,
) -> np.ndarray:
    """A learning sweep, in place; returns the rates, in one bin for each size."""
    documents, terms, assignments = unsigned(corpus.documents, corpus.terms, z)
    rates, bins = np.zeros((corpus.token_count + 1, 3)), np.arange(corpus.token_count + 1, dtype=np.int32)
    before = (topics, *counts, float(prior.alpha), prior.eta, assignments)  # type: ignore[arg-type]
    table = (np.arange(corpus.token_count + 1) + prior.eta) ** power
    powers = np.empty((corpus.term_count, topics))
    soft_sweep(documents, terms, *before, soft, bias.tilt, bins, rates, True, power, table, powers, words)
    return rates


# -- the sweep ----------------------------------------------------------------------------------------


def plain_sweep(
    corpus: Corpus, topics: int, prior: Prior, z: list[int], soft: int, bias: Bias, words: np.ndarray, power: float
) -> tuple[list[int], np.ndarray]:
    """The new assignments and the rates, from the definitions: counts without the token, its topic first."""
    rates, normal = np.zeros((corpus.token_count + 1, 3)), len(bias.omega) - 1
    tokens = list(zip(corpus.documents.tolist(), corpus.terms.tolist(), strict=True))
    for i, (d, v) in enumerate(tokens):
        others = [(*token, z[j]) for j, token in enumerate(tokens) if j != i]
        plain = [
            (sum(a == d and t == c for a, _, c in others) + float(prior.alpha))  # type: ignore[arg-type]
            * (
                (sum(b == v and t == c for _, b, c in others) + prior.eta)
                / (sum(t == c for *_, c in others) + corpus.term_count * prior.eta)
            )
            ** power
            for t in range(topics)
        ]
        without = sum(soft == c for *_, c in others)
        omega = bias(np.array([without, without + 1]))
        weights = [weight * math.exp(omega[1] - omega[0]) if t == soft else weight for t, weight in enumerate(plain)]
        size = without + (z[i] == soft)
        if size < normal:
            rates[size, VISITS] += 1
            share = plain[soft] / sum(plain)
            rates[size, OUT if z[i] == soft else IN] += 1 - share if z[i] == soft else share
        order = [z[i], *(t for t in range(topics) if t != z[i])]
        cumulative = np.cumsum([weights[t] for t in order])
        z[i] = order[int(np.sum(cumulative[:-1] <= uniform(words) * cumulative[-1]))]
    return z, rates


@pytest.mark.parametrize("topics", [1, 2, 4])
@pytest.mark.parametrize("size", [2, 5, 40])
@pytest.mark.parametrize("power", [1.0, 0.6])
def test_the_sweep_is_what_the_definitions_say(topics: int, size: int, power: float) -> None:
    """Topics of the soft one's size above, at and below `size`; arrays with more columns than topics; counts follow."""
    rng = np.random.default_rng([topics, size])
    for _ in range(10):
        corpus, prior = oracle.random_corpus(rng, 12, 4, 3), Prior(0.3, 0.4)
        bias, soft, words = random_bias(rng, size), int(rng.integers(topics)), new_words(rng)
        z = rng.integers(topics, size=12, dtype=np.int32)
        expected, expected_rates = plain_sweep(corpus, topics, prior, z.tolist(), soft, bias, words.copy(), power)
        counts = count(corpus, topics + 3, z)
        rates = sweep(corpus, topics, counts, prior, z, soft, bias, words, power)
        assert_array_equal(z, expected)
        assert_allclose(rates, expected_rates, rtol=1e-10)
        for have, want in zip(counts, count(corpus, topics + 3, z), strict=True):
            assert_array_equal(have, want)


def features(z: np.ndarray, topics: int) -> np.ndarray:
    """Of each row: whether topic 0, the soft one, has 0, 1, ... tokens; which pairs of tokens are together."""
    sizes = (z == 0).sum(axis=1)[:, None] == np.arange(z.shape[1])
    rows, columns = np.triu_indices(z.shape[1], 1)
    return np.column_stack([sizes, z[:, rows] == z[:, columns]]).astype(float)


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("topics", [2, 3])
def test_sweeps_have_the_tilted_law(topics: int, broken: bool) -> None:
    """Against all T^N states. The broken twin has the tilt of one size too many."""
    rng, prior = np.random.default_rng(topics), Prior(0.7, 0.5)
    exact = oracle.enumerate_all(oracle.tiny_corpus([[0, 0, 1], [1, 1]], 2), topics, prior)
    bias = random_bias(rng, 4)
    logs = exact.log_joint + bias((exact.assignments == 0).sum(axis=1))
    law = np.exp(logs - np.logaddexp.reduce(logs))
    if broken:
        bias = bias._replace(tilt=np.append(bias.tilt[1:], 1.0))
    z = exact.assignments[0].copy()
    counts, visited = count(exact.corpus, topics, z), np.empty((8000, len(z)), np.int32)
    for row in visited:
        sweep(exact.corpus, topics, counts, prior, z, 0, bias, new_words(rng))
        row[:] = z
    with pytest.raises(AssertionError, match="largest") if broken else nullcontext():
        check_means(features(visited, topics), law @ features(exact.assignments, topics))


# -- omega --------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _learn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REFRESH", 1)


def test_a_size_where_the_topic_stays_is_lowered() -> None:
    """By the gains of its visits, but by no more than a share of the penalty; other sizes and other T stay as they
    are."""
    found = SoftTopic(400, np.full(20, 20), 0.5)
    found.rates_of(4)
    before, other = found.bias(4).omega, found.bias(5).omega
    for _ in range(3):
        found.learn(4, 1, 0.2)
    assert_allclose(found.bias(4).omega[[0, 1, 2, -1]] - before[[0, 1, 2, -1]], [0.0, -0.6, 0.0, 0.0], atol=1e-9)
    assert_allclose(found.bias(5).omega, other)
    for _ in range(1000):
        found.learn(4, 1, 0.2)
    assert_allclose(found.bias(4).omega[1] - before[1], -module.DEEPEST * found.penalty(4))


def test_the_mean_weight_by_hand() -> None:
    bias = bias_of(np.log([4.0, 2.0, 1.0]))
    assert_allclose(np.exp(log_weight(bias, [1, 2, 7], 0)), (2 + 1 + 1) / 3)
    assert_allclose(np.exp(log_weight(bias, [1, 7], 2)), (2 + 1 + 4 + 4) / 4)


def test_the_penalty_by_hand() -> None:
    lengths = np.array([0, 3, 3, 1])
    found = SoftTopic(7, lengths, 0.3)
    by_hand = [np.sum(gammaln(t * 0.3) - gammaln(lengths + t * 0.3)) for t in (1, 2, 3)]
    assert_allclose([found.normaliser(t) for t in (1, 2, 3)], by_hand)
    assert_allclose([found.penalty(t) for t in (1, 2, 3)], [by_hand[0] - by_hand[1], *-np.diff(by_hand)])


CORPORA: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "one token": lambda rng: np.array([1]),
    "three tokens": lambda rng: np.array([2, 0, 1]),
    "one document": lambda rng: np.array([500]),
    "single tokens": lambda rng: np.ones(300, int),
    "many": lambda rng: rng.integers(400, size=400),
}


@pytest.mark.parametrize("lengths", CORPORA.values(), ids=CORPORA)
@pytest.mark.parametrize("alpha", [1e-50, 0.1, 1e6])
@pytest.mark.parametrize("learnt", [False, True])
def test_omega_is_a_number_everywhere(
    lengths: Callable[[np.random.Generator], np.ndarray], alpha: float, learnt: bool
) -> None:
    """And so is its exp, from one size to the next; an empty topic gets its penalty unless that would be too steep."""
    rng = np.random.default_rng(5)
    tokens = int(lengths(rng).sum())
    found = SoftTopic(tokens, lengths(np.random.default_rng(5)), alpha)
    for topics in (1, 2, 3, 30, 1000):
        if learnt:  # whatever the rates are; some bins have none
            found.rates_of(topics)[:] = rng.gamma(0.05, 1e4, found.rates_of(topics).shape)
            found.learn(topics, 0, 0.0)
    for topics in (1, 2, 3, 4, 30, 1000):
        omega, tilt, _ = found.bias(topics)
        assert np.all(np.isfinite(omega))
        assert np.all((tilt > 0) & np.isfinite(tilt) & (1 / tilt > 0))
        assert_allclose(np.log(tilt), np.diff(omega), atol=1e-9 * max(1.0, np.abs(omega).max()))
        assert omega[-1] == 0.0
        assert len(tilt) >= 2
        if np.abs(np.log(tilt)).max() < module.STEEPEST - 1:
            assert_allclose(omega[0], found.penalty(topics), rtol=1e-6, atol=1e-9)


def test_learnt_omega_makes_sizes_equally_likely() -> None:
    """From the exact rates of a birth and death process: p(s) exp(omega(s)) falls as 1 / sqrt(s + FLAT), if p rises
    over all sizes by the penalty and FLAT's part."""
    found = SoftTopic(400, np.full(20, 20), 0.5)
    normal = len(found.bias(4).tilt)
    flat = 0.5 * np.log((normal + module.FLAT) / module.FLAT)
    slope = (found.penalty(4) - flat) / normal
    found.rates_of(4)[:] = [1e9, 1e8, 1e8 * math.exp(-slope)]  # VISITS, IN, OUT
    found.learn(4, 0, 0.0)
    total = found.bias(4).omega + slope * np.arange(normal + 1) + 0.5 * np.log(np.arange(normal + 1) + module.FLAT)
    assert_allclose(total, total[0], atol=1e-3)


@pytest.mark.parametrize("alpha", [0.1, 0.08, 0.13])
def test_at_another_alpha_omega_is_as_deep_as_an_empty_topic_is_dear(alpha: float) -> None:
    """Otherwise an empty topic would come for nothing at one end of a level of alpha, and never go."""
    lengths = np.full(60, 60)
    found, there = SoftTopic(3600, lengths, 0.1), Normaliser(lengths, alpha)
    for topics in (1, 2, 5):
        bias, same = found.bias_at(topics, there), found.bias(topics)
        assert bias(0) == pytest.approx(there(max(topics, 2) - 1) - there(max(topics, 2)))
        assert bias(10**6) == 0.0
        assert_allclose(np.log(bias.tilt_used), np.diff(bias.depth * bias.omega), atol=1e-9)
        assert alpha != 0.1 or (bias == same and bias.tilt_used is same.tilt)
