"""`hyper`: the alpha and eta with the largest marginal likelihood [George & Doss], with their errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.code import code_hash
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper import METHODS, integration
from bayestopics.hyper.asymmetric import Asymmetric, asymmetric
from bayestopics.hyper.compute import hyper
from bayestopics.hyper.estimates import surface
from bayestopics.hyper.score import Found, score
from bayestopics.hyper.search import SHORTEST
from bayestopics.hyper.several import Several, search_several
from bayestopics.hyper.tempering import TemperedChain
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.state import count
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task, describe
from bayestopics.runs.words import top_words

FINE = 40  # points along each side of the surface
PART = 20  # at each rung of the integration, a chain has this part of the sweeps: it costs about as much as the search


def task_of(corpus: Corpus, topics: int, *, method: str, sweeps: int | None, seed: int, **how: Any) -> Task:
    """`how`: alphas, etas, shape, sampler, search, chains, precision, integrate, asymmetric."""
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; choose from {', '.join(METHODS)}")
    if not how.get("asymmetric", False):
        how.pop("asymmetric", None)
    elif method != "score":
        raise InputError(f"an alpha for each topic (--asymmetric) is found by the method score only, not by {method}")
    module = sampler_by_name(how["sampler"])
    params = {"topics": topics, "method": method, "sweeps": METHODS[method] if sweeps is None else sweeps, **how}
    unknown = {"tempering": (), "score": ("search", "integrate")}.get(method, ("search", "chains", "integrate"))
    params = {name: value for name, value in params.items() if name not in unknown}
    code = code_hash(__name__, module.__name__)
    return Task("hyper", OWN, method, params, seed, **describe(corpus), code=code)


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, *, workers: int = 1) -> Result:
    params: dict[str, Any] = {**task.params, "seed": task.seed, "checkpoint": checkpoint}
    method = params.pop("method")
    if method == "tempering":
        wanted = params.pop("integrate", False)
        several = search_several(corpus, **params, workers=workers)
        answer, tables = several.summary(), tables_of(several)
        if wanted:
            tables["integration"] = _integration(task, corpus, several, checkpoint, workers)
            answer["warnings"] = [*integration.doubts(tables["integration"]), *answer["warnings"]]
    elif params.pop("asymmetric", False):
        return _asymmetric(task, corpus, asymmetric(corpus, **params, workers=workers))
    elif method == "score":
        found = score(corpus, **params, workers=workers)
        answer = found.summary()
        tables = {"trace": _scores(found), "path": _path(answer["path"])}
    else:
        answer = hyper(corpus, method=method, **params)
        tables = {"trace": _draws(answer.pop("draws"))} if method == "full-bayes" else {"path": _path(answer["path"])}
    said = answer.pop("warnings")
    return Result(task, _metrics(answer), said, tables=tables, answer=answer)


def _asymmetric(task: Task, corpus: Corpus, found: Asymmetric) -> Result:
    """The table `alpha` has one row per topic, with its words in the first chain; topic 0 has the largest alpha."""
    answer, names = found.summary(), [*(f"alpha_{t}" for t in range(len(found.h) - 1)), "eta"]
    described = {one["topic"]: one for one in top_words(corpus, count(corpus, len(names) - 1, found.assignments)[1])}
    answer["top_words"] = [described[topic] for topic in range(len(names) - 1)]
    rows = {"alpha": answer["alpha"], "standard_error": answer["standard_error"]["alpha"]}
    ends = np.array(answer["region"]["alpha"], float)
    words = [{"share": one["share"], "words": " ".join(one["words"])} for one in answer["top_words"]]
    alphas = pd.DataFrame({**rows, "low": ends[:, 0], "high": ends[:, 1]}).astype(float).join(pd.DataFrame(words))
    traces = [
        pd.DataFrame(chain, columns=[f"score_{name}" for name in names]).rename_axis("sweep").reset_index()
        for chain in found.scores
    ]
    tables = {
        "alpha": alphas.rename_axis("topic").reset_index(),
        "trace": pd.concat([one.assign(chain=number) for number, one in enumerate(traces)], ignore_index=True),
        "path": pd.DataFrame(found.path, columns=names).rename_axis("step").reset_index(),
    }
    metrics = {"alpha_sum": float(found.h[:-1].sum()), "eta": answer["eta"], "gain": found.gain.log_m}
    agreement = {} if answer["agreement"] is None else {"agreement": answer["agreement"]}
    said = answer.pop("warnings")
    return Result(task, {**metrics, **agreement}, said, tables=tables, answer=answer)


def _integration(task: Task, corpus: Corpus, several: Several, checkpoint: Checkpoint, workers: int) -> pd.DataFrame:
    """log m along alpha and along eta through the best h, by integration and by M-hat of the first chain."""
    params, first = task.params, several.chains[0]
    h, sweeps = np.array([several.best.alpha, several.best.eta]), max(SHORTEST, params["sweeps"] // PART)
    how: dict[str, Any] = {"chains": max(4, params["chains"]), "seed": task.seed, "sampler": params["sampler"]}
    inside = checkpoint.part("integration")
    table = integration.integrate(
        corpus, params["topics"], h, first.grid.ends, sweeps=sweeps, workers=workers, checkpoint=inside, **how
    )
    return integration.beside(table, first, h)


def _metrics(answer: Mapping[str, Any]) -> dict[str, float]:
    agreement = {} if answer.get("agreement") is None else {"agreement": answer["agreement"]}
    return {"alpha": answer["alpha"], "eta": answer["eta"], **agreement}


def _path(steps: list[list[float]]) -> pd.DataFrame:
    """alpha and eta after each step of EM."""
    return pd.DataFrame(steps, columns=["alpha", "eta"]).rename_axis("step").reset_index()


def _scores(found: Found) -> pd.DataFrame:
    """The derivatives of log p(w, z | h) with respect to log alpha and log eta in every kept sweep at the last h."""
    tables = [
        pd.DataFrame(
            {"sweep": np.arange(len(rows)), "score_alpha": rows[:, 0], "score_eta": rows[:, 1], "chain": number}
        )
        for number, rows in enumerate(found.scores)
    ]
    return pd.concat(tables, ignore_index=True)


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
