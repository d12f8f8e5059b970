"""The documentation builds without a warning, all links inside it lead somewhere, and nothing is fetched to show it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from bayestopics.cli.main import COMMANDS
from doc_blocks import ROOT

pytest.importorskip("sphinx", reason="the packages of the extra `docs` are not installed")
pytestmark = pytest.mark.xdist_group("docs")  # one process builds, and writes docs/_generated
DOCS = ROOT / "docs"
# what a browser fetches by itself; links that a reader follows are none of these
FETCHED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
}


class Page(HTMLParser):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" and value:
                self.anchors.add(value)
            if (tag, name) == ("a", "href") and value:
                self.links.append(value)
            if (tag, name) in FETCHED and value:
                self.fetched.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        str(DOCS),
        str(folder / "html"),
    ]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path}, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_links_inside_lead_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in [*page.links, *page.fetched]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else set()
            if not target.exists() or (parts.fragment and target in pages and unquote(parts.fragment) not in anchors):
                broken.append(f"{path.relative_to(site)} -> {link}")
    assert not broken


def test_nothing_is_fetched_to_show_a_page(site: Path, pages: dict[Path, Page]) -> None:
    outside = [link for page in pages.values() for link in page.fetched if urlsplit(link).netloc]
    assert not outside
    for path in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", path.read_text(encoding="utf-8")), path


def test_every_command_has_a_section_with_an_example() -> None:
    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    for name in [
        *(command.NAME for command in COMMANDS),
        *(f"corpus {word}" for word in ("info", "simulate", "convert")),
    ]:
        section = text.partition(f"\n## bayestopics {name}\n")[2].partition("\n## ")[0]
        assert f"$ bayestopics {name} " in section, name
        assert f"_generated/commands/{name.replace(' ', '-')}.md" in section, name


def test_every_study_has_a_page() -> None:
    studies = {path.stem for path in (ROOT / "config/studies").glob("*.yaml")}
    assert {path.stem for path in (DOCS / "studies").glob("*.md")} == studies


def test_the_links_of_the_files_for_github_lead_somewhere() -> None:
    """README and CONTRIBUTING are read in the repository, where links go from their folder."""
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "results/README.md"):
        path = ROOT / name
        for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
            parts = urlsplit(link)
            assert parts.scheme or (path.parent / parts.path).exists(), f"{name}: {link}"


def test_the_hooks_and_the_workflow_use_what_there_is() -> None:
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert lint
    tools = set(re.findall(r"\$\(BIN\)/(\S+)", lint[1]))
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert {hook["entry"].split()[0] for hook in local["hooks"]} == {f".venv/bin/{tool}" for tool in tools}
    steps = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"]["test"]["steps"]
    assert steps[-1]["run"] == "make test"
