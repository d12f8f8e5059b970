"""The result of a task, in the same form for every command and every run of a study."""

from __future__ import annotations

import hashlib
import html
import importlib.metadata
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayestopics.base.plain import canonical, without_nan
from bayestopics.base.problems import InputError
from bayestopics.base.wording import on_top, show_warnings, visible
from bayestopics.runs import KINDS
from bayestopics.runs.task import OWN, Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PACKAGES = ("bayestopics", "numpy", "scipy", "numba", "llvmlite", "pandas", "pyarrow", "arviz")
Summary = dict[str, Any]


def versions() -> dict[str, str]:
    installed = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **installed}


def key(task: Task, used: Mapping[str, str]) -> str:
    """A hash of the task and the package versions, which identifies a record, a checkpoint and a published run."""
    return key_of(task.identity, used)


def key_of(identity: str, used: Mapping[str, str]) -> str:
    """The same from what run.json says."""
    return hashlib.sha256((identity + canonical(used)).encode()).hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A task and its result.

    Attributes
    ----------
    task : Task
        What was computed, on which corpus, with which seed.
    metrics : dict
        Numbers by name; nan where a number is unknown.
    warnings : list of str
        What to know before trusting the result, one sentence or more each.
    tables : dict of pandas.DataFrame
    arrays : dict of numpy.ndarray
    answer : dict
        The part of `summary()` that is not in the tables.
    volatile : dict
        Everything that differs from run to run: seconds, memory, the machine.
    versions : dict
        The versions of Python and of the packages.
    """

    task: Task
    metrics: dict[str, float]
    warnings: list[str] = field(default_factory=list)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    volatile: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=versions)
    answer: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return key(self.task, self.versions)

    @property
    def trace(self) -> pd.DataFrame:
        """One row per sweep or step, if there is a chain."""
        return self.tables["trace"]

    def summary(self) -> Summary:
        """The result as a dictionary, with the same keys as the output of `--json`."""
        return {**self.answer, "warnings": self.warnings}

    def text(self) -> str:
        """The summary for people."""
        return "\n".join(f"{name.replace('_', ' ')}  {value}" for name, value in self.summary().items())

    def plot(self) -> Figure:
        """A figure of the result."""
        raise InputError(f"there is no figure of the result of `{self.task.study}`")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {visible(self.task.corpus)}>\n{self.text()}"

    def _repr_html_(self) -> str:
        """The summary in a notebook, with the gravest warnings first and the others behind a click."""
        first, rest = ("".join(f"<li>{html.escape(one)}</li>" for one in part) for part in on_top(self.warnings))
        warnings = f'<ul style="color:#a33">{first}</ul>' if first else ""
        if rest:
            warnings += f"<details><summary>more warnings</summary><ul>{rest}</ul></details>"
        title = html.escape(f"{self.task.study}: {visible(self.task.corpus)}")
        said = set(show_warnings(self.warnings))
        quiet = [line for line in self.text().splitlines() if line not in said]
        return f"<h4>{title}</h4>{warnings}<pre>{html.escape(chr(10).join(quiet))}</pre>"


Compute = Callable[..., Result]  # takes task, corpus and checkpoint; its keyword arguments are already bound


def class_of(task: Task) -> type[Result]:
    """The class that the command returns; a run of a study is a plain Result."""
    if task.scale != OWN or task.study not in KINDS:
        return Result
    module, _, name = KINDS[task.study].partition(":")
    found: type[Result] = getattr(import_module(module), name)
    return found


def of_its_kind(result: Result, **changes: Any) -> Result:
    """The same result, with changes, in the class that its command returns."""
    content = {one.name: getattr(result, one.name) for one in fields(result)}
    content["answer"] = without_nan(result.answer)  # the same as when it is read from disk
    return class_of(result.task)(**content | changes)
