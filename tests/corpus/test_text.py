"""Texts: the tokeniser, the pruning, and lists, Series and DataFrames of texts."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayestopics.base.problems import InputError
from bayestopics.corpus import Corpus, Pruning
from bayestopics.corpus.text import language_note, stop_words

EVERYTHING = Pruning(stop_words="none")


def from_texts(texts: Iterable[str], pruning: Pruning, **more: Any) -> Corpus:
    return Corpus.from_texts(texts, pruning=pruning, **more)


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
    assert terms_of("x1 y2, zz", token_pattern=r"([a-z])\w") == ("x", "y", "z")  # the group is the token
    with pytest.raises(InputError, match="not a regular expression"):
        Pruning(token_pattern="(")
    with pytest.raises(InputError, match="2 groups"):
        Pruning(token_pattern="(a)(b)")


def test_own_tokenizer_sees_the_text_as_it_is() -> None:
    own = Pruning(stop_words=["der"], tokenizer=str.split, ngrams=(1, 2))
    assert Corpus.from_texts(["der Wal taucht"], pruning=own).vocabulary == ("Wal", "Wal taucht", "taucht")
    lists = Pruning(stop_words="none", tokenizer=list)
    assert Corpus.from_texts([["a", "b c"], None, ["a"]], pruning=lists).document_lengths.tolist() == [2, 0, 1]
    with pytest.raises(ValueError, match="mine"):  # an error of the function is not an empty corpus
        Corpus.from_texts(["a"], pruning=Pruning(tokenizer=lambda text: [][int("mine")]))


def test_ngrams() -> None:
    assert terms_of("new york city", ngrams=(2, 2)) == ("new york", "york city")
    # stop words go first, so that pairs reach across them
    assert terms_of("birds of the sea", stop_words="english", ngrams=(1, 2)) == ("birds", "birds sea", "sea")
    for wrong in ((0, 1), (2, 1)):
        with pytest.raises(InputError, match="make no sense"):
            Pruning(ngrams=wrong)


def test_stop_words(tmp_path: Path) -> None:
    text = "The cats and the dogs are here, with which you have been"
    assert terms_of(text, stop_words="english") == ("cats", "dogs")
    assert "the" in terms_of(text, stop_words="none")
    own = tmp_path / "own.txt"
    own.write_bytes("\ufeffCats\r\n\r\nthe\r\n".encode())
    assert set(terms_of(text, stop_words="none")) - set(terms_of(text, stop_words=str(own))) == {"cats", "the"}
    with pytest.raises(InputError, match=r"nowhere\.txt: no such file"):
        terms_of(text, stop_words=str(tmp_path / "nowhere.txt"))


def test_stop_words_of_other_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stopwordsiso", None)  # not installed
    with pytest.raises(InputError, match=r"stopwordsiso is needed, .* or give a file"):
        stop_words("de")
    with pytest.raises(InputError, match=r"stop words german: no such file; write english, none, .* such as de"):
        stop_words("german")
    words = {"de": {"der", "und"}}
    package = SimpleNamespace(has_lang=words.__contains__, langs=lambda: set(words), stopwords=words.__getitem__)
    monkeypatch.setitem(sys.modules, "stopwordsiso", package)
    assert stop_words("de") == {"der", "und"}
    with pytest.raises(InputError, match="does not know this language; it knows de"):
        stop_words("xx")
    assert stop_words(["The", "a"]) == {"the", "a"}


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
        ({"max_documents": 0.9}, {"nine", "two", "one", "once"}),
        ({"max_documents": 0.89}, {"two", "one", "once"}),
        ({"max_documents": 0.1}, {"one", "once"}),
        ({"min_documents": 0.2}, {"everywhere", "nine", "two"}),
        ({"min_documents": 0.21}, {"everywhere", "nine"}),
        ({"max_documents": 9}, {"nine", "two", "one", "once"}),
        ({"max_documents": 8}, {"two", "one", "once"}),
        ({"max_documents": 1}, {"everywhere", "nine", "two", "one", "once"}),  # all of them, not one document
        ({"min_count": 3}, {"everywhere", "nine", "one"}),
        ({"min_count": 3, "max_documents": 0.9, "min_documents": 2}, {"nine"}),
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
    texts = ["other thing" + " common" * (d < exactly) + " more" * (d <= exactly) for d in range(documents)]
    assert terms_of(*texts, max_documents=share) == ("common",)


@pytest.mark.parametrize("share", [0, -0.1, 1.1, float("nan"), float("inf")])
@pytest.mark.parametrize("limit", ["min_documents", "max_documents"])
def test_limits_that_make_no_sense(limit: str, share: float) -> None:
    with pytest.raises(InputError, match="no whole number and no share"):
        Pruning(**{limit: share})


@pytest.mark.parametrize(("documents", "kept"), [(99, {"all", "half", "pair", "once"}), (100, {"half", "pair"})])
def test_pruning_without_settings(documents: int, kept: set[str]) -> None:
    """In at least two documents and at most half of them, unless there are few documents; and it is said."""
    half = documents // 2
    texts = ["all" + " half" * (d < half) + " pair" * (d < 2) + " once" * (d == 0) for d in range(documents)]
    corpus = Corpus.from_texts(texts, pruning=Pruning(stop_words="none"))
    assert set(corpus.vocabulary) == kept
    said = (
        "corpus: kept 2 of 4 terms: those in at least 2 documents and in at most 50 % of the documents "
        "(--min-documents and --max-documents change that)"
    )
    assert corpus.notes == ((said,) if documents == 100 else ())


def test_documents_that_lose_everything_stay() -> None:
    corpus = from_texts(["the", "apple", "", "42"], Pruning(), labels=["a", "b", "c", "d"])
    assert corpus.document_lengths.tolist() == [0, 1, 0, 0]
    assert corpus.labels == ("a", "b", "c", "d")


@pytest.mark.parametrize("texts", [[], [""], ["the", "of"], ["a b c 1 2 3"]])
def test_nothing_left(texts: list[str]) -> None:
    with pytest.raises(InputError, match=f"empty .*{len(texts)} documents"):
        from_texts(texts, Pruning())


def test_everything_pruned() -> None:
    with pytest.raises(InputError, match=r"no tokens left after pruning 2 documents\); lower --min-documents"):
        from_texts(["owl", "whale"], Pruning(min_documents=2))


# -- lists, Series, DataFrames ---------------------------------------------------------------------

TABLE = pd.DataFrame(
    {"id": [7, 8, 9], "text": ["owl tree", None, "whale"], "Label": ["sky", None, "sea"], "year": [1990, 1991, 1992]}
)


def test_missing_values_are_empty_documents() -> None:
    for texts in (["owl", None, float("nan"), pd.NA, 5], pd.Series(["owl", None, np.nan, pd.NA, 5], dtype=object)):
        corpus = Corpus.from_texts(texts)
        assert corpus.document_lengths.tolist() == [1, 0, 0, 0, 0]
        assert corpus.notes == ("corpus: 3 documents have a missing value instead of a text, and no words",)


def test_table_keeps_labels_and_metadata() -> None:
    corpus = Corpus.from_texts(TABLE.set_index("id"))
    assert corpus.vocabulary == ("owl", "tree", "whale")
    assert corpus.document_lengths.tolist() == [2, 0, 1]
    assert corpus.labels == ("sky", "", "sea")
    assert corpus.metadata is not None
    assert corpus.metadata.index.tolist() == [7, 8, 9]
    assert corpus.metadata.columns.tolist() == ["id", "Label", "year"]
    assert corpus.notes == ("corpus: 1 document has a missing value instead of a text, and no words",)
    listed = Corpus.from_texts(["owl tree", "", "whale"])
    assert corpus.fingerprint == listed.fingerprint  # metadata is no part of it
    assert corpus.select_tokens(corpus.documents == 0).metadata is corpus.metadata
    assert "text" in TABLE.columns  # the table of the user is as it was


LONG = "many words are in this sentence"


@pytest.mark.parametrize(
    ("table", "wanted", "column"),
    [
        ({"text": ["owl"], "body": [LONG]}, None, "text"),
        ({"Text ": ["owl"], "body": [LONG]}, None, "Text"),
        ({"TEXT": ["owl"], "text": [LONG]}, None, "text"),
        ({"text": ["owl"], "body": [LONG]}, "body", "body"),
        ({"id": ["a17"], "body": [LONG], "date": ["Mon, 3 May 2010"]}, None, "body"),
        ({"anything": ["owl"]}, None, "anything"),
        ({0: ["x"], 1: [LONG]}, None, "1"),
    ],
)
def test_column_of_the_texts(table: dict[Any, list[str]], wanted: str | None, column: str) -> None:
    corpus = Corpus.from_texts(pd.DataFrame(table), wanted, pruning=EVERYTHING)
    frame = pd.DataFrame(table).rename(columns=lambda name: str(name).strip())
    assert corpus.fingerprint == Corpus.from_texts(frame[column], pruning=EVERYTHING).fingerprint
    found = wanted is None and column.lower() != "text" and len(table) > 1
    assert corpus.notes == ((f"corpus: the texts are in the column {column!r}, the only one that holds texts",) * found)


IDS = [f"id-{number}" for number in range(10)]


@pytest.mark.parametrize(
    ("texts", "wanted", "fault"),
    [
        ({"title": [LONG], "body": [LONG]}, None, "more than one column holds texts; .* 'title', 'body'"),
        ({"a": ["x"], "b": ["y"]}, None, "no column is called text or holds texts; .*--text-column .*'a', 'b'"),
        ({"a": ["x"], "b": ["y"]}, "c", "no column 'c' .*'a', 'b'"),
        (pd.DataFrame([["x", "y"]], columns=["text", "text"]), None, "two columns are called 'text'"),
        ({"text": IDS, "body": [LONG] * 10}, None, "'text' holds about one word .*'id-0'.* choose another .*'body'"),
        (IDS, None, "the list holds about one word per document"),
        (["https://example.org/a-long-address/and-more"] * 10, None, "about one word"),
        ({"text": []}, None, "0 documents"),
        (pd.DataFrame(), None, "no columns"),
        ({"text": [["owl", "tree"]]}, None, "document 1: the text is a list, not a string; join its words"),
        ({"text": [np.array(["owl"])]}, None, "a ndarray, not a string; join its words"),
        ({"text": [1, None], "body": [LONG] * 2}, None, "'text' holds numbers, not texts; choose another .*'body'"),
        ({"owl", "tree"}, None, "not a set"),
        ([b"owl"], None, "document 1: the text is a bytes"),
        (np.ones((2, 2)), None, "document 1: the text is a ndarray"),
        ("one text", None, "a list of texts, a pandas Series or a DataFrame is needed, not a str"),
        (Path("x.csv"), None, "read_corpus"),
        (["owl"], "text", "only in a table"),
        (5, None, "not a int"),
    ],
)
def test_surely_not_meant(texts: Any, wanted: str | None, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        Corpus.from_texts(pd.DataFrame(texts) if isinstance(texts, dict) else texts, wanted)


CLAUSES, WORDS = "クジラは海に住んでいて、イカを食べる動物です。", "鲸鱼 在 深海 里 唱歌 ， 吃 鱿鱼 和 小 鱼"


@pytest.mark.parametrize("documents", [2, 10])
def test_a_script_without_spaces_needs_a_tokenizer(documents: int) -> None:
    """Guards clauses for words, ids for texts, and a refusal of those who said what a token is."""
    with pytest.raises(InputError, match="without spaces between words"):
        Corpus.from_texts([CLAUSES] * documents)
    for own in (Pruning(tokenizer=list), Pruning(token_pattern="[ァ-ヴー]+")):
        corpus = Corpus.from_texts([CLAUSES] * documents, pruning=own)
        assert "クジラ" in corpus.vocabulary or "ク" in corpus.vocabulary
    (note,) = Corpus.from_texts([f"{WORDS} 小企鹅"] * documents).notes
    assert r"--token-pattern '\w+' keeps them" in note
    spaced = Corpus.from_texts([WORDS] * documents, pruning=Pruning(token_pattern=r"\w+"))
    assert (spaced.term_count, spaced.notes) == (10, ())
    assert Corpus.from_texts([f"The sperm whale is called {WORDS[:2]} in Chinese"] * documents).notes == ()


def test_names_of_files_are_no_texts(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("the owl hunts")
    names = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    with pytest.raises(InputError, match="the list holds names of files"):
        Corpus.from_texts(names)
    assert Corpus.from_texts([*names, "The owl hunts"]).document_count == 3


def test_an_index_that_says_something_is_a_column() -> None:
    """Guards ids and dates that are lost because they are in the index."""
    days = pd.to_datetime(["2020-01-01", "2020-01-02"])
    found = Corpus.from_texts(pd.Series([LONG, LONG], index=days))
    assert found.metadata is not None
    assert found.metadata["index"].tolist() == days.tolist()
    assert Corpus.from_texts(pd.Series([LONG, LONG], index=[5, 7])).metadata is None
    named = pd.DataFrame({"body": [LONG, LONG], "id": [1, 2], "page": [3, 4]}).set_index(["id", "page"])
    found = Corpus.from_texts(named)
    assert found.metadata is not None
    assert found.metadata.to_dict("list") == {"id": [1, 2], "page": [3, 4]}


def test_nine_texts_of_one_word_are_read() -> None:
    assert Corpus.from_texts(IDS[:9], pruning=Pruning(token_pattern=r"\w+")).term_count == 10  # and the word id


SENTENCES = {
    "English": "The owl hunts at night in the forest, and it sleeps for most of the day, as it is tired of the hunt. ",
    "German": "Die Eule jagt in der Nacht, und sie schläft am Tag, weil es nicht leicht ist, von der Jagd zu leben. ",
    "French": "Le hibou chasse dans la nuit et dort pour la journée, ce qui est bien pour les autres et pas pour lui. ",
    "none": "owl hunts night forest sleeps day tired hunt mouse tree branch feather wing claw beak moon ",
}


@pytest.mark.parametrize(
    ("language", "said"),
    [("English", None), ("German", "--stop-words de"), ("French", "--stop-words fr"), ("none", "another language")],
)
def test_texts_in_another_language_are_noticed(language: str, said: str | None) -> None:
    texts = [10 * SENTENCES[language]] * 4
    note = language_note(texts, "english", "x")
    assert note is None if said is None else said in str(note)
    assert language_note(texts, "none", "x") is None
    assert language_note(texts[:1], "english", "x") is None  # too short to tell
    assert Corpus.from_texts(texts).notes == (() if note is None else (note.replace("x:", "corpus:", 1),))
