"""The topics of `select`: means over draws given the chosen T, and how far the other chains have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayestopics import Corpus, infer, select, to_pyldavis
from bayestopics.base.problems import InputError
from bayestopics.evidence.jump import Chain, Drawn
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior, count
from bayestopics.runs import chosen_topics
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.export import to_arviz
from bayestopics.runs.fit import small
from bayestopics.runs.fit_result import FitResult
from bayestopics.runs.select import task_of
from bayestopics.runs.topics_result import TopicsResult

# three groups of documents, each with two terms of its own
GROUPS = np.repeat(np.eye(3, dtype=int), 10, axis=0).repeat(2, axis=1) * 8
CORPUS = Corpus.from_sparse(GROUPS, ["a", "b", "c", "d", "e", "f"], name="groups")
RIGHT = (CORPUS.terms // 2).astype(np.int32)
MERGED = np.minimum(RIGHT, 1).astype(np.int32)  # the second and the third are one
TASK = task_of(CORPUS, TopicPrior(1, 6), 3, chains=3, iterations=100)


def chain(number: int, drawn: dict[int, np.ndarray]) -> Chain:
    nothing: Any = None
    made = {topics: Drawn(one, 0.1, 0.1, float(topics)) for topics, one in drawn.items()}
    return Chain(number, 1, nothing, nothing, 1, 0, nothing, {}, nothing, drawn_by_topics=made)


def found(chains: list[Chain], best: int, topics: int, tmp_path: Path, alpha: float = 0.01) -> Any:
    place = Checkpoint(tmp_path, TASK)
    return chosen_topics.topics_of(CORPUS, chains, chains[best], topics, Prior(alpha, 0.1), TASK, place)


def test_the_topics_of_other_chains_decide_what_to_trust(tmp_path: Path) -> None:
    """Guards topics that are compared with those of a chain of another T by number, or not at all."""
    chains = [chain(0, {2: MERGED}), chain(1, {3: (RIGHT + 1) % 3}), chain(2, {2: MERGED})]
    listed, tables, _, said = found(chains, 1, 3, tmp_path)
    by_word = {one["words"][0]: one for one in listed}
    whole, halves = by_word["a"], [by_word["c"], by_word["e"]]
    assert (whole["chains"], whole["stable"]) == (3, True)
    assert whole["similarity"] == pytest.approx(1, abs=0.02)
    # one of the halves is paired with the topic of both, with an overlap of 0.5, and the other one with none
    assert [one["chains"] for one in halves] == [1, 1]
    assert sorted(one["similarity"] for one in halves) == pytest.approx([0.0, 0.5], abs=0.05)
    assert len(tables["reproducibility"]) == 6  # three topics, two other chains
    assert len(said) == 1
    assert "unstable" in said[0]
    assert "--iterations" in said[0]
    assert "--sweeps" not in said[0]


def test_the_tables_are_those_of_the_draws(tmp_path: Path) -> None:
    listed, tables, arrays, said = found([chain(0, {3: RIGHT})], 0, 3, tmp_path)
    assert said == []
    assert "chains" not in listed[0]
    assert_allclose(tables["shares"]["share"], 1 / 3, atol=0.01)
    theta = tables["documents"][["topic_0", "topic_1", "topic_2"]].to_numpy()
    assert_allclose(theta, np.eye(3).repeat(10, axis=0), atol=0.02)
    assert (tables["documents"][["topic_0_sd", "topic_1_sd"]] > 0).all(axis=None)
    assert sorted(set(arrays["model_draw"])) == list(range(10))
    assert_array_equal(count(CORPUS, 3, arrays["assignments"])[2], [160, 160, 160])


def test_topics_that_no_draw_uses_come_last_and_are_not_listed(tmp_path: Path) -> None:
    """Guards topics whose numbers in the list are not those of the tables."""
    gap = np.array([3, 0, 4], np.int32)[RIGHT]  # topics 1 and 2 of 5 are empty, and stay so with a tiny alpha
    listed, tables, arrays, _ = found([chain(0, {5: gap}), chain(1, {5: gap})], 0, 5, tmp_path, alpha=1e-9)
    assert sorted(one["topic"] for one in listed) == [0, 1, 2]
    assert_allclose(tables["shares"]["share"], [1 / 3] * 3 + [0, 0])
    assert set(tables["reproducibility"]["topic"]) == {0, 1, 2}
    assert arrays["assignments"].max() == 2
    for one in listed:
        own = tables["topics"][tables["topics"]["topic"] == one["topic"]]
        assert set(own["term"]) == set(one["words"])


def test_a_chain_without_the_chosen_number_has_the_nearest() -> None:
    assert chosen_topics.nearest(chain(0, {2: MERGED, 7: RIGHT}), 4) == 2
    assert chosen_topics.nearest(chain(0, {3: MERGED, 5: RIGHT}), 4) == 5  # it weighs more


@pytest.mark.parametrize(("iterations", "sweeps"), [(1, (5, 25)), (500, (10, 50)), (100_000, (50, 250))])
def test_the_sweeps_are_few_beside_the_iterations(iterations: int, sweeps: tuple[int, int]) -> None:
    assert chosen_topics.sweeps_of(iterations) == sweeps


def test_new_documents_by_a_selection(tmp_path: Path) -> None:
    result = select(CORPUS, range(2, 5), chains=2, iterations=60, seed=1, out=tmp_path / "selection")
    new = Corpus.from_sparse([[5, 5, 0], [0, 0, 7]], ["a", "b", "f"])
    found = infer(new, tmp_path / "selection")
    assert found.theta.shape == (2, result.answer["topics"])
    terms = result.topic_terms().pivot(index="topic", columns="term", values="probability").fillna(0.0)
    assert found.theta[0].argmax() == (terms["a"] * terms["b"]).idxmax()
    assert found.theta[1].argmax() == terms["f"].idxmax()
    assert infer(new, result).tables["documents"].equals(found.tables["documents"])
    assert to_pyldavis(result, CORPUS)["doc_topic_dists"].shape == (30, result.answer["topics"])
    assert result.compare(result)["same"].all()
    assert "the topics are those of" in result.text()
    with pytest.raises(InputError, match="not a record of `fit`"):
        to_arviz(result)
    with pytest.raises(InputError, match="a record of `select`, not a FitResult"):
        FitResult.load(tmp_path / "selection")
    assert isinstance(TopicsResult.load(tmp_path / "selection"), TopicsResult)


@pytest.mark.parametrize(("documents", "words", "topics", "said"), [(5, 4, 2, 0), (5, 4, 3, 1), (4, 9, 2, 1)])
def test_a_few_words_are_no_corpus(documents: int, words: int, topics: int, said: int) -> None:
    """Guards three texts whose topics look reproducible, because the prior is."""
    warnings = small(Corpus.from_sparse([[words]] * documents), topics)
    assert len(warnings) == said
    assert all(f"are {documents}, and the words {documents * words}." in one for one in warnings)
