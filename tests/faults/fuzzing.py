"""Damaged files for every reader: good files, mutations of them, and what a reader may do with the result.

A case is a number. It chooses a reader, one of its files and one to three mutations, always the same ones. A reader may
either return something sound or raise one InputError of one line, and must leave the files alone. Compressed files and
archives are also mutated inside and packed again, since a flipped byte outside is nearly always caught by a checksum.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import json
import random
import re
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sparse

from bayestopics.base import packing
from bayestopics.base.problems import InputError
from bayestopics.corpus import Corpus, read_corpus, write_corpus
from bayestopics.runs import record
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

SEED = 20_260_801
Files = dict[str, bytes]


@dataclasses.dataclass(frozen=True)
class Reader:
    name: str
    files: Files  # good ones
    read: Callable[[Path], object]  # from a folder with these files; fails if what it read is not sound


# -- what is sound ---------------------------------------------------------------------------------


def sound(corpus: Corpus) -> Corpus:
    """The invariants of a corpus."""
    documents, terms = corpus.documents, corpus.terms
    assert documents.dtype == terms.dtype == np.int32
    assert len(documents) == len(terms) == corpus.token_count > 0
    assert 0 <= documents.min() <= documents.max() < corpus.document_count
    assert 0 <= terms.min() <= terms.max() < corpus.term_count
    steps = np.diff(documents)
    assert np.all(steps >= 0)
    assert np.all(np.diff(terms)[steps == 0] >= 0)
    assert all(type(term) is str for term in corpus.vocabulary)
    assert corpus.labels is None or len(corpus.labels) == corpus.document_count
    assert int(corpus.counts.sum()) == corpus.token_count
    again = Corpus.from_counts(
        *corpus.triples(), document_count=corpus.document_count, vocabulary=corpus.vocabulary, labels=corpus.labels
    )
    assert again.fingerprint == corpus.fingerprint
    assert json.dumps(corpus.summary())
    return corpus


def sound_record(result: Result) -> Result:
    assert isinstance(result, Result)
    assert all(isinstance(table, pd.DataFrame) for table in result.tables.values())
    assert len(result.key) == 64
    return result


# -- good files ------------------------------------------------------------------------------------

DENSE = np.array([[1, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 1], [4, 0, 0, 12]])
CORPUS = Corpus.from_sparse(DENSE, ["owl", "naïve", "tree", "whale"], labels=["a", "b", "a", "ü"], name="good")
REAL = b"%%MatrixMarket matrix coordinate real general\n% a comment\n4 4 3\n1 1 1.0\n3 2 3e0\n4 4 12\n"
TEXTS = ["The owl hunts in the tree.", "A whale dives deep.", "", "Owl, whale; tree and NAÏVE owl"]
TABLE = pd.DataFrame({"text": TEXTS, "label": list("abab")})


def made_by(write: Callable[[Path], object]) -> Files:
    """The files that a function writes into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        return {
            path.relative_to(folder).as_posix(): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()
        }


def corpus_reader(name: str, files: Files | None = None, main: str | None = None, label: str | None = None) -> Reader:
    files = files or made_by(lambda folder: write_corpus(CORPUS, folder / name))
    return Reader(label or main or name, files, lambda folder: sound(read_corpus(folder / (main or name))))


def scipys(kind: str) -> Files:
    return made_by(lambda folder: sparse.save_npz(folder / "x.npz", sparse.coo_array(DENSE).asformat(kind)))


def example() -> Result:
    task = Task("study", "smoke", "chain", {"alpha": [0.1, 0.2], "topics": 2}, 1, "tiny", "f00d", "c0de")
    trace = pd.DataFrame({"sweep": [0, 1, 2], "log_joint": [-1.5, -2.5, np.nan], "term": ["owl", "tree", ""]})
    arrays = {"assignments": np.array([[1, 0, 1]], np.int32), "values": np.array([np.nan, 1.0])}
    return Result(task, {"mean": 0.5, "missing": np.nan}, ["short"], {"trace": trace}, arrays, answer={"best": 2})


def record_files(old: bool) -> Files:
    files = made_by(lambda folder: record.write(example(), folder / "record"))
    if old:  # without checksums: what is inside must be checked for itself
        content = json.loads(files["record/run.json"])
        del content["volatile"]["checksums"]
        files["record/run.json"] = json.dumps(content, indent=1).encode()
    return files


STATE = {"step": 3, "draws": [1.5, None], "counts": np.arange(6).reshape(2, 3), "rng": np.random.default_rng(1)}


def unpack_state(folder: Path) -> Any:
    try:
        return packing.unpack((folder / "x.state").read_bytes())
    except packing.Damaged as error:  # the checkpoint says so and is set aside
        raise InputError(f"{folder}: {error}") from None


def read_folder_of_record(folder: Path) -> Result:
    return sound_record(record.read(folder / "record"))


def lines_of_json() -> bytes:
    rows = [{"text": text, "label": label} for text, label in zip(TEXTS, "abab", strict=True)]
    return "\n".join(json.dumps(row) for row in rows).encode()


