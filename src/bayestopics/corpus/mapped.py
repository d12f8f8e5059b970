"""Our own format for large corpora, `x.tokens`: the tokens as a corpus holds them, mapped into memory and not read.

A file is a line of text, a line of JSON, and the parts that it announces: the terms and the documents of the tokens
(int32, little endian), and the vocabulary, the labels and the metadata. Nothing in it is believed: the sizes are
compared with the file, and the tokens with the fingerprint. It may not be changed while a corpus from it is in use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bayestopics.base.files import replacing
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import STEP, Corpus, check_texts, insist_on_documents
from bayestopics.corpus.metadata import pack, unpack

MAGIC = b"bayestopics tokens 1\n"
LONGEST_HEAD = 10_000
ALIGNED = 64  # bytes: the tokens begin at a multiple of it
TOKEN = np.dtype("<i4")
TOKENS, TEXTS = ("terms", "documents"), ("vocabulary", "labels", "metadata")
WHOLE = ("document_count", "token_count", *TEXTS)


def write_tokens(corpus: Corpus, path: Path) -> None:
    parts = {
        "vocabulary": json.dumps(corpus.vocabulary).encode(),
        "labels": b"" if corpus.labels is None else json.dumps(corpus.labels).encode(),
        "metadata": b"" if corpus.metadata is None else pack(corpus.metadata).tobytes(),
    }
    sizes = {"document_count": corpus.document_count, "token_count": corpus.token_count}
    sizes |= {name: len(part) for name, part in parts.items()}
    head = json.dumps({"name": corpus.name[:1000], "fingerprint": corpus.fingerprint, **sizes}).encode()
    head += b" " * (-(len(MAGIC) + len(head) + 1) % ALIGNED) + b"\n"
    with replacing(path) as temporary, open(temporary, "wb") as out:
        out.write(MAGIC + head)
        for array in (corpus.terms, corpus.documents):
            array.astype(TOKEN, copy=False).tofile(out)
        out.writelines(parts.values())


def read_tokens(path: Path, terms: int | None = None) -> Corpus:
    """A corpus whose tokens are in the file, not in memory."""
    try:
        with open(path, "rb") as file:
            head, start = _head(path, file.read(len(MAGIC) + LONGEST_HEAD))
            sizes = dict.fromkeys(TOKENS, 4 * head["token_count"]) | {name: head[name] for name in TEXTS}
            if start + sum(sizes.values()) != path.stat().st_size:
                raise InputError(f"{path}: its size is not what its head announces; it is cut or damaged")
            file.seek(start + sum(sizes[name] for name in TOKENS))
            texts = {name: file.read(sizes[name]) for name in TEXTS}
        if head["token_count"] == 0:
            raise InputError(f"{path}: the corpus is empty (no tokens)")
        of_terms, of_documents = (
            np.asarray(np.memmap(path, TOKEN, "r", start + place, (head["token_count"],))).astype(np.int32, copy=False)
            for place in (0, sizes["terms"])
        )
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    vocabulary, labels = _texts(path, texts, "vocabulary"), _texts(path, texts, "labels")
    if vocabulary is None or terms not in (None, len(vocabulary)):
        raise InputError(f"{path}: --terms {terms} disagrees with its {len(vocabulary or ())} terms")
    metadata = unpack(path, np.frombuffer(texts["metadata"], np.uint8)) if texts["metadata"] else None
    insist_on_documents(path, head["document_count"], head["token_count"])
    for what, found in (("labels", labels), ("rows of metadata", metadata)):
        if found is not None and len(found) != head["document_count"]:
            raise InputError(f"{path}: {len(found)} {what} for {head['document_count']} documents")
    check_texts(vocabulary, "term", str(path))
    corpus = Corpus(of_documents, of_terms, head["document_count"], vocabulary, labels, head["name"], metadata)
    return _sound(path, corpus, head["fingerprint"])


def _head(path: Path, begin: bytes) -> tuple[dict[str, Any], int]:
    """What the head says, and where it ends."""
    end = begin.find(b"\n", len(MAGIC)) + 1
    try:
        head = json.loads(begin[len(MAGIC) : end])
        if not begin.startswith(MAGIC) or not all(isinstance(head[name], str) for name in ("name", "fingerprint")):
            raise TypeError
        if not all(type(head[name]) is int and 0 <= head[name] < 2**40 for name in WHOLE):
            raise TypeError
    except (ValueError, LookupError, TypeError, RecursionError):
        raise InputError(f"{path}: not a file of tokens that bayestopics wrote, or a damaged one") from None
    return head, end


def _texts(path: Path, parts: Mapping[str, bytes], name: str) -> tuple[str, ...] | None:
    if not parts[name]:
        return None
    try:
        texts = json.loads(parts[name])
    except (ValueError, RecursionError):
        texts = None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"{path}: its {name} are not a list of texts")
    return tuple(texts)


def _sound(path: Path, corpus: Corpus, fingerprint: str) -> Corpus:
    """The corpus, if its tokens are in order and inside, and are those that were written."""
    fault = InputError(f"{path}: its tokens are not what was written; it is damaged")
    ends = corpus.documents[[0, -1]]
    if ends[0] < 0 or ends[-1] >= corpus.document_count:
        raise fault
    for first in range(0, corpus.token_count, STEP):
        here = slice(max(0, first - 1), first + STEP)
        documents, terms = corpus.documents[here], corpus.terms[here]
        if terms.min() < 0 or terms.max() >= corpus.term_count or np.any(documents[1:] < documents[:-1]):
            raise fault
    if corpus.fingerprint != fingerprint:
        raise fault
    return replace(corpus, name=corpus.name or str(path))
