"""The command line: what it prints and writes, and one clear line for everything a user can get wrong."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse

from bayestopics import __version__
from bayestopics.cli import main
from bayestopics.corpus import Corpus, read_corpus, write_corpus
from bayestopics.runs.record import read as read_record

INFO_KEYS = ["documents", "terms", "tokens", "nonzeros", "empty_documents", "fingerprint"]
COMMAND = [sys.executable, "-m", "bayestopics.cli"]
Capture = pytest.CaptureFixture[str]


def answer(capsys: Capture, *arguments: object) -> Any:
    """The JSON object that a command prints; null stands for NaN and Infinity."""
    code = main([*map(str, arguments), "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in JSON")

    return json.loads(out, parse_constant=refuse)


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


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpora") / "tiny.ldac"
    size = ["--documents", "12", "--length", "15", "--terms", "8", "--topics", "2"]
    assert main(["corpus", "simulate", *size, "--seed", "3", "--out", str(path)]) == 0
    return path


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
    "2 0:1": "announces 2 terms, has 1",
    "0 0:1": "announces 0 terms, has 1",
    "-1": "announces -1 terms, has 0",
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
    ("docword.x.txt", "9999999999\n4\n1\n1 1 1\n", "9999999999 documents are more than"),
    ("docword.x.txt", "3\n9999999999\n1\n1 1 1\n", "9999999999 terms without a vocabulary"),
    *(("docword.x.txt", f"3\n4\n{n}\n1 1 1\n2 2 2\n", f"announces {n} entries, the body has 2") for n in (0, 1, 3)),
    *(("x.mtx", MTX_HEAD.replace("2\n", f"{n}\n") + "1 1 1\n2 2 2\n", f"announces {n} entries") for n in (1, 3)),
    ("x.mtx", MTX_HEAD, "announces 2 entries, the body has 0"),
    ("x.mtx", MTX_HEAD.replace("3 4 2", "3 4"), "line 2: the size line must have three numbers"),
    ("x.mtx", MTX_HEAD.replace("3 4 2", "3 x 2"), "line 2: number of terms 'x' is not a whole number"),
    *(
        ("x.mtx", MTX_HEAD.replace("coordinate integer general", kind), "line 1: not a")
        for kind in ("array integer general", "coordinate pattern general", "coordinate integer symmetric", "")
    ),
    ("x.ldac", "1 2000000000:1\n", "2000000001 terms without a vocabulary"),
    ("x.ldac", "2 0:4611686018427387904 1:4611686018427387904\n", "more than the 2147483647 tokens"),
    # formats
    *((name, "1 0:1\n", "unknown format; known are x.ldac") for name in ("x.txt", "x", "x.gz", "x.csv", "x.LDAC")),
    *(("x.npz", text, "not a corpus in .npz form") for text in ("", "text", "PK\x03\x04 cut", "\x93NUMPY")),
]


@pytest.mark.parametrize(("name", "text", "fault"), BAD_TEXTS)
def test_bad_file(tmp_path: Path, capsys: Capture, name: str, text: str, fault: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode("latin-1", "namereplace"))
    if not text.isascii() and name == "x.ldac":
        path.write_text(text, encoding="utf-8")
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
GZIPPED = gzip.compress(b"1 0:1\n" * 1000)
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


@pytest.mark.parametrize(("name", "content", "fault"), BAD_BYTES, ids=lambda value: str(value)[:30])
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
    message = refused(capsys, tmp_path, "corpus", "info", tmp_path / "texts", "--stop-words", tmp_path)
    assert f"{tmp_path}: cannot be read" in message


@pytest.mark.parametrize("command", ["info", "convert", "fit", "score"])
def test_missing_file(tmp_path: Path, capsys: Capture, command: str) -> None:
    words = ["corpus", command] if command in ("info", "convert") else [command]
    more = {"convert": [tmp_path / "out.npz"], "fit": ["--out", tmp_path / "out"]}.get(command, [])
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
        ("fit {tiny} --sampler gibbs --out {out}", "unknown sampler 'gibbs'; known are single-site"),
        ("score {tiny} --sampler gibbs", "unknown sampler 'gibbs'; known are single-site"),
        ("fit {tiny} --sweeps 0", "--sweeps: 0 is not at least 1"),
        ("fit {tiny} --burn-in -1", "--burn-in: -1 is negative"),
        ("fit {tiny} --chains 0", "--chains: 0 is not at least 1"),
        ("fit {tiny} --out {tiny}", "exists, and is not a run record"),
        ("fit {tiny} --terms 9", "--terms 9 disagrees with the 8 terms"),
        ("fit tiny-lda --terms 9", "tiny-lda: --terms 9 disagrees with its 30 terms"),
        ("score {tiny} --heldout 0", "--heldout: 0 is not positive"),
        ("score {tiny} --heldout 1.5", "--heldout: 1.5 is not a share"),
        ("score {tiny} --method guess", "--method: invalid choice: 'guess'"),
        ("corpus info {tiny} --terms 0", "--terms: 0 is not at least 1"),
        ("corpus info {tiny} --max-fraction 0", "fraction 0.0 is not in (0, 1]"),
        ("corpus info {tiny} --max-fraction x", "--max-fraction: invalid float value"),
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
        ("evidence", "invalid choice: 'evidence'"),
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


# -- good input ------------------------------------------------------------------------------------

DENSE = np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]])
CORPUS = Corpus.from_sparse(DENSE, ("ant", "bee", "cow"))


def write_texts(path: Path) -> None:
    path.mkdir()
    for name, text in {"1": "Cow ant, ant", "2": "-", "3": "bee bee BEE"}.items():
        (path / name).write_text(text)


WRITERS: dict[str, Callable[[Path], None]] = {
    **dict.fromkeys(
        ("x.ldac", "docword.x.txt", "docword.x.txt.gz", "x.mtx", "x.npz"), lambda p: write_corpus(CORPUS, p)
    ),
    "x.tsv": lambda path: path.write_text("Cow ant, ant\n-\nbee bee BEE\n") and None,
    "texts": write_texts,
}


@pytest.mark.parametrize("name", WRITERS)
def test_info(tmp_path: Path, capsys: Capture, name: str) -> None:
    WRITERS[name](tmp_path / name)
    sizes = [3, 3, 6, 3, 1, CORPUS.fingerprint]
    assert list(answer(capsys, "corpus", "info", tmp_path / name).items()) == list(zip(INFO_KEYS, sizes, strict=True))
    assert main(["corpus", "info", str(tmp_path / name)]) == 0
    out, err = capsys.readouterr()
    assert CORPUS.fingerprint in out
    assert err == f"bayestopics: note: {tmp_path / name}: empty documents, kept: 1\n"


@pytest.mark.parametrize("name", ["y.ldac", "docword.y.txt", "docword.y.txt.gz", "y.mtx", "y.npz"])
def test_convert(tmp_path: Path, capsys: Capture, name: str) -> None:
    write_corpus(CORPUS, tmp_path / "x.ldac")
    result = answer(capsys, "corpus", "convert", tmp_path / "x.ldac", tmp_path / "new" / name)
    assert list(result) == ["out", *INFO_KEYS]
    assert read_corpus(tmp_path / "new" / name).fingerprint == CORPUS.fingerprint == result["fingerprint"]


def test_texts_with_options(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "x.tsv").write_bytes("über über the\nüber vier\n".encode("latin-1"))
    options = ["--encoding", "latin-1", "--stop-words", "none"]
    assert answer(capsys, "corpus", "info", tmp_path / "x.tsv", *options)["terms"] == 3
    assert answer(capsys, "corpus", "info", tmp_path / "x.tsv", *options, "--min-documents", 2)["tokens"] == 3
    assert answer(capsys, "corpus", "info", tmp_path / "x.tsv", *options, "--max-fraction", 0.5)["tokens"] == 2
    assert answer(capsys, "corpus", "info", tmp_path / "x.tsv", *options, "--min-count", 3)["tokens"] == 3


def test_simulate(tmp_path: Path, capsys: Capture) -> None:
    options = ["--documents", 7, "--length", 5, "--terms", 40, "--topics", 3, "--alpha", "0.1,0.2,0.3", "--eta", 0.5]
    first = answer(capsys, "corpus", "simulate", *options, "--seed", 1, "--out", tmp_path / "a" / "x.ldac")
    assert (first["documents"], first["terms"], first["tokens"]) == (7, 40, 35)
    assert sorted(tree(tmp_path / "a")) == ["x.ldac", "x.ldac.vocab", "x.truth.npz"]
    assert len((tmp_path / "a" / "x.ldac.vocab").read_text().splitlines()) == 40
    assert answer(capsys, "corpus", "info", tmp_path / "a" / "x.ldac")["fingerprint"] == first["fingerprint"]
    with np.load(tmp_path / "a" / "x.truth.npz") as truth:
        assert (truth["assignments"].shape, truth["beta"].shape, truth["theta"].shape) == ((35,), (3, 40), (7, 3))
        assert truth["alpha"].tolist() == [0.1, 0.2, 0.3]
    answer(capsys, "corpus", "simulate", *options, "--seed", 1, "--out", tmp_path / "b" / "x.ldac")
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    other = answer(capsys, "corpus", "simulate", *options, "--seed", 2, "--out", tmp_path / "c" / "x.ldac")
    assert other["fingerprint"] != first["fingerprint"]


def test_list(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").mkdir()
    made = "made: {title: Made, generator: {kind: bars, seed: 1, documents: 3, length: 4}, expected: {tokens: 12}}\n"
    gone = "gone: {title: Gone, path: gone.ldac}\n"
    (tmp_path / "config" / "corpora.yaml").write_text(made + gone)
    monkeypatch.chdir(tmp_path)
    assert answer(capsys, "corpus", "list") == {
        "made": {"title": "Made", "where": "generated", "expected": {"tokens": 12}},
        "gone": {"title": "Gone", "where": None, "expected": {}},
    }
    assert answer(capsys, "corpus", "info", "made")["tokens"] == 12
    assert "gone.ldac: no such file" in refused(capsys, tmp_path, "corpus", "info", "gone")
    (tmp_path / "config" / "corpora.yaml").write_text("made: {title\n")
    assert "corpora.yaml: line 2: " in refused(capsys, tmp_path, "corpus", "list")


# -- running samplers ------------------------------------------------------------------------------

SHORT = ["--topics", 2, "--sweeps", 6, "--burn-in", 3]


def test_fit(tiny: Path, tmp_path: Path, capsys: Capture) -> None:
    first = answer(capsys, "fit", tiny, *SHORT, "--seed", 5, "--out", tmp_path / "run")
    assert {"log_joint", "seconds", "tokens_per_second", "topics", "warnings"} <= set(first)
    assert len(first["log_joint"]) == 6
    assert all(value < 0 for value in first["log_joint"])
    assert sorted(topic["topic"] for topic in first["topics"]) == [0, 1]
    record = read_record(tmp_path / "run")
    assert record.trace["log_joint"].tolist()[3:] == first["log_joint"]
    assert record.run.fingerprint == read_corpus(tiny).fingerprint
    assert list(tmp_path.iterdir()) == [tmp_path / "run"]
    assert answer(capsys, "fit", tiny, *SHORT, "--seed", 5)["log_joint"] == first["log_joint"]
    assert answer(capsys, "fit", tiny, *SHORT, "--seed", 6)["log_joint"] != first["log_joint"]
    answer(capsys, "fit", tiny, *SHORT, "--seed", 6, "--out", tmp_path / "run")  # an older record may be replaced
    assert read_record(tmp_path / "run").run.seed == 6


def test_fit_with_chains_and_a_list_of_alphas(tiny: Path, capsys: Capture) -> None:
    chains = answer(capsys, "fit", tiny, *SHORT, "--chains", 2, "--alpha", "0.5,0.25")["log_joint"]
    assert [len(chain) for chain in chains] == [6, 6]
    assert chains[0] != chains[1]
    assert answer(capsys, "fit", tiny, *SHORT, "--alpha", "0.5,0.25")["log_joint"] == chains[0]


def test_fit_of_one_sweep_and_one_topic(tiny: Path, capsys: Capture) -> None:
    result = answer(capsys, "fit", tiny, "--topics", 1, "--sweeps", 1, "--burn-in", 0)
    assert (len(result["log_joint"]), result["rhat"], result["effective_sample_size"]) == (1, None, None)


def test_score(tiny: Path, capsys: Capture) -> None:
    options = ["score", tiny, *SHORT, "--heldout", 0.5]
    first = answer(capsys, *options, "--seed", 5)
    assert {"log_score", "standard_error", "perplexity"} <= set(first)
    assert first["perplexity"] == pytest.approx(np.exp(-first["log_score"]))
    assert 1 < first["perplexity"] < 20  # eight terms
    assert answer(capsys, *options, "--seed", 5) == first
    assert answer(capsys, *options, "--seed", 6) != first
    assert answer(capsys, "score", tiny, "--sweeps", 1, "--burn-in", 0)["standard_error"] is None


def test_for_people(tiny: Path, capsys: Capture) -> None:
    for words in (["fit", tiny, *SHORT], ["score", tiny, *SHORT], ["corpus", "info", tiny]):
        assert main([*map(str, words)]) == 0
        out, err = capsys.readouterr()
        assert out.count("\n") > 2
        assert err == ""


@pytest.mark.parametrize("command", ["", "corpus", "corpus info", "corpus simulate", "corpus convert", "fit", "score"])
def test_help(capsys: Capture, command: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*command.split(), "--help"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: bayestopics {command}".rstrip())


# -- as a process of its own -----------------------------------------------------------------------


def test_process(tiny: Path, tmp_path: Path) -> None:
    def run(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*COMMAND, *map(str, words)], text=True, capture_output=True, cwd=tmp_path, **options)

    good = run("corpus", "info", tiny, "--json")
    assert (good.returncode, good.stderr, json.loads(good.stdout)["tokens"]) == (0, "", 180)
    (tmp_path / "bad.ldac").write_text("1 0:-1\n")
    bad = run("corpus", "info", "bad.ldac", "--json")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "bayestopics: bad.ldac: line 1: negative count -1\n"
    assert run("--version").stdout == f"bayestopics {__version__}\n"


def test_reader_that_leaves(tiny: Path) -> None:
    with subprocess.Popen([*COMMAND, "corpus", "info", str(tiny)], stdout=-1, stderr=-1) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
