"""Means and deviations of theta and beta over draws, the best chain, and topics that other chains have or have not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from bayestopics.api import fit, simulate
from bayestopics.cli.main import main
from bayestopics.corpus import Corpus, write_corpus
from bayestopics.lda.density import topic_term_mean
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.runs import draws as of_draws
from bayestopics.runs.export import to_pyldavis, write_csv
from bayestopics.runs.fit_result import FitResult
from bayestopics.runs.reproducibility import SAME, doubts, of_topics, reproducibility

CORPUS = oracle.random_corpus(np.random.default_rng(1), tokens=60, documents=6, terms=8)
ALPHA, ETA = np.array([0.3, 0.2, 0.1]), 0.2
RNG = np.random.default_rng(3)
DRAWS = [RNG.integers(3, size=60).astype(np.uint8) for _ in range(4)]


def small(**changes: Any) -> FitResult:
    options: dict[str, Any] = {"topics": 3, "sweeps": 5, "burn_in": 2, "chains": 3, "seed": 7}
    return fit(CORPUS, prior=Prior(tuple(ALPHA.tolist()), ETA), **options | changes)


# -- moments --------------------------------------------------------------------------------------------


def mixture(parameters: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of a mixture of Dirichlet distributions (rows), from their raw moments."""
    sizes = [one.sum(axis=1, keepdims=True) for one in parameters]
    first = np.mean([one / size for one, size in zip(parameters, sizes, strict=True)], axis=0)
    second = [one * (one + 1) / (size * (size + 1)) for one, size in zip(parameters, sizes, strict=True)]
    return first, np.sqrt(np.mean(second, axis=0) - first**2)


def test_theta_is_a_mixture_of_dirichlets() -> None:
    """Guards a deviation between draws alone, or within them alone."""
    found = of_draws.document_moments(CORPUS, DRAWS, ALPHA)
    states = [from_assignments(CORPUS, 3, Prior(tuple(ALPHA), ETA), draw) for draw in DRAWS]
    mean, deviation = mixture([state.document_topic + ALPHA for state in states])
    assert_allclose(found.mean, mean, rtol=1e-12)
    assert_allclose(found.deviation, deviation, rtol=1e-9)


def test_beta_is_a_mixture_of_dirichlets() -> None:
    found = of_draws.topic_moments(CORPUS, DRAWS, 3, ETA)
    states = [from_assignments(CORPUS, 3, Prior(0.1, ETA), draw) for draw in DRAWS]
    mean, deviation = mixture([state.term_topic.T + ETA for state in states])
    assert_allclose(found.mean, mean, rtol=1e-12)
    assert_allclose(found.deviation, deviation, rtol=1e-9)


def test_labels_that_change_along_a_chain_change_nothing() -> None:
    """Guards means of different topics."""
    plain = of_draws.topic_moments(CORPUS, [DRAWS[0]] * 3, 3, ETA)
    switched = [np.array(order, np.uint8)[DRAWS[0]] for order in ([2, 0, 1], [1, 0, 2], [0, 1, 2])]
    assert_array_equal(of_draws.topic_moments(CORPUS, of_draws.aligned(switched, 3), 3, ETA).mean, plain.mean)
    assert not np.allclose(of_draws.topic_moments(CORPUS, switched, 3, ETA).mean, plain.mean)  # can fail


@pytest.mark.parametrize(("sweeps", "kept"), [(1, [4]), (3, [4, 5, 6]), (50, [4 + 2 * k + 1 for k in range(25)])])
def test_draws_are_spread_up_to_the_last_sweep(sweeps: int, kept: list[int]) -> None:
    assert of_draws.spread(4, sweeps) == kept


# -- a fit ----------------------------------------------------------------------------------------------


def test_the_topics_are_those_of_the_best_chain() -> None:
    """Guards chain 0, which is only the first."""
    numbers = set()
    for seed in range(4):
        found = small(sweeps=1, seed=seed)
        best = int(np.argmax(found.log_joint.mean(axis=1)))
        assert found.answer["best_chain"] == best
        state = from_assignments(CORPUS, 3, Prior(tuple(ALPHA), ETA), found.arrays["assignments"][best])
        assert_allclose(found.beta(), topic_term_mean(state), rtol=1e-12)
        assert_allclose(to_pyldavis(found, CORPUS)["topic_term_dists"], topic_term_mean(state), rtol=1e-12)
        assert_allclose(found.theta, to_pyldavis(found, CORPUS, chain=best)["doc_topic_dists"], rtol=1e-12)
        numbers.add(best)
    assert len(numbers) > 1
    assert small(sweeps=1, chains=1).answer["topics_of"] == "the chain, last sweep"
    assert small().answer["topics_of"].endswith("(highest mean log joint), means over 5 draws")


