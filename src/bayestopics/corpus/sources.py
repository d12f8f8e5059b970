"""Readers for the files of registered corpora, one for each kind of published file.

A reader takes the files of an entry (role -> path on disk) and its options, and returns a Corpus.
"""

from __future__ import annotations

import csv
import importlib.resources
import io
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from scipy.io.matlab import MatReadError

from bayestopics.base.files import decode, read_bytes, read_lines
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.formats import read_ldac, read_uci, read_uci_body
from bayestopics.corpus.packages import extract
from bayestopics.corpus.text import Pruning
from bayestopics.corpus.text_files import read_text_table

Files = dict[str, Path]
Options = dict[str, Any]


def _vocabulary(files: Files) -> list[str]:
    return [line.strip() for line in read_lines(files["vocabulary"])]


def ldac(files: Files, options: Options) -> Corpus:
    """LDA-C; `metadata` is a semicolon-separated table with one row per document and a column `category`."""
    corpus = read_ldac(files["counts"], _vocabulary(files))
    if "metadata" not in files:
        return corpus
    rows = csv.DictReader(read_lines(files["metadata"], "latin-1"), delimiter=";")
    labels = tuple(row["category"].removeprefix("Category:") for row in rows)
    if len(labels) != corpus.document_count:
        raise InputError(f"{files['metadata']}: {len(labels)} rows for {corpus.document_count} documents")
    return Corpus(corpus.documents, corpus.terms, corpus.document_count, corpus.vocabulary, labels, corpus.name)


def uci(files: Files, options: Options) -> Corpus:
    return read_uci(files["counts"], _vocabulary(files))


def uci_body(files: Files, options: Options) -> Corpus:
    """UCI bag of words without its header, which `options` gives: documents, terms, entries. Without a vocabulary, the
    terms are numbered."""
    vocabulary = _vocabulary(files) if "vocabulary" in files else None
    return read_uci_body(files["counts"], tuple(options["header"]), vocabulary)


def zipped_table(files: Files, options: Options) -> Corpus:
    """A CSV with one text per row, as the only file of a zip archive; its other columns become the metadata."""
    table = extract(files["archive"], options["table"], files["archive"].with_name(options["table"]))
    return read_text_table(table, options.get("text_column"), True, pruning_of(options), "utf-8")


def package(files: Files, options: Options) -> Corpus:
    """An LDA-C corpus that comes inside an installed Python package."""
    try:
        root = importlib.resources.files(options["package"])
    except ModuleNotFoundError:
        raise InputError(
            f"the Python package {options['package']!r}, which contains this corpus, is not installed"
        ) from None
    with importlib.resources.as_file(root) as folder:
        counts, vocabulary = folder / options["counts"], folder / options["vocabulary"]
        return ldac({"counts": counts, "vocabulary": vocabulary}, {})


def roweis_w100(files: Files, options: Options) -> Corpus:
    """Sam Roweis's Matlab file: `documents` is a terms x documents matrix of 0 and 1."""
    data = scipy.io.loadmat(io.BytesIO(read_bytes(files["counts"])), squeeze_me=True)
    groups = [str(group) for group in data["groupnames"]]
    labels = [groups[int(group) - 1] for group in data["newsgroups"]]
    vocabulary = [str(word) for word in data["wordlist"]]
    return Corpus.from_sparse(data["documents"].T.astype(np.int64), vocabulary, labels)


def tsv_columns(files: Files, options: Options) -> Corpus:
    """Texts from the named columns of a TSV with a header line."""
    lines = read_lines(files["texts"])
    header = lines[0].split("\t")
    columns = [header.index(name) for name in options["columns"]]
    rows = [line.split("\t") for line in lines[1:]]
    return Corpus.from_texts([" ".join(row[c] for c in columns) for row in rows], pruning=pruning_of(options))


def nips_abstracts(files: Files, options: Options) -> Corpus:
    """One abstract per line, from OCR, in latin-1. Some continue into the paper's body, so each is cut at `max_words`
    words."""
    texts = read_lines(files["abstracts"], "latin-1")
    volumes = [int(volume) for volume in read_lines(files["volumes"])]
    chosen = [(t, v) for t, v in zip(texts, volumes, strict=True) if v >= options["first_volume"]]
    cut = (" ".join(text.split()[: options["max_words"]]) for text, _ in chosen)
    years = [str(1987 + volume) for _, volume in chosen]
    return Corpus.from_texts(cut, pruning=pruning_of(options), labels=years)


def newsgroups(files: Files, options: Options) -> Corpus:
    """20news-bydate: training postings, then test postings, by group and number; header lines are dropped."""
    postings = []
    for member, data in _members(files["archive"]):
        part, group, number = member.split("/")[-3:]
        text = decode(data, f"{files['archive']}:{member}", "latin-1").replace("\r\n", "\n")
        postings.append((not part.endswith("train"), group, int(number), text.partition("\n\n")[2]))
    postings.sort(key=lambda posting: posting[:3])
    labels = [group for _, group, _, _ in postings]
    return Corpus.from_texts((text for *_, text in postings), pruning=pruning_of(options), labels=labels)


def reuters_sgml(files: Files, options: Options) -> Corpus:
    """Reuters-21578: the title and body of every story that has a body, in the order of the files (by date)."""
    title, body = re.compile("<TITLE>(.*?)</TITLE>", re.DOTALL), re.compile("<BODY>(.*?)</BODY>", re.DOTALL)
    texts = []
    for member, data in sorted(_members(files["archive"])):
        if not member.endswith(".sgm"):
            continue
        for story in data.decode("latin-1").split("</REUTERS>"):
            if found := body.search(story):
                head = title.search(story)
                texts.append(unescape((head.group(1) if head else "") + "\n" + found.group(1)))
    return Corpus.from_texts(texts, pruning=pruning_of(options))


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                stream = tar.extractfile(member) if member.isfile() else None
                if stream is not None:
                    yield member.name, stream.read()
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise InputError(f"{archive}: not a readable tar archive ({error})") from None


def pruning_of(options: Options) -> Pruning:
    try:
        return Pruning(**options.get("pruning", {}))
    except TypeError as error:
        raise InputError(f"options.pruning: {error}") from None


READERS: dict[str, Callable[[Files, Options], Corpus]] = {
    "ldac": ldac,
    "uci": uci,
    "uci-body": uci_body,
    "package": package,
    "zipped-table": zipped_table,
    "roweis-w100": roweis_w100,
    "tsv-columns": tsv_columns,
    "nips-abstracts": nips_abstracts,
    "newsgroups": newsgroups,
    "reuters-sgml": reuters_sgml,
}


def read_published(reader: str, files: Files, options: Options) -> Corpus:
    """Read files with the named reader; if they are something else, the error is one line that names them."""
    try:
        return READERS[reader](files, options)
    except InputError:
        raise
    except (ValueError, LookupError, TypeError, OSError, MatReadError, zlib.error) as error:
        names = ", ".join(map(str, files.values()))
        fault = f"{type(error).__name__}: {error}"
        raise InputError(f"{names}: this is not what the reader {reader} expects ({fault})") from None
