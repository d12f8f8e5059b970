"""Tables of texts in files: CSV, TSV, JSON lines and Parquet, each possibly compressed.

Reading is strict. What is probably not meant is refused in one line that says where it is and what to do: rows of
different lengths, a quote that does not end, binary files, bytes of another encoding. Every value of a CSV or TSV is a
text: NA and null are words like any others.
"""

from __future__ import annotations

import bz2
import csv
import io
import json
import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from bayestopics.base.files import decode, read_bytes, read_limited
from bayestopics.base.problems import InputError
from bayestopics.base.wording import is_no_text
from bayestopics.corpus.columns import LOOKED_AT, holds_texts, typical_length

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
# about ten novels: a longer field is rather a quote that is never closed
LONGEST_FIELD = 10_000_000
MOST_COLUMNS = 10_000


@dataclass(frozen=True)
class Table:
    frame: pd.DataFrame
    text_column: str | None
    notes: tuple[str, ...] = ()


def plain_name(path: Path) -> str:
    """The name in lower case, without what says that the file is compressed."""
    name = path.name.lower()
    return name.removesuffix(Path(name).suffix) if Path(name).suffix in COMPRESSED else name


def is_table(path: Path) -> bool:
    return plain_name(path).endswith(SUFFIXES)


def read_table(path: Path, text_column: str | None, header: bool | None, encoding: str) -> Table:
    """Read a table; `header` says whether its first line names the columns, and None leaves that to its content."""
    kind = Path(plain_name(path)).suffix
    if kind == ".parquet":
        return Table(_parquet(path), text_column)
    text = read_text(path, encoding)
    if kind in (".jsonl", ".ndjson"):
        return Table(_json_lines(path, text), text_column)
    if re.match(r"\s*<(!doctype|html|\?xml)", text[:100], re.IGNORECASE):
        raise InputError(f"{path}: this is a web page or XML, not a table")
    if kind == ".tsv" and _in_quotes(text):
        kind = ".csv"
    rows = list(_tsv_rows(text) if kind == ".tsv" else _csv_rows(path, text))
    if kind == ".tsv":
        _refuse_commas(path, rows)
    return _from_rows(path, rows, text_column, header)


# -- bytes and characters --------------------------------------------------------------------------


def read_text(path: Path, encoding: str) -> str:
    """The characters of a file of texts. Binary files are refused, and so are bytes of another encoding."""
    data = contents(path)
    _refuse_binary(path, data, encoding)
    try:
        text = decode(data, path, encoding)
    except InputError as error:
        if "unknown encoding" in str(error):
            raise
        raise InputError(f"{error}; name the encoding of the file with --encoding (for example latin-1)") from None
    if (place := text.find("\0")) >= 0:
        line = text.count("\n", 0, place) + 1
        raise InputError(
            f"{path}: line {line}: a NUL character; the file is binary or in another encoding (--encoding utf-16?)"
        )
    return text


def contents(path: Path) -> bytes:
    """The bytes of a file, unpacked if its name says that it is compressed."""
    data, suffix = read_bytes(path), path.suffix.lower()  # read_bytes unpacks .gz
    try:
        if suffix == ".bz2":
            with bz2.BZ2File(io.BytesIO(data)) as file:
                return read_limited(file, path, len(data))
        if suffix == ".xz":
            with lzma.LZMAFile(io.BytesIO(data)) as file:
                return read_limited(file, path, len(data))
        if suffix == ".zst":
            return _unpack_zstd(path, data)
    except InputError:
        raise
    except (OSError, ValueError, EOFError, lzma.LZMAError) as error:
        raise InputError(f"{path}: not a complete {suffix} file ({error})") from None
    return data


def _unpack_zstd(path: Path, data: bytes) -> bytes:
    import pyarrow

    with pyarrow.input_stream(pyarrow.BufferReader(data), compression="zstd") as stream:
        unpacked = read_limited(stream, path, len(data))
    if data and not unpacked:  # the library takes a cut header for an empty file
        raise ValueError("its end is missing")
    return unpacked


