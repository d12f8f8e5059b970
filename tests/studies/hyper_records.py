"""Made-up records of the study `hyperparameters`, for its figures and answers."""

from functools import partial

import numpy as np
import pandas as pd

from bayestopics.runs import record
from bayestopics.runs.record import Run

FUNCTIONALS = ("theta 7 and 8 within .07", "beta 1 and 2 distance", "beta distance over all pairs")


Record = partial(record.Record, versions={})  # to look them up takes time


def run(kind: str, corpus: str, name: str, **params) -> Run:
    params = {"kind": f"hyper_{kind}", "corpus": corpus, "topics": 4, "sweeps": 100, **params}
    return Run("hyperparameters", "smoke", f"{corpus}-{name}", params, 1, corpus, "-", "-")


def named(*records: record.Record) -> dict[str, record.Record]:
    return {one.run.name: one for one in records}


def _ellipse(name: str, h, deviations, radius_squared: float = 6.0) -> dict:
    row = {"name": name, "center_alpha": h[0], "center_eta": h[1], "variance_alpha": deviations[0] ** 2}
    row |= {"covariance": 0.3 * deviations[0] * deviations[1], "variance_eta": deviations[1] ** 2}
    return row | {"radius_squared": radius_squared, "level": 0.95}


def surface(
    corpus: str = "x",
    h=(0.2, 0.8),
    *,
    replicate: int = 0,
    sampler: str = "single-site",
    error: float = 0.005,
    deviation: float = 0.1,
    mcse: float = 0.02,
    chains: int = 1,
    on_edge: bool = False,
    regions: bool = True,
    round_trips: int = 40,
    functional: pd.DataFrame | None = None,
    **params,
) -> record.Record:
    """`error` and `deviation`: of log h, by Monte Carlo and by curvature."""
    h = np.array(h)
    alphas, etas = (side * np.exp(3 * deviation * np.linspace(-1, 1, 13)) for side in h)
    alpha, eta = (side.ravel() for side in np.meshgrid(alphas, etas))
    away = (np.log(alpha / h[0]) ** 2 + np.log(eta / h[1]) ** 2) / deviation**2
    table = {"alpha": alpha, "eta": eta, "log_m": -away / 2, "error": mcse * (1 + away), "error_overlapping": mcse}
    rows = [_ellipse("ellipse", h, error * h), _ellipse("region", h, deviation * h)] if regions else []
    if regions and chains >= 4:
        rows.append(_ellipse("chains", h, error * h, 10.0))
    columns = list(_ellipse("", (0, 0), (0, 0)))
    ends = h * np.exp(error * np.random.default_rng(replicate).normal(size=(chains, 2)) * np.sqrt(chains))
    tables = {
        "surface": pd.DataFrame(table),
        "ellipses": pd.DataFrame(rows, columns=columns),
        "chains": pd.DataFrame({"chain": range(chains), "alpha": ends[:, 0], "eta": ends[:, 1]}),
    }
    if functional is not None:
        tables["functional"] = functional
    metrics = {"alpha": h[0], "eta": h[1], "on_edge": float(on_edge), "batches_on_edge": 0.0, "uniformity": 0.8}
    metrics |= {"batch_correlation": 0.1, "round_trips": round_trips, "moved": 0.5, "tuning_rounds": 3}
    params = {"sampler": sampler, "moves": "all", "replicate": replicate, "chains": chains, **params}
    params = {"functionals": functional is not None, "truth": None, "paper": None, **params}
    one = run("surface", corpus, f"{sampler}-{replicate}-{params.get('topics', 4)}", **params)
    return Record(one, metrics, tables=tables, volatile={"cpu_seconds": 70.0})


def functional(seed: int = 0, *, slope: float = 1.0, hat: float = 0.005, tilde: float = 0.05) -> pd.DataFrame:
    """Functionals that go up and down with h; `hat` and `tilde` are the noises of the two estimates."""
    rng, parts = np.random.default_rng(seed), []
    alpha, eta = (side.ravel() for side in np.meshgrid(np.linspace(0.15, 1.1, 12), np.linspace(0.6, 1.1, 6)))
    for number, name in enumerate(FUNCTIONALS):
        truth = 0.3 + slope * (0.3 * alpha - 0.2 * number * (eta - 0.6))
        values = truth + hat * rng.normal(size=len(alpha))
        part = {"name": name, "alpha": alpha, "eta": eta, "hat": values, "lower": values - 0.02, "upper": values + 0.02}
        parts.append(pd.DataFrame(part | {"tilde": truth + tilde * rng.normal(size=len(alpha))}))
    return pd.concat(parts, ignore_index=True)


