"""The metadata of a corpus as bytes, so that a file of numpy arrays can hold the table."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd

from bayestopics.base.problems import InputError


def pack(metadata: pd.DataFrame) -> np.ndarray:
    """uint8: the table as Parquet."""
    return np.frombuffer(_parquet(storable(metadata)), np.uint8)


def storable(metadata: pd.DataFrame) -> pd.DataFrame:
    """A table that Parquet can hold: columns with values of several types become texts."""
    table = metadata.reset_index(drop=True)
    for name in table:
        if not _fits(table[[name]]):
            table[name] = table[name].map(_text)
    return table


def _fits(column: pd.DataFrame) -> bool:
    try:
        _parquet(column)
    except (TypeError, ValueError, UnicodeError):  # the errors of pyarrow are ValueErrors and TypeErrors
        return False
    return True


def _parquet(metadata: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    metadata.to_parquet(buffer)
    return buffer.getvalue()


def _text(value: object) -> str | None:
    """What is written; halves of characters, which JSON can hold, become question marks."""
    return None if value is None else str(value).encode(errors="replace").decode()


def unpack(path: Path, data: np.ndarray) -> pd.DataFrame:
    """The table; `path` is for the message if it is damaged."""
    from pyarrow import ArrowException, BufferReader, parquet

    fault = f"{path}: its array 'metadata' is not a table"
    if data.dtype != np.uint8:
        raise InputError(fault)
    try:
        read = parquet.read_table(BufferReader(data.tobytes()))
        read.validate(full=True)  # texts that are no UTF-8 would be noticed only when they are used
        table: pd.DataFrame = read.to_pandas()
        return table
    except (ArrowException, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{fault} ({' '.join(str(error).split())[:200]})") from None
