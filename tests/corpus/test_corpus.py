"""The corpus type: what goes in, what comes out, what can never change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sparse

from bayestopics.base.problems import InputError
from bayestopics.corpus import Corpus
from bayestopics.corpus.corpus import MOST_DOCUMENTS, MOST_UNNAMED_TERMS

# five documents, the first, the third and the last of them empty; the term "unused" occurs nowhere
DENSE = np.array([[0, 0, 0], [2, 0, 1], [0, 0, 0], [0, 0, 3], [0, 0, 0]])
VOCABULARY = ("apple", "unused", "Öl")
TRIPLES = ([1, 1, 3], [0, 2, 2], [2, 1, 3])


def from_triples(documents: list[int], terms: list[int], counts: list[int], **options: Any) -> Corpus:
    options = {"document_count": 5, "vocabulary": VOCABULARY} | options
    return Corpus.from_counts(np.array(documents), np.array(terms), np.array(counts), **options)


def example(**options: Any) -> Corpus:
    return from_triples(*TRIPLES, **options)


BAGS = [[], [(0, 2), (2, 1)], [], [(2, 3)], []]
WAYS: dict[str, Callable[[], Corpus]] = {
    "dense": lambda: Corpus.from_sparse(DENSE, VOCABULARY),
    "csr_matrix": lambda: Corpus.from_sparse(sparse.csr_matrix(DENSE), VOCABULARY),
    "csc_array": lambda: Corpus.from_sparse(sparse.csc_array(DENSE), VOCABULARY),
    "coo_array": lambda: Corpus.from_sparse(sparse.coo_array(DENSE), VOCABULARY),
    "whole floats": lambda: Corpus.from_sparse(sparse.csr_array(DENSE.astype(float)), VOCABULARY),
    "small unsigned": lambda: Corpus.from_sparse(sparse.csr_array(DENSE.astype(np.uint8)), np.array(VOCABULARY)),
    "gensim": lambda: Corpus.from_gensim(BAGS, dict(enumerate(VOCABULARY))),
    "gensim generator": lambda: Corpus.from_gensim((iter(bag) for bag in BAGS), list(VOCABULARY)),
    "gensim floats": lambda: Corpus.from_gensim([[(t, float(n)) for t, n in bag] for bag in BAGS], VOCABULARY),
    "other order": lambda: from_triples([3, 1, 1], [2, 2, 0], [3, 1, 2]),
    "repeated pairs": lambda: from_triples([1, 3, 1, 1, 3], [0, 2, 2, 0, 2], [1, 1, 1, 1, 2]),
    "zero counts": lambda: from_triples([1, 1, 0, 1, 3], [0, 2, 1, 1, 2], [2, 1, 0, 0, 3]),
    "labels and name": lambda: example(labels="abcde", name="other"),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_gives_the_same_corpus(way: str) -> None:
    corpus = WAYS[way]()
    assert corpus.fingerprint == example().fingerprint
    assert corpus.documents.tolist() == [1, 1, 1, 3, 3, 3]
    assert corpus.terms.tolist() == [0, 0, 2, 2, 2, 2]
    assert (corpus.documents.dtype, corpus.terms.dtype) == (np.int32, np.int32)


def test_counts_and_sizes() -> None:
    corpus = example()
    assert corpus.summary() == {
        "documents": 5,
        "terms": 3,
        "tokens": 6,
        "nonzeros": 3,
        "empty_documents": 3,
        "fingerprint": corpus.fingerprint,
    }
    assert corpus.document_lengths.tolist() == [0, 3, 0, 3, 0]
    assert corpus.document_offsets.tolist() == [0, 0, 3, 3, 6, 6]
    assert corpus.counts.format == "csr"
    assert corpus.counts.has_sorted_indices
    assert corpus.counts.toarray().tolist() == DENSE.tolist()
    assert [array.tolist() for array in corpus.triples()] == [list(column) for column in TRIPLES]


def test_offsets_delimit_the_documents() -> None:
    rng = np.random.default_rng(1)
    dense = rng.poisson(0.3, (30, 20))
    corpus = Corpus.from_sparse(dense)
    for d in range(30):
        tokens = slice(corpus.document_offsets[d], corpus.document_offsets[d + 1])
        assert set(corpus.documents[tokens]) <= {d}
        assert np.bincount(corpus.terms[tokens], minlength=20).tolist() == dense[d].tolist()


def test_nothing_can_be_changed() -> None:
    corpus = example()
    before = corpus.fingerprint
    with pytest.raises(FrozenInstanceError):
        corpus.document_count = 7  # type: ignore[misc]
    counts = corpus.counts
    arrays = (corpus.documents, corpus.terms, corpus.document_lengths, corpus.document_offsets)
    for array in (*arrays, counts.data, counts.indices, counts.indptr):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert (counts.T @ counts).shape == (3, 3)  # and scipy can work with it
    assert Corpus.from_sparse(counts, VOCABULARY).fingerprint == before


def test_the_callers_arrays_stay_theirs() -> None:
    documents, terms, counts = map(np.array, TRIPLES)
    corpus = Corpus.from_counts(documents, terms, counts, document_count=5, vocabulary=VOCABULARY)
    documents[0], terms[0], counts[0] = 3, 1, 9
    assert corpus.fingerprint == example().fingerprint


def test_fingerprint_of_one_corpus() -> None:
    # if this fails on purpose: raise FINGERPRINT_VERSION, and renew config/corpora.yaml
    assert example().fingerprint == "c08bd567930a0da437a977236fb84d31e0ac4804b5118997c22d2117b25255a7"


@pytest.mark.parametrize(
    "other",
    [
        {"vocabulary": ("apple", "unused", "Ol")},
        {"vocabulary": ("unused", "apple", "Öl")},
        {"vocabulary": (*VOCABULARY, "more")},
        {"vocabulary": ("app", "leunused", "Öl")},
        {"document_count": 6},
        {"triples": ([1, 1, 3], [0, 2, 2], [2, 1, 4])},
        {"triples": ([1, 1, 3], [0, 1, 2], [2, 1, 3])},
        {"triples": ([3, 3, 1], [0, 2, 2], [2, 1, 3])},
        {"triples": ([0, 0, 3], [0, 2, 2], [2, 1, 3])},
    ],
    ids=repr,
)
def test_fingerprint_changes(other: dict[str, Any]) -> None:
    options = {key: value for key, value in other.items() if key != "triples"}
    assert from_triples(*other.get("triples", TRIPLES), **options).fingerprint != example().fingerprint


def test_names_of_terms_are_made_up_where_there_are_none() -> None:
    assert Corpus.from_sparse(DENSE).vocabulary == ("0", "1", "2")
    assert Corpus.from_gensim(BAGS).vocabulary == ("0", "1", "2")
    assert example(vocabulary=None).vocabulary == ("0", "1", "2")
    assert example(vocabulary=None, term_count=4).vocabulary == ("0", "1", "2", "3")


TERMS = {"whale": 2, "owl": 0, "tree": 1}  # in the order in which a vectorizer met them


@pytest.mark.parametrize(
    "vocabulary",
    [
        TERMS,
        {term: np.int64(column) for term, column in TERMS.items()},
        {column: term for term, column in TERMS.items()},
        SimpleNamespace(get_feature_names_out=lambda: np.array(["owl", "tree", "whale"], dtype=object)),
        np.array(["owl", "tree", "whale"]),
        pd.Index(["owl", "tree", "whale"]),
    ],
)
def test_vocabulary_of_a_vectorizer(vocabulary: Any) -> None:
    assert Corpus.from_sparse([[2, 1, 0], [0, 1, 3]], vocabulary).vocabulary == ("owl", "tree", "whale")


def test_columns_of_a_table_of_counts_are_terms() -> None:
    table = pd.DataFrame([[2, 1], [0, 3]], columns=["owl", "tree"])
    assert Corpus.from_sparse(table).vocabulary == ("owl", "tree")


@pytest.mark.parametrize(
    ("vocabulary", "fault"),
    [
        ({"owl": 0, "tree": 2}, "does not number its 2 terms from 0"),
        ({"owl": 0, "tree": 0}, "does not number its 2 terms from 0"),
        ({0: "owl", 1: "owl"}, "does not number its 2 terms from 0"),
        ({"owl", "tree"}, "the vocabulary is a set, which has no order"),
        ("ab", "the vocabulary is a str"),
    ],
)
def test_vocabulary_that_is_not_one(vocabulary: Any, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        Corpus.from_sparse([[2, 1], [0, 1]], vocabulary)


def test_labels_and_vocabulary_become_strings() -> None:
    corpus = Corpus.from_sparse(DENSE, vocabulary=np.array([7, 8, 9]), labels=[0, 1, 0, 1, 1])
    assert (corpus.vocabulary, corpus.labels) == (("7", "8", "9"), ("0", "1", "0", "1", "1"))


def test_selected_tokens_keep_documents_and_terms() -> None:
    part = example(labels="abcde").select_tokens(np.array([True, False, False, False, True, True]), name="part")
    assert part.counts.toarray().tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 2], [0, 0, 0]]
    assert (part.vocabulary, part.labels, part.name) == (VOCABULARY, tuple("abcde"), "part")


BAD: dict[str, tuple[Callable[[], Corpus], str]] = {
    "negative": (lambda: from_triples([1], [0], [-2]), "negative count -2"),
    "term": (lambda: from_triples([1], [3], [1]), "term id 3 is outside the vocabulary of 3 terms"),
    "negative term": (lambda: from_triples([1], [-1], [1]), "term id -1 is outside"),
    "document": (lambda: from_triples([5], [0], [1]), "document id 5 is outside the 5 documents"),
    "no tokens": (lambda: from_triples([1], [0], [0]), "empty"),
    "no triples": (lambda: Corpus.from_gensim([[], []]), "empty"),
    "no documents": (lambda: Corpus.from_gensim([]), "empty"),
    "labels": (lambda: example(labels="abc"), "3 labels for 5 documents"),
    "too many tokens": (
        lambda: from_triples([1, 1], [0, 1], [2**30, 2**30]),
        r"too many tokens \(at most 2147483647\)",
    ),
    "sum overflows": (lambda: from_triples([1, 1], [0, 1], [2**62, 2**62]), r"too many tokens \(at most 2147483647\)"),
    "too many documents": (lambda: example(document_count=MOST_DOCUMENTS + 1), "documents are too many"),
    "hashed ids": (lambda: from_triples([1], [MOST_UNNAMED_TERMS], [1], vocabulary=None), "without a vocabulary"),
    "columns": (lambda: Corpus.from_sparse(DENSE, VOCABULARY[:2]), "2 terms, but the matrix has 3 columns"),
    "fraction": (lambda: Corpus.from_sparse(DENSE / 2), "not whole numbers"),
    "nan": (lambda: Corpus.from_sparse(np.full((2, 2), np.nan)), "not whole numbers"),
    "infinity": (lambda: Corpus.from_sparse(np.full((2, 2), np.inf)), "not whole numbers"),
    "gensim fraction": (lambda: Corpus.from_gensim([[(0, 0.5)]]), "not whole numbers"),
    "gensim nan": (lambda: Corpus.from_gensim([[(0, np.nan)]]), "not whole numbers"),
    "gensim infinity": (lambda: Corpus.from_gensim([[(0, np.inf)]]), "not whole numbers"),
    "gensim id": (lambda: Corpus.from_gensim([[(2, 1)]], ["a", "b"]), "term id 2 is outside"),
    "gensim gap": (lambda: Corpus.from_gensim([[(0, 1)]], {0: "a", 2: "c"}), "no word for id 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_counts(case: str) -> None:
    build, fault = BAD[case]
    with pytest.raises(InputError, match=fault):
        build()
