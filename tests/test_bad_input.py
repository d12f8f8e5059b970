"""Bad input: one clear line for everything a user can get wrong, exit code 2, and nothing written."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest
import scipy.sparse as sparse
from pyarrow import parquet

from bayestopics.base.problems import InputError
from bayestopics.cli.main import main
from bayestopics.corpus import read_corpus

Capture = pytest.CaptureFixture[str]


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder, hidden files too."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def refused(capsys: Capture, folder: Path, *arguments: object) -> str:
    """The message of a command that must leave with code 2, one line, and the folder as it was."""
    before = tree(folder)
    code = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("bayestopics: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert tree(folder) == before
    return err.removeprefix("bayestopics: ")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    (tmp_path / "tiny.ldac").write_text("2 0:1 1:2\n0\n1 2:1\n")
    (tmp_path / "tiny.vocab").write_text("ant\nbee\ncow\n")
    return tmp_path / "tiny.ldac"


# -- bad files -------------------------------------------------------------------------------------

UCI_HEAD, MTX_HEAD = "3\n4\n2\n", "%%MatrixMarket matrix coordinate integer general\n3 4 2\n"
REAL_HEAD = MTX_HEAD.replace("integer", "real")
TRIPLES_BAD = {  # instead of the second of two entries
    "2 2 -1": "negative count -1",
    "2 2 1.5": "count '1.5' is not a whole number",
    "2 2 nan": "count 'nan' is not a whole number",
    "2 2 NA": "count 'NA' is not a whole number",
    "2 2 1e400": "count '1e400' is not a whole number",
    "2 2 x": "count 'x' is not a whole number",
    "2 2 99999999999999999999": "count '99999999999999999999' is too large",
    "2 5 1": "term id 5 is outside the vocabulary 1..4",
    "2 0 1": "term id 0 is outside the vocabulary 1..4",
    "2 -1 1": "term id -1 is outside the vocabulary 1..4",
    "4 1 1": "document id 4 is outside 1..3",
    "0 1 1": "document id 0 is outside 1..3",
    "x 1 1": "document id 'x' is not a whole number",
    "2 1": "2 fields instead of three",
    "2 1 1 1": "4 fields instead of three",
}
LDAC_BAD = {
    "1 0": "'0' is not of the form id:count",
    "1 a:b": "'a:b' is not of the form id:count",
    "2 0:1": "announces 2 terms, but has 1",
    "0 0:1": "announces 0 terms, but has 1",
    "-1": "announces -1 terms, but has 0",
    "x 0:1": "the number of terms 'x' is not a whole number",
    "0:1": "the number of terms '0:1' is not a whole number",
    "": "blank line",
    "1 0:-1": "negative count -1",
    "1 -1:1": "term id -1 is outside the vocabulary",
    "1 0:1.5": "count '1.5' of term 0 is not a whole number",
    "1 0:nan": "count 'nan' of term 0 is not a whole number",
    "1 0:99999999999999999999": "count '99999999999999999999' of term 0 is too large",
    "1 0: 3": "count '' of term 0 is not a whole number",
    "1 :0 3": "':0' is not of the form id:count",
    "2 0:1:1 1": "count '1:1' of term 0 is not a whole number",
    "1 0:1_0": "count '1_0' of term 0 is not a whole number",
    "1 0:٣": "count '٣' of term 0 is not a whole number",
}
BAD_TEXTS: list[tuple[str, str, str]] = [
    *(("x.ldac", f"1 0:1\n{line}\n1 0:1\n", f"line 2: {fault}") for line, fault in LDAC_BAD.items()),
    *(("docword.x.txt", f"{UCI_HEAD}1 1 1\n{line}\n", f"line 5: {fault}") for line, fault in TRIPLES_BAD.items()),
    *(("x.mtx", f"{MTX_HEAD}1 1 1\n{line}\n", f"line 4: {fault}") for line, fault in TRIPLES_BAD.items()),
    *(("x.mtx", f"{REAL_HEAD}{line}\n1 1 1\n", f"line 3: {fault}") for line, fault in TRIPLES_BAD.items()),
    ("docword.x.txt", f"{UCI_HEAD}1 1 1\n2 2 3.0\n", "line 5: count '3.0' is not a whole number"),
    # empty
    *((name, "", "empty") for name in ("x.ldac", "x.ldac.gz", "x.tsv")),
    ("docword.x.txt", "", "line 1: the header of three lines"),
    ("x.mtx", "", "line 1: not a"),
    ("x.ldac", "0\n0\n", "the corpus is empty"),
    ("x.ldac", "1 0:0\n", "the corpus is empty"),
    ("docword.x.txt", "2\n3\n0\n", "the corpus is empty"),
    ("x.mtx", MTX_HEAD.replace("2\n", "0\n"), "the corpus is empty"),
    ("x.tsv", "of the\n", "the corpus is empty"),
    # headers
    ("docword.x.txt", "3\n4", "line 2: the header of three lines"),
    ("docword.x.txt", "3\n-4\n1\n1 1 1\n", "line 2: number of terms '-4' is negative"),
    ("docword.x.txt", "3\n4.0\n1\n1 1 1\n", "line 2: number of terms '4.0' is not a whole number"),
    ("docword.x.txt", "nan\n4\n1\n1 1 1\n", "line 1: number of documents 'nan' is not a whole number"),
    ("docword.x.txt", "3 4 1\n1 1 1\n2 1 1\n", "line 1: number of documents '3 4 1' is not a whole number"),
    ("docword.x.txt", "9999999999\n4\n1\n1 1 1\n", "9999999999 documents are too many"),
    ("docword.x.txt", "3\n9999999999\n1\n1 1 1\n", "9999999999 terms are too many without a vocabulary"),
    *(("docword.x.txt", f"3\n4\n{n}\n1 1 1\n2 2 2\n", f"announces {n} entries, but the body has 2") for n in (0, 1, 3)),
    *(("x.mtx", MTX_HEAD.replace("2\n", f"{n}\n") + "1 1 1\n2 2 2\n", f"announces {n} entries") for n in (1, 3)),
    ("x.mtx", MTX_HEAD, "announces 2 entries, but the body has 0"),
    ("x.mtx", MTX_HEAD.replace("3 4 2", "3 4"), "line 2: the size line must have three numbers"),
    ("x.mtx", MTX_HEAD.replace("3 4 2", "3 x 2"), "line 2: number of terms 'x' is not a whole number"),
    *(
        (
            "x.mtx",
            MTX_HEAD.replace("coordinate integer general", kind),
            f"line 1: a `{f'matrix {kind}'.strip()}`, but only",
        )
        for kind in (
            "array integer general",
            "coordinate pattern general",
            "coordinate complex general",
            "coordinate integer symmetric",
            "coordinate real skew-symmetric",
            "",
        )
    ),
    ("x.ldac", "1 2000000000:1\n", "2000000001 terms are too many without a vocabulary"),
    ("x.ldac", "2 0:4611686018427387904 1:4611686018427387904\n", "too many tokens (at most 2147483647)"),
    # formats
    *((name, "1 0:1\n", "unknown format; choose from x.csv") for name in ("x", "x.gz", "x.LDAC")),
    *(("x.npz", text, "not an .npz file, or a damaged one") for text in ("", "text", "PK\x03\x04 cut")),
]


@pytest.mark.parametrize(("name", "text", "fault"), BAD_TEXTS)
def test_bad_file(tmp_path: Path, capsys: Capture, name: str, text: str, fault: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    message = refused(capsys, tmp_path, "corpus", "info", path)
    assert message.startswith(f"{path}: ")
    assert fault in message


def packed(arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def saved(matrix: Any) -> bytes:
    buffer = io.BytesIO()
    sparse.save_npz(buffer, sparse.csr_array(matrix))
    return buffer.getvalue()


GOOD = {"triples": np.array([[0], [0], [1]]), "document_count": 1, "vocabulary": ["a"], "name": "good"}
GZIPPED = gzip.compress(b"1 0:1\n" * 1000, mtime=0)
BROKEN_GZIP = {
    "cut": (GZIPPED[: len(GZIPPED) // 2], "truncated gzip file"),
    "cut in its header": (GZIPPED[:5], "truncated gzip file"),
    "wrong sum": (GZIPPED[:-8] + bytes(8), "not a valid gzip file"),
    "damaged": (GZIPPED[:12] + b"\xff\xff\xff" + GZIPPED[15:], "not a valid gzip file"),
    "no gzip": (b"1 0:1\n", "not a valid gzip file"),
}
BAD_BYTES: list[tuple[str, bytes, str]] = [
    *(
        (f"{name}.gz", content, fault)
        for name in ("x.ldac", "docword.x.txt", "x.mtx", "x.tsv", "x.npz")
        for content, fault in BROKEN_GZIP.values()
    ),
    ("x.ldac", b"1 0:1\n1 \xff:1\n", "line 2: byte 0xff is not utf-8"),
    ("docword.x.txt", b"1\n1\n1\n\xe9 1 1\n", "line 4: byte 0xe9 is not utf-8"),
    ("x.mtx", b"%%MatrixMarket matrix coordinate integer general\n% \xe9t\xe9\n1 1 1\n1 1 1\n", "line 2: byte 0xe9"),
    ("x.tsv", b"first\nsecond\n\xe9t\xe9\n", "line 3: byte 0xe9 is not utf-8"),
    ("x.npz", b"\x93NUMPY", "not an .npz file, or a damaged one"),
    ("x.npz", packed(GOOD)[:-40], "not an .npz file, or a damaged one"),
    ("x.npz", packed({"other": [1]}), "not a corpus in .npz form: it has no array 'triples'"),
    ("x.npz", packed(GOOD | {"triples": [1, 2]}), "its array 'triples' has the shape (2,), not three rows"),
    ("x.npz", packed(GOOD | {"triples": [[0], [0], [-1]]}), "negative count -1"),
    ("x.npz", packed(GOOD | {"triples": [[0], [1], [1]]}), "term id 1 is outside the vocabulary of 1 terms"),
    ("x.npz", packed(GOOD | {"triples": [[0], [0], [0]]}), "the corpus is empty"),
    ("x.npz", packed(GOOD | {"format": "csr"}), "not a corpus in .npz form"),
    ("x.npz", saved([[1.5, 1]]), "not whole numbers"),
    ("x.npz", saved([[np.nan, 1]]), "not whole numbers"),
    ("x.npz", saved([[-1, 1]]), "negative count -1"),
    ("x.npz", saved([[0, 0]]), "the corpus is empty"),
]


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    BAD_BYTES,
    ids=lambda value: f"{len(value)} bytes" if isinstance(value, bytes) else value,
)
def test_bad_bytes(tmp_path: Path, capsys: Capture, name: str, content: bytes, fault: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    message = refused(capsys, tmp_path, "corpus", "info", path)
    assert message.startswith(f"{path}: ")
    assert fault in message


# -- hostile files: small ones that would take all memory, hang or crash if what they announce were believed -----------


def npy(shape: str = "(1,)", descr: str = "'<i8'", content: bytes = bytes(8), header: str | None = None) -> bytes:
    """An .npy file whose header announces anything."""
    text = header or f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + content


def zipped(
    members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, change: Callable[[bytes], bytes] = bytes
) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return change(buffer.getvalue())


def encrypted(data: bytes) -> bytes:
    """The same archive, with the flag of encryption in both headers of its first member."""
    central = data.index(b"PK\x01\x02")
    return data[:6] + b"\x01" + data[7 : central + 8] + b"\x01" + data[central + 9 :]


def understated(data: bytes) -> bytes:
    """The same archive, in which both headers of its first member announce 100 bytes."""
    central = data.index(b"PK\x01\x02")
    small = (100).to_bytes(4, "little")
    return data[:22] + small + data[26 : central + 24] + small + data[central + 28 :]


def unpacked(data: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(data)) as file:
        return dict(file)


def in_parquet(table: pyarrow.Table) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()


def no_utf8() -> bytes:
    offsets, letters = np.array([0, 3], np.int32).tobytes(), b"owl"
    column = pyarrow.StringArray.from_buffers(1, pyarrow.py_buffer(offsets), pyarrow.py_buffer(letters))
    return in_parquet(pyarrow.table({"text": column})).replace(b"owl", b"\xffwl")


def without_pandas_type() -> bytes:
    table = pyarrow.Table.from_pandas(pd.DataFrame({"text": ["an owl"]}))
    known = table.schema.metadata[b"pandas"].replace(b"pandas_type", b"pandas_typo")
    return in_parquet(table.replace_schema_metadata({b"pandas": known}))


CSR = unpacked(saved([[1, 0, 2], [0, 3, 0]]))
COO = {"format": b"coo", "shape": [2, 3], "row": [0, 1], "col": [0, 2], "data": [1, 2]}
DIA = {"format": b"dia", "shape": [4, 4], "offsets": [0], "data": [[1, 2, 3, 4]]}
BOMB = gzip.compress(b"1 0:1\n" * 1_000_000, mtime=0)
MANY = "5" * 5000
HOSTILE: dict[str, tuple[str, bytes, str]] = {
    "indptr points outside": ("x.npz", packed(CSR | {"indptr": [0, 10**9, 3]}), "not a matrix of documents x terms"),
    "indptr ends outside": ("x.npz", packed(CSR | {"indptr": [0, 2, 10**9]}), "not a matrix of documents x terms"),
    "indptr falls": ("x.npz", packed(CSR | {"indptr": [0, 3, 2]}), "not a matrix of documents x terms"),
    "indptr is negative": ("x.npz", packed(CSR | {"indptr": [0, -5, 3]}), "not a matrix of documents x terms"),
    "indptr is too short": ("x.npz", packed(CSR | {"indptr": [0, 3]}), "not a matrix of documents x terms"),
    "indptr is not whole": (
        "x.npz",
        packed(CSR | {"indptr": [0.0, 2.0, 3.0]}),
        "'indptr' is not a list of whole numbers",
    ),
    "indices outside": ("x.npz", packed(CSR | {"indices": [0, 2, 10**6]}), "not a matrix of documents x terms"),
    "indices negative": ("x.npz", packed(CSR | {"indices": [0, -2, 1]}), "not a matrix of documents x terms"),
    "indices in two dimensions": ("x.npz", packed(CSR | {"indices": [[0, 2, 1]]}), "'indices' is not a list of whole"),
    "rows of coo outside": ("x.npz", packed(COO | {"row": [0, 2]}), "not a matrix of documents x terms"),
    "columns of coo too few": ("x.npz", packed(COO | {"col": [0]}), "not a matrix of documents x terms"),
    "unsigned beyond int64": ("x.npz", packed(COO | {"row": np.array([0, 2**63], np.uint64)}), "is too large"),
    "many columns": ("x.npz", packed(COO | {"shape": [2, 10**9]}), "1000000000 terms are too many without a vocab"),
    "many rows": ("x.npz", packed(COO | {"shape": [10**7, 3]}), "10000000 documents are too many for 2 counts"),
    "many rows of diagonals": ("x.npz", packed(DIA | {"shape": [2**58, 4]}), "documents are too many"),
    "many columns of diagonals": ("x.npz", packed(DIA | {"shape": [4, 2**58]}), "terms are too many"),
    "shape of three": ("x.npz", packed(CSR | {"shape": [2, 3, 4]}), "not a matrix of documents x terms"),
    "shape negative": ("x.npz", packed(CSR | {"shape": [-2, 3]}), "not a matrix of documents x terms"),
    "no data": ("x.npz", packed({k: v for k, v in CSR.items() if k != "data"}), "it has no array 'data'"),
    "unknown format": ("x.npz", packed(CSR | {"format": "lil"}), "in the unknown format 'lil'"),
    "complex counts": ("x.npz", packed(CSR | {"data": [1j, 2, 3]}), "some counts or ids are not whole numbers"),
    "texts as counts": ("x.npz", packed(CSR | {"data": ["1", "2", "3"]}), "x.npz: "),
    "infinite counts": ("x.npz", packed(CSR | {"data": [1, np.inf, 3]}), "some counts or ids are not whole numbers"),
    "absurd shape": (
        "x.npz",
        zipped({"format.npy": npy("(10**15,)".replace("10**15", "1" + 15 * "0"))}),
        "announces the",
    ),
    "absurd empty type": (
        "x.npz",
        zipped({"format.npy": npy("(999999999999,)", "'<U0'", b"")}),
        "holds <U0, not numbers",
    ),
    "negative shape": ("x.npz", zipped({"format.npy": npy("(-1, -1)")}), "announces the shape (-1, -1)"),
    "objects": ("x.npz", zipped({"format.npy": npy("(1,)", "'|O'")}), "holds object, not numbers or texts"),
    "cut header": ("x.npz", zipped({"format.npy": npy()[:40]}), "its header cannot be read"),
    "deep header": ("x.npz", zipped({"format.npy": npy(header="(" * 9000)}), "its header cannot be read"),
    "long header": ("x.npz", zipped({"format.npy": npy(header="{" + " " * 20000 + "}")}), "its header cannot be read"),
    "no .npy": ("x.npz", zipped({"readme.txt": b"hello"}), "holds 'readme.txt', but an .npz file holds only .npy"),
    "bzip2": ("x.npz", zipped({"format.npy": npy()}, zipfile.ZIP_BZIP2), "is compressed in another way"),
    "encrypted": ("x.npz", zipped({"format.npy": npy()}, change=encrypted), "format.npy is encrypted"),
    "zip bomb": ("x.npz", zipped({"data.npy": bytes(5_000_000)}), "unpacks to more than 4,194,304 bytes"),
    "zip bomb that lies": (
        "x.npz",
        zipped({"data.npy": bytes(5_000_000)}, change=understated),
        "not an .npz file, or a damaged one (Bad CRC-32",
    ),
    "vocabulary of numbers": ("x.npz", packed(GOOD | {"vocabulary": [1]}), "'vocabulary' is not a list of texts"),
    "vocabulary with a surrogate": ("x.npz", packed(GOOD | {"vocabulary": ["\ud800"]}), "term 0 is not text"),
    "no character": (
        "x.npz",
        packed(GOOD | {"vocabulary": np.frombuffer(b"\xff\xff\xff\x7f", "<U1")}),
        "vocabulary.npy: holds numbers that are no characters",
    ),
    "documents are a list": ("x.npz", packed(GOOD | {"document_count": [1, 2]}), "'document_count' is not one whole"),
    "negative documents": ("x.npz", packed(GOOD | {"document_count": -1}), "outside the -1 documents"),
    "labels of too few": ("x.npz", packed(GOOD | {"labels": ["a", "b"]}), "2 labels for 1 documents"),
    "gzip bomb": ("x.ldac.gz", BOMB, "unpacks to more than 4,194,304 bytes, as only a damaged or malicious"),
    "gzip with garbage behind": ("x.ldac.gz", gzip.compress(b"1 0:1\n") + b"garbage", "not a valid gzip file"),
    "header with documents": (
        "docword.x.txt",
        b"99999999\n4\n1\n1 1 1\n",
        "99999999 documents are too many for 1 counts",
    ),
    "header with terms": (
        "docword.x.txt",
        b"4\n9999999\n1\n1 1 1\n",
        "9999999 terms without a vocabulary are too many",
    ),
    "empty lines of documents": ("x.ldac", b"0\n" * 1_000_001, "1000001 documents are too many for 0 counts"),
    "one large count": ("x.ldac", b"1 0:2000000000\n", "2000000000 tokens in 1 counts are too many"),
    "two large counts": ("x.ldac", b"2 0:2000000000 1:2000000000\n", "too many tokens (at most 2147483647)"),
    "5,000 digits": ("x.ldac", f"1 0:{MANY}\n".encode(), "is too large"),
    "5,000 zeros": ("x.ldac", f"1 0:{MANY.replace('5', '0')}1\n".encode(), "is too large"),
    "header of 5,000 zeros": ("docword.x.txt", f"{MANY.replace('5', '0')}1\n1\n1\n1 1 1\n".encode(), "is too large"),
    "a count of 5,000 digits": ("docword.x.txt", f"1\n1\n1\n1 1 {MANY}\n".encode(), "is too large"),
    "underscores": ("x.mtx", f"{REAL_HEAD}1 1 1\n2 2 1_000\n".encode(), "count '1_000' is not a whole number"),
    "wide digits": ("x.mtx", f"{REAL_HEAD}1 1 1\n2 2 １２\n".encode(), "count '１２' is not a whole number"),
    "wide digits in the size": ("x.mtx", MTX_HEAD.replace("3 4", "３ 4").encode(), "'３' is not a whole number"),
    "infinity": ("x.mtx", f"{REAL_HEAD}1 1 1\n2 2 infinity\n".encode(), "count 'infinity' is not a whole number"),
    "ids from 0": ("x.mtx", f"{MTX_HEAD}0 0 1\n1 1 1\n".encode(), "document id 0 is outside 1..3 (ids count from 1)"),
    "old line ends": ("x.ldac", b"1 0:1\r1 0:1\r", "line 1: a carriage return without a line feed"),
    "old line ends in triples": ("docword.x.txt", b"1\n1\n2\n1 1 1\r1 1 1\n", "line 4: a carriage return without"),
    "two byte order marks": ("x.ldac", b"\xef\xbb\xbf\xef\xbb\xbf1 0:1\n", "the number of terms '\\ufeff1' is not"),
    "nul": ("x.ldac", b"1 0:1\x00\n", "count '1\\x00' of term 0 is not a whole number"),
    "indptr leaps and falls": (
        "x.npz",
        packed(CSR | {"indptr": [0, 2**62, -(2**62)]}),
        "'indptr' does not rise from 0",
    ),
    "blocks of nothing": (
        "x.npz",
        packed({"format": b"bsr", "shape": [2, 2], "data": np.zeros((1, 0, 0), int), "indices": [0], "indptr": [0, 1]}),
        "not a matrix of documents x terms",
    ),
    "a size of true": ("x.npz", zipped({"format.npy": npy("(True,)")}), "format.npy: "),
    "a key with a surrogate": (
        "x.jsonl",
        b'{"text": "an owl", "\\udfff": 1}\n',
        "line 1: not JSON (a key holds",
    ),
    "Parquet that is no UTF-8": ("x.parquet", no_utf8(), "not a Parquet file (Column 0"),
    "Parquet without a type": ("x.parquet", without_pandas_type(), "not a Parquet file ('pandas_type')"),
    "garbage behind": ("x.mtx", f"{MTX_HEAD}1 1 1\n2 2 2\nend of file\n".encode(), "'end' is not a whole number"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_file(tmp_path: Path, capsys: Capture, case: str) -> None:
    name, content, fault = HOSTILE[case]
    (tmp_path / name).write_bytes(content)
    message = refused(capsys, tmp_path, "corpus", "info", tmp_path / name)
    assert message.startswith(f"{tmp_path / name}: ")
    assert fault in message


def test_a_vocabulary_that_does_not_fit(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "x.ldac").write_text("1 3:1\n")
    (tmp_path / "x.vocab").write_text("ant\nbee\ncow\n")  # its ids count from 1
    message = refused(capsys, tmp_path, "corpus", "info", tmp_path / "x.ldac")
    assert "line 1: term id 3 is outside the vocabulary of 3 terms (ids count from 0)" in message


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
def test_unsorted_and_repeated_indices_are_sound(tmp_path: Path, kind: str) -> None:
    dense = np.array([[1, 0, 2], [0, 3, 0]])
    sparse.save_npz(tmp_path / "x.npz", sparse.coo_array(dense).asformat(kind))
    assert read_corpus(tmp_path / "x.npz").counts.toarray().tolist() == dense.tolist()
    (tmp_path / "x.npz").write_bytes(packed(CSR | {"indices": [2, 0, 1], "data": [2, 1, 3]}))
    assert read_corpus(tmp_path / "x.npz").counts.toarray().tolist() == dense.tolist()


@pytest.mark.parametrize("case", ["gzip bomb", "header with documents", "one large count"])
def test_the_limits_can_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.setenv("BAYESTOPICS_NO_LIMITS", "1")
    smaller = {b"99999999": b"1000001", b"2000000000": b"10000001"}  # just above the limits
    name, content, _ = HOSTILE[case]
    for large, least in smaller.items():
        content = content.replace(large, least)
    if case == "gzip bomb":
        content = gzip.compress(b"1 0:1" + b" " * 4_200_000 + b"\n")
    (tmp_path / name).write_bytes(content)
    assert read_corpus(tmp_path / name).token_count > 0
    monkeypatch.delenv("BAYESTOPICS_NO_LIMITS")
    with pytest.raises(InputError, match="BAYESTOPICS_NO_LIMITS=1"):
        read_corpus(tmp_path / name)


def test_bad_files_beside(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "x.ldac").write_text("1 0:1\n")
    (tmp_path / "x.vocab").write_bytes(b"one\ntw\xf6\n")
    assert "x.vocab: line 2: byte 0xf6 is not utf-8" in refused(capsys, tmp_path, "corpus", "info", tmp_path / "x.ldac")
    (tmp_path / "texts").mkdir()
    assert "texts: the folder has no files" in refused(capsys, tmp_path, "corpus", "info", tmp_path / "texts")
    (tmp_path / "texts" / "a").write_bytes(b"fine\n")
    (tmp_path / "texts" / "b").write_bytes(b"not\nf\xefne\n")
    assert "texts/b: line 2: byte 0xef" in refused(capsys, tmp_path, "corpus", "info", tmp_path / "texts")
    (tmp_path / "texts" / "b").unlink()
    message = refused(capsys, tmp_path, "corpus", "info", tmp_path / "texts", "--stop-words", tmp_path)
    assert f"{tmp_path}: cannot be read" in message


@pytest.mark.parametrize("command", ["info", "convert", "fit", "evidence", "topics", "hyper", "score", "select", "hdp"])
def test_missing_file(tmp_path: Path, capsys: Capture, command: str) -> None:
    words = ["corpus", command] if command in ("info", "convert") else [command]
    out = ["--out", tmp_path / "out"]
    more = {"convert": [tmp_path / "out.npz"], "info": []}.get(command, out)
    message = refused(capsys, tmp_path, *words, tmp_path / "no.ldac", *more)
    assert message.startswith(f"{tmp_path / 'no.ldac'}: no such file or folder")
    (tmp_path / "bad.ldac").write_text("1 0:-1\n")
    assert "bad.ldac: line 1: negative" in refused(capsys, tmp_path, *words, tmp_path / "bad.ldac", *more)


# -- bad options -----------------------------------------------------------------------------------

WITH_CHAINS = ("fit", "hyper", "select", "hdp", "score")


@pytest.mark.parametrize("command", ["fit", "score", "simulate"])
@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ("--topics 0", "--topics: 0 is not at least 1"),
        ("--topics -3", "--topics: -3 is negative"),
        ("--topics 2.5", "--topics: '2.5' is not a whole number"),
        ("--topics 99999999999999999999", "--topics: 99999999999999999999 is too large"),
        ("--topics 2000000000", "--topics: 2000000000 is more than 1,000,000"),
        (f"--topics {MANY}", f"--topics: '{MANY[:60]}'... is not a whole number"),
        (f"--seed {2**64}", f"--seed: {2**64} is too large"),
        ("--topics nan", "--topics: 'nan' is not a whole number"),
        ("--alpha 0", "--alpha: 0 is not positive"),
        ("--alpha -1", "--alpha: -1 is not positive"),
        ("--alpha nan", "--alpha: nan is not positive and finite"),
        ("--alpha inf", "--alpha: inf is not positive and finite"),
        ("--alpha x", "--alpha: 'x' is not a number"),
        ("--alpha 0.1,nan", "--alpha: nan is not positive"),
        ("--alpha 0.1,", "--alpha: '' is not a number"),
        ("--topics 2 --alpha 0.1,0.2,0.3", "alpha has 3 values for 2 topics"),
        ("--eta 0", "--eta: 0 is not positive"),
        ("--eta -0.5", "--eta: -0.5 is not positive"),
        ("--eta nan", "--eta: nan is not positive and finite"),
        ("--seed -1", "--seed: -1 is negative"),
        ("--seed x", "--seed: 'x' is not a whole number"),
        ("--nonsense", "unknown option --nonsense (see"),
        ("--topics", "--topics: expected one argument"),
    ],
)
def test_bad_model(tiny: Path, tmp_path: Path, capsys: Capture, command: str, options: str, fault: str) -> None:
    simulate = ["corpus", "simulate", "--out", tmp_path / "x.ldac"]
    words = simulate if command == "simulate" else [command, tiny]
    assert fault in refused(capsys, tmp_path, *words, *options.split())


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ("fit {tiny} --sampler gibbs --out {out}", "unknown sampler 'gibbs'; choose from single-site"),
        ("hyper {tiny} --sampler gibbs --out {out}", "unknown sampler 'gibbs'; choose from single-site"),
        ("score {tiny} --sampler gibbs", "unknown sampler 'gibbs'; choose from single-site"),
        ("evidence {tiny} --topics 2 --alpha 0.1,0.2,0.3", "alpha has 3 values for 2 topics"),
        ("evidence {tiny} --topics 2,3 --alpha 0.1,0.2", "alpha has 2 values for 3 topics"),
        ("fit {tiny} --sweeps 0", "--sweeps: 0 is not at least 1"),
        ("fit {tiny} --burn-in -1", "--burn-in: -1 is negative"),
        ("fit {tiny} --chains 0", "--chains: 0 is not at least 1"),
        *(
            (f"{command} {{tiny}} --chains 10000000", "--chains: 10000000 is more than 10,000")
            for command in WITH_CHAINS
        ),
        ("fit {tiny} --workers 1000000", "--workers: 1000000 is more than 1,000"),
        ("fit {tiny} --sweeps 1e12", "--sweeps: '1e12' is not a whole number"),
        ("fit {tiny} --sweeps 1000000000000", "--sweeps: 1000000000000 is too large"),
        ("fit {tiny} --burn-in 1000000000000", "--burn-in: 1000000000000 is too large"),
        ("evidence {tiny} --topics 1-2000000000", "--topics: 2000000000 is more than 1,000,000"),
        ("evidence {tiny} --topics 1-1000000", "--topics: '1-1000000' has more than 10,000 numbers"),
        ("evidence {tiny} --topics 1-9000,1-9000", "--topics: '1-9000,1-9000' has more than 10,000 numbers"),
        ("fit {tiny} --alpha 1_0", "--alpha: '1_0' is not a number"),
        ("fit {tiny} --eta １", "--eta: '１' is not a number"),
        ("fit {tiny} --topics 1_0", "--topics: '1_0' is not a whole number"),
        ("fit {tiny} --report {folder}", "folder: is a folder"),
        ("corpus demo --documents 1000000000", "--documents: 1000000000 is more than 1,000,000"),
        ("evidence {tiny} --repeats 10000000", "--repeats: 10000000 is more than 10,000"),
        ("select {tiny} --topics 1-2000000000", "--topics: 2000000000 is more than 1,000,000"),
        ("select {tiny} --max 2000000000", "--max: 2000000000 is more than 1,000,000"),
        ("topics {tiny} --max 2000000000", "--max: 2000000000 is more than 1,000,000"),
        ("hyper {tiny} --grid 100000x100000", "--grid: 100000x100000 has more than 1,000,000 points"),
        ("score {tiny} --particles 2000000000", "--particles: 2000000000 is more than 1,000,000"),
        ("fit {tiny} --workers 0", "--workers: 0 is not at least 1"),
        ("fit {tiny} --out {tiny}", "exists and is not a run record"),
        ("fit {tiny} --out {folder} --overwrite", "exists and is not a run record"),
        ("hyper {tiny} --out {folder}", "exists and is not a run record"),
        ("score {tiny} --out {folder}", "exists and is not a run record"),
        ("hdp {tiny} --out {folder}", "exists and is not a run record"),
        ("evidence {tiny} --out {folder}", "exists and is not a run record"),
        ("topics {tiny} --out {folder}", "exists and is not a run record"),
        ("topics {tiny} --inner 5 --out {out}", "inner 5 is for the method pmmh"),
        ("topics {tiny} --method pmmh --sampler gibbs --out {out}", "unknown sampler 'gibbs'; choose from single-site"),
        ("topics {tiny} --start 200 --out {out}", "the start at 200 topics is outside the range"),
        ("fit {tiny} --terms 9", "--terms 9 disagrees with the 3 terms"),
        ("fit tiny-lda --terms 9", "tiny-lda: --terms 9 disagrees with its 30 terms"),
        ("score {tiny} --heldout 0", "--heldout: 0 is not positive"),
        ("score {tiny} --heldout 1.5", "--heldout: 1.5 is not a share"),
        ("score {tiny} --method guess", "--method: invalid choice: 'guess'"),
        ("corpus info {tiny} --terms 0", "--terms: 0 is not at least 1"),
        ("corpus info {tiny} --max-fraction 0", "--max-fraction: 0 is not positive"),
        ("corpus info {tiny} --max-fraction 1.5", "1.5, is no whole number and no share in (0, 1]"),
        ("corpus info {tiny} --max-fraction x", "--max-fraction: 'x' is not a number"),
        ("corpus info {tiny} --ngrams 2-1", "--ngrams: '2-1' is not a range"),
        ("corpus info {tiny} --text-column text", "only tables of texts have columns"),
        ("corpus convert {tiny}", "required"),
        ("corpus info no-such-corpus", "no-such-corpus: no such file or folder, and no registered corpus"),
        ("corpus info {texts} --encoding klingon", "unknown encoding 'klingon'"),
        ("corpus info {texts} --stop-words {out}", "no such file"),
        ("corpus info {texts} --terms 9", "--terms 9 disagrees with its 2 terms"),
        ("corpus info {texts} --min-count 9", "the corpus is empty"),
        ("corpus convert {tiny} {out}", "cannot write this format"),
        ("corpus convert {tiny} {folder}/x.npz", "x.npz: is a folder"),
        ("corpus convert {tiny} {texts}/x.npz", "File exists"),
        ("corpus simulate --out {out}", "must end in .ldac"),
        ("corpus simulate --out {folder}/x.ldac", "x.ldac: is a folder"),
        ("corpus simulate --out {texts}/x.ldac", "File exists"),
        ("corpus simulate --out {folder}/y.ldac --length 99999999 --documents 99", "more than 2,147,483,647 tokens"),
        ("corpus simulate", "required: --out"),
        ("corpus", "required: COMMAND"),
        ("", "required: COMMAND"),
        ("evidences", "invalid choice: 'evidences'"),
    ],
)
def test_bad_arguments(tiny: Path, tmp_path: Path, capsys: Capture, arguments: str, fault: str) -> None:
    for name in ("x.npz", "x.ldac"):
        (tmp_path / "folder" / name).mkdir(parents=True)
    (tmp_path / "texts.tsv").write_text("apple\npear\n")
    places = {"tiny": tiny, "out": tmp_path / "out", "folder": tmp_path / "folder", "texts": tmp_path / "texts.tsv"}
    assert fault in refused(capsys, tmp_path, *arguments.format(**places).split())


def test_one_line_whatever_the_name(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "two\nlines.ldac"
    path.write_text("0\n1 0:1\n")
    assert "unknown sampler" in refused(capsys, tmp_path, "fit", path, "--sampler", "no\nsuch")  # an empty document too
    path.write_text("")
    assert "lines.ldac: the corpus is empty" in refused(capsys, tmp_path, "corpus", "info", path)


def test_bad_registry(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config" / "corpora.yaml").write_text("gone: {title: Gone, path: gone.ldac}\n")
    assert "gone.ldac: no such file" in refused(capsys, tmp_path, "corpus", "info", "gone")
    (tmp_path / "config" / "corpora.yaml").write_text("gone: {title\n")
    assert "corpora.yaml: line 2: " in refused(capsys, tmp_path, "corpus", "list")
    assert "gone: no such file or folder, and " in refused(capsys, tmp_path, "corpus", "info", "gone")
    for deep in ("[" * 50_000, "- " * 50_000, "{a: " * 50_000):  # the parser in C crashed
        (tmp_path / "config" / "corpora.yaml").write_text(deep)
        assert "corpora.yaml: line 1: too deeply nested" in refused(capsys, tmp_path, "corpus", "list")
