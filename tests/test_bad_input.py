"""Bad input: one clear line for everything a user can get wrong, exit code 2, and nothing written."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse

from bayestopics.cli.main import main

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
        ("x.mtx", MTX_HEAD.replace("coordinate integer general", kind), "line 1: not a")
        for kind in ("array integer general", "coordinate pattern general", "coordinate integer symmetric", "")
    ),
    ("x.ldac", "1 2000000000:1\n", "2000000001 terms are too many without a vocabulary"),
    ("x.ldac", "2 0:4611686018427387904 1:4611686018427387904\n", "too many tokens (at most 2147483647)"),
    # formats
    *((name, "1 0:1\n", "unknown format; choose from x.csv") for name in ("x", "x.gz", "x.LDAC")),
    *(("x.npz", text, "not a corpus in .npz form") for text in ("", "text", "PK\x03\x04 cut")),
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
    ("x.npz", b"\x93NUMPY", "not a corpus in .npz form"),
    ("x.npz", packed(GOOD)[:-40], "not a corpus in .npz form"),
    ("x.npz", packed({"other": [1]}), "not a corpus in .npz form"),
    ("x.npz", packed(GOOD | {"triples": [1, 2]}), "not a corpus in .npz form"),
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


@pytest.mark.parametrize("command", ["fit", "score", "simulate"])
@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ("--topics 0", "--topics: 0 is not at least 1"),
        ("--topics -3", "--topics: -3 is negative"),
        ("--topics 2.5", "--topics: '2.5' is not a whole number"),
        ("--topics 99999999999999999999", "--topics: 99999999999999999999 is too large"),
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
        ("--nonsense", "unrecognized arguments: --nonsense"),
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
