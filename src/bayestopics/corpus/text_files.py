"""Corpora from files of texts: a folder with one text per file, or a table with one text per row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.tables import is_table, read_table, read_text
from bayestopics.corpus.text import Pruning


def read_text_table(
    path: Path, text_column: str | None, header: bool | None, pruning: Pruning, encoding: str
) -> Corpus:
    """One document per row of a CSV, TSV, JSON lines or Parquet file."""
    table = read_table(path, text_column, header, encoding)
    corpus = Corpus.from_texts(table.frame, table.text_column, pruning=pruning, name=str(path))
    return replace(corpus, notes=(*table.notes, *corpus.notes))


def read_folder(path: Path, pruning: Pruning, encoding: str = "utf-8") -> Corpus:
    """One document per file, in the order of their paths; the label of a document is its subfolder, if any."""
    files = sorted(p for p in path.rglob("*") if p.is_file() and not _hidden(p.relative_to(path)))
    if not files:
        raise InputError(f"{path}: the folder has no files")
    if all(map(is_table, files)):
        raise InputError(
            f"{path}: the folder holds tables, not texts; give the name of one of them, such as {files[0]}"
        )
    names = [file.relative_to(path) for file in files]
    folders = [name.parent.as_posix() for name in names]
    labels = folders if any(folder != "." for folder in folders) else None
    corpus = Corpus.from_texts(
        [read_text(file, encoding) for file in files], pruning=pruning, labels=labels, name=str(path)
    )
    return replace(corpus, metadata=pd.DataFrame({"file": [name.as_posix() for name in names]}))


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
