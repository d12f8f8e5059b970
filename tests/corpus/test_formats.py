"""Files of counts: what is written is read again to the last bit, and so is what others write."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from bayestopics.base.problems import InputError
from bayestopics.corpus import Corpus, read_corpus, write_corpus

OURS = ("x.ldac", "docword.x.txt", "docword.x.txt.gz", "x.mtx", "x.npz", "x.tokens")

CORPORA: dict[str, Corpus] = {
    "plain": Corpus.from_sparse(np.array([[1, 0, 2], [0, 3, 0]]), ("one", "two", "three")),
    "empty document first": Corpus.from_sparse(np.array([[0, 0], [1, 2]]), ("a", "b")),
    "empty document in the middle": Corpus.from_sparse(np.array([[1, 0], [0, 0], [0, 2]]), ("a", "b")),
    "empty documents last": Corpus.from_sparse(np.array([[1, 2], [0, 0], [0, 0]]), ("a", "b")),
    "unused terms": Corpus.from_sparse(np.array([[0, 1, 0, 0]]), ("first", "used", "third", "last")),
    "unicode": Corpus.from_sparse(np.array([[1, 2, 3, 4, 5]]), ("Öl", "naïve", "слово", "言葉", "🐈")),
    "odd terms": Corpus.from_sparse(np.array([[1, 2, 3, 4]]), ("new york", "0:1", "", '"')),
    "one token": Corpus.from_sparse(np.array([[1]]), ("a",)),
    "large count": Corpus.from_sparse(np.array([[1_000_000, 0], [1, 0]]), ("a", "b")),
}


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("kind", CORPORA)
def test_round_trip(tmp_path: Path, kind: str, name: str) -> None:
    written = CORPORA[kind]
    write_corpus(written, tmp_path / name)
    read = read_corpus(tmp_path / name)
    assert read.fingerprint == written.fingerprint
    assert read.vocabulary == written.vocabulary
    assert not list(tmp_path.glob(".*")), "a temporary file is left"


@st.composite
def small_corpora(draw: st.DrawFn) -> Corpus:
    documents, terms = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    counts = draw(st.lists(st.sampled_from((0, 0, 1, 2, 300)), min_size=documents * terms, max_size=documents * terms))
    counts[draw(st.integers(0, len(counts) - 1))] += 1  # a corpus has at least one token
    letters = st.characters(codec="utf-8", categories=("L", "M", "N", "P", "S"))
    words = st.text(letters, min_size=1, max_size=5)
    vocabulary = draw(st.lists(words, min_size=terms, max_size=terms))
    return Corpus.from_sparse(np.reshape(counts, (documents, terms)), vocabulary)


@settings(derandomize=True, max_examples=40, deadline=None, database=None)
@given(corpus=small_corpora())
def test_round_trip_of_any_corpus(corpus: Corpus) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in OURS:
            write_corpus(corpus, Path(folder) / name)
            assert read_corpus(Path(folder) / name).fingerprint == corpus.fingerprint, name


def test_npz_keeps_name_and_labels(tmp_path: Path) -> None:
    corpus = Corpus.from_sparse(np.array([[1], [2]]), [" spaces \n"], labels=("news", "ü"), name="mine")
    write_corpus(corpus, tmp_path / "x.npz")
    read = read_corpus(tmp_path / "x.npz")
    assert (read.name, read.labels, read.vocabulary) == ("mine", ("news", "ü"), (" spaces \n",))


def test_written_files_are_the_same_bits(tmp_path: Path) -> None:
    for folder in (tmp_path / "one", tmp_path / "two"):
        for name in OURS:
            write_corpus(CORPORA["unicode"], folder / name)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes(), file.name
    assert (tmp_path / "one" / "docword.x.txt.gz").read_bytes()[4:8] == bytes(4)  # no date


@pytest.mark.parametrize("name", OURS[:4])
@pytest.mark.parametrize("term", ["a\nb", " a", "a\t", "\r"])
def test_term_that_no_line_can_hold(tmp_path: Path, name: str, term: str) -> None:
    with pytest.raises(InputError, match="would not survive"):
        write_corpus(Corpus.from_sparse(np.array([[1]]), [term]), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x.txt", "x", "x.ldac.gz", "docword.x", "x.LDAC", "x.tsv"])
def test_format_that_is_not_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot write this format"):
        write_corpus(CORPORA["plain"], tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "x.ldac").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        write_corpus(CORPORA["plain"], tmp_path / "x.ldac")
    assert list(tmp_path.iterdir()) == [tmp_path / "x.ldac"]


# -- what others write -----------------------------------------------------------------------------

DENSE = np.array([[0, 0, 0], [2, 0, 1], [0, 0, 0], [0, 12, 0], [0, 0, 0]])
EXPECTED = Corpus.from_sparse(DENSE).fingerprint
LDAC = "0\n2 0:2 2:1\n0\n1 1:12\n0\n"
BODY = "2 1 2\n2 3 1\n4 2 12\n"
UCI = f"5\n3\n3\n{BODY}"
MTX = f"%%MatrixMarket matrix coordinate integer general\n%\n% a comment\n5 3 3\n{BODY}"
REAL = MTX.replace("integer", "real")

VARIANTS: dict[str, tuple[str, str]] = {
    "ldac": ("x.ldac", LDAC),
    "ldac with tabs and signs": ("x.ldac", LDAC.replace("2 0:2 2:1", "\t2\t0:+2  2:1 ")),
    "ldac in another order": ("x.ldac", LDAC.replace("0:2 2:1", "2:1 0:2")),
    "ldac with a repeated term": ("x.ldac", LDAC.replace("2 0:2", "3 0:1 0:1")),
    "ldac with a zero count": ("x.ldac", LDAC.replace("2 0:2", "3 1:0 0:2")),
    "uci": ("docword.x.txt", UCI),
    "uci in another order": ("docword.x.txt", "5\n3\n3\n4 2 12\n2 3 1\n2 1 2\n"),
    "uci with a repeated pair": ("docword.x.txt", "5\n3\n4\n2 1 1\n2 1 1\n2 3 1\n4 2 12\n"),
    "uci with a zero count": ("docword.x.txt", "5\n3\n4\n5 1 0\n2 1 2\n2 3 1\n4 2 12\n"),
    "uci with tabs": ("docword.x.txt", UCI.replace(" ", "\t")),
    "uci with blank lines at the end": ("docword.x.txt", f"{UCI}\n\n"),
    "matrix market": ("x.mtx", MTX),
    "matrix market in capitals": ("x.mtx", MTX.replace("matrix coordinate integer", "MATRIX Coordinate Integer")),
    "real": ("x.mtx", REAL),
    "real as 2.0": ("x.mtx", REAL.replace(BODY, "2 1 2.0\n2 3 1.\n4 2 12.000\n")),
    "real as 2e0": ("x.mtx", REAL.replace(BODY, "2\t1\t2e0\n2 3 +1.00E+00\n4 2 1.2e+01\n")),
}
DISGUISES: dict[str, Any] = {
    "plain": str.encode,
    "windows": lambda text: text.replace("\n", "\r\n").encode(),
    "byte order mark": lambda text: text.encode("utf-8-sig"),
    "no last line end": lambda text: text.removesuffix("\n").encode(),
    "gzip": lambda text: gzip.compress(text.encode()),
    "gzip in two pieces": lambda text: gzip.compress(text[:9].encode()) + gzip.compress(text[9:].encode()),
}


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_are_read(tmp_path: Path, variant: str, disguise: str) -> None:
    name, text = VARIANTS[variant]
    path = tmp_path / (name + ".gz" if "gzip" in disguise else name)
    path.write_bytes(DISGUISES[disguise](text))
    corpus = read_corpus(path)
    assert corpus.fingerprint == EXPECTED
    assert corpus.name == str(path)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.float64])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.coo_array, sparse.csc_array])
def test_scipys_files_are_read(tmp_path: Path, kind: Any, dtype: Any) -> None:
    matrix = kind(DENSE.astype(dtype))
    scipy.io.mmwrite(tmp_path / "x.mtx", matrix, comment="by scipy")
    sparse.save_npz(tmp_path / "x.npz", matrix)
    assert read_corpus(tmp_path / "x.mtx").fingerprint == EXPECTED
    assert read_corpus(tmp_path / "x.npz").fingerprint == EXPECTED


# -- the number of terms ---------------------------------------------------------------------------

FILES = {"x.ldac": LDAC, "docword.x.txt": UCI, "x.mtx": MTX, "x.npz": None}


def put(folder: Path, name: str, words: str | None = None, vocabulary: str = "") -> Path:
    path = folder / name
    text = FILES[name.removesuffix(".gz")]
    if text is None:
        sparse.save_npz(path, sparse.csr_array(DENSE))
    else:
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    if words is not None:
        (folder / vocabulary).write_text(words, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "vocabulary"),
    [
        ("x.ldac", "x.ldac.vocab"),
        ("x.ldac", "x.vocab"),
        ("x.ldac.gz", "x.ldac.gz.vocab"),
        ("x.ldac.gz", "x.ldac.vocab"),
        ("x.ldac.gz", "x.vocab"),
        ("docword.x.txt", "vocab.x.txt"),
        ("docword.x.txt.gz", "vocab.x.txt"),
        ("x.mtx", "x.mtx.vocab"),
        ("x.mtx", "x.vocab"),
        ("x.npz", "x.npz.vocab"),
    ],
)
@pytest.mark.parametrize("words", ["a\nb\nc\n", "a\nb\nc", "a\r\nb\r\nc\r\n", "\ufeffa \nb\nc\n"], ids=repr)
def test_vocabulary_stands_beside(tmp_path: Path, name: str, vocabulary: str, words: str) -> None:
    path = put(tmp_path, name, words, vocabulary)
    assert read_corpus(path).vocabulary == ("a", "b", "c")
    assert read_corpus(path, terms=3).vocabulary == ("a", "b", "c")
    with pytest.raises(InputError, match=r"--terms 4 disagrees with the 3 terms"):
        read_corpus(path, terms=4)


def test_the_longer_name_of_a_vocabulary_comes_first(tmp_path: Path) -> None:
    path = put(tmp_path, "x.ldac", "a\nb\nc\n", "x.ldac.vocab")
    (tmp_path / "x.vocab").write_text("no\n")
    assert read_corpus(path).vocabulary == ("a", "b", "c")


@pytest.mark.parametrize("name", ["docword.x.txt", "x.mtx", "x.npz"])
def test_header_says_the_number_of_terms(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, name)
    assert read_corpus(path).vocabulary == read_corpus(path, terms=3).vocabulary == ("0", "1", "2")
    for terms in (2, 4):
        with pytest.raises(InputError, match=f"--terms {terms} disagrees with the 3 terms"):
            read_corpus(path, terms=terms)


@pytest.mark.parametrize(
    ("name", "vocabulary"), [("docword.x.txt", "vocab.x.txt"), ("x.mtx", "x.mtx.vocab"), ("x.npz", "x.npz.vocab")]
)
@pytest.mark.parametrize("words", ["a\nb\n", "a\nb\nc\n\n"], ids=repr)
def test_header_and_vocabulary_must_agree(tmp_path: Path, name: str, vocabulary: str, words: str) -> None:
    path = put(tmp_path, name, words, vocabulary)
    with pytest.raises(InputError) as caught:
        read_corpus(path)
    assert str(words.count("\n")) in str(caught.value)
    assert "3" in str(caught.value)


def test_ldac_without_a_vocabulary(tmp_path: Path) -> None:
    path = put(tmp_path, "x.ldac")
    assert read_corpus(path).term_count == 3  # the largest id + 1
    assert read_corpus(path, terms=7).term_count == 7
    with pytest.raises(InputError, match=r"line 2: term id 2 is outside the vocabulary of 2 terms"):
        read_corpus(path, terms=2)


def test_ldac_with_unused_terms_in_the_vocabulary(tmp_path: Path) -> None:
    assert read_corpus(put(tmp_path, "x.ldac", "a\nb\nc\nd\n\n", "x.vocab")).vocabulary == ("a", "b", "c", "d", "")
