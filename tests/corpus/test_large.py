"""Large corpora: what is read piece by piece is what is read at once, and costs few bytes a token."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import oracle
from bayestopics.base.problems import InputError
from bayestopics.corpus import Corpus, mapped, read_corpus, streaming, write_corpus
from bayestopics.corpus import corpus as corpora
from bayestopics.lda import alignment
from bayestopics.lda.state import Prior, random_start
from bayestopics.runs import draws

WRITTEN = ("x.ldac", "docword.x.txt", "docword.x.txt.gz", "x.mtx")
READERS = ("ldac", "uci", "matrix_market")


def some_corpus() -> Corpus:
    """With empty documents, at both ends too, and counts of several digits."""
    counts = np.random.default_rng(4).poisson(0.4, (40, 30)) * np.random.default_rng(5).choice(
        (1, 1, 12, 345), (40, 30)
    )
    counts[[0, 7, 8, -1]] = 0
    return Corpus.from_sparse(counts)


def at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    with monkeypatch.context() as strict:
        for name in READERS:
            strict.setattr(streaming, name, lambda *_: None)
        return read_corpus(path)


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("size", [100, 333, 2**20])  # bytes of a piece: documents and lines are cut anywhere
def test_a_file_in_pieces_is_the_file(tmp_path: Path, name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, path = some_corpus(), tmp_path / name
    write_corpus(corpus, path)
    (tmp_path / "x.ldac.vocab").unlink(missing_ok=True)
    monkeypatch.setattr(streaming, "PIECE", size)
    read, whole = read_corpus(path), at_once(path, monkeypatch)
    assert read.fingerprint == whole.fingerprint
    assert (read.documents.dtype, read.terms.dtype) == (np.int32, np.int32)
    assert read.document_lengths.tolist() == corpus.document_lengths.tolist()
    found = {"x": streaming.uci, "ldac": lambda path: streaming.ldac(path, 30), "mtx": streaming.matrix_market}
    assert found[name.split(".")[1] if name != "docword.x.txt.gz" else "x"](path) is not None, "it was not streamed"


def test_terms_of_a_document_may_be_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.ldac").write_text("3 2:1 0:2 2:3\n0\n1 1:1")
    (tmp_path / "x.mtx").write_text(
        "%%MatrixMarket matrix coordinate integer general\n% a comment\n3 3 4\n1 3 1\n1 1 2\n1 3 3\n3 2 1\n"
    )
    for name in ("x.ldac", "x.mtx"):
        read = read_corpus(tmp_path / name)
        assert read.counts.toarray().tolist() == [[2, 0, 4], [0, 0, 0], [0, 1, 0]]
        assert read.fingerprint == at_once(tmp_path / name, monkeypatch).fingerprint


UNUSUAL = {
    "documents out of order": ("docword.x.txt", "2\n2\n2\n2 1 1\n1 1 1\n"),
    "two spaces": ("x.ldac", "1  0:1\n"),
    "a carriage return": ("x.ldac", "1 0:1\r\n"),
    "a sign": ("x.ldac", "1 +0:1\n"),
    "ten digits": ("x.ldac", "1 0:0000000001\n"),
    "a real matrix": ("x.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2.0\n"),
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_unusual_files_are_left_to_the_strict_readers(tmp_path: Path, case: str) -> None:
    name, text = UNUSUAL[case]
    (tmp_path / name).write_bytes(text.encode())
    read = {"docword.x.txt": streaming.uci, "x.mtx": streaming.matrix_market}.get(
        name, lambda path: streaming.ldac(path, 9)
    )
    assert read(tmp_path / name) is None
    assert read_corpus(tmp_path / name).token_count in (1, 2)


BAD = {
    "too few": ("x.ldac", "2 0:1\n1 0:1\n"),
    "a colon": ("x.ldac", "1 0 1\n"),
    "a blank line": ("x.ldac", "1 0:1\n\n1 0:1\n"),
    "fields": ("docword.x.txt", "1\n1\n1\n1 1\n1\n"),
    "outside": ("docword.x.txt", "1\n1\n1\n1 2 1\n"),
    "fewer entries": ("docword.x.txt", "1\n1\n2\n1 1 1\n"),
    "many documents": ("docword.x.txt", "99999999\n1\n1\n1 1 1\n"),
    "many terms": ("docword.x.txt", "1\n99999999\n1\n1 1 1\n"),
    "one large count": ("docword.x.txt", "1\n1\n1\n1 1 999999999\n"),
    "no tokens": ("x.ldac", "0\n1 0:0\n"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_as_before(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, text = BAD[case]
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as first:
        read_corpus(tmp_path / name)
    with pytest.raises(InputError) as second:
        at_once(tmp_path / name, monkeypatch)
    assert str(first.value) == str(second.value)


# -- tokens that are mapped ----------------------------------------------------------------------------


def with_everything() -> Corpus:
    table = pd.DataFrame({"text": ["an owl", "two whales", "a whale"], "label": list("aba"), "year": [1, 2, 3]})
    return Corpus.from_texts(table)


def test_tokens_are_mapped_and_cannot_be_changed(tmp_path: Path) -> None:
    corpus = with_everything()
    write_corpus(corpus, tmp_path / "x.tokens")
    read = read_corpus(tmp_path / "x.tokens")
    assert (read.fingerprint, read.labels, read.name) == (corpus.fingerprint, corpus.labels, corpus.name)
    assert read.metadata is not None
    assert read.metadata.equals(corpus.metadata)
    for array in (read.documents, read.terms):
        assert isinstance(array.base, np.memmap)
        assert type(array) is np.ndarray
        assert array.flags.aligned
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_the_number_of_terms_must_agree(tmp_path: Path) -> None:
    write_corpus(with_everything(), tmp_path / "x.tokens")
    with pytest.raises(InputError, match="--terms 9 disagrees"):
        read_corpus(tmp_path / "x.tokens", terms=9)


def head(change: Callable[[dict], object]) -> Callable[[bytes], bytes]:
    def changed(content: bytes) -> bytes:
        end = content.index(b"\n", len(mapped.MAGIC))
        found = json.loads(content[len(mapped.MAGIC) : end])
        change(found)
        new = json.dumps(found).encode()
        return mapped.MAGIC + new + b" " * (end - len(mapped.MAGIC) - len(new)) + content[end:]

    return changed


def tokens(change: Callable[[np.ndarray], object]) -> Callable[[bytes], bytes]:
    """Change the numbers of the tokens: first the terms, then the documents."""

    def changed(content: bytes) -> bytes:
        start, count = content.index(b"\n", len(mapped.MAGIC)) + 1, with_everything().token_count
        numbers = np.frombuffer(content[start : start + 8 * count], "<i4").copy()
        change(numbers)
        return content[:start] + numbers.tobytes() + content[start + 8 * count :]

    return changed


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda content: content[:-1],
    "longer": lambda content: content + b" ",
    "another file": lambda content: b"PK" + content,
    "no head": lambda _: mapped.MAGIC,
    "nested head": lambda content: mapped.MAGIC + b"[" * 9000 + content,
    "many tokens": head(lambda found: found.update(token_count=2**39)),
    "more than can be": head(lambda found: found.update(token_count=10**30)),
    "negative": head(lambda found: found.update(labels=-1)),
    "true": head(lambda found: found.update(token_count=True)),
    "many documents": head(lambda found: found.update(document_count=99_999_999)),
    "another fingerprint": head(lambda found: found.update(fingerprint="0" * 64)),
    "a name that is no text": head(lambda found: found.update(name=7)),
    "a term outside": tokens(lambda numbers: numbers.__setitem__(0, 99)),
    "a negative term": tokens(lambda numbers: numbers.__setitem__(1, -1)),
    "a document outside": tokens(lambda numbers: numbers.__setitem__(-1, 99)),
    "documents out of order": tokens(lambda numbers: numbers.__setitem__(-2, 2)),
    "another term": tokens(lambda numbers: numbers.__setitem__(0, 1 - numbers[0])),
    "vocabulary": lambda content: content.replace(b'["owl"', b'["owl!'),
    "half a pair of surrogates": lambda content: content.replace(b'"whales"', b'"\\ud800"'),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_tokens_are_refused_in_one_line(tmp_path: Path, case: str) -> None:
    path = tmp_path / "x.tokens"
    write_corpus(with_everything(), path)
    content = path.read_bytes()
    assert DAMAGED[case](content) != content
    path.write_bytes(DAMAGED[case](content))
    with pytest.raises(InputError, match=r"^[^\n]*x\.tokens: [^\n]+$"):
        read_corpus(path)


# -- memory --------------------------------------------------------------------------------------------

TOKENS, CONSTANT = 2_000_000, 40 * 2**20  # bytes that do not depend on the number of tokens


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("large"), np.random.default_rng(1)
    lengths = np.full(TOKENS // 200, 200)
    terms = np.sort(rng.integers(5000, size=(len(lengths), 200), dtype=np.int32), axis=1).ravel()
    corpus = Corpus.from_tokens(lengths, terms, TOKENS, vocabulary=None, term_count=5000, name="large")
    for name in ("x.ldac", "docword.x.txt", "x.mtx", "x.tokens"):
        write_corpus(corpus, folder / name)
    return folder


def peak_of(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("name", "most"), [("x.ldac", 12), ("docword.x.txt", 12), ("x.mtx", 12), ("x.tokens", 0)])
def test_reading_costs_few_bytes_a_token(large: Path, name: str, most: int) -> None:
    """Guards against lines as Python objects, sorting what is sorted, and 64 bits for a number of 32."""
    assert peak_of(lambda: read_corpus(large / name).summary()) < most * TOKENS + CONSTANT


def test_a_start_costs_four_bytes_a_token(large: Path) -> None:
    corpus, rng = read_corpus(large / "x.tokens"), np.random.default_rng(1)
    tables = 4 * 10 * (corpus.document_count + corpus.term_count)
    random_start(corpus, 10, Prior(0.1, 0.1), rng)  # compiles
    peak = peak_of(lambda: random_start(corpus, 10, Prior(0.1, 0.1), rng).offsets())
    assert peak < 4 * TOKENS + tables + 2**20


def test_draws_of_large_corpora_are_fewer() -> None:
    assert draws.spread(10, 100, 1_000_000, 100) == draws.spread(10, 100)
    assert len(draws.spread(10, 100, 50_000_000, 100)) == draws.ROOM // 50_000_000 == 5
    assert draws.spread(10, 100, 50_000_000, 300)[-1] == 109
    assert len(draws.spread(10, 100, 2**31 - 1, 300)) == 2
    assert draws.spread(10, 1, 2**31 - 1, 300) == [10]


def test_pieces_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = oracle.random_corpus(np.random.default_rng(1), 300, 20, 9)
    made = [np.random.default_rng(seed).integers(4, size=300).astype(np.uint8) for seed in range(3)]
    names = np.array([2, 0, 3, 1], np.uint8)

    def everything() -> list[np.ndarray]:
        documents = draws.document_moments(corpus, made, np.full(4, 0.3))
        again = alignment.relabelled(names[made[0]], made[0], 4)
        return [documents.mean, documents.deviation, again, draws.vocabulary_table(corpus)["tokens"].to_numpy()]

    whole, fingerprint = everything(), corpus.fingerprint
    assert whole[2].tolist() == made[0].tolist()
    for place, name, size in (
        (draws, "STEP", 7),
        (draws, "TOKENS", 11),
        (alignment, "STEP", 13),
        (corpora, "STEP", 17),
    ):
        monkeypatch.setattr(place, name, size)
    assert all(one.tobytes() == other.tobytes() for one, other in zip(everything(), whole, strict=True))
    assert Corpus(corpus.documents, corpus.terms, 20, corpus.vocabulary).fingerprint == fingerprint
