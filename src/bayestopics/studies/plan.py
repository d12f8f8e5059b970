"""What a study computes and shows, as plain data. The workflow turns a plan into jobs; nothing here uses Snakemake.

A study is a folder beside this file plus a settings file, config/studies/<study>.yaml. In the folder:

    plan.py              plan(settings) -> Plan: the runs, figures and tables, from the settings at a scale
    compute_<kind>.py    compute(task, corpus, checkpoint) -> Result; a run's parameter `kind` names the module
    errors.py            errors(records) -> DataFrame: the Monte Carlo errors; optional
    tables.py, figures.py, claims.py      what is made from the records and the errors; each file is optional, and
                                          claims may be in several files, claims_<part>.py
    settings.schema.yaml                  what the settings file may contain; optional
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Self, TypeVar

from bayestopics.base.code import code_hash
from bayestopics.base.problems import InputError
from bayestopics.corpus.registry import Entry

FOLDER = Path(__file__).parent
RESERVED = ("errors", "figures", "jobs", "steps", "tables")  # folders beside the records: no run may have these names
TOGETHER = "runs"  # name of a job whose runs share a process


@dataclass(frozen=True)
class Settings:
    """A study's settings at one scale, and the corpora that are available to it."""

    study: str
    scale: str
    shared: Mapping[str, Any]  # settings that are the same at all scales
    here: Mapping[str, Any]  # settings of this scale
    entries: Mapping[str, Entry]  # all registered corpora
    within_reach: Collection[str]  # names of the corpora that are available here

    @classmethod
    def of(
        cls, study: str, scale: str, content: Mapping[str, Any], entries: Mapping[str, Entry], reach: Collection[str]
    ) -> Self:
        """From the content of the settings file."""
        return cls(study, scale, without(content, "scales"), content["scales"][scale], entries, reach)

    @property
    def file(self) -> str:
        return f"config/studies/{self.study}.yaml"

    @property
    def available(self) -> list[str]:
        """The study's corpora at this scale that are available."""
        return [name for name in self.here["corpora"] if name in self.within_reach]

    def insist(self, condition: object, fault: str) -> None:
        """Raise an InputError of one line, naming the settings file, if the condition does not hold."""
        if not condition:
            raise InputError(f"{self.file}: {fault}")

    def insist_among(self, name: str, part: str, **others: Collection[str]) -> None:
        """Check that a corpus named in `part` is among the scale's corpora, and in each of these other settings."""
        for where, given in {"the scale's corpora": self.here["corpora"], **others}.items():
            self.insist(name in given, f"{part}: {name!r} is not among {where}")


@dataclass(frozen=True)
class Run:
    params: Mapping[str, Any]  # what defines the run; `kind` names its module, `corpus` the corpus it needs, if any
    before: tuple[str, ...] = ()  # the runs whose records this one builds on
    modules: tuple[str, ...] = ()  # samplers and estimators that are called by name; the code hash covers them
    threads: int | None = 1  # None takes all threads, so that nothing else runs at the same time
    step: bool = False  # this run continues where the run before it ended
    alone: bool = False  # this run needs its own process at every scale

    @property
    def kind(self) -> str:
        return str(self.params["kind"])

    @property
    def corpus(self) -> str | None:
        return self.params.get("corpus")


@dataclass(frozen=True)
class Figure:
    draw: str  # a function of the study's figures.py: draw(records, scale), or draw(records, scale, errors)
    runs: tuple[str, ...]
    caption: str
    label: str
    arguments: Mapping[str, Any] = field(default_factory=dict)  # further keyword arguments


@dataclass(frozen=True)
class Table:
    make: str  # a function of the study's tables.py: make(records), or make(records, errors)
    runs: tuple[str, ...]
    title: str
    caption: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    title: str  # of its pages in the report
    runs: Mapping[str, Run]
    figures: Mapping[str, Figure] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    study: str = ""  # `plan_of` fills it in

    def module(self, part: str) -> str:
        """The name of a module of the study."""
        return f"bayestopics.studies.{self.study}.{part}"

    def has(self, part: str) -> bool:
        return (FOLDER / self.study / f"{part}.py").is_file()

    def code(self, name: str) -> str:
        """The code hash of a run."""
        run = self.runs[name]
        return code_hash(self.module(f"compute_{run.kind}"), *run.modules)

    def code_of(self, part: str) -> str:
        """The code hash of a module of the study; empty if the study has no such module."""
        return code_hash(self.module(part)) if self.has(part) else ""

    def jobs(self, together: bool) -> dict[str, list[str]]:
        """The runs of each job, without steps. A job is one run or, if `together`, all runs that may share a process,
        each after the runs it builds on. A run that builds on one with its own process goes into a later job.
        """
        own = {name for name, run in self.runs.items() if not together or run.step or run.alone or run.threads is None}
        layer: dict[str, int] = {}

        def place(name: str) -> int:
            if name not in layer:
                before = self.runs[name].before
                layer[name] = max((place(b) + (b in own and name not in own) for b in before), default=0)
            return layer[name]

        for name in self.runs:
            place(name)
        jobs: dict[str, list[str]] = {}
        for name, number in layer.items():  # in the order in which they were placed
            if not self.runs[name].step:
                jobs.setdefault(name if name in own else f"{TOGETHER}-{number + 1}", []).append(name)
        return jobs

    def steps(self) -> list[str]:
        return [name for name, run in self.runs.items() if run.step]


def chosen(runs: Mapping[str, Run], *kinds: str, **wanted: Any) -> tuple[str, ...]:
    """The names of the runs of these kinds that have these parameters."""
    return tuple(
        name
        for name, run in runs.items()
        if run.kind in kinds and all(run.params.get(key) == value for key, value in wanted.items())
    )


def without(entry: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in keys}


def plan_of(settings: Settings) -> Plan:
    """The study's plan, checked, and without the figures and tables that have no runs."""
    for name in settings.here["corpora"]:
        settings.insist(name in settings.entries, f"no corpus {name!r} in config/corpora.yaml")
    there = (FOLDER / settings.study / "plan.py").is_file()
    settings.insist(there, f"there is no plan.py in a folder bayestopics/studies/{settings.study}")
    made: Plan = import_module(f"bayestopics.studies.{settings.study}.plan").plan(settings)
    plan = replace(made, study=settings.study, figures=_with_runs(made.figures), tables=_with_runs(made.tables))
    for name, run in plan.runs.items():
        settings.insist(name not in RESERVED, f"a run cannot have the reserved name {name!r}")
        settings.insist(plan.has(f"compute_{run.kind}"), f"{name}: the study has no compute_{run.kind}.py")
        settings.insist(set(run.before) <= set(plan.runs), f"{name} builds on runs that are not planned")
    figures = {f"figure {name}": figure.runs for name, figure in plan.figures.items()}
    tables = {f"table {name}": table.runs for name, table in plan.tables.items()}
    for name, shown in (figures | tables).items():
        settings.insist(set(shown) <= set(plan.runs), f"{name} shows runs that are not planned")
    return plan


Shown = TypeVar("Shown", Figure, Table)


def _with_runs(parts: Mapping[str, Shown]) -> dict[str, Shown]:
    return {name: part for name, part in parts.items() if part.runs}


def names_in(folder: Path) -> list[str]:
    """The names of the studies that have a settings file in this folder."""
    return sorted(path.stem for path in folder.glob("*.yaml"))
