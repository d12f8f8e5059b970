"""Files of counts: LDA-C, UCI bag of words, Matrix Market, scipy sparse, and our own binary.

Reading is strict. Every fault in a file is reported in one line that names the file, the line and the fault. The
fast path parses a whole file at once; only if that fails is the file read again, line by line, to find the first
bad line.
"""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd
import scipy.sparse as sparse

from bayestopics.base.arrays import read_arrays
from bayestopics.base.files import decode, read_bytes, replacing
from bayestopics.base.problems import InputError
from bayestopics.base.wording import quoted
from bayestopics.corpus import streaming
from bayestopics.corpus.corpus import Corpus, insist_on_documents, whole_numbers
from bayestopics.corpus.metadata import pack, unpack

# -- lines ---------------------------------------------------------------------------------------


def _text(path: Path) -> str:
    """The text of a file, with \\n at the end of each line."""
    text = decode(read_bytes(path), path).replace("\r\n", "\n")
    if (place := text.find("\r")) >= 0:
        number = text.count("\n", 0, place) + 1
        raise InputError(f"{path}: line {number}: a carriage return without a line feed; save it with other line ends")
    return text


def _lines(text: str) -> list[str]:
    """A line end at the end of a file does not start another line."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


# -- vocabulary ----------------------------------------------------------------------------------


def _vocabulary(candidates: Iterable[Path]) -> list[str] | None:
    for path in candidates:
        if path.is_file():
            return [line.strip() for line in _lines(_text(path))]
    return None


def _beside(path: Path) -> list[Path]:
    """Where the vocabulary of x.ldac may be: x.ldac.vocab, then x.vocab (for x.ldac.gz, also without the .gz)."""
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    return [
        path.with_name(path.name + ".vocab"),
        plain.with_name(plain.name + ".vocab"),
        plain.with_suffix(".vocab"),
    ]


def _term_count(path: Path, found: int | None, asked: int | None, largest: int) -> int:
    """The number of terms V: from the vocabulary or header, otherwise `--terms`, otherwise the largest id + 1."""
    if found is not None and asked is not None and found != asked:
        raise InputError(f"{path}: --terms {asked} disagrees with the {found} terms of the vocabulary or header")
    return found if found is not None else asked if asked is not None else largest + 1


# -- LDA-C ---------------------------------------------------------------------------------------

LDAC_LINE = re.compile(r"\s*[+-]?\d+(?:\s+[+-]?\d+:[+-]?\d+)*\s*", re.ASCII)


def read_ldac(path: Path, vocabulary: list[str] | None = None, terms: int | None = None) -> Corpus:
    """Blei's lda-c: one line per document, `n id:count id:count ...`, with ids from 0."""
    vocabulary = vocabulary if vocabulary is not None else _vocabulary(_beside(path))
    found = None if vocabulary is None else len(vocabulary)
    limit = _term_count(path, found, terms, np.iinfo(np.int32).max - 1)
    if (read := streaming.ldac(path, limit)) is not None:
        return _from_stream(path, read, vocabulary, _term_count(path, found, terms, read.term_count - 1))
    text = _text(path)
    lines = _lines(text)
    insist_on_documents(path, len(lines), text.count(":"))
    rows = [_ldac_line(path, number, line, limit) for number, line in enumerate(lines, 1)]
    lengths = [len(row) for row in rows]
    pairs = np.concatenate(rows) if rows else np.empty((0, 2), np.int64)
    largest = int(pairs[:, 0].max()) if len(pairs) else 0
    return Corpus.from_counts(
        np.repeat(np.arange(len(rows)), lengths),
        pairs[:, 0],
        pairs[:, 1],
        document_count=len(rows),
        vocabulary=vocabulary,
        term_count=_term_count(path, found, terms, largest),
        name=str(path),
    )


