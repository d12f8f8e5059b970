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
    table = pd.DataFrame({"topics": [2, 3, 9], "probability": [0.875, 0.125, 1e-9]})
    table = table.assign(standard_error=[0.0625, np.nan, 0.0], low=[0.75, 0.0, 0.0], high=[0.95, 0.25, 0.0])
    words = [{"topic": 0, "share": 0.625, "words": ["<i>", "b&c"]}, {"topic": 1, "share": 0.375, "words": ["b&c"]}]
    laws = {"alpha": {"mean": 0.6, "median": 0.5125, "low": 0.4, "high": 0.75}}
    laws |= {"eta": {"mean": 0.2, "median": 0.1125, "low": 0.03, "high": 0.25}}
    answer = {"topics": 2, "agree": True, "probability": 0.875, "between": [0.75, 0.95], "range": [2, 3]}
    answer |= {"alpha": 0.5125, "eta": 0.1125, "hyper": laws, "region": None, "top_words": words}
    answer |= {"chains": [{"start": 1, "mean": 2.25, "mode": 2}, {"start": 7, "mean": 2.5, "mode": 3}]}
    answer |= {"first_answer": {"topics": 5, "alpha": 0.7, "eta": 0.9}}
    params = {"topics": {"low": 1, "high": 16, "kind": "poisson", "parameter": 4.0}, "burn_in": 3}
    task = Task("select", OWN, "select", params, 1, "/home/me/<b>x.ldac", "f00d", "c0de")
    return SelectResult(task, {}, ["T < 3 & more"], {"posterior": table}, versions={}, answer=answer)


def page() -> str:
    found = result()
    return selection.page(found, CORPUS, selection.topics_table(found))


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
    """Guards another column, a share that is no percentage, nan, and T that are out of question."""
    head, *rows = cells(page(), 0)
    found = [dict(zip(head, row, strict=True)) for row in rows]
    assert [row["topics"] for row in found] == ["2", "3"]
    assert [row["probability"] for row in found] == ["87.5%", "12.5%"]
    assert [(row["low"], row["high"]) for row in found] == [("75.0%", "95.0%"), ("0.0%", "25.0%")]
    head, *rows = cells(page(), 1)
    assert head == ["start", "mean", "mode"]
    assert rows == [["1", "2.25", "2"], ["7", "2.50", "3"]]
    head, *rows = cells(page(), 2)
    assert [row[head.index("share")] for row in rows] == ["62.5%", "37.5%"]


def test_the_answer_has_the_headline_and_the_sizes() -> None:
    """Guards a headline of its own, and swapped sizes."""
    (answer,) = re.findall(r"<p><b>.*?</p>", page())
    assert answer == f"<p><b>{result().headline}</b>, for 3 documents, 2 terms, 8 tokens.</p>"


def test_the_page_has_the_prior_the_first_answer_and_h() -> None:
    """Guards eta for alpha, a mean for a median, and a prior that is not told."""
    text = " ".join(page().split())
    assert "The prior of T is poisson (4) from 1 to 16;" in text
    assert "was 5 topics, alpha 0.7 and eta 0.9" in text
    assert "alpha is about 0.5125, with probability 95 % between 0.4 and 0.75; eta is about 0.1125, with" in text


def test_the_report_has_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards one figure in place of the other, NaN in JSON, and words that are cut."""
    saved: dict[str, Any] = {}
    monkeypatch.setattr(selection, "save", lambda figure, path: saved.update({path.name: figure}))
    found = result()
    figures = {name: lambda self, name=name: name for name in selection.FIGURES}
    monkeypatch.setattr(selection, "FIGURES", figures)
    selection.write_report(found, CORPUS, tmp_path)
    assert saved == {f"{name}.png": name for name in ("posterior", "chains", "hyper")}

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    content = json.loads((tmp_path / "select.json").read_text(), parse_constant=refuse)
    assert content["standard_error"] == {"2": 0.0625, "3": None}
    assert content["posterior"] == {"2": 0.875, "3": 0.125}
    topics = pd.read_csv(tmp_path / "topics.csv")
    assert topics["words"].tolist() == ["<i> b&c", "b&c"]
    assert pd.read_csv(tmp_path / "posterior.csv")["probability"].tolist() == [0.875, 0.125, 1e-9]


def test_each_figure_is_drawn_by_its_own_function() -> None:
    """Guards one figure in place of another."""
    names = {name: function.__name__ for name, function in selection.FIGURES.items()}
    assert names == {"posterior": "plot", "chains": "plot_chains", "hyper": "plot_hyper"}
