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
from bayestopics.corpus.mapped import read_tokens, write_tokens
from bayestopics.corpus.tables import is_table, plain_name
from bayestopics.corpus.text import Pruning
from bayestopics.corpus.text_files import read_folder, read_text_table

WRITTEN = "x.ldac, docword.x.txt[.gz], x.mtx, x.npz, x.tokens"
KNOWN = (
    "x.csv, x.tsv, x.jsonl, x.parquet, a folder of texts, x.ldac, docword.x.txt, x.mtx (each also .gz), x.npz, x.tokens"
)


def read_corpus(
    path: Path | str,
    *,
    text_column: str | None = None,
    header: bool | None = None,
    terms: int | None = None,
    pruning: Pruning | None = None,
    encoding: str = "utf-8",
) -> Corpus:
    """Read a corpus from a file or a folder. The name decides the format.

    Parameters
    ----------
    path : path or str
        Texts, one document per row: ``x.csv``, ``x.tsv``, ``x.jsonl`` or ``x.ndjson`` (JSON lines), ``x.parquet``; or a
        folder of texts, one document per file. Counts: ``x.ldac`` (LDA-C), ``docword.x.txt`` (UCI bag of words),
        ``x.mtx`` (Matrix Market). Each may be compressed (``.gz``; texts also ``.bz2``, ``.xz`` and ``.zst``). Also
        ``x.npz``: a scipy sparse matrix, or a file of `write_corpus`; and ``x.tokens``, a file of `write_corpus` that
        is mapped into memory, for large corpora.
    text_column : str, optional
        The column of a table that holds the texts. By default, the column ``text``, or the only one that holds texts.
        The columns of a CSV or TSV file without a header are called 1, 2 and so on.
    header : bool, optional
        Whether the first line of a CSV or TSV file names its columns. By default, its content decides.
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
    ...     path = Path(folder) / "animals.csv"
    ...     _ = path.write_text('id,text\\n7,The whale dives.\\n8,"The owl hunts, and the owl sleeps."\\n')
    ...     corpus = read_corpus(path)
    >>> corpus.vocabulary
    ('dives', 'hunts', 'owl', 'sleeps', 'whale')
    >>> corpus.metadata["id"].tolist()
    ['7', '8']
    """
    path = Path(path)
    pruning = pruning or Pruning()
    if not path.exists():
        raise InputError(f"{path}: no such file or folder, and no registered corpus of that name")
    if not path.is_dir() and is_table(path):
        return read_text_table(path, text_column, header, pruning, encoding)
    if text_column is not None:
        raise InputError(f"{path}: --text-column {text_column}: only tables of texts have columns")
    if path.is_dir():
        return read_folder(path, pruning, encoding)
    name = path.name.removesuffix(".gz")
    if name.startswith("docword.") and name.endswith(".txt"):
        return read_uci(path, terms=terms)
    if path.suffix == ".tokens":
        return read_tokens(path, terms)
    readers = {".ldac": read_ldac, ".mtx": read_matrix_market, ".npz": read_binary}
    reader = readers.get(Path(name).suffix)
    if reader is None:
        raise InputError(f"{path}: {_not_readable(path)}")
    return reader(path, terms=terms)


NOT_READABLE = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "a spreadsheet cannot be read; export it as CSV"),
    **dict.fromkeys((".pdf", ".docx", ".doc", ".odt", ".rtf"), "this cannot be read; save it as plain text"),
    ".json": "JSON is read with one object per line; write it as x.jsonl",
    ".txt": "is this one text, or one per line? Put a single text into a folder, and call one per line x.tsv",
    ".zip": "an archive cannot be read; unpack it first",
}


def _not_readable(path: Path) -> str:
    return NOT_READABLE.get(Path(plain_name(path)).suffix, f"unknown format; choose from {KNOWN}")


def write_corpus(corpus: Corpus, path: Path | str) -> None:
    """Write a corpus to a file. The name decides the format.

    Parameters
    ----------
    corpus : Corpus
    path : path or str
        ``x.ldac`` (LDA-C), ``docword.x.txt`` or ``docword.x.txt.gz`` (UCI bag of words), ``x.mtx`` (Matrix Market),
        ``x.npz`` or ``x.tokens``. The first three formats have no place for the vocabulary, so it is written to a file
        beside them. A file of the last kind is large, and costs no memory when it is read.

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
    writers = {".ldac": write_ldac, ".mtx": write_matrix_market, ".npz": write_binary, ".tokens": write_tokens}
    writer = writers.get(path.suffix)
    if writer is None:
        raise InputError(f"{path}: cannot write this format; choose from {WRITTEN}")
    return writer(corpus, path)
