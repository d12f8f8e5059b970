"""The state of a computation as bytes and back, with nothing in the file that could be executed.

A packed file is a line of text, a checksum, and an npz archive with the structure as JSON and the arrays that it refers
to by number. The state may consist of plain values, arrays, tables, random generators and dataclasses. A dataclass is
stored as the name of its class and its fields; it is restored without calling any code, and only if the program has
already imported its module. A file with anything else counts as damaged.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.arrays import read_arrays

MAGIC = b"bayestopics state 1\n"
STRUCTURE = "structure"
PIECE = 2**20  # bytes
GENERATORS = ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")


class Damaged(ValueError):
    """The bytes are not what was packed."""


def pack(value: Any) -> bytes:
    content = io.BytesIO()
    pack_into(content, value)
    return content.getvalue()


def pack_into(file: Any, value: Any) -> None:
    """Pack into an empty file that is open for reading and writing; large arrays are not copied on the way."""
    packer = _Packer()
    structure = json.dumps(packer.plain(value)).encode()
    named = {f"a{number}": array for number, array in enumerate(packer.arrays)}
    start = file.write(bytes(len(_head(hashlib.sha256()))))
    np.savez(_Behind(file, start), allow_pickle=False, **{STRUCTURE: np.frombuffer(structure, np.uint8)}, **named)
    file.seek(start)
    digest = hashlib.sha256()
    while piece := file.read(PIECE):
        digest.update(piece)
    file.seek(0)
    file.write(_head(digest))


class _Behind:
    """The part of a file behind its head, as a file."""

    def __init__(self, file: Any, start: int) -> None:
        self.read, self.write, self.flush = file.read, file.write, file.flush
        self._file, self._start = file, start

    def tell(self) -> int:
        return int(self._file.tell()) - self._start

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        return int(self._file.seek(place + self._start if whence == os.SEEK_SET else place, whence)) - self._start


def unpack(data: bytes) -> Any:
    start = len(_head(hashlib.sha256()))
    if not data.startswith(MAGIC) or len(data) < start:
        raise Damaged("it is not a checkpoint of bayestopics, or its end is missing")
    body = data[start:]
    if data[:start] != _head(hashlib.sha256(body)):
        raise Damaged("its checksum is wrong")
    try:
        arrays = read_arrays(body, "the archive", limited=False)
        return _Unpacker(arrays).value(json.loads(arrays[STRUCTURE].tobytes()))
    except Damaged:
        raise
    except Exception as error:  # a manipulated file may have a valid checksum
        raise Damaged(f"its content cannot be read ({type(error).__name__}: {error})") from None


def _head(digest: Any) -> bytes:
    return MAGIC + digest.hexdigest().encode() + b"\n"


class _Packer:
    """Values as JSON: plain values and lists as they are, everything else as {kind: content}."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._numbers: dict[int, int] = {}  # arrays that are already stored, so that shared arrays stay shared

    def plain(self, value: Any) -> Any:
        if value is None or type(value) in (bool, int, float, str):
            return value
        if type(value) is list:
            return [self.plain(item) for item in value]
        if type(value) is tuple:
            return {"tuple": [self.plain(item) for item in value]}
        if type(value) is dict:
            return {"dict": [[self.plain(key), self.plain(item)] for key, item in value.items()]}
        if type(value) is np.ndarray:  # no subclass: its extra content, such as a mask, would be lost
            return {"array": [self._number(value), value.flags.writeable]}
        if isinstance(value, np.generic):
            return {"scalar": self._number(np.array(value))}
        if isinstance(value, np.random.Generator):
            return {"generator": self.plain(value.bit_generator.state)}
        if isinstance(value, pd.DataFrame):
            return {"table": self._table(value)}
        if isinstance(value, pd.Series):
            return {"series": [self._table(value.to_frame("values")), self.plain(value.name)]}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            kind = type(value)
            content = {field.name: self.plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
            return {"dataclass": [kind.__module__, kind.__qualname__, content]}
        raise TypeError(f"{type(value).__name__} cannot be packed")

    def _number(self, array: np.ndarray) -> int:
        if array.dtype.hasobject:
            raise TypeError("an array of Python objects cannot be packed")
        if id(array) not in self._numbers:
            self._numbers[id(array)] = len(self.arrays)
            self.arrays.append(array)
        return self._numbers[id(array)]

    def _table(self, table: pd.DataFrame) -> int:
        content = io.BytesIO()
        table.to_parquet(content)
        return self._number(np.frombuffer(content.getvalue(), np.uint8))


class _Unpacker:
    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self._arrays = arrays

    def value(self, plain: Any) -> Any:
        if isinstance(plain, list):
            return [self.value(item) for item in plain]
        if not isinstance(plain, dict):
            return plain
        ((kind, content),) = plain.items()
        if kind == "tuple":
            return tuple(self.value(item) for item in content)
        if kind == "dict":
            return {self.value(key): self.value(item) for key, item in content}
        if kind == "array":
            array = self._arrays[f"a{content[0]}"]
            array.flags.writeable = content[1]
            return array
        if kind == "scalar":
            return self._arrays[f"a{content}"][()]
        if kind == "generator":
            return _generator(self.value(content))
        if kind == "table":
            return self._table(content)
        if kind == "series":
            return self._table(content[0])["values"].rename(self.value(content[1]))
        if kind == "dataclass":
            return self._dataclass(*content)
        raise Damaged(f"it holds a {kind}")

    def _table(self, number: int) -> pd.DataFrame:
        return pd.read_parquet(io.BytesIO(self._arrays[f"a{number}"].tobytes()))

    def _dataclass(self, module: str, name: str, content: dict[str, Any]) -> Any:
        kind: Any = sys.modules.get(module)
        for part in name.split("."):  # looked up in dictionaries, because `getattr` may call code
            kind = vars(kind).get(part) if isinstance(kind, ModuleType | type) else None
        if not isinstance(kind, type) or not dataclasses.is_dataclass(kind):
            raise Damaged(f"{module}.{name} is not a dataclass here")
        if {field.name for field in dataclasses.fields(kind)} != set(content):
            raise Damaged(f"{module}.{name} has other fields")
        made = object.__new__(kind)
        for field, item in content.items():
            object.__setattr__(made, field, self.value(item))
        return made


def _generator(state: dict[str, Any]) -> np.random.Generator:
    if state["bit_generator"] not in GENERATORS:
        raise Damaged(f"there is no generator {state['bit_generator']}")
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)