BINARY = {
    b"%PDF": "a PDF; save its text as a plain text file",
    b"PK\x03\x04": "a zip archive, as spreadsheets and Word files are; export it as CSV or as plain text",
    b"\xd0\xcf\x11\xe0": "an old Office file; export it as CSV or as plain text",
    b"{\\rtf": "a rich text file; save it as plain text",
    b"PAR1": "a Parquet file; its name must end in .parquet",
    b"\x1f\x8b": "compressed by gzip; its name must end in .gz",
    b"BZh": "compressed by bzip2; its name must end in .bz2",
    b"\xfd7zXZ": "compressed by xz; its name must end in .xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; its name must end in .zst",
    b"SQLite format 3": "a database; export the table as CSV",
    b"\x89PNG": "a picture, not a text",
    b"\xff\xd8\xff": "a picture, not a text",
    b"GIF8": "a picture, not a text",
    b"\x93NUMPY": "a numpy array, not a text",
    b"\x7fELF": "a program, not a text",
}


def _refuse_binary(path: Path, data: bytes, encoding: str) -> None:
    for start, what in BINARY.items():
        if data.startswith(start):
            raise InputError(f"{path}: this is {what}")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") and encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        raise InputError(f"{path}: byte 0: the file begins like UTF-16; read it with --encoding utf-16")


# -- CSV and TSV -----------------------------------------------------------------------------------

Row = tuple[int, list[str]]  # the line on which the row begins, and its cells


