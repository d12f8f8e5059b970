"""Document completion: the split, the probabilities, the exact answer by enumeration, and its Monte Carlo error."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2
from scipy.stats import t as student

import oracle
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.lda import SAMPLERS
from bayestopics.lda.density import document_topic_mean, topic_term_mean
from bayestopics.lda.state import Prior, State, from_assignments
from bayestopics.predict import completion
from bayestopics.predict.completion import BATCHES, Completion, CompletionScore, score, split
from dying import Dying, resumed

FALSE_ALARM = 1e-4  # of each statistical assertion, over seeds


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return simulate_lda(12, 9, 10, 3, 0.3, 0.2, np.random.default_rng(1), poisson=True).corpus


# -- split ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("documents", [1, 5, 12])
def test_split_holds_out_half_of_the_words_of_the_last_documents(corpus: Corpus, documents: int) -> None:
    training, heldout = split(corpus, documents, np.random.default_rng(2))
    expected = corpus.document_lengths // 2
    expected[:-documents] = 0
    assert_array_equal(heldout.document_lengths, expected)
    assert_array_equal((training.counts + heldout.counts).toarray(), corpus.counts.toarray())
    assert training.vocabulary == heldout.vocabulary == corpus.vocabulary


def test_every_word_of_a_document_is_held_out_equally_often() -> None:
    """Document 1 is 0, 1, ..., 6: each of 7 words in 3 of 7 splits; 5 standard deviations of a binomial: 4e-6."""
    corpus = oracle.tiny_corpus([[0], list(range(7))], 7)
    rng, splits = np.random.default_rng(3), 2000
    counts = np.bincount(np.concatenate([split(corpus, 1, rng)[1].terms for _ in range(splits)]), minlength=7)
    assert np.all(np.abs(counts / splits - 3 / 7) < 5 * np.sqrt(3 / 7 * 4 / 7 / splits))


def test_empty_documents_and_single_words_lose_nothing() -> None:
    corpus = oracle.tiny_corpus([[0, 1, 1], [2], [], [0, 2]], 3)
    training, heldout = split(corpus, 3, np.random.default_rng(4))
    assert heldout.document_lengths.tolist() == [0, 0, 0, 1]
    assert training.document_lengths.tolist() == [3, 1, 0, 1]


@pytest.mark.parametrize("documents", [0, 5, -1])
def test_impossible_splits_are_refused(documents: int) -> None:
    with pytest.raises(InputError, match="cannot hold out"):
        split(oracle.tiny_corpus([[0, 1], [1], [], [0]], 2), documents, np.random.default_rng(5))
    with pytest.raises(InputError, match="none has a word to hold out"):
        split(oracle.tiny_corpus([[0, 1], [1], [], [0]], 2), 3, np.random.default_rng(5))


# -- probabilities ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def halves(corpus: Corpus) -> tuple[Corpus, Corpus]:
    return split(corpus, 8, np.random.default_rng(6))


def random_state(training: Corpus, seed: int) -> State:
    z = np.random.default_rng(seed).integers(3, size=training.token_count)
    return from_assignments(training, 3, Prior((0.1, 0.5, 2.0), 0.3), z)


def test_probabilities_are_theta_times_phi(halves: tuple[Corpus, Corpus]) -> None:
    training, heldout = halves
    state = random_state(training, 7)
    result = Completion(heldout)
    result.add(state)
    dense = document_topic_mean(state) @ topic_term_mean(state)
    rows, columns = heldout.counts.nonzero()
    assert_allclose(result.probabilities(), dense[rows, columns], rtol=1e-13)  # a sum of three products
    by_token = np.log(dense[heldout.documents, heldout.terms])
    assert_allclose(result.log_score(), by_token.mean(), rtol=1e-13)


def test_probabilities_are_averaged_before_the_log(halves: tuple[Corpus, Corpus]) -> None:
    training, heldout = halves
    states = [random_state(training, seed) for seed in (8, 9, 10)]
    dense = np.mean([document_topic_mean(state) @ topic_term_mean(state) for state in states], axis=0)
    result = Completion(heldout)
    for state in states:
        result.add(state)
    assert_allclose(result.log_score(), np.log(dense[heldout.documents, heldout.terms]).mean(), rtol=1e-13)
    result.reset()
    result.add(states[0])
    alone = Completion(heldout)
    alone.add(states[0])
    assert result.log_score() == alone.log_score()


def test_names_of_topics_mean_nothing(halves: tuple[Corpus, Corpus]) -> None:
    training, heldout = halves
    z, results = random_state(training, 11).assignments, []
    for topic, alpha in [((0, 1, 2), (0.1, 0.5, 2.0)), ((1, 2, 0), (2.0, 0.1, 0.5))]:
        results.append(Completion(heldout))
        results[-1].add(from_assignments(training, 3, Prior(alpha, 0.3), np.array(topic)[z]))
    assert_allclose(*(result.probabilities() for result in results), rtol=1e-13)


def test_the_bits_do_not_depend_on_the_number_of_threads() -> None:
    """A BLAS product of 200,000 numbers is split between threads, and rounds accordingly."""
    program = """
