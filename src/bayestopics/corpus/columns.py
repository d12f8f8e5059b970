"""The texts, labels and metadata in a list, a pandas Series or a table: which column holds the texts?

The text column is the one that is asked for, or the one called `text`, or the only one that holds texts. If several
columns could be meant, none is guessed. The other columns stay with the documents as metadata, and a column `label`
gives the labels.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.problems import InputError
from bayestopics.corpus.text import TOKEN, unspaced

LOOKED_AT = 1000  # values of a column; texts and ids differ in the first few
WORDS_OF_A_TEXT = 3
# so many texts of about one word are no accident: it is a column of ids or names
ENOUGH_FOR_IDS = 10
CHOOSE = "with --text-column or, in Python, with text_column"


@dataclass(frozen=True)
class Documents:
    texts: list[Any]
    labels: list[str] | None = None
    metadata: pd.DataFrame | None = None
    notes: list[str] = field(default_factory=list)


def documents_of(texts: Any, text_column: str | None, name: str, any_kind: bool = False) -> Documents:
    """The documents in a DataFrame, a Series or a list; with `any_kind`, a text may be something else than a string."""
    if isinstance(texts, pd.DataFrame):
        return _from_table(texts, text_column, name, any_kind)
    if text_column is not None:
        raise InputError(f"{name}: a text column can be chosen only in a table, and this is a {type(texts).__name__}")
    if isinstance(texts, str | bytes | Path | Mapping | Set) or not isinstance(texts, Iterable):
        raise InputError(
            f"{name}: a list of texts, a pandas Series or a DataFrame is needed, not a {type(texts).__name__} "
            "(read_corpus reads files and folders)"
        )
    found, notes = _strings(texts, name, any_kind)
    _refuse_files(found, name)
    _refuse_ids(found, name, "the list", "")
    index = _index(texts.index) if isinstance(texts, pd.Series) else {}
    return Documents(found, metadata=pd.DataFrame(index) if index else None, notes=notes)


def _from_table(table: pd.DataFrame, text_column: str | None, name: str, any_kind: bool) -> Documents:
    columns = [str(column).strip() for column in table.columns]
    _refuse_duplicates(columns, name)
    table = table.set_axis(columns, axis=1)
    column, notes = choose_column(table, text_column, name)
    known = table[column].dropna()
    if not any_kind and len(known) and pd.api.types.is_numeric_dtype(known.infer_objects()):
        raise InputError(f"{name}: the column {column!r} holds numbers, not texts{_others(columns)}")
    found, more = _strings(table[column], name, any_kind)
    _refuse_ids(found, name, f"the column {column!r}", _others(columns))
    label = next((other for other in columns if other.lower() == "label" and other != column), None)
    labels = None if label is None else ["" if _missing(value) else str(value) for value in table[label]]
    index = {key: values for key, values in _index(table.index).items() if key not in columns}
    rest = pd.concat([pd.DataFrame(index, index=table.index), table.drop(columns=column)], axis=1)
    return Documents(found, labels, _plain(rest) if len(rest.columns) else None, notes + more)


def _index(index: pd.Index) -> dict[str, Any]:
    """The columns in an index that says something: one with a name, or not of whole numbers."""
    levels = [index.get_level_values(level) for level in range(index.nlevels)]
    return {
        str(level.name or "index"): level.to_numpy()
        for level in levels
        if level.name is not None or not pd.api.types.is_integer_dtype(level.dtype)
    }


def _others(columns: list[str]) -> str:
    return f"; choose another one {CHOOSE} ({_listed(columns)})" if len(columns) > 1 else ""


def _refuse_duplicates(columns: list[str], name: str) -> None:
    for column in columns:
        if columns.count(column) > 1:
            raise InputError(f"{name}: two columns are called {column!r}; rename one of them")


def choose_column(table: pd.DataFrame, text_column: str | None, name: str) -> tuple[str, list[str]]:
    """The column of the texts, and a note if it was found by its content."""
    columns = list(table.columns)
    if not columns:
        raise InputError(f"{name}: the table has no columns")
    if text_column is not None:
        if str(text_column) not in columns:
            raise InputError(f"{name}: there is no column {str(text_column)!r} (--text-column): {_listed(columns)}")
        return str(text_column), []
    called_text = [column for column in columns if column.lower() == "text"]
    if len(called_text) == 1 or "text" in called_text:
        return "text" if "text" in called_text else called_text[0], []
    if len(columns) == 1:
        return columns[0], []
    texts = [column for column in columns if holds_texts(table[column])]
    if len(texts) == 1:
        return texts[0], [f"{name}: the texts are in the column {texts[0]!r}, the only one that holds texts"]
    if texts:
        raise InputError(f"{name}: more than one column holds texts; choose one {CHOOSE} ({_listed(texts)})")
    raise InputError(f"{name}: no column is called text or holds texts; choose one {CHOOSE} ({_listed(columns)})")


def _listed(columns: list[str], most: int = 20) -> str:
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return f"columns: {', '.join(map(repr, columns[:most]))}{more}"


def holds_texts(values: Iterable[Any]) -> bool:
    return typical_length(values) >= WORDS_OF_A_TEXT


def typical_length(values: Iterable[Any]) -> float:
    """The median number of tokens in the first values that are not empty."""
    lengths = []
    for value in values:
        if isinstance(value, str) and value.strip():
            lengths.append(len(re.findall(TOKEN, value[:10_000])))
        if len(lengths) == LOOKED_AT:
            break
    return median(lengths) if lengths else 0


# -- values ----------------------------------------------------------------------------------------


def _strings(values: Iterable[Any], name: str, any_kind: bool) -> tuple[list[Any], list[str]]:
    """The texts. A missing value is an empty document, and a number is what is written."""
    found: list[Any] = []
    missing = 0
    for number, value in enumerate(values, 1):
        if isinstance(value, str) or (any_kind and not _missing(value)):
            found.append(value)
        elif _missing(value):
            found.append("")
            missing += 1
        elif isinstance(value, bool | int | float | np.number):
            found.append(str(value))
        else:
            words = isinstance(value, list | tuple | np.ndarray) and all(isinstance(word, str) for word in value)
            what = f"a {type(value).__name__}, not a string" + ("; join its words with blanks" if words else "")
            raise InputError(f"{name}: document {number}: the text is {what}")
    have = "document has" if missing == 1 else "documents have"
    notes = [f"{name}: {missing:,} {have} a missing value instead of a text, and no words"] if missing else []
    return found, notes


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def _refuse_files(texts: list[Any], name: str) -> None:
    """Names of files are no texts."""
    some = [text for text in texts[:ENOUGH_FOR_IDS] if isinstance(text, str) and text]
    if some and all(len(text) < 1000 and "\0" not in text and os.path.isfile(text) for text in some):
        raise InputError(
            f"{name}: the list holds names of files, such as {some[0]!r}, not texts; read_corpus reads files"
        )


def _refuse_ids(texts: list[Any], name: str, where: str, instead: str) -> None:
    """Texts of about one word are ids or names. Long ones with other letters may be of a script without spaces."""
    filled = [text for text in texts if isinstance(text, str) and text.strip()]
    if len(filled) < ENOUGH_FOR_IDS:
        return
    words = sum(len(text.split()) for text in filled)
    foreign = sum(len(text) for text in filled if not text.isascii())
    if words < 1.5 * len(filled) and foreign < 20 * len(filled) and unspaced(filled) is None:
        example = filled[0].strip()[:40]
        raise InputError(f"{name}: {where} holds about one word per document, such as {example!r}, not texts{instead}")


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """A copy of the table in which lists and dictionaries, as JSON can have them, are JSON texts."""
    table = table.copy()
    for column in table.columns:
        if table[column].dtype == object:
            table[column] = [json.dumps(value) if isinstance(value, list | dict) else value for value in table[column]]
    return table