def _tsv_rows(text: str) -> Iterator[Row]:
    """One row per line; quotes have no meaning."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, 1):
        yield number, line.split("\t")


def _in_quotes(text: str) -> bool:
    """Does a TSV have quotes as a CSV has them? Some programs put all names and texts in quotes, others those with line
    breaks. In a TSV without quotes, a line with a cell that begins with a quote has as many tabs as the others."""
    names, *lines = text.split("\n", LOOKED_AT)
    if any(re.fullmatch(r'"[^"]+"', name.strip()) for name in names.split("\t")):
        return True
    return any("\t" in names and line.count("\t") < names.count("\t") for line in lines[:-1]) and '\t"' in text


def _refuse_commas(path: Path, rows: list[Row]) -> None:
    """One column whose first line names several with commas between them is a CSV."""
    names = [name.strip().lower() for name in ",".join(rows[0][1]).split(",")] if rows else []
    if len(rows[0][1] if rows else ()) == 1 and len(names) > 1 and all(map(USUAL_NAMES.fullmatch, names)):
        raise InputError(f"{path}: line 1: there are commas between the columns, not tabs; call the file x.csv")


def _csv_rows(path: Path, text: str) -> Iterator[Row]:
    """Rows with quotes and line breaks inside quotes; blank lines at the end are left out."""
    reader = csv.reader(io.StringIO(text.rstrip("\r\n"), newline=""), delimiter=_delimiter(text), strict=True)
    before = csv.field_size_limit(LONGEST_FIELD)
    start = 1
    try:
        for row in reader:
            yield start, row or [""]
            start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}: line {start}: {_csv_fault(str(error))}") from None
    finally:
        csv.field_size_limit(before)


def _csv_fault(fault: str) -> str:
    if "unexpected end" in fault:
        return "a quoted field begins in this row and does not end"
    if "expected after" in fault:
        return "text follows a closing quote; a quote inside a field is written twice"
    if "field limit" in fault:
        return f"a field has more than {LONGEST_FIELD:,} characters; is a closing quote missing?"
    return fault


def _delimiter(text: str) -> str:
    """The comma, unless the first line has none and has semicolons or tabs, as some spreadsheets write them."""
    line = re.sub(r'"[^"]*"', "", text[:100_000].lstrip("\r\n").split("\n", 1)[0])
    return next((mark for mark in (",", ";", "\t") if mark in line), ",")


def _from_rows(path: Path, rows: list[Row], text_column: str | None, header: bool | None) -> Table:
    if not rows or rows == [(1, [""])]:
        raise InputError(f"{path}: the corpus is empty (no lines)")
    width = len(rows[0][1])
    if width > MOST_COLUMNS:
        raise InputError(f"{path}: line 1: {width:,} columns are too many for a table of texts")
    for line, row in rows:
        if len(row) != width:
            hint = "" if len(row) < width else "; a text with separators in it must be in quotes"
            raise InputError(f"{path}: line {line}: {len(row)} columns instead of {width}{hint}")
    cells = [row for _, row in rows]
    if header is None:
        header = _has_header(cells[0], list(zip(*islice(cells, 1, LOOKED_AT), strict=True)), text_column)
    if not header:
        return _without_header(path, pd.DataFrame(cells, dtype=object), text_column)
    if len(cells) == 1:
        raise InputError(f"{path}: the corpus is empty (0 documents after the line with the names of the columns)")
    names = [cell.strip() or str(number) for number, cell in enumerate(cells[0], 1)]
    table = pd.DataFrame(cells[1:], dtype=object).set_axis(names, axis=1)
    return Table(table, text_column)


# words that name a column in the first line of very many tables
USUAL_NAMES = re.compile(
    "(text|document|doc|content|body|message|review|abstract|comment|tweet|description|title|id|label|category|author)s?"
    "|date|year|name"
)
NAME = re.compile(r"[^\W\d][^.!?]{0,39}")


def _has_header(first: list[str], columns: list[tuple[str, ...]], text_column: str | None) -> bool:
    """Does the first line name the columns? Names are short, and differ from what is below them."""
    names = [cell.strip() for cell in first]
    if text_column in names or "text" in [name.lower() for name in names]:
        return True
    if not all(name == "" or (NAME.fullmatch(name) and len(name.split()) <= 4) for name in names) or not any(names):
        return False
    if any(USUAL_NAMES.fullmatch(name.lower()) for name in names):
        return True
    return any(_numbers(column) or _longer(name, column) for name, column in zip(names, columns, strict=False) if name)


def _numbers(values: tuple[str, ...]) -> bool:
    filled = [value.strip() for value in values if value.strip()]
    return bool(filled) and all(re.fullmatch(r"[-+]?[\d.,:/\- ]*\d[\d.,:/\- ]*%?", value) for value in filled)


def _longer(name: str, values: tuple[str, ...]) -> bool:
    return typical_length(values) >= 3 * max(1, len(name.split()))


def _without_header(path: Path, table: pd.DataFrame, text_column: str | None) -> Table:
    """Columns are called 1, 2, ...; the text is the only one that holds texts, otherwise the last one.

    With three or more columns (id, label, text), the second is the label.
    """
    names = [str(number) for number in range(1, len(table.columns) + 1)]
    table = table.set_axis(names, axis=1)
    notes: tuple[str, ...] = ()
    if text_column is None:
        texts = [name for name in names if holds_texts(table[name])]
        text_column = texts[0] if len(texts) == 1 else names[-1]
        if len(names) > 1:
            notes = (f"{path}: line 1 is a document, and the texts are in column {text_column} of {len(names)}",)
    elif text_column not in names:
        raise InputError(
            f"{path}: there is no column {text_column!r} (--text-column): line 1 names no columns, so they are "
            f"called 1 to {len(names)}"
        )
    if len(names) >= 3 and text_column != "2":
        table = table.rename(columns={"2": "label"})
    return Table(table, text_column, notes)


# -- JSON lines and Parquet ------------------------------------------------------------------------


def _json_lines(path: Path, text: str) -> pd.DataFrame:
    """One object per line; a key that a line does not have is a missing value."""
    objects = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            fault = "too deeply nested" if isinstance(error, RecursionError) else error
            raise InputError(f"{path}: line {number}: not JSON ({fault})") from None
        if not isinstance(found, dict):
            kind = type(found).__name__
            raise InputError(f'{path}: line {number}: a {kind} instead of an object such as {{"text": "..."}}')
        objects.append(found)
    if not objects:
        raise InputError(f"{path}: the corpus is empty (no lines)")
    columns = list(dict.fromkeys(key for found in objects for key in found))
    if len(columns) > MOST_COLUMNS:
        raise InputError(f"{path}: {len(columns):,} different keys are too many for a table of texts")
    return pd.DataFrame({key: pd.Series([found.get(key) for found in objects], dtype=object) for key in columns})


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if any(is_no_text(key) for key in found):
        raise ValueError("a key holds half of a surrogate pair, which is not text")
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice")
    return found


def _parquet(path: Path) -> pd.DataFrame:
    import pyarrow
    from pyarrow import parquet

    data = contents(path)
    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(data), pre_buffer=False)
        names = file.schema_arrow.names
        if len(set(names)) < len(names):
            raise InputError(f"{path}: two columns have the same name; rename one of them")
        # without threads, which may outlive a command that is refused at once, and end it with a message of their own
        read = file.read(use_threads=False)
        read.validate(full=True)  # texts that are no UTF-8 would be noticed only when they are used
        table: pd.DataFrame = read.to_pandas(use_threads=False)
    except (pyarrow.ArrowException, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not a Parquet file ({' '.join(str(error).split())[:200]})") from None
    if not len(table):
        raise InputError(f"{path}: the corpus is empty (0 documents)")
    return table
