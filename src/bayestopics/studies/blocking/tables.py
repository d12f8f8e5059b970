"""Tables of the study `blocking`, and functions with which its figures and claims read its records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayestopics.runs.result import Result
from bayestopics.studies.blocking.compute_chain import STATISTICS
from bayestopics.studies.errors import errors_of
from bayestopics.studies.records import by

TRAPPED = 10.0  # standard deviations of the log joint within a chain


# -- reading -----------------------------------------------------------------------------------------


def trapped(records: list[Result]) -> dict[str, bool]:
    """For each run, by name: is it trapped? `records` are all chains of one corpus.

    A chain is trapped if its mean log joint over the last tenth lies far below that of the best chain of any sampler:
    by more than TRAPPED times the standard deviation of the log joint within the last tenth (median over all chains).
    """
    best = max(record.metrics["log_joint"] for record in records)
    spread = np.median([record.metrics["log_joint_spread"] for record in records])
    return {record.task.name: best - record.metrics["log_joint"] > TRAPPED * spread for record in records}


def seconds_a_sweep(record: Result) -> pd.DataFrame:
    """Median over the rounds: one row per number of topics, one column per (sampler, threads)."""
    table = record.tables["timing"]
    return table.pivot_table(index="topics", columns=["sampler", "threads"], values="seconds", aggfunc=np.median)


def autocorrelation_times(runs: list[Result], name: str, errors: pd.DataFrame) -> list[float]:
    """Of one of the statistics, in sweeps, a number a run."""
    return [float(errors_of(errors, record).loc[name.replace("_", " "), "autocorrelation_time"]) for record in runs]


# -- tables ------------------------------------------------------------------------------------------


def summary_table(records: list[Result], errors: pd.DataFrame) -> pd.DataFrame:
    """One row per corpus and sampler: medians and quartiles over the runs; autocorrelation times of untrapped runs."""
    rows: list[dict[str, Any]] = []
    for corpus, chains in by("corpus", records).items():
        stuck = trapped(chains)
        for sampler, runs in by("sampler", chains).items():
            free = [record for record in runs if not stuck[record.task.name]]
            params = runs[0].task.params
            row: dict[str, Any] = {"corpus": corpus, "sampler": sampler, "topics": params["topics"]}
            row |= {"sweeps": params["sweeps"], "runs": len(runs), "trapped": len(runs) - len(free)}
            for name in ("log_joint", "perplexity"):
                low, middle, high = np.quantile([record.metrics[name] for record in runs], [0.25, 0.5, 0.75])
                row |= {name: middle, f"{name}_quartiles": f"{low:,.5g} to {high:,.5g}"}
            row["seconds_a_sweep"] = float(np.median([record.volatile["seconds_a_sweep"] for record in runs]))
            for name in STATISTICS:
                times = autocorrelation_times(free, name, errors)
                row[f"autocorrelation_{name}"] = float(np.median(times)) if times else None
            rows.append(row)
    return pd.DataFrame(rows)


def times_table(records: list[Result]) -> pd.DataFrame:
    """One row per corpus, number of topics, sampler and number of threads: median, least and most seconds per sweep."""
    tables = [record.tables["timing"].assign(corpus=record.task.corpus) for record in records]
    groups = pd.concat(tables).groupby(["corpus", "topics", "sampler", "threads"], sort=False)["seconds"]
    return groups.agg(["median", "min", "max"]).reset_index()
