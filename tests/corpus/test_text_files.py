"""Files of texts: folders, CSV, TSV, JSON lines and Parquet; what is read, and what is refused."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest

from bayestopics.base.problems import InputError
from bayestopics.cli.main import main
from bayestopics.corpus import Corpus, Pruning, read_corpus, tables, write_corpus

EVERYTHING = Pruning(stop_words="none")


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
        "d.txt.gz": gzip.compress(b"fourth", mtime=0),
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
        ("id,text\n1,apple\n", "line 1: there are commas between the columns, not tabs; call the file x.csv"),
    ],
)
def test_bad_tsv(tmp_path: Path, table: str, fault: str) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(table)
    with pytest.raises(InputError) as caught:
        read_corpus(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert fault in str(caught.value)


# -- every form of the same table ------------------------------------------------------------------

ROWS = pd.DataFrame(
    {
        "id": ["1", "2", "3", "4"],
        "text": ['The owl hunts,\nand "sleeps"', "", "NA", "whale; null\r\nwhale"],
        "label": ["sky", "none", "NA", "sea"],
    }
)
WORDS = [["and", "hunts", "owl", "sleeps", "the"], [], [], ["null", "whale", "whale"]]
FORMS = {
    "x.csv": lambda rows: rows.to_csv(index=False).encode(),
    "X.CSV": lambda rows: rows.to_csv(index=False, sep=";").encode(),
    "x.tsv": lambda rows: rows.to_csv(index=False, sep="\t").encode(),  # in quotes where there are line breaks
    "y.tsv": lambda rows: rows.map(lambda text: " ".join(text.split())).to_csv(index=False, sep="\t").encode(),
    "z.tsv": lambda rows: rows.to_csv(index=False, sep="\t", quoting=csv.QUOTE_ALL).encode(),
    "x.jsonl": lambda rows: rows.to_json(orient="records", lines=True).encode(),
    "x.ndjson": lambda rows: b"\n" + rows.to_json(orient="records", lines=True).encode() + b"\r\n",
    "x.parquet": lambda rows: rows.to_parquet(),
}
PACKERS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pyarrow.compress(data, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table(form: str, tmp_path: Path) -> None:
    """The texts NA and null are texts; line breaks, quotes and separators inside a text are part of it."""
    for suffix, pack in PACKERS.items():
        path = tmp_path / f"{form}{suffix}"
        path.write_bytes(pack(FORMS[form](ROWS)))
        corpus = read_corpus(path, pruning=EVERYTHING)
        assert words(corpus) == WORDS
        assert corpus.labels == ("sky", "none", "NA", "sea")
        assert corpus.metadata is not None
        assert corpus.metadata.to_dict("list") == {"id": ["1", "2", "3", "4"], "label": list(corpus.labels)}
        assert corpus.notes == ()


def test_json_values(tmp_path: Path) -> None:
    """A missing key, null and NaN are missing values; what is nested stays with the documents as JSON."""
    path = tmp_path / "x.jsonl"
    lines = [
        '{"text": "owl", "tags": ["a", {"b": 1}]}',
        '{"text": null}',
        '{"tags": 5}',
        '{"text": NaN}',
        '{"text": 1}',
    ]
    path.write_text("\n".join(lines))
    corpus = read_corpus(path)
    assert corpus.document_lengths.tolist() == [1, 0, 0, 0, 0]
    assert corpus.notes == (f"{path}: 3 documents have a missing value instead of a text, and no words",)
    assert corpus.metadata is not None
    assert corpus.metadata["tags"].tolist() == ['["a", {"b": 1}]', None, 5, None, None]


SENTENCE = "many words are in this sentence"


@pytest.mark.parametrize(
    ("content", "documents", "column"),
    [
        ("text\nowl\n", 1, "text"),
        (f"review\n{SENTENCE}\n{SENTENCE}\n", 2, "review"),
        (f"what people said\n{SENTENCE} and {SENTENCE} and more\n", 1, "what people said"),
        (f"number,said\n1,{SENTENCE}\n2,{SENTENCE}\n", 2, "said"),
        (f"day,said\n2010-01-02,{SENTENCE}\n", 1, "said"),
        (f",said\n0,{SENTENCE}\n", 1, "said"),  # the index of a DataFrame
        (f"1,{SENTENCE}\n2,{SENTENCE}\n", 2, "2"),
        (f'"{SENTENCE}, too",7\n"{SENTENCE}",8\n', 2, "1"),
        (f"{SENTENCE}\n{SENTENCE}\n", 2, "1"),
        ("owl tree\nfig tree\n", 2, "1"),
    ],
)
def test_header_is_seen_from_its_content(content: str, documents: int, column: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(content)
    table = tables.read_table(tmp_path / "x.csv", None, None, "utf-8")
    assert len(table.frame) == documents
    assert column in table.frame.columns
    assert table.text_column in (None, column)
    assert read_corpus(tmp_path / "x.csv", pruning=EVERYTHING).document_count == documents


def test_header_as_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("owl,hunts mice\nwhale,dives deep\n")
    assert read_corpus(path, header=False).document_count == 2
    assert read_corpus(path, header=True, text_column="hunts mice").document_count == 1
    assert read_corpus(path, text_column="hunts mice").document_count == 1  # a column that is named is in a header
    assert read_corpus(path, header=False, text_column="1").vocabulary == ("owl", "whale")
    with pytest.raises(InputError, match=r"no column 'dives'.* line 1 names no columns, so they are called 1 to 2"):
        read_corpus(path, text_column="dives")
    said = f"{path}: line 1 is a document, and the texts are in column 2 of 2"
    assert read_corpus(path, header=False).notes == (said,)


# -- what is refused -------------------------------------------------------------------------------

IDS = "".join(f"doc{number},spam\n" for number in range(12))


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("x.csv", b"", "empty (no lines)"),
        ("x.csv", b"\n\n", "empty (no lines)"),
        ("x.jsonl", b"\n", "empty (no lines)"),
        ("x.csv", b"id,text\n", "0 documents after the line with the names"),
        (
            "x.csv",
            b"id,text\n1,owl\n2,owl, tree\n",
            "line 3: 3 columns instead of 2; a text with separators in it",
        ),
        ("x.csv", b'id,text\n1,"a\nb"\n2\n', "line 4: 1 columns instead of 2"),
        ("x.csv", b"id,text\n1,owl\n\n2,owl\n", "line 3: 1 columns instead of 2"),
        ("x.csv", b'id,text\n1,owl\n2,"tree\n3,owl\n', "line 3: a quoted field begins in this row and does not end"),
        ("x.csv", b'id,text\n1,"an "owl" hoots"\n', "line 2: text follows a closing quote; a quote inside"),
        ("x.csv", b"text,text\nowl,tree\n", "two columns are called 'text'"),
        (
            "x.csv",
            b"id,text\n1,\xe9t\xe9\n",
            "line 2: byte 0xe9 is not utf-8; name the encoding of the file with",
        ),
        ("x.csv", "id,text\n1,owl\n".encode("utf-16"), "byte 0: the file begins like UTF-16; read it with --encoding"),
        ("x.csv", "id,text\n1,owl\n".encode("utf-16-le"), "line 1: a NUL character; the file is binary or in another"),
        ("x.csv", b"id,text\n1,owl\n2,o\0wl\n", "line 3: a NUL character"),
        ("x.csv", b"%PDF-1.7\nowl\n", "this is a PDF"),
        ("x.csv", b"PK\x03\x04 sheet", "this is a zip archive, as spreadsheets"),
        ("x.csv", b"<!DOCTYPE html><p>404</p>", "this is a web page"),
        ("x.csv", gzip.compress(b"text\nowl\n", mtime=0), "compressed by gzip; its name must end in .gz"),
        ("x.csv.zst", b"text\nowl\n", "not a complete .zst file"),
        ("x.csv.bz2", bz2.compress(b"text\nowl\n" * 99)[:-9], "not a complete .bz2 file"),
        ("x.csv.xz", lzma.compress(b"text\nowl\n" * 99)[:-9], "not a complete .xz file"),
        ("x.tsv.gz", gzip.compress(b"text\nowl\n", mtime=0)[:-3], "truncated gzip"),
        ("x.csv", IDS.encode(), "the column '2' holds about one word per document, such as 'spam'"),
        ("x.csv", b"a," * 10_001, "columns are too many"),
        ("x.jsonl", b'{"text": "owl"}\n["owl"]\n', 'line 2: a list instead of an object such as {"text": "..."}'),
        ("x.jsonl", b'{"text": "owl"}\n\n{"text": "owl"\n', "line 3: not JSON"),
        ("x.jsonl", b'"owl"\n', "line 1: a str instead of an object"),
        ("x.jsonl", b'{"text": "owl", "text": "tree"}\n', "line 1: not JSON (the key 'text' occurs twice)"),
        ("x.jsonl", b'{"text": {"body": "owl"}}\n', "document 1: the text is a dict"),
        ("x.jsonl", b"[" * 100_000, "line 1: not JSON (too deeply nested)"),
        ("x.jsonl", b"1" * 5000, "line 1: not JSON"),
        ("x.parquet", b"PAR1 and nothing more", "not a Parquet file"),
        ("x.parquet", b"text\nowl\n", "not a Parquet file"),
        ("x.xlsx", b"PK\x03\x04", "a spreadsheet cannot be read; export it as CSV"),
        ("x.PDF", b"%PDF", "save it as plain text"),
        ("x.json", b"[]", "one object per line; write it as x.jsonl"),
        ("x.txt", b"owl", "one text, or one per line?"),
        ("x.what", b"owl", "unknown format; choose from x.csv, x.tsv"),
    ],
)
def test_refused(name: str, content: bytes, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert main(["corpus", "info", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"bayestopics: {path}: ")
    assert fault in err
    assert err.count("\n") == 1


PACK = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pyarrow.compress(data, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("form", PACK)
def test_a_small_file_that_unpacks_to_a_large_one(kind: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{kind}.{form}"
    path.write_bytes(PACK[form](b"text\n" + bytes(20_000_000)))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"x\..*: unpacks to more than 4,194,304 bytes.*BAYESTOPICS_NO_LIMITS=1"):
            read_corpus(path)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000  # never all of it; xz alone has a window of 8 MiB
    finally:
        tracemalloc.stop()


def test_huge_field_is_a_quote_that_is_not_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    path.write_text("text\nowl\n" + "word " * 40_000 + "\n")  # longer than what the csv module takes by default
    usual = csv.field_size_limit()
    assert read_corpus(path).token_count == 40_001
    assert csv.field_size_limit() == usual
    monkeypatch.setattr(tables, "LONGEST_FIELD", 1000)
    with pytest.raises(InputError, match="line 3: a field has more than 1,000 characters; is a closing quote missing"):
        read_corpus(path)


def test_binary_files_in_a_folder(tmp_path: Path) -> None:
    folder_of(tmp_path, {"a.txt": b"owl", "b.pdf": b"%PDF-1.7"})
    with pytest.raises(InputError, match=r"b\.pdf: this is a PDF"):
        read_corpus(tmp_path)


def test_folder_of_tables(tmp_path: Path) -> None:
    folder_of(tmp_path, {"a.csv": b"text\nowl\n"})
    with pytest.raises(InputError, match=r"holds tables, not texts; .*a\.csv"):
        read_corpus(tmp_path)
    folder_of(tmp_path, {"b.txt": b"owl"})
    assert read_corpus(tmp_path).metadata["file"].tolist() == ["a.csv", "b.txt"]  # type: ignore[index]
    with pytest.raises(InputError, match="only tables of texts have columns"):
        read_corpus(tmp_path, text_column="text")


def test_parquet_with_a_name_twice(tmp_path: Path) -> None:
    from pyarrow import parquet

    table = pyarrow.Table.from_arrays([pyarrow.array(["owl"])] * 2, names=["text", "text"])
    parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(InputError, match="two columns have the same name"):
        read_corpus(tmp_path / "x.parquet")


# -- what stays with the documents -----------------------------------------------------------------


def test_npz_keeps_the_metadata(tmp_path: Path) -> None:
    mixed = [1, "two", None, "\ud800"]
    for more in ({"day": pd.date_range("2020-01-01", periods=4)}, {"mixed": mixed}):
        corpus = Corpus.from_texts(ROWS.assign(**more))
        write_corpus(corpus, tmp_path / "x.npz")
        again = read_corpus(tmp_path / "x.npz")
        assert (again.fingerprint, again.labels) == (corpus.fingerprint, corpus.labels)
        assert again.metadata is not None
        if "day" in more:
            pd.testing.assert_frame_equal(again.metadata, corpus.metadata, check_dtype=False)
        else:
            assert again.metadata["mixed"].fillna("").tolist() == ["1", "two", "", "?"]


def test_npz_with_metadata_of_other_documents(tmp_path: Path) -> None:
    corpus = Corpus.from_texts(ROWS)
    write_corpus(corpus, tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as file:
        arrays = dict(file)
    buffer = io.BytesIO()
    ROWS[:2].to_parquet(buffer)
    arrays["metadata"] = np.frombuffer(buffer.getvalue(), np.uint8)
    np.savez(tmp_path / "y.npz", **arrays)
    with pytest.raises(InputError, match="metadata of 2 documents, but there are 4"):
        read_corpus(tmp_path / "y.npz")
    arrays["metadata"] = arrays["metadata"][:50]
    np.savez(tmp_path / "y.npz", **arrays)
    with pytest.raises(InputError, match=r"its array .metadata. is not a table"):
        read_corpus(tmp_path / "y.npz")


def test_commands_say_what_they_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"id,body,year\n1,{SENTENCE},1990\n2,,1991\n3,{SENTENCE},1992\n")
    read = ["--stop-words", "none", "--min-count", "2", "--ngrams", "1-2", "--max-documents", "2", "--json"]
    assert main(["corpus", "convert", str(path), "--out", str(tmp_path / "x.ldac"), *read]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["documents"] == 3
    assert json.loads(out)["terms"] == 9
    assert err.splitlines() == [
        f"bayestopics: note: {path}: the texts are in the column 'body', the only one that holds texts",
        f"bayestopics: note: {path}: the corpus has empty documents, which are kept: 1",
        f"bayestopics: note: {tmp_path / 'x.ldac'}: this format has no place for the metadata; .npz has one",
    ]
    assert main(["corpus", "convert", str(path), str(tmp_path / "x.npz"), *read]) == 0
    assert "no place" not in capsys.readouterr().err
    assert main(["corpus", "info", str(path), "--text-column", "none"]) == 2
    assert "no column 'none' (--text-column): columns: 'id', 'body', 'year'" in capsys.readouterr().err