def test_tables() -> None:
    counts = np.vstack([CORPUS.counts.toarray(), np.zeros((1, 8), int)])
    labels = [f"d{number}" for number in range(len(counts))]
    found = fit(Corpus.from_sparse(counts, CORPUS.vocabulary, labels), 3, Prior(0.3, 0.2), sweeps=5, burn_in=2)
    documents = found.document_topics()
    assert documents.columns.tolist() == ["document", "label", "tokens", "topic_0", "topic_1", "topic_2"]
    assert documents["label"].tolist() == labels
    assert_allclose(found.theta.sum(axis=1), 1)
    assert_allclose(found.theta[-1], 1 / 3)  # without words, the prior
    deviations = found.document_topics(deviations=True)[["topic_0_sd", "topic_1_sd", "topic_2_sd"]].to_numpy()
    assert_allclose(deviations[-1], np.sqrt(2 / 9 / 1.9))
    assert_allclose(found.beta().sum(axis=1), 1)
    assert found.topic_terms().columns.tolist() == ["topic", "term", "probability", "standard_deviation"]
    assert found.topic_terms().groupby("topic")["probability"].agg(lambda p: p.is_monotonic_decreasing).all()


def test_a_single_chain_with_few_effective_draws_warns() -> None:
    one = small(sweeps=30, chains=1)
    assert one.answer["effective_sample_size"] < 100
    assert any("single chain has an effective sample size of" in said for said in one.warnings)
    assert not any("single chain" in said for said in small(sweeps=30, chains=2).warnings)


# -- reproducibility ------------------------------------------------------------------------------------

WORDS = np.repeat(np.eye(4, dtype=int), 5, axis=0) * 10  # four kinds of documents, each with a word of its own
PURE = Corpus.from_sparse(WORDS)


def agreement(*chains: list[int]) -> dict[int, dict[str, Any]]:
    """Of the first chain with the others: a chain has a topic for each of the four words."""
    draws = [[np.array(topics, np.uint8)[PURE.terms]] for topics in chains]
    means = [of_draws.topic_moments(PURE, one, 4, 0.01).mean for one in draws]
    return of_topics(reproducibility(PURE, draws, means, 0, 0.01))


def test_labels_do_not_matter() -> None:
    found = agreement([0, 1, 2, 3], [3, 1, 0, 2], [1, 0, 2, 3])
    assert all(one["chains"] == 3 and one["stable"] for one in found.values())
    assert_allclose([one["similarity"] for one in found.values()], 1)
    assert doubts(found) == []


def test_topics_that_are_one_elsewhere_are_unstable() -> None:
    """Words 0 and 1 have one topic in two of the other chains, and two in the third; words 2 and 3 always have two."""
    found = agreement([0, 1, 2, 3], [0, 0, 2, 3], [1, 1, 0, 2], [3, 2, 1, 0])
    assert [one["chains"] for one in found.values()] == [2, 2, 4, 4]
    assert [one["stable"] for one in found.values()] == [False, False, True, True]
    assert_allclose(sorted(found[0]["similarity_interval"]), found[0]["similarity_interval"])
    assert found[0]["similarity_interval"][0] < 0.51 < 0.99 < found[0]["similarity_interval"][1]
    (said,) = doubts(found)
    assert said.startswith("Topics 0, 1 are unstable (marked with ?)")


def test_half_of_the_other_chains_are_not_enough() -> None:
    assert not agreement([0, 1, 2, 3], [0, 0, 2, 3], [3, 2, 1, 0])[0]["stable"]


def test_rare_words_do_not_make_a_topic_unstable() -> None:
    """Two chains with one law: draws of rare words differ, and no more between the chains than within them."""
    rng, rare = np.random.default_rng(1), Corpus.from_sparse(np.full((1, 400), 2))
    kind = rare.terms // 200
    draws = [[np.where(rng.random(800) < 0.75, kind, 1 - kind).astype(np.uint8) for _ in range(10)] for _ in range(2)]
    means = [of_draws.topic_moments(rare, one, 2, 0.01).mean for one in draws]
    betas = [of_draws.beta_of(rare, chain[0], 2, 0.01)[0] for chain in draws]
    assert np.minimum(*betas).sum(1).max() < SAME
    found = of_topics(reproducibility(rare, draws, means, 0, 0.01))
    assert all(one["similarity"] > 0.97 and one["stable"] for one in found.values())


