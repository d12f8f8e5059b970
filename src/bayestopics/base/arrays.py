"""Reads the arrays of an .npz file, and trusts nothing in it.

numpy's own reader reserves memory for whatever shape a file announces, and calls Python code for some types. Here every
announcement is compared with the bytes that are there before an array is made, and each fault is an InputError.
"""

from __future__ import annotations

import io
import math
import struct
import sys
import zipfile
import zlib

import numpy as np

from bayestopics.base.limits import insist_on_inflation
from bayestopics.base.problems import InputError
from bayestopics.base.wording import quoted

# what zipfile and zlib raise for archives that are incomplete, damaged or of a kind that they do not know
BAD_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    RuntimeError,
    ArithmeticError,
)
PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # all that numpy writes
ENCRYPTED = 0x1
LONGEST_HEADER = 10_000  # numpy's limit, because headers are parsed as Python literals


def read_arrays(data: bytes, place: object, limited: bool = True) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name; `place` is the name of the file in messages. The arrays can be written to.

    Without `limited`, for a file whose checksum is known, arrays may be any number of times larger than the file.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            _check_members(members, place)
            if limited:
                insist_on_inflation(place, sum(member.file_size for member in members), len(data))
            return {
                member.filename.removesuffix(".npy"): _array(_content(archive, member), f"{place}: {member.filename}")
                for member in members
            }
    except InputError:
        raise
    except BAD_ZIP as error:
        said = " ".join(str(error).split())[:100] or type(error).__name__
        raise InputError(f"{place}: not an .npz file, or a damaged one ({said})") from None


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """No more than the size that the archive announces; `ZipFile.read` unpacks everything before it compares."""
    with archive.open(member) as file:
        return file.read(member.file_size)


def _check_members(members: list[zipfile.ZipInfo], place: object) -> None:
    names = [member.filename for member in members]
    for member in members:
        if not member.filename.endswith(".npy"):
            raise InputError(f"{place}: holds {quoted(member.filename)}, but an .npz file holds only .npy files")
        if member.flag_bits & ENCRYPTED:
            raise InputError(f"{place}: {member.filename} is encrypted")
        if member.compress_type not in PLAIN:
            raise InputError(f"{place}: {member.filename} is compressed in another way than .npz files are")
    if len(set(names)) < len(names):
        raise InputError(f"{place}: holds two arrays of the same name")


def _array(content: bytes, place: str) -> np.ndarray:
    """An array from the content of an .npy file."""
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, by_columns, dtype = read_header[version](file, max_header_size=LONGEST_HEADER)
    except Exception as error:  # the header is a Python literal, and may fail in as many ways as Python's parser
        raise InputError(f"{place}: its header cannot be read ({type(error).__name__})") from None
    if dtype.hasobject or dtype.itemsize == 0 or dtype.subdtype is not None:
        raise InputError(f"{place}: holds {dtype}, not numbers or texts")
    start, announced = file.tell(), math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or announced != len(content) - start:
        raise InputError(f"{place}: its header announces the shape {shape}, but it has {len(content) - start:,} bytes")
    try:
        flat = np.frombuffer(content, dtype, offset=start).copy() if announced else np.empty(0, dtype)
        if (
            dtype.kind == "U"
            and flat.view(np.dtype("u4").newbyteorder(dtype.byteorder)).max(initial=0) > sys.maxunicode
        ):
            raise InputError(f"{place}: holds numbers that are no characters, where texts should be")
        return flat.reshape(shape, order="F" if by_columns else "C")
    except InputError:
        raise
    except (ValueError, TypeError) as error:  # too many dimensions, or a size of True
        raise InputError(f"{place}: {error}") from None
