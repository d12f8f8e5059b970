"""The corpus type that all methods use: immutable and in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sparse

from bayestopics.base.limits import insist
from bayestopics.base.problems import InputError
from bayestopics.base.wording import is_no_text, quoted
from bayestopics.corpus.columns import documents_of
from bayestopics.corpus.text import Pruning, count_terms, language_note, script_note

FINGERPRINT_VERSION = b"bayestopics corpus 1"
STEP = 200_000  # tokens, or one document: all counts at once would take much memory
MOST_TOKENS = np.iinfo(np.int32).max
MOST_DOCUMENTS = 100_000_000
MOST_UNNAMED_TERMS = 10_000_000
# beyond these numbers, documents and unnamed terms must not be more than the counts of the corpus, and tokens not more
# than MOST_PER_COUNT times as many: more are a damaged header, ids in place of counts, or hashed ids
FREE_DOCUMENTS = 1_000_000
FREE_TERMS = 2_000_000  # scikit-learn hashes words to 2**20 = 1,048,576 columns
FREE_TOKENS, MOST_PER_COUNT = 10_000_000, 1000
EXCERPT = 400  # characters of each text that stay with the corpus


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents as bags of words. Build one with `read_corpus`, `from_texts`, `from_sparse`, `from_gensim` or
    `from_counts`.

    Tokens are sorted by document and, within a document, by term; their order carries no information. A corpus does
    not change after it is built.

    Attributes
    ----------
    documents, terms : array of int32, one entry per token
        The document and the term of each token, both numbered from 0.
    document_count : int
        The number of documents, including empty ones.
    vocabulary : tuple of str
        The terms.
    labels : tuple of str, optional
        One label per document, where known.
    name : str
        The name of the corpus in messages and records.
    metadata : pandas DataFrame, optional
        What else is known about the documents, one row per document. It is not part of the fingerprint.
    notes : tuple of str
        What was decided while texts were read, such as which terms were dropped. The commands print it.
    excerpts : tuple of str, optional
        The beginnings of the documents, if the corpus was built from texts. Files of `write_corpus` do not hold them.

    Examples
    --------
    >>> from bayestopics import Corpus
    >>> corpus = Corpus.from_sparse([[2, 1, 0], [0, 1, 3]], ["owl", "tree", "whale"])
    >>> corpus.document_count, corpus.term_count, corpus.token_count
    (2, 3, 7)
    >>> corpus.terms.tolist()
    [0, 0, 1, 1, 2, 2, 2]
    >>> corpus.counts.toarray().tolist()
    [[2, 1, 0], [0, 1, 3]]
    """

    documents: np.ndarray  # int32[N]
    terms: np.ndarray  # int32[N]
    document_count: int
    vocabulary: tuple[str, ...]
    labels: tuple[str, ...] | None = None
    name: str = field(default="corpus", compare=False)
    metadata: pd.DataFrame | None = field(default=None, repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    excerpts: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _freeze(self.documents, self.terms)

    # -- building -------------------------------------------------------------------------------

    @classmethod
    def from_counts(
        cls,
        documents: np.ndarray,
        terms: np.ndarray,
        counts: np.ndarray,
        *,
        document_count: int,
        vocabulary: Sequence[str] | None = None,
        term_count: int | None = None,
        labels: Sequence[str] | None = None,
        name: str = "corpus",
    ) -> Corpus:
        """Build a corpus from (document, term, count) triples in any order. Counts of repeated pairs are added.

        >>> Corpus.from_counts([0, 1, 0], [1, 0, 1], [1, 3, 1], document_count=2).counts.toarray().tolist()
        [[0, 2], [3, 0]]
        """
        documents, terms, counts = (whole_numbers(values, name) for values in (documents, terms, counts))
        if vocabulary is None:
            if term_count is None:
                term_count = int(terms.max()) + 1 if len(terms) else 0
            _insist_on_terms(name, term_count, len(counts))
            vocabulary = [str(term) for term in range(term_count)]
        _check_triples(documents, terms, counts, document_count, len(vocabulary), name)
        check_texts(vocabulary, "term", name)
        if labels is not None:
            if len(labels) != document_count:
                raise InputError(f"{name}: {len(labels)} labels for {document_count} documents")
            check_texts(labels, "label", name)
        if not _in_order(documents, terms):
            order = np.lexsort((terms, documents))
            documents, terms, counts = documents[order], terms[order], counts[order]
        return cls(
            documents=np.repeat(documents.astype(np.int32), counts),
            terms=np.repeat(terms.astype(np.int32), counts),
            document_count=int(document_count),
            vocabulary=tuple(map(str, vocabulary)),
            labels=None if labels is None else tuple(map(str, labels)),
            name=name,
        )

    @classmethod
    def from_tokens(
        cls,
        lengths: np.ndarray,
        terms: np.ndarray,
        counts: int,
        *,
        vocabulary: Sequence[str] | None,
        term_count: int,
        name: str,
    ) -> Corpus:
        """Build a corpus from sound tokens in their order, without a copy; they come from so many `counts`."""
        insist_on_documents(name, len(lengths), counts)
        if vocabulary is None:
            _insist_on_terms(name, term_count, counts)
            vocabulary = [str(term) for term in range(term_count)]
        check_texts(vocabulary, "term", name)
        documents = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        return cls(documents, terms, len(lengths), tuple(vocabulary), name=name)

    @classmethod
    def from_texts(
        cls,
        texts: Any,
        text_column: str | None = None,
        *,
        pruning: Pruning | None = None,
        labels: Sequence[str] | None = None,
        name: str = "corpus",
    ) -> Corpus:
        """Build a corpus from texts: a list of strings, a pandas Series, or a DataFrame with one document per row.

        The texts of a DataFrame are in the column `text_column`; by default, in the column ``text`` or the only one
        that holds texts. The other columns become the `metadata`, and a column ``label`` the labels.

        >>> corpus = Corpus.from_texts(["The owl hunts mice.", "The whale sings to the whales."])
        >>> corpus.vocabulary
        ('hunts', 'mice', 'owl', 'sings', 'whale', 'whales')
        """
        pruning = pruning or Pruning()
        found = documents_of(texts, text_column, name, any_kind=pruning.tokenizer is not None)
        if not found.texts:
            raise InputError(f"{name}: the corpus is empty (0 documents)")
        of_script = script_note(found.texts, pruning, name)
        counts, vocabulary, note = count_terms(found.texts, pruning, name)
        corpus = cls.from_sparse(counts, vocabulary, found.labels if labels is None else labels, name)
        said = [one for one in (note, of_script, language_note(found.texts, pruning.stop_words, name)) if one]
        excerpts = tuple(map(_excerpt, found.texts))
        return replace(corpus, metadata=found.metadata, notes=(*found.notes, *said), excerpts=excerpts)

    @classmethod
    def from_sparse(
        cls,
        matrix: Any,
        vocabulary: Any = None,
        labels: Sequence[str] | None = None,
        name: str = "corpus",
    ) -> Corpus:
        """Build a corpus from a documents x terms matrix of counts, dense or sparse.

        A sparse matrix is one of scipy's, such as the result of scikit-learn's CountVectorizer. The vocabulary is a
        list of terms, the fitted vectorizer itself, or its `vocabulary_`, a dictionary from each term to its column.
        The columns of a DataFrame are its terms.

        >>> Corpus.from_sparse([[2, 0], [1, 1]]).document_lengths.tolist()
        [2, 2]
        >>> Corpus.from_sparse([[2, 0], [1, 1]], {"whale": 1, "owl": 0}).vocabulary
        ('owl', 'whale')
        """
        if vocabulary is None and isinstance(matrix, pd.DataFrame):
            vocabulary = list(matrix.columns)
        if vocabulary is not None:
            vocabulary = _term_list(vocabulary, name)
        try:
            if hasattr(matrix, "check_format"):  # scipy's conversions read outside of the arrays if an index is wrong
                matrix.check_format(full_check=True)
            if sparse.issparse(matrix):
                _check_shape(matrix, vocabulary, name)
            coordinates = sparse.coo_array(matrix)
            documents, terms = coordinates.shape
        except InputError:
            raise
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            said = " ".join(str(error).split())
            raise InputError(f"{name}: not a matrix of documents x terms ({said})") from None
        _check_columns(terms, vocabulary, name)
        rows, columns = coordinates.coords
        return cls.from_counts(
            rows,
            columns,
            coordinates.data,
            document_count=documents,
            vocabulary=vocabulary,
            term_count=terms,
            labels=labels,
            name=name,
        )

    @classmethod
    def from_gensim(
        cls,
        bags: Iterable[Iterable[tuple[int, int]]],
        id2word: Any = None,
        labels: Sequence[str] | None = None,
        name: str = "corpus",
    ) -> Corpus:
        """Build a corpus from gensim's bags of words (lists of (term id, count)) and, optionally, its dictionary."""
        bags = list(bags)
        try:
            pairs = [(document, term, count) for document, bag in enumerate(bags) for term, count in bag]
            triples = np.asarray(pairs, dtype=np.float64).reshape(-1, 3).T
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{name}: the bags are not lists of (term id, count) ({error})") from None
        try:
            vocabulary = None if id2word is None else [id2word[term] for term in range(len(id2word))]
        except KeyError as error:
            raise InputError(f"{name}: the dictionary has no word for id {error}; call its compactify()") from None
        return cls.from_counts(*triples, document_count=len(bags), vocabulary=vocabulary, labels=labels, name=name)

    # -- sizes ----------------------------------------------------------------------------------

    @property
    def term_count(self) -> int:
        return len(self.vocabulary)

    @property
    def token_count(self) -> int:
        return len(self.terms)

    @property
    def nonzero_count(self) -> int:
        return sum(len(counts) for _, _, counts in self.counted())

    @property
    def empty_documents(self) -> int:
        return int(np.sum(self.document_lengths == 0))

    @cached_property
    def document_lengths(self) -> np.ndarray:
        lengths = np.diff(self.document_offsets)
        _freeze(lengths)
        return lengths

    @cached_property
    def document_offsets(self) -> np.ndarray:
        """int64[D + 1]: the tokens of document d are offsets[d] .. offsets[d + 1] - 1."""
        # numbers of the type of the documents, which would be copied otherwise
        offsets = np.searchsorted(self.documents, np.arange(self.document_count + 1, dtype=self.documents.dtype))
        _freeze(offsets)
        return offsets

    # -- counts ---------------------------------------------------------------------------------

    @cached_property
    def counts(self) -> sparse.csr_array:
        """Documents x terms, CSR, with sorted indices."""
        first = np.flatnonzero(_starts(self.documents, self.terms))
        data = np.diff(first, append=self.token_count).astype(np.int32)
        ends = np.searchsorted(self.documents[first], np.arange(self.document_count + 1)).astype(np.int32)
        shape = (self.document_count, self.term_count)
        matrix = sparse.csr_array((data, self.terms[first], ends), shape=shape)
        matrix.has_canonical_format = True
        _freeze(matrix.data, matrix.indices, matrix.indptr)
        return matrix

    def counted(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """(document, term, count), sorted by document, then term; of some documents at a time."""
        offsets, begin = self.document_offsets, 0
        while begin < self.document_count:
            end = max(begin + 1, int(np.searchsorted(offsets, offsets[begin] + STEP, side="right")) - 1)
            documents, terms = (array[offsets[begin] : offsets[end]] for array in (self.documents, self.terms))
            first = np.flatnonzero(_starts(documents, terms))
            yield documents[first], terms[first], np.diff(first, append=len(terms))
            begin = end

    def triples(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(document, term, count), sorted by document, then term."""
        counts = self.counts
        documents = np.repeat(np.arange(self.document_count), np.diff(counts.indptr))
        return documents.astype(np.int64), counts.indices.astype(np.int64), counts.data.astype(np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the vocabulary, the number of documents and the sorted (document, term, count) triples."""
        digest = hashlib.sha256(FINGERPRINT_VERSION)
        for text in self.vocabulary:
            encoded = text.encode()
            digest.update(len(encoded).to_bytes(4, "little") + encoded)
        digest.update(self.document_count.to_bytes(8, "little"))
        for triples in self.counted():
            digest.update(np.column_stack(triples).astype("<i8", copy=False).data)
        return digest.hexdigest()

    # -- derived corpora ------------------------------------------------------------------------

    def select_tokens(self, keep: np.ndarray, name: str | None = None) -> Corpus:
        """The same documents and vocabulary, but only the tokens for which `keep` is true."""
        return replace(self, documents=self.documents[keep], terms=self.terms[keep], name=name or self.name)

    def summary(self) -> dict[str, int | str]:
        return {
            "documents": self.document_count,
            "terms": self.term_count,
            "tokens": self.token_count,
            "nonzeros": self.nonzero_count,
            "empty_documents": self.empty_documents,
            "fingerprint": self.fingerprint,
        }


def _in_order(documents: np.ndarray, terms: np.ndarray) -> bool:
    """Whether these pairs are sorted by document, then term."""
    later = documents[1:] > documents[:-1]
    later |= (documents[1:] == documents[:-1]) & (terms[1:] >= terms[:-1])
    return bool(later.all())


def _starts(documents: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """The first of each (document, term) pair of sorted tokens."""
    new = np.ones(len(terms), bool)
    new[1:] = (documents[1:] != documents[:-1]) | (terms[1:] != terms[:-1])
    return new


def _freeze(*arrays: np.ndarray) -> None:
    for array in arrays:
        array.flags.writeable = False


def _excerpt(text: Any) -> str:
    """The beginning of a text, in one line; what is no string has none."""
    if not isinstance(text, str):
        return ""
    begin = " ".join(text[: 2 * EXCERPT].split())
    whole = len(text) <= 2 * EXCERPT and len(begin) <= EXCERPT
    return begin if whole else f"{begin[: EXCERPT - 3].rstrip()}..."


def _term_list(vocabulary: Any, name: str) -> list[str]:
    """The terms in the order of the columns, from a list, a vectorizer, or a dictionary between terms and columns."""
    if hasattr(vocabulary, "get_feature_names_out"):
        return [str(term) for term in vocabulary.get_feature_names_out()]
    if isinstance(vocabulary, str | bytes | set | frozenset):
        kind = type(vocabulary).__name__
        raise InputError(f"{name}: the vocabulary is a {kind}, which has no order; give a list of the terms")
    if not isinstance(vocabulary, Mapping):
        return [str(term) for term in vocabulary]
    column_of = dict(vocabulary)
    if not all(isinstance(column, int | np.integer) for column in column_of.values()):
        column_of = {term: column for column, term in vocabulary.items()}  # from columns to terms, as gensim has it
    if sorted(column_of.values()) != list(range(len(column_of))) or len(column_of) != len(vocabulary):
        raise InputError(f"{name}: the vocabulary does not number its {len(vocabulary)} terms from 0 without gaps")
    return [str(term) for term in sorted(column_of, key=column_of.__getitem__)]


def whole_numbers(values: Any, name: str) -> np.ndarray:
    """The values as int64; an InputError if one of them is not a whole number."""
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and np.any(array > np.iinfo(np.int64).max):
            raise InputError(f"{name}: a count or id is too large")
        return array.astype(np.int64)
    if array.dtype.kind not in "bf" or not np.all(np.isfinite(array)) or np.any(array != np.floor(array)):
        raise InputError(f"{name}: some counts or ids are not whole numbers")
    if np.any(np.abs(array) > 2**53):
        raise InputError(f"{name}: a count or id is too large")
    return array.astype(np.int64)


def _check_triples(
    documents: np.ndarray,
    terms: np.ndarray,
    counts: np.ndarray,
    document_count: int,
    term_count: int,
    name: str,
) -> None:
    """Check for faults that any source may have; readers have already reported those that have a line number."""
    if np.any(counts < 0):
        raise InputError(f"{name}: negative count {counts[counts < 0][0]}")
    if len(terms) and (terms.min() < 0 or terms.max() >= term_count):
        bad = terms[(terms < 0) | (terms >= term_count)][0]
        raise InputError(f"{name}: term id {bad} is outside the vocabulary of {term_count} terms")
    if len(documents) and (documents.min() < 0 or documents.max() >= document_count):
        bad = documents[(documents < 0) | (documents >= document_count)][0]
        raise InputError(f"{name}: document id {bad} is outside the {document_count} documents")
    if not np.any(counts > 0):
        raise InputError(f"{name}: the corpus is empty (no tokens)")
    insist_on_documents(name, document_count, len(counts))
    if counts.max() > MOST_TOKENS or counts.sum() > MOST_TOKENS:  # the maximum too, because a sum can overflow
        raise InputError(f"{name}: the corpus has too many tokens (at most {MOST_TOKENS})")
    tokens = int(counts.sum())
    fault = f"{name}: {tokens} tokens in {len(counts)} counts are too many; perhaps the counts are ids or weights"
    insist(tokens, max(FREE_TOKENS, MOST_PER_COUNT * len(counts)), fault)


def insist_on_documents(name: object, document_count: int, counts: int) -> None:
    if document_count > MOST_DOCUMENTS:
        raise InputError(f"{name}: {document_count} documents are too many (at most {MOST_DOCUMENTS})")
    fault = f"{name}: {document_count} documents are too many for {counts} counts"
    insist(document_count, max(FREE_DOCUMENTS, counts), fault)


def _check_shape(matrix: Any, vocabulary: Sequence[str] | None, name: str) -> None:
    """Check a scipy matrix before it is converted, which takes memory for its whole shape."""
    stored = matrix.data.size if matrix.format == "dia" else matrix.nnz
    insist_on_documents(name, matrix.shape[0], stored)
    _check_columns(matrix.shape[-1], vocabulary, name)
    if vocabulary is None:
        _insist_on_terms(name, matrix.shape[-1], stored)


def _check_columns(columns: int, vocabulary: Sequence[str] | None, name: str) -> None:
    if vocabulary is not None and len(vocabulary) != columns:
        raise InputError(f"{name}: the vocabulary has {len(vocabulary)} terms, but the matrix has {columns} columns")


def _insist_on_terms(name: object, term_count: int, counts: int) -> None:
    """Of a corpus without a vocabulary."""
    if term_count > MOST_UNNAMED_TERMS:
        raise InputError(f"{name}: {term_count} terms are too many without a vocabulary (at most {MOST_UNNAMED_TERMS})")
    fault = f"{name}: {term_count} terms without a vocabulary are too many for {counts} counts"
    insist(term_count, max(FREE_TERMS, counts), fault)


def check_texts(texts: Sequence[str], what: str, name: str) -> None:
    """Half of a pair of surrogates is not text: it cannot be written to any file."""
    try:
        "".join(map(str, texts)).encode()
    except UnicodeEncodeError:
        number, bad = next((i, text) for i, text in enumerate(map(str, texts)) if is_no_text(text))
        raise InputError(f"{name}: {what} {number} is not text: {quoted(bad)} holds half of a surrogate pair") from None