def rivals(
    corpus: str = "x",
    h=(0.2, 0.8),
    *,
    variational: float = 1.0,
    start: float = 0.5,
    gibbs: float = 0.1,
    averaged: float = 0.0,
    doubling: float = 0.1,
    starts: int = 5,
    **params,
) -> record.Record:
    """Ends at these distances, in logs, from h; those of variational EM are `start` apart from each other."""
    rng, rows, h = np.random.default_rng(1), [], np.array(h)
    offs = {"gibbs-em": gibbs, "gibbs-em-minka": gibbs, "gibbs-em-doubling": doubling, "variational-em": variational}
    for method, off in offs.items():
        for number in range(starts):
            more = start * number / starts if method == "variational-em" else 0.01 * rng.normal()
            end, mean = h * np.exp((off + more) / np.sqrt(2)), h * np.exp(averaged / np.sqrt(2))
            row = {"method": method, "start": number, "start_alpha": 0.1 * 2**number, "start_eta": 1.0}
            row |= {"alpha": end[0], "eta": end[1], "averaged_alpha": mean[0], "averaged_eta": mean[1]}
            rows.append(row | {"converged": True, "warning": ""})
    ends = pd.DataFrame(rows)
    timing = ends[["method", "start"]].assign(seconds=np.where(ends["method"] == "variational-em", 0.2, 10.0))
    methods = {"gibbs-em-minka": {"sweeps": 100}}
    params = {"topics": 8 if "-8-" in corpus else 4, "truth": list(h), "methods": methods, **params}
    path = ends[["method", "start", "alpha", "eta"]].assign(step=0)
    return Record(run("rivals", corpus, "rivals", **params), {}, tables={"ends": ends, "path": path, "timing": timing})


def steps(
    count: int = 18, *, settled: int | None = None, on_edge: bool = False, corpus="lda-50-large"
) -> list[record.Record]:
    """The records of an iterative grid, settled from step `settled` on."""
    found, rows = [], []
    for number in range(count):
        half = np.log(2) * 0.9**number
        h = np.array([0.2, 0.8]) * np.exp(0.9**number * np.array([1.2, 0.3]))
        row = {"number": number, "documents": round(40 * 1.1**number), "alpha": h[0], "eta": h[1]}
        row |= {"alpha_low": h[0] * np.exp(-half), "alpha_high": h[0] * np.exp(half)}
        row |= {"eta_low": h[1] * np.exp(-half), "eta_high": h[1] * np.exp(half), "on_edge": number == 0 or on_edge}
        rows.append(row)
        params = {"topics": 50, "number": number, "shape": [10, 10], "truth": [0.2, 0.8]}
        one = run("step", corpus, f"step-{number}", **params)
        metrics = {"settled": float(settled is not None and number + 1 >= settled), "documents": row["documents"]}
        metrics |= {"alpha": h[0], "eta": h[1]}
        table = surface(h=h, deviation=half / 3).tables["surface"][["alpha", "eta", "log_m", "error"]]
        found.append(Record(one, metrics, tables={"steps": pd.DataFrame(rows), "surface": table}))
    return found


def score(corpus: str, topics: int = 3, error: float = 0.05, **logs: float) -> record.Record:
    """`logs`: log ratios to tempering, with _ for -."""
    choices = {"tempering": 0.0, "gibbs_em": -0.3, "variational_em": -0.8}
    choices |= {"griffiths_steyvers": -9.0, "asuncion": -5.0, "gensim": -2.0, **logs}
    rows = [
        {"choice": choice.replace("_", "-"), "alpha": 0.1, "eta": 0.1, "log_score": -500 + log, "standard_error": error}
        for choice, log in choices.items()
    ]
    table = pd.DataFrame(rows).assign(documents=10)
    return Record(run("score", corpus, "score", topics=topics), {}, tables={"scores": table})


def coverage(covered: int = 18, of: int = 20) -> record.Record:
    rows = [
        {"kind": kind, "number": n, "alpha": 0.2, "eta": 0.8, "covers": n < covered}
        for kind in ("batches", "chains")
        for n in range(of)
    ]
    metrics = {"coverage_batches": covered / of, "coverage_chains": covered / of, "truth_alpha": 0.2, "truth_eta": 0.8}
    return Record(run("coverage", "x", "coverage", chains=of), metrics, tables={"chains": pd.DataFrame(rows)})
