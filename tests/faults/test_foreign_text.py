"""Terms and file names with characters that do something: in figures, on pages, on a terminal and in spreadsheets."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from bayestopics import Corpus, select
from bayestopics.base.wording import in_cell, in_figure, quoted, visible
from bayestopics.cli.arguments import say
from bayestopics.cli.main import _print
from bayestopics.runs.fit_result import FitResult
from bayestopics.runs.kinds import show_words
from bayestopics.runs.select_result import SelectResult
from bayestopics.runs.task import OWN, Task

NAME = "a$_{b^c$ <script>alert(1)&\n\x1b[2J\u202e\udcff.ldac"
SHOWN = r"a$_{b^c$ <script>alert(1)&\n\x1b[2J\u202e\udcff.ldac"
WORDS = ["$x^$", "<script>alert(1)</script>", "\x1b]0;title\x07", "two\nlines", "=cmd|' /C calc'!A0", "\u202eevil"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (NAME, SHOWN),
        ("naïve 言葉 🐈 שלום\u200f", "naïve 言葉 🐈 שלום\u200f"),
        ("\x00\t\r\x7f\x9b\u2028\u2066", r"\x00\t\r\x7f\x9b\u2028\u2066"),
    ],
)
def test_only_what_does_something_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown
    assert shown.encode()


def test_quotes_in_messages_are_short() -> None:
    assert quoted("12") == "'12'"
    assert quoted("\x1b" * 5000) == repr("\x1b" * 60) + "..."


# -- figures ---------------------------------------------------------------------------------------


def fitted() -> FitResult:
    task = Task("fit", OWN, "fit", {"topics": 2, "burn_in": 1}, 1, f"/home/{NAME}", "f00d", "c0de")
    trace = pd.DataFrame({"chain": [0, 0, 0], "sweep": [0, 1, 2], "log_joint": [-3.0, -2.0, -1.0]})
    return FitResult(task, {}, tables={"trace": trace}, versions={})


def chosen() -> SelectResult:
    words = [{"topic": 0, "share": 1.0, "words": WORDS}, {"topic": 1, "share": 0.0, "words": WORDS[4:]}]
    table = pd.DataFrame({"topics": [2, 3], "probability": [0.875, 0.125], "standard_error": [0.0625, 0.0]})
    table = table.assign(low=[0.75, 0.0], high=[1.0, 0.25])
    task = Task("select", OWN, "select", {}, 1, f"/home/{NAME}", "f00d", "c0de")
    return SelectResult(task, {}, tables={"posterior": table}, versions={}, answer={"top_words": words})


@pytest.mark.parametrize("plot", [lambda: fitted().plot(), lambda: chosen().plot()], ids=["fit", "select"])
def test_a_name_with_dollars_is_no_formula(plot) -> None:
    """Guards a figure that fails after hours of computing."""
    figure = plot()
    FigureCanvasAgg(figure).print_png(io.BytesIO())
    titles = [text for text in figure.findobj(Text) if "ldac" in text.get_text()]
    assert len(titles) == 1
    assert titles[0]._preprocess_math(titles[0].get_text())[0].startswith(SHOWN)  # what is drawn


@pytest.mark.parametrize("text", ["$", "$$", r"\$", r"$\frac$", "a$b$c$d", "$x^$"])
def test_every_dollar_is_drawn(text: str) -> None:
    artist = Text(0, 0, in_figure(text))
    assert artist._preprocess_math(artist.get_text()) == (text, False)


# -- spreadsheets; pages are in test_report.py ----------------------------------------------------


def test_terms_are_harmless_in_tables(tmp_path: Path) -> None:
    tokens = np.arange(60, dtype=np.int32)
    corpus = Corpus(tokens // 6, tokens % 6, 10, tuple(WORDS))
    select(corpus, range(1, 3), chains=2, iterations=20, seed=1).write_csv(tmp_path)
    with open(tmp_path / "topics.csv", newline="", encoding="utf-8") as file:
        terms = {row["term"] for row in csv.DictReader(file)}
    assert r"'=cmd|' /C calc'!A0" in terms
    assert r"\u202eevil" in terms
    assert "$x^$" in terms  # the true terms are in the record


@pytest.mark.parametrize("text", ["=1+1", "+1", "-rrb-", "@here", "\t=1", "\r=1"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert in_cell(text)[0] in "'\\"
    assert in_cell("a=b") == "a=b"


# -- the terminal ----------------------------------------------------------------------------------


def test_terms_do_nothing_to_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    _print("\n".join(show_words([{"topic": 0, "share": 1.0, "words": WORDS}])) + "\n\x1b[31m")
    say(f"{NAME}: no such file")
    out, err = capsys.readouterr()
    assert out.count("\n") == 3
    assert not set("\x1b\x07\u202e") & set(out)
    assert r"two\nlines" in out
    assert err == "bayestopics: " + SHOWN.replace(r"\n", " ") + ": no such file\n"