def _ldac_line(path: Path, number: int, line: str, limit: int) -> np.ndarray:
    """int64[n, 2]: the (id, count) pairs of one document."""
    if not line.strip():
        raise InputError(f"{path}: line {number}: blank line; an empty document is written as 0")
    if not LDAC_LINE.fullmatch(line):
        _bad_ldac_line(path, number, line)
    try:
        values = np.array(line.replace(":", " ").split(), dtype=np.int64)
    except (OverflowError, ValueError):  # a number of more than 64 bits, or of thousands of digits
        _bad_ldac_line(path, number, line)
    pairs = values[1:]
    if 2 * int(values[0]) != len(pairs):
        raise InputError(f"{path}: line {number}: announces {values[0]} terms, but has {len(pairs) // 2}")
    pairs = pairs.reshape(-1, 2)
    if len(pairs) and (pairs[:, 0].min() < 0 or pairs[:, 0].max() >= limit):
        bad = pairs[(pairs[:, 0] < 0) | (pairs[:, 0] >= limit), 0][0]
        raise InputError(
            f"{path}: line {number}: term id {bad} is outside the vocabulary of {limit} terms (ids count from 0)"
        )
    if np.any(pairs[:, 1] < 0):
        raise InputError(f"{path}: line {number}: negative count {pairs[pairs[:, 1] < 0, 1][0]}")
    return pairs


def _bad_ldac_line(path: Path, number: int, line: str) -> NoReturn:
    first, *pairs = line.split()
    where = f"{path}: line {number}"
    if fault := _integer_fault(first):
        raise InputError(f"{where}: the number of terms {quoted(first)} {fault}")
    for pair in pairs:
        term, colon, count = pair.partition(":")
        if not colon or _integer_fault(term):
            raise InputError(f"{where}: {quoted(pair)} is not of the form id:count")
        if fault := _integer_fault(count):
            raise InputError(f"{where}: count {quoted(count)} of term {term[:18]} {fault}")
    raise InputError(f"{where}: not of the form `n id:count id:count ...`")


def _integer_fault(text: str) -> str | None:
    """Why a field is not a whole number of 64 bits; None if it is."""
    if not re.fullmatch("[+-]?[0-9]+", text):
        return "is not a whole number"
    # zeros in front count as well: Python refuses to convert thousands of digits
    return "is too large" if len(text.lstrip("+-0")) > 18 or len(text) > 1000 else None


def write_ldac(corpus: Corpus, path: Path) -> None:
    """Write `path`, and `path`.vocab with all V terms."""
    write_vocabulary(corpus, path.with_name(path.name + ".vocab"))
    counts = corpus.counts
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as out:
        for d in range(corpus.document_count):
            row = slice(counts.indptr[d], counts.indptr[d + 1])
            pairs = zip(counts.indices[row].tolist(), counts.data[row].tolist(), strict=True)
            out.write(" ".join([str(row.stop - row.start), *(f"{term}:{count}" for term, count in pairs)]) + "\n")


def write_vocabulary(corpus: Corpus, path: Path) -> None:
    """One term per line. It is written before the counts, so that counts are never there without a vocabulary."""
    for term in corpus.vocabulary:
        if term != term.strip() or "\n" in term or "\r" in term:
            raise InputError(
                f"{path}: the term {quoted(term)} would not survive in a file with one term per line; use .npz"
            )
    with replacing(path) as temporary:
        temporary.write_text("".join(f"{term}\n" for term in corpus.vocabulary), encoding="utf-8")


# -- triples: UCI and Matrix Market --------------------------------------------------------------


NOT_IN_INTEGERS = re.compile(r"[^\d\s+-]", re.ASCII)


def _read_triples(path: Path, text: str, first_line: int, documents: int, terms: int, announced: int) -> np.ndarray:
    """int64[n, 3]: the (document, term, count) lines, with ids from 1, checked against the header."""
    try:
        if NOT_IN_INTEGERS.search(text):  # pandas would accept 3.0 and 1e3
            raise ValueError
        # more than three fields are an error or become an index; a missing field is a nan, which int64 refuses
        table = pd.read_csv(
            io.StringIO(text), sep=r"\s+", header=None, names=["d", "v", "n"], dtype=np.int64, quoting=3
        )
        triples = table.to_numpy() if isinstance(table.index, pd.RangeIndex) else None
    except (ValueError, OverflowError):
        triples = None
    if triples is None or not _within(triples, documents, terms):
        _bad_triple(path, text, first_line, documents, terms)
    if len(triples) != announced:
        raise InputError(f"{path}: the header announces {announced} entries, but the body has {len(triples)}")
    return triples


def _within(triples: np.ndarray, documents: int, terms: int) -> bool:
    if len(triples) == 0:
        return True
    return bool(
        triples[:, :2].min() >= 1
        and triples[:, 0].max() <= documents
        and triples[:, 1].max() <= terms
        and triples[:, 2].min() >= 0
    )


