"""The HDP that remembers documents: the posterior by enumeration, counts against a recount, q, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t as student

import hdp_oracle
import oracle
from bayestopics.base.problems import InputError
from bayestopics.errors import mcse
from bayestopics.nonparametric import hdp_memoized
from bayestopics.nonparametric.hdp_memoized import Counts, MemoizedHDP
from bayestopics.nonparametric.hdp_state import HdpPrior
from bayestopics.nonparametric.stream import Bags
from bayestopics.nonparametric.top_level import weights_of_tables

FALSE_ALARM = 1e-6
LEAST_EXPECTED = 120  # visits: rarer partitions are pooled
DOCUMENTS, TERMS = [[0, 0, 1], [1, 2], []], 3
PRIOR = HdpPrior(0.4, 2.5, 0.2)
PASSES = 6000


def remembered(learner: MemoizedHDP, counts: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Terms, topics and tables of the tokens of these documents."""
    bags = Bags.of(counts, counts.shape[1])
    terms = np.repeat(bags.terms, bags.counts)
    marks = np.array([np.sum((np.repeat(np.arange(counts.shape[1]), row) + 1.0) ** 2) for row in counts])
    return terms, *learner.memory.recall(learner.memory.places(ids, bags.lengths, marks))


def largest_t(prior: HdpPrior) -> tuple[float, float]:
    """The largest |t| over partitions, beta_u and sum_k beta_k^2, and its p-value; the documents come in two batches.

    Student t with sqrt(n) - 1 degrees of freedom, Bonferroni over all of them.
    """
    corpus, rng = oracle.tiny_corpus(DOCUMENTS, TERMS), np.random.default_rng(7)
    exact, counts = hdp_oracle.posterior(corpus, prior), corpus.counts.toarray()
    settings = {"eta": prior.eta, "gamma": prior.gamma, "concentration": prior.concentration}
    learner, z, moments = MemoizedHDP(TERMS, rng, 3, start=1, **settings), [], []
    for number in range(PASSES):
        for ids in (np.array([1]), np.array([2, 0])):
            learner.partial_fit(counts[ids], ids=ids)
        if number > 0:
            z.append(remembered(learner, counts, np.arange(3))[1])
            beta = learner.counts.alpha / prior.concentration
            moments.append((learner.counts.alpha_new[0] / prior.concentration, np.square(beta).sum()))
    frequent = exact.probability * len(z) >= LEAST_EXPECTED
    at = hdp_oracle.codes(np.array(z))[:, None] == hdp_oracle.codes(exact.partitions[frequent])
    columns = np.column_stack([at, moments])
    expected = np.array([*exact.probability[frequent], exact.beta_unseen, exact.beta_squares])
    with np.errstate(divide="ignore"):  # a broken twin may not move at all
        t = np.abs(columns.mean(axis=0) - expected) / mcse(columns)
    return t.max(), 2 * student.sf(t.max(), np.sqrt(len(z)) - 1) * len(t)


