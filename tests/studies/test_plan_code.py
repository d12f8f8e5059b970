"""Which runs of the studies are computed again when a file of the package changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from bayestopics.base import code
from bayestopics.corpus.registry import Registry
from bayestopics.studies.plan import Plan, Settings, names_in, plan_of

ROOT = Path(__file__).parents[2]
ENTRIES = Registry().entries


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    found = []
    for study in names_in(ROOT / "config" / "studies"):
        content = yaml.safe_load((ROOT / "config" / "studies" / f"{study}.yaml").read_text(encoding="utf-8"))
        found.append(plan_of(Settings.of(study, "smoke", content, ENTRIES, reach=ENTRIES)))
    return found


def forget() -> None:
    """As a new process does."""
    code._imports.cache_clear()
    code._source.cache_clear()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package that a test may change."""
    shutil.copytree(code.ROOT, tmp_path / "bayestopics", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code, "ROOT", tmp_path / "bayestopics")
    return tmp_path / "bayestopics"


def hashes(plans: list[Plan]) -> dict[tuple[str, str], str]:
    forget()
    found = {(plan.study, run): plan.code(run) for plan in plans for run in plan.runs}
    forget()
    return found


@pytest.mark.parametrize(
    ("module", "again", "kept"),
    [
        ("lda/single_site.py", {"first_look", "blocking"}, {"corpora"}),
        ("lda/grouped.py", {"blocking"}, {"first_look", "corpora", "hyperparameters"}),
        ("lda/augmented.py", {"hyperparameters"}, {"first_look", "blocking"}),
        ("studies/first_look/figures.py", set(), {"first_look", "corpora"}),
        ("cli/__main__.py", set(), {"first_look", "corpora", "blocking", "hyperparameters"}),
    ],
)
def test_runs_know_the_code_that_they_use(
    plans: list[Plan], package: Path, module: str, again: set[str], kept: set[str]
) -> None:
    before = hashes(plans)
    text = (package / module).read_text(encoding="utf-8")
    (package / module).write_text(text + "\n# a comment changes nothing\n", encoding="utf-8")
    assert hashes(plans) == before
    (package / module).write_text(text + "\nCHANGED = True\n", encoding="utf-8")
    after = hashes(plans)
    changed = {study for study, run in before if after[study, run] != before[study, run]}
    assert again <= changed
    assert not kept & changed
