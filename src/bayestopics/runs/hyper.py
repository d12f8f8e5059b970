"""`hyper`: the alpha and eta with the largest marginal likelihood [George & Doss], with their errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.code import code_hash
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper import METHODS
from bayestopics.hyper.compute import hyper
from bayestopics.hyper.estimates import surface
from bayestopics.hyper.several import Several, search_several
from bayestopics.hyper.tempering import TemperedChain
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task, describe

FINE = 40  # points along each side of the surface


def task_of(corpus: Corpus, topics: int, *, method: str, sweeps: int | None, seed: int, **how: Any) -> Task:
    """`how`: alphas, etas, shape, sampler, search, chains."""
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; choose from {', '.join(METHODS)}")
    module = sampler_by_name(how["sampler"])
    params = {"topics": topics, "method": method, "sweeps": METHODS[method] if sweeps is None else sweeps, **how}
    if method != "tempering":
        params = {name: value for name, value in params.items() if name not in ("search", "chains")}
    code = code_hash(__name__, module.__name__)
    return Task("hyper", OWN, method, params, seed, **describe(corpus), code=code)


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, *, workers: int = 1) -> Result:
    params: dict[str, Any] = {**task.params, "seed": task.seed, "checkpoint": checkpoint}
    method = params.pop("method")
    if method == "tempering":
        several = search_several(corpus, **params, workers=workers)
        answer, tables = several.summary(), tables_of(several)
    else:
        answer = hyper(corpus, method=method, **params)
        tables = {"trace": _draws(answer.pop("draws"))} if method == "full-bayes" else {"path": _path(answer["path"])}
    said = answer.pop("warnings")
    return Result(task, _metrics(answer), said, tables=tables, answer=answer)


def _metrics(answer: Mapping[str, Any]) -> dict[str, float]:
    agreement = {} if answer.get("agreement") is None else {"agreement": answer["agreement"]}
    return {"alpha": answer["alpha"], "eta": answer["eta"], **agreement}


def _path(steps: list[list[float]]) -> pd.DataFrame:
    """alpha and eta after each step of EM."""
    return pd.DataFrame(steps, columns=["alpha", "eta"]).rename_axis("step").reset_index()


def _draws(kept: list[list[float]]) -> pd.DataFrame:
    """The chain of full Bayes, after its burn-in."""
    return pd.DataFrame(kept, columns=["alpha", "eta"]).rename_axis("sweep").reset_index().assign(chain=0)


def tables_of(found: Several) -> dict[str, pd.DataFrame]:
    """`trace`: the alpha and eta that each chain visited; `surface`: log M-hat from the first chain on a fine grid."""
    traces = [_trace(chain).assign(chain=number) for number, chain in enumerate(found.chains)]
    return {"trace": pd.concat(traces, ignore_index=True), "surface": _surface(found.chains[0])}


def _trace(chain: TemperedChain) -> pd.DataFrame:
    points = chain.grid.points[chain.index]
    return pd.DataFrame({"sweep": np.arange(len(chain)), "alpha": points[:, 0], "eta": points[:, 1]})


def _surface(chain: TemperedChain) -> pd.DataFrame:
    alphas, etas = (np.geomspace(*ends, FINE) for ends in chain.grid.ends)
    values, errors = surface(chain, alphas, etas)
    points = {"alpha": np.repeat(alphas, FINE), "eta": np.tile(etas, FINE)}
    return pd.DataFrame({**points, "log_m": values.ravel(), "error": errors.ravel()})
