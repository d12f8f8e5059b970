"""Files: always complete or absent when written; an error of one line when they cannot be read."""

from __future__ import annotations

import codecs
import glob
import gzip
import hashlib
import io
import os
import platform
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bayestopics.base.limits import insist_on_inflation
from bayestopics.base.problems import InputError

HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:8]  # of many machines that share a folder
PIECE = 2**20  # bytes that are unpacked at a time


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path beside `target` (a file or a folder), which is renamed to `target` if there was no error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_left_over(target)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.{HOST}-{os.getpid()}.", dir=target.parent))
    scratch.chmod(0o755)
    temporary, old = scratch / target.name, scratch / f"{target.name}.old"
    try:
        yield temporary
        if temporary.is_dir() and target.is_dir():
            os.replace(target, old)  # a rename, so that an interruption never leaves half a folder
        os.replace(temporary, target)
    except BaseException:
        if old.exists() and not target.exists():
            os.replace(old, target)
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _remove_left_over(target: Path) -> None:
    """Remove the scratch folders for this target of processes that were killed on this machine."""
    for path in target.parent.glob(f".{glob.escape(target.name)}.{HOST}-*.????????"):
        process = path.name[: -len(".????????")].rpartition("-")[2]
        if process.isdigit() and not _is_alive(int(process)):
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def clear_scratch(folder: Path) -> None:
    """Remove what `replacing` left in a folder when it was killed. Nobody else may be writing there."""
    for path in folder.glob(".*.????????"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)


def read_bytes(path: Path) -> bytes:
    """The bytes of a file, unpacked if its name ends in .gz; every fault is an InputError that names the file."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:  # a name that no file can have
        raise InputError(f"{path}: cannot be read ({error})") from None
    return _inflated(raw, path) if path.suffix == ".gz" else raw


def _inflated(raw: bytes, path: Path) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            return read_limited(file, path, len(raw))
    except EOFError:
        raise InputError(f"{path}: truncated gzip file; its end is missing") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: not a valid gzip file ({error})") from None


def read_limited(file: Any, path: Path, packed: int) -> bytes:
    """What a file that unpacks holds, read piece by piece, so that a bomb is noticed before it fills the memory."""
    content = io.BytesIO()
    while piece := file.read(PIECE):
        content.write(piece)
        insist_on_inflation(path, content.tell(), packed)
    return content.getvalue()


def decode(data: bytes, path: Path | str, encoding: str = "utf-8") -> str:
    """Text from bytes; the error names the line of the first byte that cannot be decoded."""
    try:
        known = codecs.lookup(encoding)
        # utf-8-sig, so that a byte order mark does not become part of the text
        return data.decode("utf-8-sig" if known.name == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}: line {line}: byte {data[error.start]:#04x} is not {error.encoding}") from None
    except UnicodeError as error:  # an encoding that is not for texts in files, such as idna
        raise InputError(f"{path}: cannot be decoded as {encoding} ({error})") from None
    except (LookupError, ValueError):
        raise InputError(f"{path}: unknown encoding {encoding!r}") from None


def read_lines(path: Path, encoding: str = "utf-8") -> list[str]:
    """Lines without their ends (\\n or \\r\\n); a line end at the end of the file does not start another line."""
    lines = decode(read_bytes(path), path, encoding).replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines
