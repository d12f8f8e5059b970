"""Exact laws of T and z on tiny corpora, and chains of PMMH on estimates whose law is known.

The law of an estimate with one inner sweep from a fixed z_0 is known: p(w, z) / g(z_0, z) with probability g(z_0, z).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

import oracle
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import mcse
from bayestopics.evidence import pmmh as module
from bayestopics.evidence.pmmh import Made, TopicPosterior, Walk
from bayestopics.evidence.pseudo_marginal import Inner
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda import sampler
from bayestopics.lda.state import Prior

# of one statistical check, over seeds; there are about twenty. Where a rare z holds the chain, batch means come out too
# small, by 1.4 at worst (30 seeds of the chain with one inner sweep), which makes it 3e-4
FALSE_ALARM = 1e-6
PRIOR = Prior(0.7, 0.5)
RANGE = TopicPrior(1, 4)


@cache
def tiny() -> Corpus:
    return oracle.tiny_corpus([[0, 0, 0], [1, 1]], 2)


@cache
def one_term() -> Corpus:
    """One of twenty: the posterior of T is far from uniform although alpha and eta are large."""
    return oracle.tiny_corpus([[0, 0, 0, 0], [0, 0]], 20)


@cache
def exact(topics: int, corpus: Callable[[], Corpus] = tiny, prior: Prior = PRIOR) -> oracle.Enumeration:
    return oracle.enumerate_all(corpus(), topics, prior)


@cache
def posterior(corpus: Callable[[], Corpus] = tiny, prior: Prior = PRIOR) -> np.ndarray:
    """Of T = 1, ..., 4 under the uniform prior."""
    evidence = np.exp([exact(topics, corpus, prior).log_evidence for topics in range(1, 5)])
    return evidence / evidence.sum()


def expectation(
    function: Callable[[int, np.ndarray], np.ndarray], corpus: Callable[[], Corpus] = tiny, prior: Prior = PRIOR
) -> np.ndarray:
    """Of a function of T and the rows of z, under their posterior."""
    laws = {topics: exact(topics, corpus, prior) for topics in range(1, 5)}
    given_topics = [law.posterior @ function(topics, law.assignments) for topics, law in laws.items()]
    return posterior(corpus, prior) @ np.array(given_topics)


@cache
def small() -> Corpus:
    """40 tokens: the chain moves."""
    return oracle.random_corpus(np.random.default_rng(1), 40, 6, 8)


def check_means(columns: np.ndarray, expected: np.ndarray) -> None:
    """Averages over one chain, within batch-means errors: Student t with sqrt(n) - 1 degrees, Bonferroni."""
    statistic = (columns.mean(axis=0) - expected) / mcse(columns)
    p_values = 2 * student.sf(np.abs(statistic), np.sqrt(len(columns)) - 1)
    assert p_values.min() * len(p_values) > FALSE_ALARM, f"largest |t| is {np.abs(statistic).max():.1f}"


def check_posterior(result: TopicPosterior, expected: np.ndarray | None = None) -> None:
    expected = posterior() if expected is None else expected
    visited = result.trace["topics"].to_numpy()
    check_means(visited[:, None] == np.arange(1, len(expected) + 1), expected)


@cache
def table(topics: int) -> tuple[np.ndarray, np.ndarray]:
    """(log-estimates, their cumulative probabilities) with one inner sweep from the first z."""
    all_z = exact(topics)
    log_g = np.array([sampler("sparse").transition_density(all_z.state(0), z) for z in all_z.assignments])
    return all_z.log_joint - log_g, np.exp(log_g).cumsum()


def from_table(key: tuple[int, int, int], seed: int = 0) -> Made:
    values, cumulative = table(key[1])
    uniform = generator(seed, f"table/{key}").random()
    return Made(float(values[np.searchsorted(cumulative[:-1], uniform)]), None)


def noise(key: tuple[int, int, int], sd: float = 1.0) -> Made:
    """An unbiased estimate of 1, so that the posterior is the prior."""
    return Made(float(generator(0, f"noise/{key}").normal(-(sd**2) / 2, sd)), None)


WALK = {"topics": "topics", "starts": "starts", "iterations": "iterations", "burn_in": "burn_in", "reach": "reach"}
INNER = {"inner": "sweeps", "sampler": "sampler", "z_start": "start", "shorter": "shorter"}
INNER |= {"pilot_sweeps": "pilot_sweeps", "choose": "choose"}


def pmmh(corpus: Corpus, prior: Prior, **options: Any) -> TopicPosterior:
    """`pmmh` with all settings side by side."""

    def take(names: dict[str, str]) -> dict[str, Any]:
        taken = {field: options.pop(name) for name, field in names.items() if name in options}
        return {field: tuple(value) if isinstance(value, list) else value for field, value in taken.items()}

    return module.pmmh(corpus, prior, Walk(**take(WALK)), Inner(**take(INNER)), **options)


def run(make: Callable[[Any], Made], monkeypatch: pytest.MonkeyPatch, **options: Any) -> TopicPosterior:
    """A chain on these estimates."""
    monkeypatch.setattr(module, "_make", lambda wanted, keys: [make(key) for key in keys])
    defaults: dict[str, Any] = {"topics": RANGE, "starts": [2], "iterations": 10_000}
    return pmmh(tiny(), PRIOR, **defaults | options)