def test_all_topics_are_not_listed_one_by_one() -> None:
    found = agreement([0, 1, 2, 3], [0, 0, 0, 0], [1, 1, 1, 1])
    (said,) = doubts({topic: one | {"stable": False} for topic, one in found.items()})
    assert said.startswith("All 4 topics are unstable")


def test_unstable_topics_are_marked() -> None:
    corpus = simulate(documents=40, length=100, terms=60, topics=8, alpha=0.05, eta=0.05, seed=1)
    found = fit(corpus, topics=8, sweeps=20, burn_in=20, chains=3)
    lines = found.text().splitlines()
    for one in found.summary()["topics"]:
        (line,) = [line for line in lines if line.startswith(f"topic {one['topic']:3} ")]
        assert f"{one['chains']}/3{' ' if one['stable'] else '?'}" in line
    assert "?" in "".join(lines)


# -- two fits -------------------------------------------------------------------------------------------


def test_two_fits_are_compared_topic_by_topic() -> None:
    first = fit(PURE, 4, sweeps=3, burn_in=30, chains=3)
    other = Corpus.from_sparse(WORDS[:, ::-1][:, :3], ["3", "2", "new"])
    second = fit(other, 2, sweeps=3, burn_in=30, chains=3)
    table = first.compare(second)
    words = [{one["topic"]: one["words"] for one in found.answer["topics"]} for found in (first, second)]
    shared = table[table["same"]]
    assert len(shared) >= 1
    assert all(words[0][row.topic] == words[1][row.other] for row in shared.itertuples())
    assert (table["other"] == -1).sum() == 2
    assert not table[table["other"] == -1]["same"].any()
    assert_allclose(first.compare(first)["similarity"], 1)
    assert_array_equal(first.compare(first)["other"], np.arange(4))


# -- CSV ------------------------------------------------------------------------------------------------


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    texts = ['=HYPERLINK("x")', "+1", "-1", "@sum", "\tx", "a=b", "", 'two "words", a comma']
    table = pd.DataFrame({"label": texts, "number": -np.arange(8.0)})
    write_csv(table, tmp_path / "x.csv")
    back = pd.read_csv(tmp_path / "x.csv", keep_default_na=False)
    assert back["label"].tolist() == ["'" + text for text in texts[:4]] + [r"\tx"] + texts[5:]
    assert_array_equal(back["number"], table["number"])


def test_the_command_writes_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(CORPUS, tmp_path / "x.ldac")
    out = tmp_path / "out"
    sizes = ["--topics", "2", "--sweeps", "3", "--burn-in", "1", "--workers", "1"]
    assert main(["fit", str(tmp_path / "x.ldac"), *sizes, "--out", str(out)]) == 0
    found = FitResult.load(out)
    for name, table in (("documents", found.document_topics(deviations=True)), ("topics", found.topic_terms())):
        back = pd.read_csv(out / f"{name}.csv", dtype={"term": str})
        pd.testing.assert_frame_equal(back, table, check_dtype=False)


def test_the_columns_of_the_texts_stay_with_the_documents(tmp_path: Path) -> None:
    """Guards columns that are lost or in another order, and values that a file cannot hold."""
    texts = pd.DataFrame({"text": ["owl owl tree", "whale ocean", "owl"], "year": [1999, 2001, 2000]})
    texts = texts.assign(mixed=[1, "a", None], topic_0="mine", x_sd=0.5, tokens="mine")
    result = fit(Corpus.from_texts(texts, text_column="text"), 2, sweeps=5, burn_in=2, chains=1)
    result.save(tmp_path / "record")
    for one in (result, FitResult.load(tmp_path / "record")):
        table = one.document_topics()
        columns = ["document", "year", "mixed", "topic_0", "x_sd", "tokens", "topic_1"]
        assert table.columns.tolist() == columns
        assert table["year"].tolist() == [1999, 2001, 2000]
        assert table["mixed"].tolist()[:2] == ["1", "a"]
        assert table["tokens"].tolist() == [3, 2, 1]  # what the program computes has the name
        assert np.allclose(table["topic_0"] + table["topic_1"], 1)
