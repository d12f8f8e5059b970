"""Templates of jinja2, and what is put into pages as it is: our style, our scripts and plotly.js."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def environment() -> Environment:
    loader = PackageLoader("bayestopics.pages")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["percent"] = lambda value, digits=1: f"{100 * value:.{digits}f} %"
    return made


def render(name: str, /, **values: Any) -> str:
    """A page; everything in it is escaped but for our own style and scripts."""
    return environment().get_template(name).render(style=template("style.css"), **values) + "\n"


def template(name: str) -> str:
    """A file of our own that is put into a page as it is."""
    loader = environment().loader
    assert loader is not None
    return loader.get_source(environment(), name)[0]


@cache
def plotly() -> str:
    """The script that comes inside the Python package."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
