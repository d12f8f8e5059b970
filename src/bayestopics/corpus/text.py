"""From texts to counts: the tokeniser, the pruning, and readers for a folder or a TSV of texts.

The tokeniser converts to lower case and takes every run of three or more letters of any script; digits, punctuation
and underscores separate tokens. Pruning then drops stop words, rare terms, and terms that occur in too few or too many
documents. Documents that lose all their tokens are kept as empty documents, so that labels and order do not change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bayestopics.base.files import decode, read_bytes, read_lines
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.stopwords import ENGLISH

TOKEN = r"[^\W\d_]{3,}"


@dataclass(frozen=True)
class Pruning:
    """Which terms of texts to keep. The defaults keep every term that is not a stop word.

    Parameters
    ----------
    stop_words : str
        ``"english"``, ``"none"``, or the path of a file with one word per line.
    min_documents : int
        A term must occur in at least this many documents.
    max_document_fraction : float
        A term may occur in at most this share of the documents.
    min_count : int
        A term must occur at least this often in all documents together.
    token_pattern : str
        A regular expression that matches a token in lower-case text; by default, three or more letters.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bayestopics import Pruning, read_corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "animals.tsv"
    ...     _ = path.write_text("The owl hunts.\\nThe owl sleeps.\\nThe whale sleeps.\\n")
    ...     corpus = read_corpus(path, pruning=Pruning(min_documents=2))
    >>> corpus.vocabulary
    ('owl', 'sleeps')
    """

    stop_words: str = "english"
    min_documents: int = 1
    max_document_fraction: float = 1.0
    min_count: int = 1
    token_pattern: str = TOKEN

    def __post_init__(self) -> None:
        if not 0 < self.max_document_fraction <= 1:
            raise InputError(f"the maximum document fraction {self.max_document_fraction} is not in (0, 1]")
        try:
            re.compile(self.token_pattern)
        except re.error as error:
            raise InputError(
                f"the token pattern {self.token_pattern!r} is not a regular expression ({error})"
            ) from None


def stop_words(choice: str) -> frozenset[str]:
    if choice == "none":
        return frozenset()
    if choice == "english":
        return ENGLISH
    return frozenset(line.strip().lower() for line in read_lines(Path(choice)))


def from_texts(
    texts: Iterable[str], pruning: Pruning, labels: Sequence[str] | None = None, name: str = "corpus"
) -> Corpus:
    """Tokenise, prune, count. Terms are in alphabetical order."""
    token = re.compile(pruning.token_pattern)
    bags = [Counter(token.findall(text.lower())) for text in texts]
    document_frequency = Counter(term for bag in bags for term in bag)
    count = Counter[str]()
    for bag in bags:
        count.update(bag)
    stop = stop_words(pruning.stop_words)
    vocabulary = sorted(
        term
        for term, frequency in document_frequency.items()
        if term not in stop
        and frequency >= pruning.min_documents
        and frequency / len(bags) <= pruning.max_document_fraction
        and count[term] >= pruning.min_count
    )
    index = {term: i for i, term in enumerate(vocabulary)}
    triples = [(d, index[term], n) for d, bag in enumerate(bags) for term, n in bag.items() if term in index]
    if not triples:
        raise InputError(f"{name}: the corpus is empty (no tokens left after pruning {len(bags)} documents)")
    found = np.array(triples, dtype=np.int64).T
    return Corpus.from_counts(*found, document_count=len(bags), vocabulary=vocabulary, labels=labels, name=name)


def read_folder(path: Path, pruning: Pruning, encoding: str = "utf-8") -> Corpus:
    """One document per file, in the order of their paths; the label of a document is its subfolder, if any."""
    names = sorted(p for p in path.rglob("*") if p.is_file() and not _hidden(p.relative_to(path)))
    if not names:
        raise InputError(f"{path}: the folder has no files")
    texts = (decode(read_bytes(name), name, encoding) for name in names)
    folders = [name.parent.relative_to(path).as_posix() for name in names]
    return from_texts(texts, pruning, folders if any(f != "." for f in folders) else None, str(path))


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def read_tsv(path: Path, pruning: Pruning, encoding: str = "utf-8") -> Corpus:
    """One document per line. If there is a header line with a `text` column, that column is the text, and the column
    `label`, if there is one, the label.

    Without a header the last column is the text; with three or more columns (id, label, text) the second is the label.
    """
    rows = [line.split("\t") for line in read_lines(path, encoding)]
    if not rows:
        raise InputError(f"{path}: the corpus is empty (no lines)")
    header = [cell.strip().lower() for cell in rows[0]]
    if "text" in header:
        text, label, first = header.index("text"), header.index("label") if "label" in header else None, 1
    else:
        text, label, first = len(header) - 1, 1 if len(header) >= 3 else None, 0
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise InputError(f"{path}: line {number}: {len(row)} columns instead of {len(header)}")
    labels = None if label is None else [row[label] for row in rows[first:]]
    return from_texts((row[text] for row in rows[first:]), pruning, labels, str(path))
