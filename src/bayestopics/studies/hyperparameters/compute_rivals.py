"""Study `hyperparameters`, the rivals of tempering: Gibbs-EM and variational EM from several starts
[George & Doss, figure 8, tables 1 and 4]."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.gibbs_em import gibbs_em, rate
from bayestopics.hyper.variational_em import variational_em
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

STARTS = (0.05, 5.0)  # alpha and eta of a start lie between these, uniformly in their logs
RATE_SWEEPS = 4000  # of the chain that says how slow EM is
AVERAGED = 0.4  # this last share of the steps of Gibbs-EM is averaged to reduce noise


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Tables: `ends`, one row per method and start, with the last h and the mean of the last steps; `path`; `timing`.

    Times are CPU seconds, as for tempering; on a busy machine, wall-clock seconds would only say how busy it was."""
    methods = task.params["methods"]
    jobs = [(method, start) for method in methods for start in range(task.params["starts"])]
    done: list[dict[str, Any]] = checkpoint.load() or []
    compile_rivals()
    for method, start in counted(jobs[len(done) :], task.name, "run"):
        first = starting_point(task.generator(f"start {start}"))
        rng, begin = task.generator(f"{method} {start}"), time.process_time()
        path, converged, warnings = _fit(corpus, task.params["topics"], method, methods[method], first, rng)
        seconds = time.process_time() - begin
        done.append(
            {"method": method, "start": start, "path": path, "converged": converged, "warnings": warnings}
            | {"seconds": seconds}
        )
        if checkpoint.due():
            checkpoint.save(done)
    ends = pd.DataFrame([_end(job) for job in done])
    tables = {"ends": ends, "path": pd.concat([_path(job) for job in done], ignore_index=True)}
    tables["timing"] = pd.DataFrame([{key: job[key] for key in ("method", "start", "seconds")} for job in done])
    spread = np.log(ends.groupby("method")[["alpha", "eta"]].agg(["min", "max"]))
    metrics = {f"spread_{method}": _spread(spread.loc[method]) for method in methods}
    if "gibbs-em" in methods:
        best = ends.loc[ends["method"] == "gibbs-em", ["averaged_alpha", "averaged_eta"]].iloc[0]
        how: Any = {"sweeps": RATE_SWEEPS, "burn_in": RATE_SWEEPS // 10, "rng": task.generator("rate")}
        metrics["rate"] = rate(corpus, task.params["topics"], Prior(*best.tolist()), **how)
    warnings = sorted({f"{job['method']}: {warning}" for job in done for warning in job["warnings"]})
    return Result(task, metrics, warnings, tables=tables)


def compile_rivals() -> None:
    """Compile the kernels, or load them from the cache, before any time is measured."""
    tokens = np.array([0, 1])
    two = Corpus.from_counts(tokens, tokens, np.array([2, 1]), document_count=2, term_count=2)
    gibbs_em(two, 2, sweeps=1, burn_in=0, steps=1, rng=np.random.default_rng(0))
    variational_em(two, 2, steps=1, rng=np.random.default_rng(0))


def starting_point(rng: np.random.Generator) -> Prior:
    low, high = np.log(STARTS)
    alpha, eta = np.exp(rng.uniform(low, high, 2)).tolist()
    return Prior(alpha, eta)


def _fit(
    corpus: Corpus, topics: int, method: str, work: dict[str, Any], start: Prior, rng: np.random.Generator
) -> tuple[np.ndarray, bool, list[str]]:
    if method == "variational-em":
        found = variational_em(corpus, topics, rng=rng, start=start, **work)
        return found.path, found.converged, found.warnings
    minka, doubling = {"update": "minka"}, {"lengths": "doubling"}
    kinds = {"gibbs-em": {}, "gibbs-em-minka": minka, "gibbs-em-doubling": doubling}
    kinds["gibbs-em-doubling-minka"] = minka | doubling
    em = gibbs_em(corpus, topics, rng=rng, start=start, **work, **kinds[method])  # type: ignore[arg-type]
    return em.path, em.converged, em.warnings


def _end(job: dict[str, Any]) -> dict[str, Any]:
    path = job["path"]
    averaged = np.exp(np.log(path[-max(1, int(AVERAGED * (len(path) - 1))) :]).mean(axis=0))
    if job["method"] == "variational-em":  # has no noise
        averaged = path[-1]
    return {
        "method": job["method"],
        "start": job["start"],
        "start_alpha": path[0, 0],
        "start_eta": path[0, 1],
        "alpha": path[-1, 0],
        "eta": path[-1, 1],
        "averaged_alpha": averaged[0],
        "averaged_eta": averaged[1],
        "converged": job["converged"],
        "warning": "; ".join(job["warnings"]),
    }


def _path(job: dict[str, Any]) -> pd.DataFrame:
    path = job["path"]
    keys = {"method": job["method"], "start": job["start"], "step": np.arange(len(path))}
    return pd.DataFrame({**keys, "alpha": path[:, 0], "eta": path[:, 1]})


def _spread(ends: pd.Series) -> float:
    """The largest log ratio between two results."""
    return float(max(ends[name, "max"] - ends[name, "min"] for name in ("alpha", "eta")))