def _bad_triple(path: Path, text: str, first_line: int, documents: int, terms: int) -> NoReturn:
    for number, line in enumerate(text.split("\n"), first_line):
        fields = line.split()
        if not fields:
            continue
        where = f"{path}: line {number}"
        if len(fields) != 3:
            raise InputError(f"{where}: {len(fields)} fields instead of three (document, term, count)")
        for what, field in zip(("document id", "term id", "count"), fields, strict=True):
            if fault := _integer_fault(field):
                raise InputError(f"{where}: {what} {quoted(field)} {fault}")
        document, term, count = map(int, fields)
        if not 1 <= document <= documents:
            raise InputError(f"{where}: document id {document} is outside 1..{documents} (ids count from 1)")
        if not 1 <= term <= terms:
            raise InputError(f"{where}: term id {term} is outside the vocabulary 1..{terms} (ids count from 1)")
        if count < 0:
            raise InputError(f"{where}: negative count {count}")
    raise InputError(f"{path}: not a table of (document, term, count)")


def _header_number(path: Path, number: int, text: str, what: str) -> int:
    if fault := _integer_fault(text) or (int(text) < 0 and "is negative"):
        raise InputError(f"{path}: line {number}: {what} {quoted(text)} {fault}")
    return int(text)


def read_uci(path: Path, vocabulary: list[str] | None = None, terms: int | None = None) -> Corpus:
    """UCI bag of words: three header lines (D, V, number of entries), then `document term count`, with ids from 1."""
    if vocabulary is None:
        stem = path.name.removesuffix(".gz").removesuffix(".txt").removeprefix("docword.")
        vocabulary = _vocabulary([path.with_name(f"vocab.{stem}.txt")])
    if (read := streaming.uci(path)) is not None:
        return _from_stream(path, read, vocabulary, _headed(path, read.term_count, vocabulary, terms))
    text = _text(path)
    head = text.split("\n", 3)
    if len(head) < 3:
        raise InputError(
            f"{path}: line {len(head)}: the header of three lines (documents, terms, entries) is incomplete"
        )
    names = ("number of documents", "number of terms", "number of entries")
    documents, header_terms, announced = (
        _header_number(path, number, line.strip(), what)
        for number, (line, what) in enumerate(zip(head[:3], names, strict=True), 1)
    )
    body = head[3] if len(head) == 4 else ""
    return _from_triples(path, body, 4, (documents, header_terms, announced), vocabulary, terms)


def read_uci_body(path: Path, header: tuple[int, ...], vocabulary: list[str] | None = None) -> Corpus:
    """UCI bag of words without its header lines: `header` has the numbers of documents, terms and entries."""
    return _from_triples(path, _text(path), 1, header, vocabulary, None)


def read_matrix_market(path: Path, vocabulary: list[str] | None = None, terms: int | None = None) -> Corpus:
    """Matrix Market (coordinate, general), documents x terms, as gensim's MmCorpus writes it; ids from 1."""
    vocabulary = vocabulary if vocabulary is not None else _vocabulary(_beside(path))
    if (read := streaming.matrix_market(path)) is not None:
        return _from_stream(path, read, vocabulary, _headed(path, read.term_count, vocabulary, terms))
    text = _text(path)
    banner, _, rest = text.partition("\n")
    kind = banner.lower().split()
    if kind not in [["%%matrixmarket", "matrix", "coordinate", field, "general"] for field in FIELDS]:
        found = f"a `{' '.join(kind[1:])[:60]}`, but only a" if kind[:1] == ["%%matrixmarket"] else "not a"
        raise InputError(f"{path}: line 1: {found} `%%MatrixMarket matrix coordinate integer|real general` has counts")
    number, place = _size_line(rest)
    sizes, _, body = rest[place:].partition("\n")
    if len(sizes.split()) != 3:
        raise InputError(f"{path}: line {number}: the size line must have three numbers (documents, terms, entries)")
    names = ("number of documents", "number of terms", "number of entries")
    header = tuple(_header_number(path, number, field, what) for field, what in zip(sizes.split(), names, strict=True))
    if kind[3] == "real":
        body = _whole_numbers(body)
    return _from_triples(path, body, number + 1, header, vocabulary, terms)


FIELDS = ("integer", "unsigned-integer", "real")  # the second is scipy's, for unsigned counts


def _size_line(rest: str) -> tuple[int, int]:
    """The number and the place of the first line below the banner that is neither a comment nor blank."""
    number, place = 2, 0
    while place < len(rest):
        end = rest.find("\n", place)
        line = rest[place:] if end < 0 else rest[place:end]
        if line.strip() and not line.startswith("%"):
            break
        number, place = number + 1, len(rest) if end < 0 else end + 1
    return number, place


DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")  # float() takes more, such as 1_000


def _whole_numbers(body: str) -> str:
    """Replace counts such as 3.0 or 3.000e+00, as real matrices have them, by 3; others stay, and are refused later."""
    lines = body.split("\n")
    for i, line in enumerate(lines):
        *ids, count = line.split() or [""]
        if DECIMAL.fullmatch(count) and (value := float(count)).is_integer() and abs(value) < 2**53:
            lines[i] = " ".join([*ids, str(int(value))])
    return "\n".join(lines)


def _from_triples(
    path: Path,
    body: str,
    first_line: int,
    header: tuple[int, ...],
    vocabulary: list[str] | None,
    terms: int | None,
) -> Corpus:
    documents, header_terms, announced = header
    term_count = _headed(path, header_terms, vocabulary, terms)
    triples = _read_triples(path, body, first_line, documents, term_count, announced)
    return Corpus.from_counts(
        triples[:, 0] - 1,
        triples[:, 1] - 1,
        triples[:, 2],
        document_count=documents,
        vocabulary=vocabulary,
        term_count=term_count,
        name=str(path),
    )


def _headed(path: Path, header_terms: int, vocabulary: list[str] | None, terms: int | None) -> int:
    """The number of terms in the header, if the vocabulary and `--terms` agree with it."""
    if vocabulary is not None and len(vocabulary) != header_terms:
        raise InputError(f"{path}: the header announces {header_terms} terms, but the vocabulary has {len(vocabulary)}")
    return _term_count(path, header_terms, terms, 0)


def _from_stream(path: Path, read: streaming.Found, vocabulary: list[str] | None, term_count: int) -> Corpus:
    insist_on_documents(path, read.documents, read.counts)
    lengths, terms, found = read.all_lengths(), read.all_terms(), read.counts
    return Corpus.from_tokens(lengths, terms, found, vocabulary=vocabulary, term_count=term_count, name=str(path))


def _triples_text(corpus: Corpus) -> str:
    documents, terms, counts = corpus.triples()
    table = pd.DataFrame({"document": documents + 1, "term": terms + 1, "count": counts})
    return table.to_csv(sep=" ", header=False, index=False, lineterminator="\n")


def write_uci(corpus: Corpus, path: Path) -> None:
    """Write `docword.x.txt[.gz]`, and `vocab.x.txt` beside it."""
    stem = path.name.removesuffix(".gz").removesuffix(".txt").removeprefix("docword.")
    text = f"{corpus.document_count}\n{corpus.term_count}\n{corpus.nonzero_count}\n{_triples_text(corpus)}"
    data = text.encode()
    write_vocabulary(corpus, path.with_name(f"vocab.{stem}.txt"))
    with replacing(path) as temporary:
        temporary.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def write_matrix_market(corpus: Corpus, path: Path) -> None:
    """Write `path`, and `path`.vocab with all V terms."""
    head = f"%%MatrixMarket matrix coordinate integer general\n% documents x terms\n{corpus.document_count}"
    text = f"{head} {corpus.term_count} {corpus.nonzero_count}\n{_triples_text(corpus)}"
    write_vocabulary(corpus, path.with_name(path.name + ".vocab"))
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


# -- binary: scipy's sparse .npz, and ours with vocabulary, labels and metadata -----------------------------


def read_binary(path: Path, vocabulary: list[str] | None = None, terms: int | None = None) -> Corpus:
    """A corpus from `write_binary`, or a matrix from `scipy.sparse.save_npz` (documents x terms)."""
    arrays = read_arrays(read_bytes(path), path)
    if "format" in arrays:
        vocabulary = vocabulary if vocabulary is not None else _vocabulary(_beside(path))
        corpus = Corpus.from_sparse(_scipys_matrix(path, arrays), vocabulary, name=str(path))
    else:
        corpus = _from_arrays(path, arrays)
    _term_count(path, corpus.term_count, terms, 0)
    return corpus


# scipy's formats, and the arrays with numbers of rows and columns that each has beside its data
FORMATS = {
    "csr": (sparse.csr_array, ("indices", "indptr")),
    "csc": (sparse.csc_array, ("indices", "indptr")),
    "bsr": (sparse.bsr_array, ("indices", "indptr")),
    "dia": (sparse.dia_array, ("offsets",)),
    "coo": (sparse.coo_array, ("row", "col")),
}


