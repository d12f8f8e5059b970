"""Study `number_of_topics`: how its claims read the records, and words that several of them use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.runs.result import Result
from bayestopics.studies.number_of_topics.tables import evidence_of, running_mean, span
from bayestopics.studies.records import MissingRecords, Records, of_kind

PAPER = "Chen & Doss"
SIMULATED = ("lda-20", "lda-20-short")  # the paper's corpus, and a smaller one that replaces it
REAL = ("whales", "birds-of-prey")
TOO_SHORT = "at this scale the chains are shorter than the paper's"
HALF = 0.5  # a running mean is "at" a number of topics if it is this near


# -- reading -----------------------------------------------------------------------------------------


def walks_on(records: Records, corpus: str, sampler: str = "single-site", **params: int) -> list[Result]:
    """The PMMH chains of a corpus with these parameters, whose estimates start at random topics, as in the paper."""
    wanted = {"corpus": corpus, "sampler": sampler, "z_start": None, **params}
    found = of_kind(records.values(), "pmmh")
    found = [r for r in found if all(r.task.params.get(key) == value for key, value in wanted.items())]
    if not found:
        raise MissingRecords([corpus])
    return found


def simulated_corpus(records: Records, kind: str = "pmmh") -> str:
    """The name of the simulated corpus that was run."""
    there = {record.task.corpus for record in of_kind(records.values(), kind)}
    found = [name for name in SIMULATED if name in there]
    if not found:
        raise MissingRecords([SIMULATED[0]])
    return found[0]


def record_of(records: Records, corpus: str, name: str) -> Result:
    """The record with this name; raises MissingRecords if there is none."""
    if f"{corpus}-{name}" not in records:
        raise MissingRecords([corpus])
    return records[f"{corpus}-{name}"]


def evidence_by(records: Records, corpus: str, method: str) -> Result:
    return record_of(records, corpus, f"evidence-{method}")


def log_evidence_by(records: Records, corpus: str, method: str) -> pd.Series:
    return evidence_of(evidence_by(records, corpus, method))


def insist_on(table: pd.DataFrame, topics: int, corpus: str) -> None:
    if topics not in table.index:
        raise MissingRecords([f"T = {topics} on {corpus}"])


def arrival_at(record: Result, topics: float) -> int | None:
    """The step after which the running mean of T stays within 0.5 of `topics`; None if it ends elsewhere."""
    away = np.flatnonzero(np.abs(running_mean(record.trace) - topics) > HALF)
    if not len(away):
        return 1
    return None if away[-1] == len(record.trace) - 1 else int(away[-1]) + 2


def median(steps: Sequence[int | None]) -> float:
    """The median number of steps of several chains; infinite if half of them or more never arrive."""
    return float(np.median([math.inf if step is None else step for step in steps]))


# -- saying ------------------------------------------------------------------------------------------


def doubts(records: list[Result]) -> str:
    sds = [record.metrics["log_estimate_sd"] for record in records]
    rates = [record.metrics["acceptance_rate"] for record in records]
    scatter, accepted = span("{:,.0f}", sds), span("{:.2%}", rates)
    return f"log-estimates at the mode scatter by {scatter} nats; {accepted} of proposals accepted after burn-in"


def when(step: float | None, steps: int) -> str:
    there = step is not None and math.isfinite(step)
    return f"after {step:,.0f} steps" if there else f"not within {steps:,} steps"


def chain_rows(records: Iterable[Result], **columns: list[Any]) -> pd.DataFrame:
    """The details of an answer: one row per chain."""
    keys = ("corpus", "sampler", "start", "inner", "chain", "iterations")
    rows = [{**{key: r.task.params.get(key) for key in keys}, **r.metrics} for r in records]
    return pd.DataFrame(rows).assign(**columns)
