"""What an installed wheel has: every file that is not Python and that the package opens."""

from __future__ import annotations

import fnmatch
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from bayestopics import Corpus, demo_texts
from bayestopics.corpus import registry
from bayestopics.corpus.demo import SUBJECTS
from bayestopics.corpus.text import ENGLISH

ROOT = Path(__file__).resolve().parents[1]


def test_every_data_file_is_packed() -> None:
    """Guards a template or schema that is there in a checkout and missing after `pip install`."""
    packed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["bayestopics"]
    package = ROOT / "src" / "bayestopics"
    files = [path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()]
    others = [name for name in files if not name.endswith((".py", ".pyc"))]
    assert {"py.typed", "corpus/corpora.yaml"} <= set(others)
    assert [name for name in others if not any(fnmatch.fnmatch(name, one) for one in packed)] == []


def test_the_registry_is_known_outside_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b" / "c" / "d").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "__file__", str(tmp_path / "a" / "b" / "c" / "d" / "registry.py"))
    assert registry.default_config() == registry.IN_WHEEL
    found = registry.Registry()
    assert "news-100" in found.entries
    assert found.root == tmp_path
    assert not found.data.is_relative_to(tmp_path)  # nothing is written beside a user's files


def test_the_demo_has_five_subjects_that_can_be_told_apart() -> None:
    table = demo_texts(documents=80)
    assert table.equals(demo_texts(documents=80))
    assert set(table["subject"]) == set(SUBJECTS)
    assert pd.to_datetime(table["date"]).is_monotonic_increasing
    corpus = Corpus.from_texts(table)
    assert corpus.notes == ()  # English texts, with a column `text`
    words = [set(own.split()) for own in SUBJECTS.values()]
    assert not any(first & second for first in words for second in words if first is not second)
    assert not set().union(*words) & ENGLISH