def _scipys_matrix(path: Path, arrays: Mapping[str, np.ndarray]) -> sparse.sparray:
    """A matrix from the arrays of scipy's .npz file; `from_sparse` checks that its indices lie inside."""
    kind = arrays["format"].item() if arrays["format"].size == 1 else ""
    kind = kind.decode("latin-1") if isinstance(kind, bytes) else str(kind)
    if kind not in FORMATS:
        raise InputError(f"{path}: holds a matrix in the unknown format {quoted(kind)}; save it as csr")
    make, places = FORMATS[kind]
    _insist_on_arrays(path, arrays, ("shape", "data", *places))
    for name in ("shape", *places):
        if arrays[name].dtype.kind not in "iu" or arrays[name].ndim != 1:
            raise InputError(f"{path}: its array {name!r} is not a list of whole numbers")
    indices = tuple(whole_numbers(arrays[name], str(path)) for name in places)
    if "indptr" in places and not _is_pointer(
        indices[-1], len(indices[0])
    ):  # scipy's classes may crash before they check
        raise InputError(
            f"{path}: not a matrix of documents x terms (its array 'indptr' does not rise from 0 to the end)"
        )
    content = (arrays["data"], indices) if kind == "coo" else (arrays["data"], *indices)
    try:
        return make(content, shape=tuple(arrays["shape"].tolist()))
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise InputError(f"{path}: not a matrix of documents x terms ({' '.join(str(error).split())})") from None


def _is_pointer(ends: np.ndarray, entries: int) -> bool:
    return bool(len(ends) and ends[0] == 0 and np.all(ends[1:] >= ends[:-1]) and ends[-1] <= entries)


def _from_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> Corpus:
    _insist_on_arrays(path, arrays, ("triples", "document_count", "vocabulary", "name"))
    triples, document_count = arrays["triples"], arrays["document_count"]
    if triples.ndim != 2 or len(triples) != 3:
        raise InputError(f"{path}: its array 'triples' has the shape {triples.shape}, not three rows")
    if document_count.size != 1 or document_count.dtype.kind not in "iu":
        raise InputError(f"{path}: its array 'document_count' is not one whole number")
    corpus = Corpus.from_counts(
        *triples,
        document_count=document_count.item(),
        vocabulary=_texts(path, arrays, "vocabulary"),
        labels=_texts(path, arrays, "labels") if "labels" in arrays else None,
        name=str(path),  # for error messages
    )
    names = _texts(path, {"name": arrays["name"].reshape(-1)}, "name")
    metadata = unpack(path, arrays["metadata"]) if "metadata" in arrays else None
    if metadata is not None and len(metadata) != corpus.document_count:
        raise InputError(f"{path}: metadata of {len(metadata)} documents, but there are {corpus.document_count}")
    return dataclasses.replace(corpus, name=names[0] if names else str(path), metadata=metadata)


def _insist_on_arrays(path: Path, arrays: Mapping[str, np.ndarray], names: Iterable[str]) -> None:
    for name in names:
        if name not in arrays:
            raise InputError(f"{path}: not a corpus in .npz form: it has no array {name!r}")


def _texts(path: Path, arrays: Mapping[str, np.ndarray], name: str) -> list[str]:
    """A list of texts, which `write_binary` writes as JSON; earlier it wrote an array as wide as the longest text."""
    array = arrays[name]
    fault = InputError(f"{path}: its array {name!r} is not a list of texts")
    if array.dtype.kind == "U" and array.ndim == 1:
        return list(map(str, array.tolist()))
    if array.dtype != np.uint8:
        raise fault
    try:
        texts = json.loads(array.tobytes())
    except (ValueError, RecursionError):
        raise fault from None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise fault
    return texts


def _as_json(texts: Iterable[str]) -> np.ndarray:
    return np.frombuffer(json.dumps(list(texts)).encode(), np.uint8)


def write_binary(corpus: Corpus, path: Path) -> None:
    arrays = {
        "triples": np.array(corpus.triples()),
        "document_count": np.array(corpus.document_count),
        "vocabulary": _as_json(corpus.vocabulary),
        "name": np.array(corpus.name, dtype=np.str_),
    }
    if corpus.labels is not None:
        arrays["labels"] = _as_json(corpus.labels)
    if corpus.metadata is not None:
        arrays["metadata"] = pack(corpus.metadata)
    with replacing(path) as temporary, open(temporary, "wb") as out:
        np.savez_compressed(out, allow_pickle=False, **arrays)
