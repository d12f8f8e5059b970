"""The page of `select`, from a made-up result: its numbers, and words that are no markup."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayestopics.corpus import Corpus
from bayestopics.pages import selection
from bayestopics.runs.kinds import SelectResult
from bayestopics.runs.task import OWN, Task

CORPUS = Corpus.from_sparse([[2, 1], [0, 3], [1, 1]], ("<i>", "b&c"))


def result() -> SelectResult:
    table = pd.DataFrame({"topics": [2, 3], "alpha": [0.5, 0.6], "eta": [0.11, 0.22], "log_evidence": [-90.5, -80.25]})
    table = table.assign(standard_error=[np.nan, 0.125], log_marginal=[-95.5, -99.25], posterior=[0.875, 0.125])
    words = [{"topic": 0, "share": 0.625, "words": ["<i>", "b&c"]}, {"topic": 1, "share": 0.375, "words": ["b&c"]}]
    answer = {"topics": 2, "alpha": 0.5125, "eta": 0.1125, "posterior": {"2": 0.875, "3": 0.125}, "top_words": words}
    answer |= {"ellipse": None, "region": None, "agreement": None, "chains": [{"alpha": 0.5, "eta": 0.1}]}
    surface = pd.DataFrame({"alpha": [0.1, 0.1, 1, 1], "eta": [0.1, 1, 0.1, 1], "log_m": [-5.0, -1, -2, 0]})
    task = Task("select", OWN, "select", {}, 1, "/home/me/<b>x.ldac", "f00d", "c0de")
    tables = {"evidence": table, "surface": surface}
    return SelectResult(task, {}, ["T < 3 & more"], tables, versions={}, answer=answer)


def page() -> str:
    found = result()
    topics = pd.DataFrame([{**row, "words": " ".join(row["words"])} for row in found.answer["top_words"]])
    return selection.page(found, CORPUS, topics)


def test_names_words_and_warnings_are_escaped() -> None:
    """Guards a term, a file name or a warning that becomes markup."""
    text = page()
    body = text.partition("<body>")[2]
    assert "<i>" not in body
    assert "<b>x.ldac" not in text
    assert "&lt;i&gt; b&amp;c" in body
    assert "&lt;b&gt;x.ldac" in text.partition("</title>")[0]
    assert "T &lt; 3 &amp; more" in body
    assert "/home/me" not in text


def cells(text: str, number: int) -> list[list[str]]:
    """Of the n-th table."""
    (*_, table) = re.findall(r"<table.*?</table>", text, re.DOTALL)[: number + 1]
    rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
    return [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in rows]


def test_the_tables_have_each_number_under_its_head() -> None:
    """Guards another column, a share that is no percentage, and nan."""
    head, *rows = cells(page(), 0)
    found = [dict(zip(head, row, strict=True)) for row in rows]
    assert [row["topics"] for row in found] == ["2", "3"]
    assert [float(row["log evidence"]) for row in found] == [-90.5, -80.25]
    assert [float(row["log marginal"]) for row in found] == [-95.5, -99.25]
    assert [row["posterior"] for row in found] == ["87.50%", "12.50%"]
    assert "nan" not in found[0]["standard error"].lower()
    assert float(found[1]["standard error"]) == 0.125
    head, *rows = cells(page(), 1)
    assert [row[head.index("share")] for row in rows] == ["62.5%", "37.5%"]


def test_the_answer_has_the_chosen_model_and_the_sizes() -> None:
    """Guards the posterior of another T, the h of one T for that of tempering, and swapped sizes."""
    (answer,) = re.findall(r"<p><b>.*?</p>", page())
    numbers = re.findall(r"\d+\.?\d*", answer)
    assert numbers == ["2", "87.5", "0.5125", "0.1125", "3", "2", "8"]


def test_the_report_has_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards one figure in place of the other, NaN in JSON, and words that are cut."""
    saved: dict[str, Any] = {}
    monkeypatch.setattr(selection, "save", lambda figure, path: saved.update({path.name: figure}))
    found = result()
    monkeypatch.setattr(SelectResult, "plot", lambda self: "evidence")
    monkeypatch.setattr(SelectResult, "plot_surface", lambda self: "surface")
    selection.write_report(found, CORPUS, tmp_path)
    assert saved == {"evidence.png": "evidence", "surface.png": "surface"}

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    content = json.loads((tmp_path / "select.json").read_text(), parse_constant=refuse)
    assert content["table"][0]["standard_error"] is None
    assert content["posterior"] == {"2": 0.875, "3": 0.125}
    topics = pd.read_csv(tmp_path / "topics.csv")
    assert topics["words"].tolist() == ["<i> b&c", "b&c"]
    assert pd.read_csv(tmp_path / "evidence.csv")["log_marginal"].tolist() == [-95.5, -99.25]
