"""The tutorial runs from its first cell to its last, on a real corpus."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import notebook
from bayestopics.corpus.registry import Registry, Unavailable

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorial.ipynb"


def test_the_tutorial_does_what_it_shows() -> None:
    try:
        Registry().load("news-100")
    except Unavailable as error:
        pytest.skip(f"the corpus of the tutorial is out of reach: {error}")
    done, shown = notebook.run(TUTORIAL), json.loads(TUTORIAL.read_text(encoding="utf-8"))
    for ours, theirs in zip(done["cells"], shown["cells"], strict=True):
        kinds = [[sorted(one.get("data", ["text"])) for one in cell.get("outputs", [])] for cell in (ours, theirs)]
        assert kinds[0] == kinds[1], "".join(ours["source"])