# all readers; those of formats that are not known yet are left out until they are
READERS = [
    corpus_reader("x.ldac"),
    corpus_reader("x.ldac", {"x.ldac": b"2 0:1 3:2\n0\n1 1:3\n2 0:4 3:12\n"}, label="x.ldac without a vocabulary"),
    corpus_reader("x.ldac.gz", {"x.ldac.gz": gzip.compress(b"2 0:1 3:2\n0\n1 1:3\n", mtime=0)}),
    corpus_reader("docword.x.txt"),
    corpus_reader("docword.x.txt.gz"),
    corpus_reader("x.mtx"),
    corpus_reader("x.mtx", {"x.mtx": REAL}, label="x.mtx, real"),
    corpus_reader("x.npz"),
    corpus_reader("x.tokens"),
    *(corpus_reader("x.npz", scipys(kind), label=f"x.npz, {kind}") for kind in ("csr", "csc", "coo", "bsr", "dia")),
    corpus_reader("x.tsv", {"x.tsv": b"text\tlabel\n" + "".join(f"{t}\ta\n" for t in TEXTS).encode()}),
    corpus_reader("x.tsv.gz", {"x.tsv.gz": gzip.compress("\n".join(TEXTS).encode(), mtime=0)}),
    corpus_reader("texts", {f"texts/{i % 2}/{i}.txt": text.encode() for i, text in enumerate(TEXTS)}),
    corpus_reader("x.csv", {"x.csv": TABLE.to_csv(index=False).encode()}),
    corpus_reader("x.jsonl", {"x.jsonl": lines_of_json()}),
    corpus_reader("x.parquet", made_by(lambda folder: TABLE.to_parquet(folder / "x.parquet", index=False))),
    Reader("record", record_files(old=False), read_folder_of_record),
    Reader("record without checksums", record_files(old=True), read_folder_of_record),
    Reader("checkpoint", {"x.state": packing.pack(STATE)}, unpack_state),
]


# -- mutations -------------------------------------------------------------------------------------

NUMBERS = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?")
EXTREMES = [
    *(b"0 1 -1 +3 1.5 -0.0 00 0x10 1j 99999999 2000000000 2147483647 2147483648 4294967296".split()),
    *(b"9223372036854775807 9223372036854775808 -9223372036854775808 18446744073709551616 1e18 1e400".split()),
    *(b'nan NaN inf -inf Infinity 1_000 true null [] {} ""'.split()),
    *("１２ ٣ ½ −1".encode().split()),
    *(b"", b" ", b"5" * 5000, b"0" * 5000 + b"1"),
]
NASTY = [
    *(b"\x00", b"\r", b"\n", b"\r\n", b"\t", b" ", b":", b",", b'"', b"'", b"%", b"$", b"=", b"<script>", b"\x1b[2J"),
    *("\ufeff \u2028 \u202e \x85 \u0000 🐈".encode().split(b" ")),
    *(
        b"\xff",
        b"\xed\xa0\x80",
        b'"\\ud800"',
        b"[" * 3000,
        b"{" * 3000,
        b'{"a":' * 1000,
        b"(" * 300,
        b"\\",
        b"a" * 70_000,
    ),
]
TYPES = [b"|O", b"<U0", b"<U9", b"|V8", b"<c16", b"<M8[s]", b">i8", b"<f2", b"|b1", b"<u8", b"|S1", b"<i4", b"<U1"]


def _place(content: bytes, rng: random.Random) -> int:
    """Near the start in a third of the cases, because headers are there."""
    return rng.randrange(min(len(content), 40) if rng.random() < 0.33 else len(content)) if content else 0


