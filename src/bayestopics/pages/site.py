"""The results site of the workflow: an overview, all claims, one page per study and one per corpus.

The pages link to figures, tables and records by relative paths, so that the folder of a scale can be moved as a whole.
Runs are also linked to the MLflow UI that `make ui` opens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bayestopics.base.files import replacing
from bayestopics.base.wording import visible
from bayestopics.pages.rendering import render
from bayestopics.runs.result import key_of
from bayestopics.studies.claims import VERDICTS, summary

UI = "http://127.0.0.1:5000/#/runs/"  # of `make ui`, which opens a run by its id
WORDS = 10


@dataclass(frozen=True)
class Shown:
    """A figure or a table of a study."""

    name: str
    title: str
    caption: str
    file: str  # seen from the site
    runs: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    name: str
    corpus: str
    folder: Path
    record: str  # run.json, seen from the site
    mlflow: str | None  # address of the run in the UI
    metrics: Mapping[str, float | None]
    warnings: list[str]


@dataclass(frozen=True)
class Study:
    name: str
    title: str
    figures: list[Shown]
    tables: list[Shown]
    runs: dict[str, Run]

    def about(self, claim: str) -> list[Shown]:
        """The figures and tables whose captions name a claim."""
        named = re.compile(rf"\b{re.escape(claim)}\b")
        return [one for one in (*self.figures, *self.tables) if named.search(one.caption)]


def read_study(results: Path, name: str, plan: Mapping[str, Any], published: Mapping[str, str]) -> Study:
    """What a study left in the folder of its scale. `plan` has its title, figures, tables and the names of its runs;
    `published` are the MLflow runs by the keys of the records."""
    folder = results / name
    shown = {
        kind: [
            Shown(one, str(part.get("label") or part["title"]), _plain(part["caption"]), file, tuple(part["runs"]))
            for one, part in plan[kind].items()
            if (results / (file := f"{name}/{kind}/{one}{ending}")).is_file()
        ]
        for kind, ending in (("figures", ".png"), ("tables", ".html"))
    }
    found = {run: _run(folder / run, f"{name}/{run}/run.json", run, published) for run in plan["runs"]}
    there = {run: one for run, one in found.items() if one is not None}
    return Study(name, plan["title"], shown["figures"], shown["tables"], there)


def _run(folder: Path, record: str, name: str, published: Mapping[str, str]) -> Run | None:
    if not (folder / "run.json").is_file():
        return None
    content = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    number = published.get(key_of(content["identity"], content["versions"]))
    address = None if number is None else f"{UI}{number}"
    return Run(name, content["task"]["corpus"], folder, record, address, content["metrics"], content["warnings"])


def _plain(caption: str) -> str:
    """A caption as one paragraph, without the marks of its markup."""
    return " ".join(caption.replace("``", "").replace("*", "").split())


def topics_of(runs: list[Run]) -> tuple[Run, list[dict[str, Any]]] | None:
    """The topics of the run with the highest mean log joint, large to small, if a run has any."""
    needed = ("topics.parquet", "shares.parquet")
    with_topics = [one for one in runs if all((one.folder / name).is_file() for name in needed)]
    if not with_topics:
        return None
    best = max(with_topics, key=lambda one: one.metrics.get("log_joint") or float("-inf"))
    terms, shares = (pd.read_parquet(best.folder / name) for name in needed)
    words = terms.groupby("topic")["term"].apply(lambda some: [visible(str(one)) for one in some.head(WORDS)])
    order = shares.sort_values("share", ascending=False, kind="stable")
    return best, [
        {"topic": int(row.topic), "share": row.share, "words": " ".join(words.get(row.topic, []))}
        for row in order.itertuples()
    ]


def claim_rows(claims: pd.DataFrame, study_of: Mapping[str, str], studies: Mapping[str, Study]) -> list[dict[str, Any]]:
    """One row per claim, answered ones first, with its figures, tables, records and MLflow runs."""
    rows = []
    for row in claims.fillna("").to_dict("records"):
        study = studies.get(study_of[row["id"]])
        shown = study.about(row["id"]) if study else []
        names = dict.fromkeys(run for one in shown for run in one.runs)
        runs = [study.runs[run] for run in names if run in study.runs] if study else []
        verdict = row["verdict"] if row["verdict"] in VERDICTS else "open"
        rows.append({**row, "kind": verdict, "study": study, "shown": shown, "runs": runs})
    return sorted(rows, key=lambda row: row["kind"] == "open")


def write_site(
    results: Path,
    scale: str,
    studies: Mapping[str, Study],
    claims: pd.DataFrame,
    study_of: Mapping[str, str],
    left_out: Mapping[str, str],
) -> None:
    """Write the folder `site`; it is whole or absent."""
    corpora: dict[str, list[tuple[Study, Run]]] = {}
    for study in studies.values():
        for run in study.runs.values():
            if run.corpus != "none":
                corpora.setdefault(run.corpus, []).append((study, run))
    rows = claim_rows(claims, study_of, studies)
    common = {"scale": scale, "studies": studies, "corpora": sorted(corpora)}
    pages = {
        "index": render("site_index.html", counts=summary(claims), left_out=left_out, rows=rows, **common),
        "claims": render("site_claims.html", rows=rows, papers=sorted(set(claims["paper"])), **common),
    }
    for study in studies.values():
        own = [row for row in rows if row["study"] is study]
        pages[f"study-{study.name}"] = render("site_study.html", study=study, rows=own, **common)
    for name, runs in corpora.items():
        found = topics_of([run for _, run in runs])
        sizes = next((run.metrics for study, run in runs if study.name == "corpora"), {})
        pages[f"corpus-{name}"] = render("site_corpus.html", name=name, runs=runs, found=found, sizes=sizes, **common)
    with replacing(results / "site") as folder:
        folder.mkdir()
        for name, text in pages.items():
            (folder / f"{name}.html").write_text(text, encoding="utf-8")
