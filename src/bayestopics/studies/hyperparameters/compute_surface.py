"""Study `hyperparameters`, tempering: the surface m(h) of one corpus, its best h, and functionals of the topics
[George & Doss, figures 4 to 8]."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from bayestopics.base.seeds import seed_from
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.bands import CORRELATED, band, paper_band
from bayestopics.hyper.best import FEWEST, Best, best_of_chains, maximise
from bayestopics.hyper.estimates import Terms, expectation, finite_variance, surface
from bayestopics.hyper.grid import Grid
from bayestopics.hyper.search import Search, find
from bayestopics.hyper.sides import of_assignments, of_parameters
from bayestopics.hyper.tempering import Functional, TemperedChain, joined
from bayestopics.lda import SAMPLERS
from bayestopics.lda.parameters import Parameters
from bayestopics.lda.state import State
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

CLOSE = 0.07  # documents with nearly the same topics [figure 4]


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Tables, from all chains together: `surface`, log M-hat and log M-tilde with their errors on a fine grid;
    `occupancy` of the grid; `ellipses`; `chains`, the best h of each independent chain; `functional`, I-hat with its
    bands, and I-tilde."""
    params = task.params
    functionals = tuple(FUNCTIONALS.values()) if params["functionals"] else ()
    found = find(
        corpus,
        params["topics"],
        sweeps=params["sweeps"],
        chains=params["chains"],
        seed=seed_from(task.generator()),
        sampler=params["sampler"],
        moves=params["moves"],
        functionals=functionals,
        fixed=_fixed(params.get("grid")),
        checkpoint=checkpoint,
    )
    chain = found.chains[0]
    together = best_of_chains(found.chains) if len(found.chains) >= FEWEST else None
    tables = {
        "surface": surface_table(found.chains, params["fine"]),
        "occupancy": _occupancy(found.chains),
        "ellipses": _ellipses(found.best, together),
        "chains": _argmaxes(found.chains),
        "trace": _trace(chain, params["sampler"]),
    }
    warnings = list(found.warnings)
    if functionals:
        tables["functional"], narrow = _functional(found.chains, params["fine"])
        warnings += narrow
    arrays = {"log_zeta": chain.log_zeta, "of_alpha": chain.of_alpha, "of_eta": chain.of_eta}
    arrays |= {"alphas": np.array(chain.grid.alphas), "etas": np.array(chain.grid.etas)}
    return Result(task, _metrics(found, together), warnings, tables=tables, arrays=arrays)


def chain_of(record: Result, corpus: Corpus) -> TemperedChain:
    """The first chain of a record, from which quantities at any h within its grid can be estimated."""
    arrays, trace, params = record.arrays, record.tables["trace"], record.task.params
    grid = Grid(tuple(arrays["alphas"].tolist()), tuple(arrays["etas"].tolist()))
    if SAMPLERS[params["sampler"]].draws_parameters:
        sides = of_parameters(corpus, params["topics"])
    else:
        sides = of_assignments(corpus, params["topics"], *grid.ends)
    values = trace[[name for name in FUNCTIONALS if name in trace]].to_numpy()
    rows = arrays["log_zeta"], trace["index"].to_numpy(), arrays["of_alpha"], arrays["of_eta"]
    return TemperedChain(grid, sides.alpha, sides.eta, *rows, values, None, grid.ends)


def _fixed(grid: dict[str, list[float]] | None) -> Grid | None:
    """A grid of evenly spaced values, as in the paper."""
    if grid is None:
        return None
    sides = [np.linspace(low, high, int(count)).tolist() for low, high, count in (grid["alpha"], grid["eta"])]
    return Grid(tuple(sides[0]), tuple(sides[1]))


def _metrics(found: Search, together: Best | None) -> dict[str, float]:
    """The best h comes from all chains together if there are enough. Round trips and evenness are those of the worst
    chain; everything else comes from the first chain."""
    one, chain = found.best, found.chains[0]
    h = together or one
    return {
        "alpha": h.alpha,
        "eta": h.eta,
        "on_edge": float(h.on_edge),
        "batches_on_edge": one.batches_on_edge,
        "batch_correlation": one.batch_correlation,
        "occupancy_min": float(chain.occupancy.min()),
        "occupancy_max": float(chain.occupancy.max()),
        "uniformity": min(each.uniformity for each in found.chains),
        "round_trips": min(each.round_trips for each in found.chains),
        "moved": chain.moved,
        "tuning_rounds": found.tuning_rounds,
    }


def surface_table(chains: list[TemperedChain], fine: int) -> pd.DataFrame:
    """log M-hat and log M-tilde on a grid of `fine` x `fine` evenly spaced points between the ends.

    `error` is from long batches of all chains, `error_paper` from sqrt(n) batches; `tilde_finite` says whether M-tilde
    has a finite variance there (2.3)."""
    chain = joined(chains)
    alphas, etas = (np.linspace(*ends, fine) for ends in chain.ends)
    log_m, error = surface(chain, alphas, etas, chains=len(chains))
    log_tilde, error_tilde = surface(chain, alphas, etas, "tilde", chains=len(chains))
    points = np.array([(alpha, eta) for alpha in alphas for eta in etas])
    columns = {"log_m": log_m, "error": error, "error_paper": surface(chain, alphas, etas)[1]}
    columns |= {"log_m_tilde": log_tilde, "error_tilde": error_tilde}
    flat = {name: values.ravel() for name, values in columns.items()}
    finite = [finite_variance(chain, h, "tilde") for h in points]
    return pd.DataFrame({"alpha": points[:, 0], "eta": points[:, 1], **flat, "tilde_finite": finite})