def flip(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8)) if content else 0):
        changed[_place(content, rng)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def overwrite(content: bytes, rng: random.Random) -> bytes:
    at, new = _place(content, rng), rng.randbytes(rng.choice((1, 2, 4, 8)))
    return content[:at] + new + content[at + len(new) :]


def cut(content: bytes, rng: random.Random) -> bytes:
    return content[: _place(content, rng)]


def remove(content: bytes, rng: random.Random) -> bytes:
    at = _place(content, rng)
    return content[:at] + content[at + rng.randint(1, 20) :]


def double(content: bytes, rng: random.Random) -> bytes:
    at, length = _place(content, rng), rng.choice((1, 5, 50, len(content)))
    return content[: at + length] + content[at:]


def insert(content: bytes, rng: random.Random) -> bytes:
    at = _place(content, rng)
    return content[:at] + rng.choice(NASTY) + content[at:]


def append(content: bytes, rng: random.Random) -> bytes:
    return content + rng.choice((*NASTY, *EXTREMES))


def prepend(content: bytes, rng: random.Random) -> bytes:
    return rng.choice(NASTY) + content


def extreme(content: bytes, rng: random.Random) -> bytes:
    """Another number in the place of one of the first few, or of any."""
    found = list(NUMBERS.finditer(content[:100_000]))
    if not found:
        return content
    one = rng.choice(found[:6] if rng.random() < 0.5 else found)
    return content[: one.start()] + rng.choice(EXTREMES) + content[one.end() :]


def lines(content: bytes, rng: random.Random) -> bytes:
    """Lines swapped, doubled, removed or repeated many times."""
    found = content.split(b"\n")
    first, second = rng.randrange(len(found)), rng.randrange(len(found))
    how = rng.randrange(4)
    if how == 0:
        found[first], found[second] = found[second], found[first]
    elif how == 1:
        found.insert(first, found[second])
    elif how == 2:
        del found[first]
    else:
        found[first:first] = [found[second]] * rng.choice((10, 1000))
    return b"\n".join(found)


def line_ends(content: bytes, rng: random.Random) -> bytes:
    return content.replace(b"\n", rng.choice((b"\r", b"\r\n", b"\n\n", b"\x00", b" ", b"\xe2\x80\xa8")))


def number_in_bytes(content: bytes, rng: random.Random) -> bytes:
    """An extreme number of 4 or 8 bytes, as binary formats have them."""
    at, size = _place(content, rng) // 4 * 4, rng.choice((4, 8))
    value = rng.choice((0, 1, -1, 2 ** (8 * size - 1) - 1, -(2 ** (8 * size - 1)), 2**31 - 1, 10**9, 0x7FF0 << 16))
    return content[:at] + value.to_bytes(size, "little", signed=True) + content[at + size :]


def another_type(content: bytes, rng: random.Random) -> bytes:
    """Another type in the header of an .npy file."""
    return re.sub(rb"'descr': '[^']*'", b"'descr': '" + rng.choice(TYPES) + b"'", content, count=1)


MUTATIONS = [
    *(flip, overwrite, cut, remove, double, insert, append, prepend),
    *(extreme, extreme, extreme, lines, line_ends, number_in_bytes, another_type),
]


def mutated(name: str, content: bytes, rng: random.Random) -> bytes:
    """A file with one mutation, on its surface or below it."""
    if rng.random() < 0.75:
        if name.endswith(".gz"):
            return gzip.compress(mutated(name.removesuffix(".gz"), gzip.decompress(content), rng), 1, mtime=0)
        if name.endswith(".npz"):
            return _zip_mutated(content, rng)
        if name.endswith(".state"):
            start = len(packing.MAGIC) + 65
            body = _zip_mutated(content[start:], rng)
            return packing.MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body
    return rng.choice(MUTATIONS)(content, rng)


def _zip_mutated(content: bytes, rng: random.Random) -> bytes:
    """One member changed, left out, doubled or renamed, in an archive that is sound."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(one, archive.read(one)) for one in archive.namelist()]
    at, how = rng.randrange(len(members)), rng.random()
    name, inside = members[at]
    if how < 0.85:
        members[at] = name, rng.choice(MUTATIONS)(inside, rng)
    elif how < 0.9:
        del members[at]
    elif how < 0.95:
        members[at] = rng.choice(members)[0], inside
    else:
        members[at] = rng.choice(("../x.npy", "x", "", "labels.npy", "row.npy", "format.npy")), inside
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of two members with one name
        for name, inside in members:
            archive.writestr(zipfile.ZipInfo(name), inside, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    return buffer.getvalue()


def files_of(reader: Reader, number: int) -> Files:
    """The files of a case. Mutations that need a sound file, and do not find one, leave it as it is."""
    rng = random.Random(f"{SEED} {number}")
    files = dict(reader.files)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice(sorted(files))
        try:
            files[name] = mutated(name, files[name], rng)
        except (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error):
            continue
    return files


# -- one case --------------------------------------------------------------------------------------


def known(readers: list[Reader]) -> list[Reader]:
    """Those that read their good files."""
    found = []
    for reader in readers:
        with tempfile.TemporaryDirectory() as folder:
            _put(Path(folder), reader.files)
            try:
                reader.read(Path(folder))
            except InputError as error:
                if "unknown format" not in str(error):
                    raise
            else:
                found.append(reader)
    return found


def outcome(reader: Reader, files: Files, folder: Path) -> tuple[str, str]:
    """("sound" | "refused" | "bug", details)."""
    _put(folder, files)
    try:
        reader.read(folder)
        answer = "sound", ""
    except InputError as error:
        said = str(error)
        sensible = said.startswith(str(folder)) and 0 < len(said) < 600 and "Traceback" not in said
        answer = ("refused" if sensible else "bug"), said
    except Exception as error:
        answer = "bug", f"{type(error).__name__}: {error}"
    there = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return answer if there == files else ("bug", "the reader changed the files")


def _put(folder: Path, files: Files) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def run_case(readers: list[Reader], number: int) -> tuple[Reader, str, str]:
    reader = readers[number % len(readers)]
    with tempfile.TemporaryDirectory() as folder:
        return (reader, *outcome(reader, files_of(reader, number), Path(folder)))
