"""Simulated corpora against the laws they should follow.

Every random check is a test with false-alarm rate FALSE_ALARM = 1e-4: a chi-square test of frequencies, or a
mean within 3.9 Monte Carlo standard errors of its exact value. There are about 60 of them, so that under new
seeds a correct generator would fail somewhere with probability below 1 %. Seeds are fixed. The negative
controls hand the same checks a wrong law, which must be rejected at REJECTED = 1e-9.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import chisquare, norm

from bayestopics.base.problems import InputError
from bayestopics.corpus import Corpus
from bayestopics.corpus.synthetic import (
    GENERATORS,
    Simulated,
    simulate_bars,
    simulate_dp_mixture,
    simulate_hdp,
    simulate_lda,
    simulate_overlapping_topics,
)

FALSE_ALARM = 1e-4
REJECTED = 1e-9

Law = dict[Hashable, float]  # outcome: probability

ARGUMENTS: dict[str, dict[str, Any]] = {
    "lda": {"documents": 30, "length": 20, "terms": 12, "topics": 4, "alpha": 0.3, "eta": 0.5},
    "bars": {"documents": 30, "length": 20, "side": 3, "alpha": 0.2},
    "overlapping-topics": {"documents": 4, "length": 50, "topics": 6},
    "hdp": {"documents": 30, "length": 20, "terms": 12, "gamma": 2.0, "concentration": 1.5, "eta": 0.5},
    "dp-mixture": {"documents": 30, "length": 20, "terms": 12, "concentration": 1.5, "eta": 0.5},
}
WITH_POISSON = ["lda", "hdp", "dp-mixture"]


def simulate(name: str, seed: int = 1, **changes: Any) -> Simulated:
    return GENERATORS[name](**(ARGUMENTS[name] | changes), rng=np.random.default_rng(seed))


# -- checks and exact laws --------------------------------------------------------------------------


def frequency_p_value(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """Chi-square; cells that expect fewer than 5 form one cell together with the smallest of the others."""
    order = np.argsort(probabilities, kind="stable")
    expected = probabilities[order] * counts.sum()
    pooled = np.maximum(np.arange(len(expected)) - np.sum(expected < 5), 0)
    return float(chisquare(np.bincount(pooled, counts[order]), np.bincount(pooled, expected)).pvalue)


def law_p_value(draws: Iterable[Hashable], law: Law) -> float:
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    counts = Counter(draws)
    assert counts.keys() <= law.keys()
    return frequency_p_value(np.array([counts[key] for key in law]), np.array(list(law.values())))


def mean_p_value(draws: np.ndarray, expected: float) -> float:
    """Independent draws against their exact mean, in standard errors."""
    standard_error = draws.std(ddof=1) / np.sqrt(len(draws))
    return float(2 * norm.sf(abs(draws.mean() - expected) / standard_error))


def by_first_appearance(labels: Iterable[Hashable]) -> tuple[int, ...]:
    numbers: dict[Hashable, int] = {}
    return tuple(numbers.setdefault(label, len(numbers)) for label in labels)


def partitions(size: int) -> Iterator[tuple[int, ...]]:
    """All set partitions, as labels numbered by first appearance."""
    for labels in itertools.product(range(size), repeat=size):
        if labels == by_first_appearance(labels):
            yield labels


def restaurant_law(size: int, concentration: float) -> Law:
    """P(partition) = a^K prod (n_k - 1)! / (a (a + 1) ... (a + n - 1))."""
    law: Law = {}
    for labels in partitions(size):
        sizes = np.bincount(labels)
        log_weight = len(sizes) * np.log(concentration) + gammaln(sizes).sum()
        law[labels] = float(np.exp(log_weight + gammaln(concentration) - gammaln(concentration + size)))
    return law


def table_count_law(customers: int, concentration: float) -> np.ndarray:
    """P(m tables) for m = 0 .. customers, customer by customer."""
    law = np.array([1.0])
    for seated in range(customers):
        opens = concentration / (concentration + seated)
        law = np.append(law * (1 - opens), 0) + np.append(0, law * opens)
    return law


def franchise_law(documents: int, length: int, gamma: float, concentration: float) -> Law:
    """P(partition of all tokens into dishes), summed over all seatings of all documents."""
    law: Law = Counter()  # type: ignore[assignment]
    seating = restaurant_law(length, concentration)
    for seatings in itertools.product(seating.items(), repeat=documents):
        tables = by_first_appearance((d, table) for d, (labels, _) in enumerate(seatings) for table in labels)
        weight = np.prod([probability for _, probability in seatings])
        for dishes, probability in restaurant_law(max(tables) + 1, gamma).items():
            law[by_first_appearance(dishes[table] for table in tables)] += float(weight * probability)
    return law


def lda_law(documents: int, length: int, terms: int, alpha: np.ndarray, eta: float) -> Law:
    """P(w, z) with theta and beta integrated out (METHODS, section 1), tokens unordered in a document."""
    law: Law = Counter()  # type: ignore[assignment]
    pairs = list(itertools.product(range(terms), range(len(alpha))))
    for tokens in itertools.product(pairs, repeat=documents * length):
        document_topic, topic_term = np.zeros((documents, len(alpha))), np.zeros((len(alpha), terms))
        for token, (term, topic) in enumerate(tokens):
            document_topic[token // length, topic] += 1
            topic_term[topic, term] += 1
        log_probability = dirichlet_multinomial(document_topic, alpha)
        log_probability += dirichlet_multinomial(topic_term, np.full(terms, eta))
        law[by_document(tokens, length)] += float(np.exp(log_probability))
    return law


def dirichlet_multinomial(counts: np.ndarray, prior: np.ndarray) -> float:
    total = gammaln(prior.sum()) - gammaln(counts.sum(axis=1) + prior.sum())
    return float(total.sum() + (gammaln(counts + prior) - gammaln(prior)).sum())


def by_document(tokens: Iterable[tuple[int, int]], length: int) -> tuple[Any, ...]:
    listed = list(tokens)
    return tuple(tuple(sorted(listed[i : i + length])) for i in range(0, len(listed), length))


# -- what all generators share ----------------------------------------------------------------------


@pytest.mark.parametrize("name", GENERATORS)
def test_tokens_and_assignments_are_in_corpus_order(name: str) -> None:
    corpus, truth = (simulated := simulate(name)).corpus, simulated.truth
    rebuilt = Corpus.from_counts(*corpus.triples(), document_count=30, vocabulary=corpus.vocabulary)
    np.testing.assert_array_equal(corpus.documents, rebuilt.documents)
    np.testing.assert_array_equal(corpus.terms, rebuilt.terms)
    assert corpus.documents.dtype == corpus.terms.dtype == truth["assignments"].dtype == np.int32
    assert corpus.name == name
    assert corpus.labels is None
    assert truth["beta"].shape == (truth["topics"], corpus.term_count)
    np.testing.assert_allclose(truth["beta"].sum(axis=1), 1, rtol=1e-12)
    assert truth["assignments"].shape == (corpus.token_count,)
    assert np.all(truth["beta"][truth["assignments"], corpus.terms] > 0)


@pytest.mark.parametrize("name", GENERATORS)
def test_the_seed_decides_every_bit(name: str) -> None:
    first, again, other = simulate(name), simulate(name), simulate(name, seed=2)
    assert first.corpus.fingerprint == again.corpus.fingerprint != other.corpus.fingerprint
    assert first.truth.keys() == again.truth.keys()
    assert all(first.truth[key].tobytes() == again.truth[key].tobytes() for key in first.truth)


@pytest.mark.parametrize("name", GENERATORS)
def test_truth_round_trip(name: str, tmp_path: Path) -> None:
    simulated = simulate(name)
    simulated.save_truth(tmp_path / "truth.npz")
    with np.load(tmp_path / "truth.npz", allow_pickle=False) as archive:
        loaded = dict(archive)
    assert [path.name for path in tmp_path.iterdir()] == ["truth.npz"]
    assert loaded.keys() == simulated.truth.keys()
    for key, values in simulated.truth.items():
        np.testing.assert_array_equal(loaded[key], values, strict=True)


@pytest.mark.parametrize("name", WITH_POISSON)
def test_poisson_lengths(name: str) -> None:
    """Mean and variance are both the parameter (2 checks a generator)."""
    lengths = simulate(name, documents=4000, length=2.5, poisson=True).corpus.document_lengths
    assert mean_p_value(lengths, 2.5) > FALSE_ALARM
    assert mean_p_value((lengths - 2.5) ** 2, 2.5) > FALSE_ALARM
    assert mean_p_value(lengths, 3) < REJECTED
    assert np.any(lengths == 0)


@pytest.mark.parametrize("name", GENERATORS)
def test_fixed_lengths(name: str) -> None:
    assert set(simulate(name, length=7).corpus.document_lengths) == {7}


BAD = [
    *(("lda", argument, value) for argument in ("documents", "terms", "topics") for value in (0, -1, 1.5, "x")),
    *(("lda", argument, value) for argument in ("alpha", "eta") for value in (0, -0.1, np.nan, np.inf, "x")),
    *(("lda", "alpha", value) for value in ([0.1] * 3, [0.1] * 5, [0.1, 0.1, 0.1, 0], [0.1, 0.1, 0.1, np.nan])),
    *(("hdp", argument, value) for argument in ("gamma", "concentration", "eta") for value in (0, np.nan)),
    *(("dp-mixture", argument, value) for argument in ("concentration", "eta") for value in (0, np.inf)),
    *((name, "length", value) for name in GENERATORS for value in (-1, 0, np.nan, 1.5, 1e12)),
    *((name, "documents", 0) for name in GENERATORS),
    ("bars", "side", 0),
    ("bars", "alpha", -1),
    ("overlapping-topics", "topics", 0),
]


@pytest.mark.parametrize(("name", "argument", "value"), BAD)
def test_bad_arguments_are_named(name: str, argument: str, value: Any) -> None:
    with pytest.raises(InputError, match=argument) as raised:
        simulate(name, **{argument: value})
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("length", [-1.0, 0.0, np.nan, np.inf, 1e12])
@pytest.mark.parametrize("name", WITH_POISSON)
def test_bad_poisson_lengths_are_named(name: str, length: float) -> None:
    with pytest.raises(InputError, match="length"):
        simulate(name, length=length, poisson=True)


# -- LDA --------------------------------------------------------------------------------------------


def test_lda_proportions_have_dirichlet_moments() -> None:
    """Means and variances of theta_t and of beta_v: 8 + 2 checks."""
    alpha = np.array([0.05, 0.3, 1.0, 2.0])
    truth = simulate("lda", documents=20_000, length=1, topics=4, alpha=alpha).truth
    total = alpha.sum()
    for topic, mean in enumerate(alpha / total):
        theta = truth["theta"][:, topic]
        assert mean_p_value(theta, mean) > FALSE_ALARM
        assert mean_p_value((theta - mean) ** 2, mean * (1 - mean) / (total + 1)) > FALSE_ALARM
    beta = simulate("lda", documents=1, terms=3, topics=20_000, eta=0.2).truth["beta"][:, 0]
    assert mean_p_value(beta, 1 / 3) > FALSE_ALARM
    assert mean_p_value((beta - 1 / 3) ** 2, (2 / 9) / 1.6) > FALSE_ALARM


def test_lda_tokens_follow_theta_and_beta() -> None:
    """Topics given theta in each document, terms given each topic: 3 + 4 checks."""
    simulated = simulate("lda", documents=3, length=20_000, alpha=2.0, eta=5.0)
    corpus, truth = simulated.corpus, simulated.truth
    for document in range(3):
        topics = np.bincount(truth["assignments"][corpus.documents == document], minlength=4)
        assert frequency_p_value(topics, truth["theta"][document]) > FALSE_ALARM
    for topic in range(4):
        terms = np.bincount(corpus.terms[truth["assignments"] == topic], minlength=12)
        assert frequency_p_value(terms, truth["beta"][topic]) > FALSE_ALARM
        assert frequency_p_value(terms, truth["beta"][topic - 1]) < REJECTED


def test_lda_joint_law_of_terms_and_topics_is_exact() -> None:
    """All 100 outcomes of two documents of two tokens (1 check); a wrong alpha is rejected."""
    rng, alpha = np.random.default_rng(3), np.array([0.4, 1.2])
    draws = []
    for _ in range(5000):
        simulated = simulate_lda(2, 2, 2, 2, alpha, 0.7, rng)
        draws.append(by_document(zip(simulated.corpus.terms, simulated.truth["assignments"], strict=True), 2))
    assert law_p_value(draws, lda_law(2, 2, 2, alpha, 0.7)) > FALSE_ALARM
    assert law_p_value(draws, lda_law(2, 2, 2, 2 * alpha, 0.7)) < REJECTED
    assert law_p_value(draws, lda_law(2, 2, 2, alpha, 1.4)) < REJECTED


@pytest.mark.parametrize("scale", [1e-3, 1e-8, 1e-300])
def test_tiny_parameters_give_finite_rows(scale: float) -> None:
    """Rows sum to one; the topic that takes all is t with probability alpha_t / sum (1 check a scale)."""
    alpha = scale * np.array([1.0, 2.0, 5.0])
    truth = simulate("lda", documents=3000, length=2, topics=3, alpha=alpha, eta=scale).truth
    for rows in (truth["theta"], truth["beta"]):
        assert np.all(np.isfinite(rows))
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-12)
    winners = np.bincount(truth["theta"].argmax(axis=1), minlength=3)
    assert frequency_p_value(winners, np.array([1, 2, 5]) / 8) > FALSE_ALARM


# -- bars and overlapping topics --------------------------------------------------------------------


def test_bars_emit_their_row_or_column_uniformly() -> None:
    """1 check a topic: 10."""
    simulated = simulate_bars(documents=500, rng=np.random.default_rng(4))
    corpus, topics = simulated.corpus, simulated.truth["assignments"]
    assert simulate_bars(rng=np.random.default_rng(4)).corpus.token_count == 2000 * 100
    assert corpus.vocabulary[:6] == ("r0c0", "r0c1", "r0c2", "r0c3", "r0c4", "r1c0")
    row, column = np.divmod(corpus.terms, 5)
    np.testing.assert_array_equal(row[topics < 5], topics[topics < 5])
    np.testing.assert_array_equal(column[topics >= 5], topics[topics >= 5] - 5)
    for topic in range(10):
        along = (column if topic < 5 else row)[topics == topic]
        assert frequency_p_value(np.bincount(along, minlength=5), np.full(5, 0.2)) > FALSE_ALARM


def test_overlapping_topics_emit_nested_words_uniformly() -> None:
    """1 check a topic with at least two words: 9."""
    simulated = simulate_overlapping_topics(length=5000, rng=np.random.default_rng(5))
    assert simulated.corpus.document_count == 4
    assert simulated.corpus.term_count == simulated.truth["topics"] == 10
    for topic in range(10):
        words = 10 - topic
        terms = np.bincount(simulated.corpus.terms[simulated.truth["assignments"] == topic], minlength=10)
        assert not terms[words:].any()
        if words > 1:
            assert frequency_p_value(terms[:words], np.full(words, 1 / words)) > FALSE_ALARM


def test_overlapping_mixtures_are_uniform_on_the_simplex() -> None:
    """P(theta_1 > x) = (1 - x)^(T - 1): 1 check."""
    theta = simulate("overlapping-topics", documents=5000, length=1, topics=4).truth["theta"][:, 0]
    assert frequency_p_value(np.histogram((1 - theta) ** 3, 20, (0, 1))[0], np.full(20, 0.05)) > FALSE_ALARM


# -- HDP --------------------------------------------------------------------------------------------


def test_franchise_bookkeeping() -> None:
    corpus, truth = (simulated := simulate("hdp", poisson=True)).corpus, simulated.truth
    served = set(zip(corpus.documents, truth["tables"], truth["assignments"], strict=True))
    tables = {(document, table) for document, table, _ in served}
    assert len(served) == len(tables)  # one dish a table
    for document in range(corpus.document_count):
        own = truth["tables"][corpus.documents == document]
        assert set(own) == set(range(len(set(own))))
    recount = np.bincount([dish for *_, dish in served], minlength=int(truth["topics"]))
    np.testing.assert_array_equal(truth["topic_tables"], recount)


def test_franchise_numbers_by_first_appearance() -> None:
    """With a single term the tokens stay in the order of the franchise."""
    truth = simulate("hdp", terms=1).truth
    assert tuple(truth["assignments"]) == by_first_appearance(truth["assignments"])
    assert tuple(truth["tables"][:20]) == by_first_appearance(truth["tables"][:20])


@pytest.mark.parametrize("concentration", [0.3, 4.0])
def test_franchise_tables_of_a_document(concentration: float) -> None:
    """Mean sum a / (a + i), and the whole law of the number of tables: 2 checks a concentration."""
    simulated = simulate("hdp", documents=5000, length=8, concentration=concentration)
    counts = simulated.truth["tables"].reshape(5000, 8).max(axis=1) + 1
    expected = float(np.sum(concentration / (concentration + np.arange(8))))
    assert mean_p_value(counts, expected) > FALSE_ALARM
    law = table_count_law(8, concentration)
    assert law @ np.arange(9) == pytest.approx(expected)
    assert frequency_p_value(np.bincount(counts, minlength=9)[1:], law[1:]) > FALSE_ALARM
    wrong = table_count_law(8, 1.5 * concentration)
    assert frequency_p_value(np.bincount(counts, minlength=9)[1:], wrong[1:]) < REJECTED


def test_franchise_partition_of_tokens_is_exact() -> None:
    """All 15 partitions of two documents of two tokens into dishes (1 check); wrong laws are rejected."""
    rng = np.random.default_rng(6)
    draws = [tuple(simulate_hdp(2, 2, 1, 1.5, 0.8, 1.0, rng).truth["assignments"]) for _ in range(4000)]
    assert law_p_value(draws, franchise_law(2, 2, 1.5, 0.8)) > FALSE_ALARM
    assert law_p_value(draws, franchise_law(2, 2, 0.8, 1.5)) < REJECTED  # the two levels swapped
    assert law_p_value(draws, restaurant_law(4, 1.5)) < REJECTED  # one level forgotten


def test_franchise_number_of_topics() -> None:
    """Three documents of six tokens: the law of the number of dishes, and its mean (2 checks)."""
    rng, gamma, concentration = np.random.default_rng(7), 2.0, 1.0
    draws = np.array([simulate_hdp(3, 6, 2, gamma, concentration, 1.0, rng).truth["topics"] for _ in range(2000)])
    one = table_count_law(6, concentration)
    tables = np.convolve(np.convolve(one, one), one)
    law = sum(probability * np.pad(table_count_law(m, gamma), (0, 18 - m)) for m, probability in enumerate(tables))
    assert mean_p_value(draws, float(law @ np.arange(19))) > FALSE_ALARM
    assert frequency_p_value(np.bincount(draws, minlength=19), law) > FALSE_ALARM


# -- DP mixture -------------------------------------------------------------------------------------


def test_mixture_has_one_component_a_document() -> None:
    """Terms given the largest component follow its beta (1 check)."""
    corpus, truth = (simulated := simulate("dp-mixture", documents=200, eta=3.0)).corpus, simulated.truth
    np.testing.assert_array_equal(truth["assignments"], truth["components"][corpus.documents])
    assert tuple(truth["components"]) == by_first_appearance(truth["components"])
    largest = np.bincount(truth["components"]).argmax()
    terms = np.bincount(corpus.terms[truth["assignments"] == largest], minlength=12)
    assert frequency_p_value(terms, truth["beta"][largest]) > FALSE_ALARM


def test_mixture_number_of_components() -> None:
    """Mean sum a / (a + i) over 30 documents (1 check)."""
    rng = np.random.default_rng(8)
    draws = np.array([simulate_dp_mixture(30, 1, 2, 2.0, 1.0, rng).truth["topics"] for _ in range(2000)])
    assert mean_p_value(draws, np.sum(2 / (2 + np.arange(30)))) > FALSE_ALARM
    assert mean_p_value(draws, np.sum(3 / (3 + np.arange(30)))) < REJECTED


def test_mixture_partition_of_documents_is_exact() -> None:
    """All 15 partitions of four documents (1 check); a wrong concentration is rejected."""
    rng = np.random.default_rng(9)
    draws = [tuple(simulate_dp_mixture(4, 1, 2, 1.3, 1.0, rng).truth["components"]) for _ in range(4000)]
    assert law_p_value(draws, restaurant_law(4, 1.3)) > FALSE_ALARM
    assert law_p_value(draws, restaurant_law(4, 1.8)) < REJECTED
