"""A first answer: topics merged by what they cost, steps that are rated, and the corpora of which T is plain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import oracle
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.evidence import first_answer as module
from bayestopics.evidence import walk
from bayestopics.evidence.first_answer import first_answer
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.evidence.walk import merge
from bayestopics.lda.state import Prior, State, count, from_assignments

CORPUS = oracle.random_corpus(np.random.default_rng(1), tokens=60, documents=6, terms=8)


@pytest.mark.parametrize("topics", [1, 4])
def test_the_number_of_topics_is_found(topics: int) -> None:
    """4 topics, and a corpus without any structure."""
    rng = np.random.default_rng(topics)
    corpus = simulate_lda(documents=100, length=50, terms=40, topics=topics, alpha=0.2, eta=0.1, rng=rng).corpus
    found = first_answer(corpus, TopicPrior(1, 70), np.random.default_rng(2))
    assert abs(found.topics - topics) <= (topics == 1)  # without structure 2 are nearly as good as 1
    assert found.assignments.max() < found.topics
    assert [number for number, _ in found.steps][:3] == [35, 28, 22]  # half of the square root of 5000, then 4/5
    assert found.steps[-1][0] == 1
    best = max(found.steps, key=lambda step: step[1])[0]
    assert abs(best - topics) <= 2


def state_of(z: list[int], topics: int) -> State:
    return from_assignments(CORPUS, topics, Prior(0.3, 0.4), np.array(z, np.int32))


def test_the_cheapest_pairs_are_merged_and_none_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the dearest pair, chains of mergers, and numbers with gaps."""
    z = [0, 1, 2, 3, 4] * 12
    costs = np.full((5, 5), 50.0)
    costs[1, 3], costs[3, 4], costs[0, 2] = 1.0, 2.0, 3.0  # 3 is taken when its second pair comes
    monkeypatch.setattr(walk, "merging_costs", lambda state: costs)
    merged = merge(CORPUS, state_of(z, 5), 3)
    assert merged.topics == 3
    assert_array_equal(merged.assignments, [0, 1, 0, 1, 2] * 12)
    assert (merged.alpha[0], merged.eta) == (0.3, 0.4)
    assert_array_equal(merged.topic_total, count(CORPUS, 3, merged.assignments)[2])
    assert merge(CORPUS, state_of(z, 5), 4).topics == 4


def test_the_best_step_is_where_the_chain_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the last step, the first one, and a prior that is forgotten."""
    ratings: dict[int, float] = {}
    gone: list[int] = []

    def mass(corpus: Any, state: State, prior: Any, short: int, rng: Any) -> float:
        return ratings.setdefault(state.topics, -abs(state.topics - 5.0))

    def chain(corpus: Any, state: State, topic_prior: Any, rng: Any) -> tuple[int, np.ndarray, float, float, float]:
        gone.append(state.topics)
        return state.topics, state.assignments, 0.1, 0.2, 0.5

    monkeypatch.setattr(module, "log_mass", mass)
    monkeypatch.setattr(module, "_short_chain", chain)
    found = first_answer(CORPUS, TopicPrior(2, 8), np.random.default_rng(1))
    assert [number for number, _ in found.steps] == [8, 6, 4, 3, 2]
    first_answer(CORPUS, TopicPrior(1, 8, "geometric", 0.9), np.random.default_rng(1))
    assert gone == [6, 1]  # 6 and 4 are as good as each other; the prior of the second one says 1
    assert found.topics == 6


def test_the_seconds_are_those_of_its_parts_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards an estimate of the time from iterations or ratings in which a kernel was compiled."""
    now = 0.0

    def takes(seconds: float) -> None:
        nonlocal now
        now += seconds

    def mass(corpus: Any, state: State, prior: Any, short: int, rng: Any) -> float:
        takes(100.0 if state.topics == 8 else 0.5 * state.topics)  # the first one compiles
        return 0.0

    iterate, done = module.Sampler.iterate, []

    def slow(self: Any, learning: bool, pushed: bool = False) -> None:
        iterate(self, learning, pushed)
        takes(50.0 if not done else 0.25)
        done.append(1)

    monkeypatch.setattr(module, "process_time", lambda: now)
    monkeypatch.setattr(module, "log_mass", mass)
    monkeypatch.setattr(module.Sampler, "iterate", slow)
    found = first_answer(CORPUS, TopicPrior(2, 8), np.random.default_rng(1))
    assert found.seconds == pytest.approx(0.25)
    assert found.rating == pytest.approx(0.5 * found.topics)


def test_the_range_of_the_prior_holds() -> None:
    for prior in (TopicPrior(3, 5), TopicPrior(1, 2), TopicPrior(12, 14), TopicPrior(2, None, "poisson", 3.0)):
        found = first_answer(CORPUS, prior, np.random.default_rng(1))
        assert found.topics in prior
        assert all(number in prior for number, _ in found.steps)