@pytest.mark.parametrize("spare", [1, 8])
def test_a_learner_that_remembers_all_documents_samples_the_posterior(
    spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With little room, labels run out in the middle of a batch."""
    monkeypatch.setattr(hdp_memoized, "SPARE", spare)
    largest, p_value = largest_t(PRIOR)
    assert p_value > FALSE_ALARM, f"largest |t| is {largest:.1f}"


def tables_stay(self: Counts, tokens: hdp_memoized.Tokens) -> None:
    """A broken twin: the tables of a document are counted again in every pass."""


def one_table_more(self: Counts, gamma: float, rng: np.random.Generator) -> None:
    """A broken twin: the sticks of the paper's q, Beta(1 + tables, ..), for topics that have tables."""
    more = self.tables + (self.tables > 0)
    self.alpha[:], self.alpha_new[0] = weights_of_tables(more, gamma, self.concentration, rng)


@pytest.mark.parametrize(("name", "broken"), [("_forget_tables", tables_stay), ("draw_weights", one_table_more)])
def test_broken_twins_are_caught(name: str, broken: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counts, name, broken)
    assert largest_t(PRIOR)[1] < FALSE_ALARM


# -- counts and q --------------------------------------------------------------------------------------


def stream(documents: int = 60) -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.multinomial(20, rng.dirichlet(np.full(30, 0.1), 4)[rng.integers(4, size=documents)])


def assert_counts_are_a_recount(learner: MemoizedHDP, counts: np.ndarray, ids: np.ndarray) -> None:
    terms, z, seats = remembered(learner, counts[ids], ids)
    expected = np.zeros_like(learner.counts.term_topic)
    np.add.at(expected, (terms, z), 1)
    assert_array_equal(learner.counts.term_topic, expected)
    assert_array_equal(learner.counts.topic_total, expected.sum(axis=0))
    assert_array_equal(learner.counts.tables, np.bincount(z, seats, len(learner.counts.tables)))
    assert_array_equal(learner.counts.alpha > 0, learner.counts.topic_total > 0)


def test_counts_are_those_of_the_remembered_documents() -> None:
    """Old and new documents in one batch, other batches in every pass, and an empty document."""
    counts, rng = stream(), np.random.default_rng(2)
    counts[5] = 0
    learner = MemoizedHDP(30, rng, 60, gamma=5.0, start=20)
    for end in (40, 60, 60, 60):
        order = rng.permutation(end)
        for first in range(0, end, 7):
            learner.partial_fit(counts[order[first : first + 7]], ids=order[first : first + 7])
        if end == 60:
            assert_counts_are_a_recount(learner, counts, np.arange(60))


def test_documents_without_numbers_are_counted_and_forgotten() -> None:
    counts = stream()
    learner = MemoizedHDP(30, np.random.default_rng(3), start=20)
    for first in range(0, 60, 10):
        learner.partial_fit(counts[first : first + 10])
        assert learner.counts.topic_total.sum() == (20 * (first + 10) if first >= 10 else 0)
    assert learner.memory.arrays()["memory_topics"].size == 0


@pytest.mark.parametrize(("passes", "share"), [(2.0, 1.0), (12.0, 0.25), (300.0, 0.05)])
def test_the_average_is_over_the_latest_passes(passes: float, share: float) -> None:
    """One pass after the last average, the state has the weight 1 / 20, or 3 / passes if that is more; at most 1."""
    learner = MemoizedHDP(3, np.random.default_rng(4), 10)
    learner.counts.make_room(2)
    learner.counts.term_topic[:], learner.counts.topic_total[:] = [[4, 0], [0, 6], [0, 0]], [4, 6]
    learner.counts.tables[:] = [1, 3]
    learner.components.grow(2)
    learner.components.stored[:], learner.components.totals[:], learner.components.sizes[:] = 1.0, 3.0, 2.0
    learner.drawn, learner.averaged = round(10 * passes), round(10 * passes) - 10
    learner._average()
    expected = (1 - share) + share * np.array([[4, 0], [0, 6], [0, 0]])
    assert_allclose(learner.components.stored, expected)
    assert_allclose(learner.components.totals, expected.sum(axis=0))
    assert_allclose(learner.components.sizes, 2 * (1 - share) + share * np.array([1, 3]))
    weights, unseen = learner.mean_weights()
    assert weights.sum() + unseen == pytest.approx(1.0)
    assert unseen == pytest.approx(1.0 / (1.0 + learner.components.sizes.sum()))


def test_a_killed_learner_continues_with_the_same_bits() -> None:
    """Also while documents wait for the start."""
    counts = stream()
    straight, stopped = (MemoizedHDP(30, np.random.default_rng(5), 60, start=25) for _ in range(2))
    for first in [*range(0, 60, 10), *range(0, 60, 10)]:
        ids = np.arange(first, first + 10)
        straight.partial_fit(counts[ids], ids=ids)
        stopped = MemoizedHDP.from_state_dict(stopped.state_dict()).partial_fit(counts[ids], ids=ids)
    one, other = straight.state_dict(), stopped.state_dict()
    assert list(one) == list(other)
    for name in one:
        assert_array_equal(one[name], other[name], strict=True)


def test_another_document_under_a_known_number_is_refused() -> None:
    learner = MemoizedHDP(3, np.random.default_rng(6), 2, start=1)
    learner.partial_fit(np.array([[2, 1, 0], [0, 1, 1]]), ids=np.array([0, 4]))
    for ids, document, fault in (
        ([4], [0, 2, 0], "document 4 had other words"),
        ([0], [2, 1, 1], "document 0 had other words"),
        ([-1], [2, 1, 1], "different and not negative"),
        ([1, 2], [2, 1, 1], "a batch of 1 documents has 2 numbers"),
    ):
        with pytest.raises(InputError, match=fault):
            learner.partial_fit(np.array([document]), ids=np.array(ids))
