"""The results site, from the folder of a made-up study: its claims, and that every link inside it resolves."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from bayestopics.pages.site import UI, read_study, topics_of, write_site
from bayestopics.runs.record import write
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

PLAN = {
    "title": "Bars & <b>",
    "runs": ["low", "high", "missing"],
    "figures": {
        "bars": {"label": "the bars", "caption": "Trapped runs (claim B1).", "runs": ["low", "high"]},
        "absent": {"label": "not drawn", "caption": "", "runs": ["missing"]},
    },
    "tables": {"sizes": {"title": "Sizes", "caption": "All sizes (claims H7 and B10).", "runs": ["low"]}},
}
CLAIMS = pd.DataFrame(
    [
        ("B1", "A & B", "fig. 1", "<i>claim</i>", "1/3", "p 0.2", "smoke", "reproduced", "claims/B1.csv", "Two parts."),
        ("B10", "C", "sec. 2", "second", "", "", "smoke", "not answered: no corpus", "", "A rule."),
        ("H7", "C", "sec. 3", "third", "2", "", "smoke", "partly", "", "Another."),
    ],
    columns=["id", "paper", "where", "claim", "ours", "error", "scale", "verdict", "details", "rule"],
)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "smoke"
    words = pd.DataFrame({"topic": [0, 0, 1], "term": ["a", "<script>", "c\x1b"], "probability": [0.6, 0.4, 1.0]})
    shares = pd.DataFrame({"topic": [0, 1], "share": [0.25, 0.75]})
    for name, joint in (("low", -9.0), ("high", -8.0)):
        task = Task("bars", "smoke", name, {}, 1, "toy", "f00d", "c0de")
        tables = {"topics": words, "shares": shares}
        write(
            Result(task, {"log_joint": joint}, ["a warning"], tables, versions={"python": "3"}), folder / "bars" / name
        )
    for file in ("bars/figures/bars.png", "bars/tables/sizes.html", "claims/B1.csv"):
        (folder / file).parent.mkdir(exist_ok=True, parents=True)
        (folder / file).write_text("")
    return folder


class Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name == "id" and value:
                self.ids.append(value)


def broken(folder: Path) -> list[str]:
    """The links inside the pages of a folder that lead nowhere."""
    pages = {path.name: Links(path.read_text(encoding="utf-8")) for path in folder.glob("*.html")}
    found = []
    for name, page in pages.items():
        for link in page.links:
            file, _, part = link.partition("#")
            if link.startswith(("http:", "data:")):
                continue
            there = (folder / file).is_file() if file else True
            if not there or (part and part not in pages[file or name].ids):
                found.append(f"{name}: {link}")
    return found


def test_every_link_resolves_and_every_claim_has_its_figure_record_and_run(results: Path) -> None:
    key = Result(Task("bars", "smoke", "low", {}, 1, "toy", "f00d", "c0de"), {}, versions={"python": "3"}).key
    study = read_study(results, "bars", PLAN, {key: "0123"})
    assert [one.name for one in study.figures] == ["bars"]
    assert list(study.runs) == ["low", "high"]
    assert (study.runs["low"].mlflow, study.runs["high"].mlflow) == (f"{UI}0123", None)
    write_site(results, "smoke", {"bars": study}, CLAIMS, dict.fromkeys(CLAIMS["id"], "bars"), {"nyt": "get it"})
    names = {path.name for path in (results / "site").iterdir()}
    assert names == {"index.html", "claims.html", "study-bars.html", "corpus-toy.html"}
    assert broken(results / "site") == []
    text = (results / "site" / "claims.html").read_text()
    page = Links(text)
    assert [one for one in page.ids if one.startswith("claim-")] == ["claim-B1", "claim-H7", "claim-B10"]
    first = text.partition('id="claim-H7"')[0]
    assert all(link in first for link in ("../bars/figures/bars.png", "../bars/low/run.json", f"{UI}0123", "B1.csv"))
    assert "sizes.html" not in first  # its caption names B10, not B1
    assert not {"i", "b"} & set(page.tags)
    (results / "claims" / "B1.csv").unlink()
    assert broken(results / "site") == ["claims.html: ../claims/B1.csv", "study-bars.html: ../claims/B1.csv"]


def test_a_corpus_shows_the_topics_of_its_best_run(results: Path) -> None:
    study = read_study(results, "bars", PLAN, {})
    found = topics_of(list(study.runs.values()))
    assert found is not None
    best, topics = found
    assert best.name == "high"
    assert topics[0] == {"topic": 1, "share": 0.75, "words": r"c\x1b"}
    assert topics[1]["words"] == "a <script>"
    assert topics_of([]) is None
