"""Eight chains side by side: each is a chain of single-site Gibbs, whatever its neighbours are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare

import oracle
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda import lanes, single_site
from bayestopics.lda.lanes import CHAINS, Lanes
from bayestopics.lda.state import LARGEST, SMALLEST, Prior, from_assignments
from bayestopics.lda.uniforms import uniform

FALSE_ALARM = 1e-6  # of one statistical check, over seeds; there are two
TOPICS = [1, 2, 3, 4, 5, 9, 17, 30]  # a chain each


def corpus() -> Corpus:
    """600 tokens, with empty documents first, last and between, and a term that does not occur."""
    rng = np.random.default_rng(1)
    rows, columns = 1 + rng.integers(20, size=600), rng.integers(15, size=600)
    rows[rows > 7] += 1
    return Corpus.from_counts(rows, columns, np.ones(600, int), document_count=23, term_count=16)


def start(data: Corpus, topics: list[int], prior: Prior, seed: int = 2) -> Lanes:
    rng = np.random.default_rng(seed)
    return lanes.init(data, topics, prior, [rng.integers(t, size=data.token_count, dtype=np.int32) for t in topics])


def words(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 2**64, size=(4, CHAINS), dtype=np.uint64)


PRIORS = [Prior(0.1, 0.02), Prior(3.0, 2.0), Prior(SMALLEST, SMALLEST), Prior(LARGEST, LARGEST)]


def rows_of(*documents: list[int]) -> Corpus:
    """Documents as lists of terms."""
    rows = np.repeat(np.arange(len(documents)), [len(terms) for terms in documents])
    terms = np.concatenate(documents)
    return Corpus.from_counts(rows, terms, np.ones(len(rows), int), document_count=len(documents), term_count=5)


CORPORA = {
    "many": corpus(),
    "single tokens": rows_of(*([t % 5] for t in range(30))),
    "one term": rows_of([2] * 20, [2], [2] * 7),
    "one document": rows_of([0] * 9 + [1] + [4] * 5),
}


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("name", CORPORA)
def test_log_g_is_that_of_single_site(prior: Prior, name: str) -> None:
    data = CORPORA[name]
    together = start(data, TOPICS, prior)
    for step in range(3):
        before = together.assignments.copy()
        log_g = lanes.sweep(together, words(step))
        for chain, topics in enumerate(TOPICS):
            state = from_assignments(data, topics, prior, before[:, chain])
            expected = single_site.transition_density(state, together.assignments[:, chain])
            assert_allclose(log_g[chain], expected, rtol=1e-10, atol=1e-10)
    if prior in PRIORS[:2] and name == "many":
        assert np.any(before != together.assignments, axis=0)[1:].all()


def test_the_counts_are_those_of_the_assignments() -> None:
    data, prior = corpus(), Prior(0.2, 0.1)
    together = start(data, TOPICS, prior)
    for step in range(5):
        lanes.sweep(together, words(step))
    again = lanes.init(data, TOPICS, prior, list(together.assignments.T))
    for name in ("assignments", "document_topic", "term_topic", "topic_total", "alpha"):
        assert_array_equal(getattr(together, name), getattr(again, name))


def test_a_chain_does_not_depend_on_its_neighbours() -> None:
    """Not by a bit, however many topics they have, and whether there are any."""
    data, prior = corpus(), Prior(0.2, 0.1)
    z = np.random.default_rng(3).integers(3, size=(CHAINS, data.token_count), dtype=np.int32)
    many = lanes.init(data, [*TOPICS[:2], 3, *TOPICS[3:]], prior, [*(z[:2] * 0), z[2], *z[3:]])
    alone = lanes.init(data, [3], prior, [z[2]])
    for step in range(12):  # logs of products are taken at different tokens
        given = words(step)
        first = lanes.sweep(many, given)
        given[:, 0] = given[:, 2]
        second = lanes.sweep(alone, given)
        assert first[2] == second[0]
        assert_array_equal(many.assignments[:, 2], alone.assignments[:, 0])


def test_a_draw_inverts_the_conditional_at_the_chains_own_uniform_number() -> None:
    """Token by token as in plain Python, with the numbers of `lda.uniforms`."""
    data, prior, given = corpus(), Prior(0.3, 0.2), words(5)
    together = start(data, TOPICS, prior)
    before = together.assignments.copy()
    lanes.sweep(together, given)
    for chain, topics in enumerate(TOPICS):
        own = given[:, chain].copy()

        def choose(token: int, probabilities: list[float], own: np.ndarray = own) -> int:
            return int(np.searchsorted(np.cumsum(probabilities)[:-1], uniform(own), side="right"))

        expected, _ = oracle.plain_sweep(from_assignments(data, topics, prior, before[:, chain]), choose)
        assert_array_equal(together.assignments[:, chain], expected)


def moves(prior: Prior, of: Prior, sweeps: int) -> tuple[np.ndarray, np.ndarray]:
    """How often each assignment of a tiny corpus follows a fixed one in a chain with three topics among others with
    two, and the exact probabilities under another prior."""
    data = oracle.tiny_corpus([[0, 0, 1], [1, 2]], 3)
    exact = oracle.enumerate_all(data, 3, of)
    row = 100
    rng, counts = np.random.default_rng(6), np.zeros(len(exact.assignments))
    for _ in range(sweeps // 4):
        z = [np.zeros(5, np.int32), exact.assignments[row]] * 4
        together = lanes.init(data, [2, 3] * 4, prior, z)
        lanes.sweep(together, rng.integers(1, 2**64, size=(4, CHAINS), dtype=np.uint64))
        np.add.at(counts, oracle.index_of(together.assignments[:, 1::2].T, 3), 1)
    log_g = [oracle.plain_single_site(exact.state(row), z) for z in exact.assignments]
    return counts, np.exp(log_g)


def p_value(counts: np.ndarray, probabilities: np.ndarray) -> float:
    return float(chisquare(counts, probabilities * counts.sum() / probabilities.sum()).pvalue)


def test_the_moves_have_their_exact_probabilities() -> None:
    counts, probabilities = moves(Prior(1.0, 1.0), Prior(1.0, 1.0), sweeps=20_000)
    assert probabilities.min() * 20_000 > 5  # enough for chi square
    assert p_value(counts, probabilities) > FALSE_ALARM


def test_moves_of_another_prior_are_refused() -> None:
    assert p_value(*moves(Prior(1.2, 1.0), Prior(1.0, 1.0), sweeps=20_000)) < FALSE_ALARM
