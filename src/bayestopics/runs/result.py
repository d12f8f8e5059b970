"""What came out of a task: the same few things for every command and every run of a study."""

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
    """The task and the versions that make it: what a record, a checkpoint and a published run are known by."""
    return hashlib.sha256((task.identity + canonical(used)).encode()).hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A task and what came out of it.

    Attributes
    ----------
    task : Task
        What was computed, on which corpus, with which seed.
    metrics : dict
        Numbers by name; nan where there is none.
    warnings : list of str
        What to know before trusting the result.
    tables : dict of pandas.DataFrame
    arrays : dict of numpy.ndarray
    answer : dict
        The part of `summary()` that is not in the tables.
    volatile : dict
        What differs from run to run: seconds, memory, the machine.
    versions : dict
        Of Python and the packages that made it.
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
        """One row per sweep or step, where there is a chain."""
        return self.tables["trace"]

    def summary(self) -> Summary:
        """What the command prints, as a dictionary; its keys are those of `--json`."""
        return {**self.answer, "warnings": self.warnings}

    def text(self) -> str:
        """The summary for people."""
        return "\n".join(f"{name.replace('_', ' ')}  {value}" for name, value in self.summary().items())

    def plot(self) -> Figure:
        """A figure of the result."""
        raise InputError(f"there is no figure of {self.task.study}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.task.corpus}>\n{self.text()}"

    def _repr_html_(self) -> str:
        """In a notebook: the summary, warnings first."""
        said = "".join(f"<li>{html.escape(warning)}</li>" for warning in self.warnings)
        warnings = f'<ul style="color:#a33">{said}</ul>' if said else ""
        title = html.escape(f"{self.task.study}: {self.task.corpus}")
        quiet = [line for line in self.text().splitlines() if not line.startswith("warning: ")]
        return f"<h4>{title}</h4>{warnings}<pre>{html.escape(chr(10).join(quiet))}</pre>"


Compute = Callable[..., Result]  # of task, corpus, checkpoint; keywords are bound before


def class_of(task: Task) -> type[Result]:
    """What the command returns; a run of a study is a plain Result."""
    if task.scale != OWN or task.study not in KINDS:
        return Result
    module, _, name = KINDS[task.study].partition(":")
    found: type[Result] = getattr(import_module(module), name)
    return found


def of_its_kind(result: Result, **changes: Any) -> Result:
    """The same, with changes, as the class that its command returns."""
    content = {one.name: getattr(result, one.name) for one in fields(result)}
    content["answer"] = without_nan(result.answer)  # as it will be read again
    return class_of(result.task)(**content | changes)
