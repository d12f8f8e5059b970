"""Study `hyperparameters`: the answers of several methods on one corpus, each with its Monte Carlo ellipse and its
region for h, or with its level set where the corpus hardly determines h."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.progress import counted
from bayestopics.base.seeds import seed_from
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.compute import hyper
from bayestopics.hyper.level_set import DEEP
from bayestopics.hyper.score import score
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.hyperparameters.compute_rivals import compile_rivals


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Tables: `answers`, one row per method; `ellipses`, with the names "<method> ellipse" and "<method> region";
    `level_set`, one row per point of the ridge, with the smallest and largest value of the other parameter in the level
    set; `timing`."""
    params = task.params
    made: dict[str, dict[str, Any]] = checkpoint.load() or {}
    compile_rivals()
    for method, sweeps in counted(params["methods"].items(), task.name, "method"):
        if method not in made:
            begin = time.process_time()
            seed, part = seed_from(task.generator(method)), checkpoint.part(method)
            found = _answer(corpus, params["topics"], method, sweeps, params["chains"], seed, part)
            made[method] = found | {"seconds": time.process_time() - begin}
            checkpoint.save(made)
    answers = [
        {"method": method, **{key: one[key] for key in ("alpha", "eta")}, "warning": "; ".join(one["warnings"])}
        for method, one in made.items()
    ]
    ellipses = [
        row for method, one in made.items() for name in ("ellipse", "region") for row in _ellipse(method, name, one)
    ]
    ridges = [one["ridge"].assign(method=method) for method, one in made.items() if one["ridge"] is not None]
    empty = pd.DataFrame(columns=["alpha", "eta", "log_m", "error", "low", "high", "side", "method"])
    timing = pd.DataFrame([{"method": method, "seconds": one["seconds"]} for method, one in made.items()])
    columns = ["name", "center_alpha", "center_eta", "log_variance_alpha", "log_covariance", "log_variance_eta"]
    tables = {
        "answers": pd.DataFrame(answers),
        "ellipses": pd.DataFrame(ellipses, columns=[*columns, "radius_squared", "level"]),
        "level_set": pd.concat(ridges, ignore_index=True) if ridges else empty,
        "timing": timing,
    }
    warnings = [f"{method}: {warning}" for method, one in made.items() for warning in one["warnings"]]
    metrics = {f"{key}_{method}": one[key] for method, one in made.items() for key in ("alpha", "eta")}
    return Result(task, metrics, warnings, tables=tables)


def _answer(
    corpus: Corpus, topics: int, method: str, sweeps: int, chains: int, seed: int, checkpoint: Checkpoint
) -> dict[str, Any]:
    how: Any = {"sweeps": sweeps, "chains": chains, "seed": seed, "checkpoint": checkpoint}
    if method != "score":
        return {**hyper(corpus, topics, method=method, **how), "ridge": None}
    found = score(corpus, topics, **how)
    if (profile := found.profile) is None:
        return {**found.summary(), "ridge": None}
    points, other = np.exp(profile.points), profile.points[:, 1 - profile.side]
    half = np.sqrt(np.maximum(2 * (profile.log_m + DEEP) / profile.across, 0.0))  # log m is quadratic across the ridge
    ridge = {"alpha": points[:, 0], "eta": points[:, 1], "log_m": profile.log_m, "error": profile.errors}
    ridge |= {"low": np.exp(other - half), "high": np.exp(other + half), "side": ("alpha", "eta")[profile.side]}
    return {**found.summary(), "region": None, "ridge": pd.DataFrame(ridge)}


def _ellipse(method: str, name: str, answer: dict[str, Any]) -> list[dict[str, Any]]:
    one = answer[name]
    if one is None:
        return []
    (first, across), (_, second) = one["log_covariance"]
    row = {"name": f"{method} {name}", "center_alpha": one["center"][0], "center_eta": one["center"][1]}
    row |= {"log_variance_alpha": first, "log_covariance": across, "log_variance_eta": second}
    return [row | {"radius_squared": one["radius_squared"], "level": one["level"]}]