def _occupancy(chains: list[TemperedChain]) -> pd.DataFrame:
    """The share of the sweeps of all chains at each point of the grid; 1 is an equal share."""
    points = chains[0].grid.points
    share = len(points) * joined(chains).occupancy
    return pd.DataFrame({"alpha": points[:, 0], "eta": points[:, 1], "share": share})


def _ellipses(first: Best, together: Best | None) -> pd.DataFrame:
    """The ellipses of log h. `chains` is among them if there are enough chains."""
    known = {"ellipse": first.ellipse, "region": first.region, "chains": together.ellipse if together else None}
    rows = [
        {
            "name": name,
            "center_alpha": one.center[0],
            "center_eta": one.center[1],
            "log_variance_alpha": one.log_covariance[0][0],
            "log_covariance": one.log_covariance[0][1],
            "log_variance_eta": one.log_covariance[1][1],
            "radius_squared": one.radius_squared,
            "level": one.level,
        }
        for name, one in known.items()
        if one is not None
    ]
    columns = ["name", "center_alpha", "center_eta", "log_variance_alpha", "log_covariance", "log_variance_eta"]
    return pd.DataFrame(rows, columns=[*columns, "radius_squared", "level"])


def _argmaxes(chains: list[TemperedChain]) -> pd.DataFrame:
    tops = np.array([maximise(Terms.of(chain))[0] for chain in chains])
    return pd.DataFrame({"chain": np.arange(len(chains)), "alpha": tops[:, 0], "eta": tops[:, 1]})


def _trace(chain: TemperedChain, sampler: str) -> pd.DataFrame:
    """Where the chain was and, for the paper's samplers, also A and B, which are all that any estimate needs."""
    points = chain.grid.points[chain.index]
    columns = {"sweep": np.arange(len(chain)), "index": chain.index, "alpha": points[:, 0], "eta": points[:, 1]}
    if SAMPLERS[sampler].draws_parameters:
        columns |= {"a": chain.of_alpha[:, 0], "b": chain.of_eta[:, 0]}
    names = list(FUNCTIONALS)[: chain.functionals.shape[1]]
    return pd.DataFrame({**columns, **dict(zip(names, chain.functionals.T, strict=True))})


# -- functionals ---------------------------------------------------------------------------------------


def documents_are_close(parameters: Parameters, state: State) -> float:
    """Whether theta of documents 7 and 8 (counted from one) differ by at most .07."""
    theta = np.exp(parameters.log_theta[6:8])
    return float(np.linalg.norm(theta[0] - theta[1]) <= CLOSE)


def first_topics_apart(parameters: Parameters, state: State) -> float:
    """The distance between beta of topics 1 and 2, which means nothing once labels switch."""
    beta = np.exp(parameters.log_beta[:, :2])
    return float(np.linalg.norm(beta[:, 0] - beta[:, 1]))


def topics_apart(parameters: Parameters, state: State) -> float:
    """The mean distance over all pairs of topics."""
    beta = np.exp(parameters.log_beta)
    pairs = combinations(range(beta.shape[1]), 2)
    return float(np.mean([np.linalg.norm(beta[:, s] - beta[:, t]) for s, t in pairs]))


FUNCTIONALS: dict[str, Functional] = {
    "theta 7 and 8 within .07": documents_are_close,
    "beta 1 and 2 distance": first_topics_apart,
    "beta distance over all pairs": topics_apart,
}


def _functional(chains: list[TemperedChain], fine: int) -> tuple[pd.DataFrame, list[str]]:
    """`paper_half` is the half-width of the paper's band, from the first chain alone."""
    whole = joined(chains)
    alphas, etas = (np.linspace(*ends, fine) for ends in whole.ends)
    points = np.array([(alpha, eta) for alpha in alphas for eta in etas])
    parts, warnings = [], []
    for number, name in enumerate(FUNCTIONALS):
        found, paper = band(chains, points, number), paper_band(chains[0], points, number)
        columns = {"hat": found.middle, "lower": found.lower, "upper": found.upper}
        columns |= {"tilde": expectation(whole, points, number, "tilde"), "paper_half": paper.upper - paper.middle}
        parts.append(pd.DataFrame({"name": name, "alpha": points[:, 0], "eta": points[:, 1], **columns}))
        if np.isnan(found.lower).any():
            warnings.append(f"{name}: the value was the same in all sweeps, so its error is not known.")
        if found.correlation > CORRELATED:
            warnings.append(
                f"{name}: successive batches of sweeps are correlated ({found.correlation:.2f}), so the band is too "
                "narrow. Use more sweeps, or at least 4 chains."
            )
    return pd.concat(parts, ignore_index=True), warnings
