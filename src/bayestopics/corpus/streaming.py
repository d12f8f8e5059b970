"""Large files of counts, read piece by piece: what is in memory is the tokens, and little else.

This is the fast path for files as programs write them: plain numbers with single separators, documents in order. For
everything else the functions return None; then the readers of `formats` read the whole file, and say what is wrong.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bayestopics.base.limits import FREE_BYTES, MOST_INFLATION
from bayestopics.corpus.corpus import FREE_TOKENS, MOST_PER_COUNT, MOST_TOKENS

PIECE = 2**20  # bytes
DIGITS = 9  # most digits of a number: more is left to the strict reader
SPACE, COLON, LINE_END = b" :\n"
NUMBER = rb"([0-9]{1,9})"  # of documents, terms and counts
UCI = re.compile(rb"%b\n%b\n%b\n" % (NUMBER, NUMBER, NUMBER))
BANNER = rb"%%MatrixMarket matrix coordinate (?:unsigned-)?integer general\n(?:%[\t -~]*\n)*"
MATRIX_MARKET = re.compile(BANNER + rb"%b %b %b\n" % (NUMBER, NUMBER, NUMBER))
UNREADABLE = (OSError, EOFError, ValueError, zlib.error)


class Unusual(Exception):
    """The file is not as programs write it."""


@dataclass
class Found:
    """The tokens of a file."""

    numbers: list[np.ndarray] = field(default_factory=list)  # of the documents with counts, piece by piece
    lengths: list[np.ndarray] = field(default_factory=list)  # their tokens
    terms: list[np.ndarray] = field(default_factory=list)
    documents: int = 0  # all of them, also those without counts
    term_count: int = 0  # what the header says, or the largest id + 1
    counts: int = 0
    tokens: int = 0

    def add(self, documents: np.ndarray, terms: np.ndarray, counts: np.ndarray) -> None:
        """Pairs of documents, with those of one document together, and after those of earlier ones."""
        if len(documents) == 0:
            return
        self.counts, self.tokens = self.counts + len(counts), self.tokens + int(counts.sum())
        if self.tokens > min(MOST_TOKENS, max(FREE_TOKENS, MOST_PER_COUNT * self.counts)):
            raise Unusual
        if np.any((documents[1:] == documents[:-1]) & (terms[1:] < terms[:-1])):
            order = np.lexsort((terms, documents))
            documents, terms, counts = documents[order], terms[order], counts[order]
        first = np.flatnonzero(np.diff(documents, prepend=-1))
        self.numbers.append(documents[first].astype(np.int32))
        self.lengths.append(np.add.reduceat(counts, first))
        self.terms.append(np.repeat(terms.astype(np.int32), counts))

    def all_terms(self) -> np.ndarray:
        parts, self.terms = self.terms, []
        return np.concatenate(parts)

    def all_lengths(self) -> np.ndarray:
        lengths = np.zeros(self.documents, np.int64)
        lengths[np.concatenate(self.numbers)] = np.concatenate(self.lengths)
        return lengths


def ldac(path: Path, limit: int) -> Found | None:
    """LDA-C; ids must be below the limit."""
    try:
        found, largest = Found(), -1
        for piece in _pieces(path):
            values, separators = _numbers(piece)
            ends = np.flatnonzero(separators == LINE_END)
            numbers = np.diff(ends, prepend=-1)  # of each line
            starts = ends - numbers + 1
            place = np.arange(len(values)) - np.repeat(starts, numbers)
            odd = place % 2 == 1
            wrong = np.any((separators == COLON) != odd) or np.any(numbers % 2 == 0)
            if wrong or np.any(values[starts] != numbers // 2):
                raise Unusual
            terms, counts = values[odd], values[(place > 0) & ~odd]
            largest = max(largest, int(terms.max(initial=-1)))
            if largest >= limit:
                raise Unusual
            found.add(found.documents + np.repeat(np.arange(len(ends)), numbers // 2), terms, counts)
            found.documents, found.term_count = found.documents + len(ends), largest + 1
        return found if found.tokens else None
    except (Unusual, *UNREADABLE):
        return None


def uci(path: Path) -> Found | None:
    """UCI bag of words."""
    return _triples(path, UCI)


def matrix_market(path: Path) -> Found | None:
    return _triples(path, MATRIX_MARKET)


def _triples(path: Path, begins: re.Pattern[bytes]) -> Found | None:
    try:
        found, pieces = Found(), _pieces(path)
        first = next(pieces)
        head = begins.match(first)
        if head is None:
            return None
        found.documents, found.term_count, announced = map(int, head.groups())
        kept = np.empty((0, 3), np.int64)  # of the last document, which may go on in the next piece
        for piece in _chained(first[head.end() :], pieces):
            values, separators = _numbers(piece)
            if len(values) % 3 or np.any(separators.reshape(-1, 3) != (SPACE, SPACE, LINE_END)):
                raise Unusual
            rows = np.concatenate((kept, values.reshape(-1, 3)))
            low, high = rows[:, :2].min(initial=1), rows.max(axis=0, initial=0)
            if low < 1 or high[0] > found.documents or high[1] > found.term_count or np.any(np.diff(rows[:, 0]) < 0):
                raise Unusual
            last = np.searchsorted(rows[:, 0], rows[-1, 0]) if len(rows) else 0
            found.add(rows[:last, 0] - 1, rows[:last, 1] - 1, rows[:last, 2])
            kept = rows[last:]
        found.add(kept[:, 0] - 1, kept[:, 1] - 1, kept[:, 2])
        return found if found.tokens and found.counts == announced else None
    except (Unusual, StopIteration, *UNREADABLE):
        return None


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _pieces(path: Path) -> Iterator[bytes]:
    """The file in pieces of whole lines."""
    packed, unpacked, rest = path.stat().st_size, 0, b""
    with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
        while read := file.read(PIECE):
            unpacked += len(read)
            if path.suffix == ".gz" and unpacked > max(FREE_BYTES, MOST_INFLATION * packed):
                raise Unusual
            end = read.rfind(b"\n") + 1
            if end:
                yield rest + read[:end]
            rest = read[end:] if end else rest + read
            if len(rest) > MOST_INFLATION * PIECE:
                raise Unusual
    if rest:
        yield rest + b"\n"


def _numbers(piece: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The numbers, and the byte behind each of them."""
    letters = np.frombuffer(piece, np.uint8)
    places = np.flatnonzero((letters - np.uint8(48)) >= 10)
    widths = np.diff(places, prepend=-1)
    if widths.min() < 2 or widths.max() > DIGITS + 1:
        raise Unusual
    separators = letters[places]
    if not np.isin(separators, (SPACE, COLON, LINE_END)).all():
        raise Unusual
    values = np.fromstring(piece.replace(b":", b" "), np.int64, sep=" ")
    return values, separators