import numpy as np
from bayestopics.corpus.corpus import Corpus
from bayestopics.predict.completion import Completion
n = 200_000
heldout = Corpus.from_counts(np.arange(n), np.zeros(n, int), np.arange(n) % 3 + 1, document_count=n, term_count=1)
result = Completion(heldout)
result.total, result.states = np.random.default_rng(1).random(n), 1
print(result.log_score().hex())
"""
    outputs = set()
    for threads in ("1", "2"):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": threads}
        command = [sys.executable, "-c", program]
        outputs.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert len(outputs) == 1


# -- the exact score --------------------------------------------------------------------------------


def run(
    corpus: Corpus, topics: int, prior: Prior, sweeps: int, seed: int, sampler: str = "single-site"
) -> CompletionScore:
    rng = np.random.default_rng(seed)
    return score(corpus, topics, prior, sampler=sampler, sweeps=sweeps, burn_in=30, documents=2, rng=rng)


def test_one_topic_has_a_closed_form(corpus: Corpus) -> None:
    """T = 1: phi_v = (n_v + eta) / (N + V eta), the same at every sweep."""
    training, heldout = split(corpus, 2, np.random.default_rng(12))
    phi = (training.counts.sum(axis=0) + 0.2) / (training.token_count + corpus.term_count * 0.2)
    result = run(corpus, 1, Prior(0.5, 0.2), sweeps=7, seed=12)
    assert_allclose(result.log_score, np.log(phi[heldout.terms]).mean(), rtol=1e-13)
    assert_allclose(result.perplexity, np.exp(-result.log_score), rtol=1e-15)
    assert result.heldout_tokens == heldout.token_count
    assert result.standard_error == pytest.approx(0.0, abs=1e-15)


def test_perplexity_of_the_uniform_model_is_the_size_of_the_vocabulary() -> None:
    """Every term as often as the others in training, one topic: phi = 1 / V."""
    training, heldout = oracle.tiny_corpus([[0, 1, 2, 3, 4]], 5), oracle.tiny_corpus([[0, 0, 3]], 5)
    result = Completion(heldout)
    result.add(from_assignments(training, 1, Prior(0.5, 0.2), np.zeros(5)))
    assert_allclose(np.exp(-result.log_score()), 5.0, rtol=1e-14)


TINY = oracle.tiny_corpus([[0, 0, 1], [1, 2, 2], [0, 1, 1, 2]], 3)
TINY_PRIOR = Prior((0.3, 0.8), 0.2)


def exact_log_score(training: Corpus, heldout: Corpus) -> float:
    """The posterior mean of theta phi is the predictive probability m(w, v) / m(w) of one more word v."""
    evidence = oracle.enumerate_all(training, 2, TINY_PRIOR).log_evidence
    logs = []
    for d, v in zip(heldout.documents, heldout.terms, strict=True):
        documents, terms = np.append(training.documents, d), np.append(training.terms, v)
        longer = Corpus(documents, terms, training.document_count, training.vocabulary)
        logs.append(oracle.enumerate_all(longer, 2, TINY_PRIOR).log_evidence - evidence)
    return float(np.mean(logs))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_score_is_right_within_its_error(sampler: str) -> None:
    exact = exact_log_score(*split(TINY, 2, np.random.default_rng(13)))
    result = run(TINY, 2, TINY_PRIOR, sweeps=20_000, seed=13, sampler=sampler)
    assert result.standard_error is not None
    assert 0 < result.standard_error < 0.01  # short of this the comparison says little
    assert abs(result.log_score - exact) < student.isf(FALSE_ALARM / 2, BATCHES - 1) * result.standard_error


@pytest.mark.parametrize(("sweeps", "too_small"), [(4000, 1.0), (100, 1.4)])
def test_standard_error_is_the_scatter_of_runs(monkeypatch: pytest.MonkeyPatch, sweeps: int, too_small: float) -> None:
    """40 runs on one split: their scatter over the reported error, within the chi-square range of a scatter.

    With 100 sweeps a batch is 5 sweeps, shorter than the chain's memory: the error is too small by 1.4 here (measured
    over 200 runs; 1.2 with 400 sweeps, 1.1 with 1,000), as batch means are. Users of short runs should know.
    """
    halves = split(TINY, 2, np.random.default_rng(13))
    monkeypatch.setattr(completion, "split", lambda *_: halves)
    results = [run(TINY, 2, TINY_PRIOR, sweeps, seed) for seed in range(40)]
    scatter = np.std([result.log_score for result in results], ddof=1)
    reported = np.sqrt(np.mean([result.standard_error**2 for result in results]))
    low, high = np.sqrt(chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 39) / 39)
    assert too_small * low < scatter / reported < too_small * high


def test_a_single_sweep_has_no_standard_error() -> None:
    assert run(TINY, 2, TINY_PRIOR, sweeps=1, seed=14).standard_error is None


@pytest.mark.parametrize("sampler", ["single-site", "grouped"])
def test_a_killed_score_goes_on_where_it_was(corpus: Corpus, sampler: str) -> None:
    def run(checkpoint: Dying | None) -> CompletionScore:
        rng = np.random.default_rng(5)
        work: dict[str, Any] = {"sampler": sampler, "sweeps": 30, "burn_in": 10}
        return score(corpus, 3, Prior(), documents=2, rng=rng, checkpoint=checkpoint, **work)

    whole = run(None)
    for again in resumed(run):
        assert again == whole


def test_documents_and_batches_add_up_to_the_score(corpus: Corpus) -> None:
    found = score(corpus, 2, Prior(0.3, 0.2), sweeps=45, burn_in=5, rng=np.random.default_rng(3), documents=4)
    heldout, batches = found.heldout, found.batches
    assert len(set(heldout["document"])) == len(heldout["document"]) <= 4
    assert sum(heldout["tokens"]) == found.heldout_tokens
    assert sum(heldout["log_probability"]) == pytest.approx(found.log_score * found.heldout_tokens)
    assert sum(batches["sweeps"]) == 45
    assert batches["first_sweep"] == [sum(batches["sweeps"][:number]) for number in range(BATCHES)]
    assert np.mean(batches["log_score"]) != found.log_score  # the batches are not of the same length
    assert np.average(batches["log_score"], weights=batches["sweeps"]) == pytest.approx(found.log_score)
    assert np.std(batches["log_score"], ddof=1) / np.sqrt(BATCHES) == pytest.approx(found.standard_error)
