"""Read and write corpora; the name of the file decides the format."""

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
    """Read a corpus from a file or a folder. The name decides the format.

    Parameters
    ----------
    path : path or str
        ``x.ldac`` (LDA-C), ``docword.x.txt`` (UCI bag of words), ``x.mtx`` (Matrix Market), ``x.tsv`` (texts, one
        document per line), each also with ``.gz``; ``x.npz`` (a scipy sparse matrix, or a file of `write_corpus`); or
        a folder of texts, one document per file.
    terms : int, optional
        The number of terms, if neither a vocabulary nor the file gives it. By default, the largest id plus 1.
    pruning : Pruning, optional
        Which terms of texts to keep. Other formats are read unchanged.
    encoding : str
        The character encoding of texts.

    Returns
    -------
    Corpus

    Raises
    ------
    InputError
        If the file does not exist or cannot be read. The message names the file and, if possible, the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bayestopics import read_corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "animals.tsv"
    ...     _ = path.write_text("The whale dives.\\nThe owl hunts, and the owl sleeps.\\n")
    ...     corpus = read_corpus(path)
    >>> corpus.vocabulary
    ('dives', 'hunts', 'owl', 'sleeps', 'whale')
    >>> corpus.token_count
    6
    """
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
        raise InputError(f"{path}: unknown format; choose from {KNOWN}")
    return reader(path, terms=terms)


def write_corpus(corpus: Corpus, path: Path | str) -> None:
    """Write a corpus to a file. The name decides the format.

    Parameters
    ----------
    corpus : Corpus
    path : path or str
        ``x.ldac`` (LDA-C), ``docword.x.txt`` or ``docword.x.txt.gz`` (UCI bag of words), ``x.mtx`` (Matrix Market) or
        ``x.npz``. The first three formats have no place for the vocabulary, so it is written to a file beside them.

    Raises
    ------
    InputError
        If the name belongs to none of these formats, or is the name of a folder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bayestopics import Corpus, read_corpus, write_corpus
    >>> corpus = Corpus.from_sparse([[2, 1, 0], [0, 1, 3]], ["owl", "tree", "whale"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_corpus(corpus, Path(folder) / "animals.ldac")
    ...     written = sorted(path.name for path in Path(folder).iterdir())
    ...     same = read_corpus(Path(folder) / "animals.ldac").fingerprint == corpus.fingerprint
    >>> written
    ['animals.ldac', 'animals.ldac.vocab']
    >>> same
    True
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder")
    if path.name.startswith("docword.") and path.name.removesuffix(".gz").endswith(".txt"):
        return write_uci(corpus, path)
    writers = {".ldac": write_ldac, ".mtx": write_matrix_market, ".npz": write_binary}
    writer = writers.get(path.suffix)
    if writer is None:
        raise InputError(f"{path}: cannot write this format; choose from x.ldac, docword.x.txt[.gz], x.mtx, x.npz")
    return writer(corpus, path)
