"""Read and write corpora by the name of the file."""

from __future__ import annotations

from pathlib import Path

from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.formats import (
    read_binary,
    read_ldac,
    read_matrix_market,
    read_uci,
    write_binary,
    write_ldac,
    write_matrix_market,
    write_uci,
)
from bayestopics.corpus.text import Pruning, read_folder, read_tsv

KNOWN = "x.ldac, docword.x.txt, x.mtx, x.tsv (each also .gz), x.npz, or a folder of texts"


def read_corpus(
    path: Path | str, *, terms: int | None = None, pruning: Pruning | None = None, encoding: str = "utf-8"
) -> Corpus:
    """A corpus from a file or folder; the name tells the format. `pruning` and `encoding` are for texts."""
    path = Path(path)
    pruning = pruning or Pruning()
    if not path.exists():
        raise InputError(f"{path}: no such file or folder, and no registered corpus of that name")
    if path.is_dir():
        return read_folder(path, pruning, encoding)
    name = path.name.removesuffix(".gz")
    if name.endswith(".tsv"):
        return read_tsv(path, pruning, encoding)
    if name.startswith("docword.") and name.endswith(".txt"):
        return read_uci(path, terms=terms)
    readers = {".ldac": read_ldac, ".mtx": read_matrix_market, ".npz": read_binary}
    reader = readers.get(Path(name).suffix)
    if reader is None:
        raise InputError(f"{path}: unknown format; known are {KNOWN}")
    return reader(path, terms=terms)


def write_corpus(corpus: Corpus, path: Path | str) -> None:
    """Write LDA-C, UCI, Matrix Market or .npz by the name of the file; the vocabulary goes beside it."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder")
    if path.name.startswith("docword.") and path.name.removesuffix(".gz").endswith(".txt"):
        return write_uci(corpus, path)
    writers = {".ldac": write_ldac, ".mtx": write_matrix_market, ".npz": write_binary}
    writer = writers.get(path.suffix)
    if writer is None:
        raise InputError(f"{path}: cannot write this format; known are x.ldac, docword.x.txt[.gz], x.mtx, x.npz")
    return writer(corpus, path)
