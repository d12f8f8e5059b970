"""The metadata of a corpus as bytes, so that a file of numpy arrays can hold the table."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd


def pack(metadata: pd.DataFrame) -> np.ndarray:
    """uint8: the table as Parquet. Columns with values of several types become texts."""
    try:
        data = _parquet(metadata)
    except (TypeError, ValueError, UnicodeError):  # the errors of pyarrow are ValueErrors and TypeErrors
        data = _parquet(metadata.map(_text).reset_index(drop=True))
    return np.frombuffer(data, np.uint8)


def _parquet(metadata: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    metadata.to_parquet(buffer)
    return buffer.getvalue()


def _text(value: object) -> str | None:
    """What is written; halves of characters, which JSON can hold, become question marks."""
    return None if value is None else str(value).encode(errors="replace").decode()


def unpack(data: np.ndarray) -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(np.asarray(data, np.uint8).tobytes()))
