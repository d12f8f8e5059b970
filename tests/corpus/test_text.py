"""Texts: the tokeniser, the pruning, and folders and tables of texts."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from bayestopics.base.problems import InputError
from bayestopics.corpus import Corpus, Pruning, read_corpus
from bayestopics.corpus.text import from_texts, stop_words

EVERYTHING = Pruning(stop_words="none")


def terms_of(*texts: str, **pruning: Any) -> tuple[str, ...]:
    return from_texts(texts, Pruning(**{"stop_words": "none"} | pruning)).vocabulary


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Apple APPLE aPPle", ["apple"] * 3),
        ("a ab abc abcd", ["abc", "abcd"]),
        ("abc123def 12345 x2345678", ["abc", "def"]),
        ("snake_case __init__", ["case", "init", "snake"]),
        ("don't well-known e.g. end.", ["don", "end", "known", "well"]),
        ("Ölüberschuß naïve", ["naïve", "ölüberschuß"]),
        ("слово Слово λόγος", ["λόγος", "слово", "слово"]),
        ("日本語 日本", ["日本語"]),
        ("tab\tnew\nline\r\nspace\u00a0end", ["end", "line", "new", "space", "tab"]),
        ("<b>bold</b> http://example.org/page?x=1", ["bold", "example", "http", "org", "page"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    corpus = from_texts([text], EVERYTHING)
    assert [corpus.vocabulary[term] for term in corpus.terms] == tokens


def test_own_token_pattern() -> None:
    assert terms_of("x1 y2, zz", token_pattern=r"\w+") == ("x1", "y2", "zz")
    with pytest.raises(InputError, match="not a regular expression"):
        Pruning(token_pattern="(")


def test_stop_words(tmp_path: Path) -> None:
    text = "The cats and the dogs are here, with which you have been"
    assert terms_of(text, stop_words="english") == ("cats", "dogs")
    assert "the" in terms_of(text, stop_words="none")
    own = tmp_path / "own.txt"
    own.write_bytes("\ufeffCats\r\n\r\nthe\r\n".encode())
    assert set(terms_of(text, stop_words="none")) - set(terms_of(text, stop_words=str(own))) == {"cats", "the"}
    with pytest.raises(InputError, match=r"nowhere\.txt: no such file"):
        terms_of(text, stop_words=str(tmp_path / "nowhere.txt"))


def test_english_stop_words_are_a_sober_list() -> None:
    words = stop_words("english")
    assert {"the", "and", "with", "which"} <= words
    assert not words & {"model", "topic", "computer", "system", "#"}
    assert all(word == word.lower() for word in words)


# term: in how many of ten documents, how often in all. Each row: who stays
TEN = [
    "everywhere " + " ".join(["nine"] * (d < 9) + ["two"] * (d < 2) + ["one"] * 3 * (d == 0) + ["once"] * (d == 5))
    for d in range(10)
]


@pytest.mark.parametrize(
    ("pruning", "kept"),
    [
        ({}, {"everywhere", "nine", "two", "one", "once"}),
        ({"min_documents": 2}, {"everywhere", "nine", "two"}),
        ({"min_documents": 3}, {"everywhere", "nine"}),
        ({"max_document_fraction": 0.9}, {"nine", "two", "one", "once"}),
        ({"max_document_fraction": 0.89}, {"two", "one", "once"}),
        ({"max_document_fraction": 0.1}, {"one", "once"}),
        ({"min_count": 3}, {"everywhere", "nine", "one"}),
        ({"min_count": 3, "max_document_fraction": 0.9, "min_documents": 2}, {"nine"}),
    ],
)
def test_pruning(pruning: dict[str, Any], kept: set[str]) -> None:
    vocabulary = terms_of(*TEN, **pruning)
    assert set(vocabulary) == kept
    assert list(vocabulary) == sorted(vocabulary)


@pytest.mark.parametrize(("share", "documents"), [(0.29, 100), (0.07, 100), (0.57, 100), (0.1, 30)])
def test_share_of_documents_is_exact(share: float, documents: int) -> None:
    # 0.29 * 100 is 28.999999999999996
    exactly = round(share * documents)
    texts = ["other" + " common" * (d < exactly) + " more" * (d <= exactly) for d in range(documents)]
    assert terms_of(*texts, max_document_fraction=share) == ("common",)


@pytest.mark.parametrize("share", [0, -0.1, 1.1, float("nan"), float("inf")])
def test_share_that_makes_no_sense(share: float) -> None:
    with pytest.raises(InputError, match="fraction"):
        Pruning(max_document_fraction=share)


def test_documents_that_lose_everything_stay() -> None:
    corpus = from_texts(["the", "apple", "", "42"], Pruning(), labels=["a", "b", "c", "d"])
    assert corpus.document_lengths.tolist() == [0, 1, 0, 0]
    assert corpus.labels == ("a", "b", "c", "d")


@pytest.mark.parametrize("texts", [[], [""], ["the", "of"], ["a b c 1 2 3"]])
def test_nothing_left(texts: list[str]) -> None:
    with pytest.raises(InputError, match=f"empty .*{len(texts)} documents"):
        from_texts(texts, Pruning())


# -- folders ---------------------------------------------------------------------------------------


def folder_of(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def words(corpus: Corpus) -> list[list[str]]:
    return [[corpus.vocabulary[t] for t in corpus.terms[corpus.documents == d]] for d in range(corpus.document_count)]


def test_folder(tmp_path: Path) -> None:
    files = {
        "b.txt": b"second",
        "a.txt": b"first",
        "c": b"",
        "d.txt.gz": gzip.compress(b"fourth"),
        ".DS_Store": b"\xff",
    }
    corpus = read_corpus(folder_of(tmp_path, files), pruning=EVERYTHING)
    assert words(corpus) == [["first"], ["second"], [], ["fourth"]]
    assert corpus.labels is None


def test_folder_with_subfolders(tmp_path: Path) -> None:
    files = {
        "sport/b": b"goal",
        "sport/a": b"ball",
        "science/deep/x": b"atom",
        "top": b"words",
        ".git/config": b"hidden",
        "science/.cache/y": b"hidden",
        "sport/.b.swp": b"hidden",
    }
    corpus = read_corpus(folder_of(tmp_path, files), pruning=EVERYTHING)
    assert words(corpus) == [["atom"], ["ball"], ["goal"], ["words"]]
    assert corpus.labels == ("science/deep", "sport", "sport", ".")


def test_encoding_of_texts(tmp_path: Path) -> None:
    folder_of(tmp_path / "folder", {"a": "Öfen".encode("latin-1")})
    (tmp_path / "x.tsv").write_bytes("Öfen\n".encode("latin-1"))
    for path in (tmp_path / "folder", tmp_path / "x.tsv"):
        assert read_corpus(path, encoding="latin-1").vocabulary == ("öfen",)
        with pytest.raises(InputError, match="line 1: byte 0xd6 is not utf-8"):
            read_corpus(path)


@pytest.mark.parametrize("encoding", ["utf-8", "UTF-8", "utf8", "utf-16"])
def test_byte_order_mark_is_no_letter(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "x.tsv").write_bytes("\ufefffirst second\n".encode(encoding.replace("utf-16", "utf-16-le")))
    assert read_corpus(tmp_path / "x.tsv", pruning=EVERYTHING, encoding=encoding).vocabulary == ("first", "second")


# -- tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "texts", "labels"),
    [
        ("apple pear\nfig tree\n", [["apple", "pear"], ["fig", "tree"]], None),
        ("apple pear\n\nfig tree", [["apple", "pear"], [], ["fig", "tree"]], None),
        ("17\tapple\n18\tpear\n", [["apple"], ["pear"]], None),
        ("17\tfruit\tapple\n18\ttree\tpear\n", [["apple"], ["pear"]], ("fruit", "tree")),
        ("17\tfruit\tx\tapple\n", [["apple"]], ("fruit",)),
        ("text\napple\n", [["apple"]], None),
        ("text\tlabel\napple\tfruit\n", [["apple"]], ("fruit",)),
        ("id\tText \tother\tLABEL\n1\tapple\tnoise\tfruit\r\n", [["apple"]], ("fruit",)),
        ('17\tfruit\t"apple\n18\tfruit\tpear"\n', [["apple"], ["pear"]], ("fruit", "fruit")),  # quotes mean nothing
    ],
)
def test_tsv(tmp_path: Path, table: str, texts: list[list[str]], labels: tuple[str, ...] | None) -> None:
    (tmp_path / "x.tsv").write_text(table, encoding="utf-8")
    (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(table.encode()))
    for name in ("x.tsv", "x.tsv.gz"):
        corpus = read_corpus(tmp_path / name, pruning=EVERYTHING)
        assert words(corpus) == texts
        assert corpus.labels == labels


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ("", "empty (no lines)"),
        ("text\tlabel\n", "0 documents"),
        ("1\ta\tapple\n2\tpear\n", "line 2: 2 columns instead of 3"),
        ("1\ta\tapple\n\n", "line 2: 1 columns instead of 3"),
        ("text\tlabel\napple\tfruit\tmore\n", "line 2: 3 columns instead of 2"),
    ],
)
def test_bad_tsv(tmp_path: Path, table: str, fault: str) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(table)
    with pytest.raises(InputError) as caught:
        read_corpus(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert fault in str(caught.value)
