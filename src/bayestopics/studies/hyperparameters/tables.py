"""Tables of the study `hyperparameters`, and functions with which its figures and claims read its records."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import beta

from bayestopics.hyper.best import Ellipse
from bayestopics.runs.result import Result
from bayestopics.studies.errors import errors_of
from bayestopics.studies.records import MissingRecords, of_kind

OURS = "single-site"  # tempering on z alone
TEMPERING = "tempering"
ESTIMATES = ("gibbs-em", "variational-em")
AD_HOC = ("gensim", "asuncion", "griffiths-steyvers")
TIMED = ("surface", "rivals")
GIBBS = ("gibbs-em", "gibbs-em-minka", "gibbs-em-doubling", "gibbs-em-doubling-minka")
EM = (*GIBBS, "variational-em")
STEPS = 20  # of Gibbs-EM, as many as the paper doubles its chains
CHOICES = (*ESTIMATES, *AD_HOC)

# George & Doss, tables 1 and 4: minutes of (tempering, Gibbs-EM, variational EM)
MINUTES = {
    "lda-8-d100": (90.55, 11.64, 0.34),
    "lda-8-d40": (45.87, 6.08, 0.12),
    "lda-8-d20": (31.35, 2.96, 0.04),
    "lda-4-d100": (49.75, 10.73, 0.19),
    "lda-4-d40": (25.71, 4.88, 0.08),
    "lda-4-d20": (16.72, 2.23, 0.04),
    "rec": (409.75, 7.72, 0.18),
    "autos-motorcycles": (195.90, 3.78, 0.10),
    "birds-of-prey": (287.97, 59.12, 1.20),
}
# George & Doss, table 3: scores divided by tempering's score, in the order of `CHOICES`
SCORES = {
    "med-christian-baseball": (6.78e-01, 4.83e-01, 3.54e-01, 1.11e00, 8.24e-04),
    "rec": (5.11e-01, 8.19e-01, 5.23e-01, 2.52e-02, 7.21e-05),
    "sci": (9.86e-01, 5.58e-01, 2.98e-01, 1.41e-01, 1.33e-02),
    "autos-motorcycles": (8.21e-01, 7.71e-01, 3.48e-01, 1.22e-01, 6.66e-02),
    "ibm-mac": (9.98e-01, 1.62e00, 4.58e-01, 1.61e-01, 9.36e-02),
    "cats": (2.48e00, 1.12e01, 7.31e-03, 5.71e-06, 6.57e-08),
    "felines": (4.39e-01, 7.82e00, 5.34e-03, 1.51e-10, 1.89e-14),
    "canis": (2.04e00, 6.40e-01, 9.90e-04, 1.77e-09, 3.29e-12),
    "birds-of-prey": (1.04e00, 1.75e-02, 2.17e-02, 7.04e-03, 5.56e-09),
}


# -- reading -------------------------------------------------------------------------------------------


def in_order(records: Iterable[Result]) -> list[Result]:
    """Surfaces in order: chains on z alone first, then by replicate."""
    return sorted(
        records, key=lambda r: (r.task.params["sampler"] != OURS, r.task.params["sampler"], r.task.params["replicate"])
    )


def best_of(record: Result) -> np.ndarray:
    """(alpha, eta) where M-hat is largest; for several chains, the mean over them."""
    return np.array([record.metrics["alpha"], record.metrics["eta"]])


def ellipse_of(record: Result, *names: str) -> Ellipse | None:
    """The first of these that the record has: "chains" or "ellipse" (Monte Carlo error), or "region" (h itself)."""
    table = record.tables["ellipses"].set_index("name")
    for name in names:
        if name in table.index:
            row = table.loc[name]
            across = row["log_covariance"]
            covariance = ((row["log_variance_alpha"], across), (across, row["log_variance_eta"]))
            center = (row["center_alpha"], row["center_eta"])
            return Ellipse(center, covariance, row["radius_squared"], row["level"])
    return None


def deviations(ellipse: Ellipse | None) -> np.ndarray:
    """The standard deviations of alpha and eta; nan if there is no ellipse."""
    return np.full(2, np.nan) if ellipse is None else ellipse.deviations


def grid_of(table: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(alphas, etas, values); the values are eta x alpha, as contour plots need them."""
    wide = table.pivot_table(index="eta", columns="alpha", values=column)
    return wide.columns.to_numpy(), wide.index.to_numpy(), wide.to_numpy()


def with_functionals(records: Iterable[Result]) -> list[Result]:
    return [record for record in in_order(of_kind(records, "surface")) if record.task.params["functionals"]]


def pairs(records: Iterable[Result]) -> list[tuple[Result, Result]]:
    """Pairs of chains with functionals that differ only in their seeds."""
    found = combinations(with_functionals(records), 2)
    return [(one, other) for one, other in found if _but_seed(one) == _but_seed(other)]


def _but_seed(record: Result) -> dict[str, Any]:
    return {key: value for key, value in record.task.params.items() if key != "replicate"}


def between_seeds(one: Result, other: Result) -> pd.DataFrame:
    """Columns hat and tilde: the root mean square difference over h between two chains; one row per functional."""
    parts = []
    for record in (one, other):
        table = record.tables["functional"].round({"alpha": 9, "eta": 9})
        parts.append(table.set_index(["name", "alpha", "eta"])[["hat", "tilde"]])
    apart = parts[0].sub(parts[1]).dropna()
    return np.sqrt(apart.pow(2).groupby("name", sort=False).mean())


# -- tables --------------------------------------------------------------------------------------------


def estimates_table(records: list[Result], errors: pd.DataFrame) -> pd.DataFrame:
    """One row per tempered chain: `error` is the Monte Carlo error, `deviation` the standard deviation of h itself."""
    rows = []
    for record in of_kind(records, "surface"):
        params, metrics = record.task.params, record.metrics
        known, own = errors_of(errors, record)["standard_error"], deviations(ellipse_of(record, "region"))
        row: dict[str, Any] = {key: params[key] for key in ("corpus", "topics", "sampler", "replicate", "sweeps")}
        for side, name in enumerate(("alpha", "eta")):
            row |= {name: metrics[name], f"{name}_error": known[name], f"{name}_deviation": own[side]}
            row |= {f"{what}_{name}": (params.get(what) or (np.nan, np.nan))[side] for what in ("paper", "truth")}
        keys = ("round_trips", "uniformity", "batch_correlation")
        rows.append(row | {key: metrics[key] for key in keys} | {"warnings": "; ".join(record.warnings)})
    return pd.DataFrame(rows)


def scores_of(record: Result, errors: pd.DataFrame) -> pd.DataFrame:
    """The columns log_score and standard_error, indexed by the choice of h."""
    scores, known = record.tables["scores"].set_index("choice")[["log_score"]], errors_of(errors, record)
    return scores.assign(standard_error=[known.loc[f"log S, {choice}", "standard_error"] for choice in scores.index])


def lead(record: Result, errors: pd.DataFrame, one: str, other: str) -> tuple[float, float]:
    """log S(one) - log S(other), and its standard error: Monte Carlo noise, and which documents were left out.

    All choices leave out the same documents, so what counts is how the differences vary from document to document. If n
    of D documents were left out, the variance of their mean has the factor 1 - n / D; it is zero for all documents.
    """
    scores = scores_of(record, errors)
    noise = np.hypot(*scores.loc[[one, other], "standard_error"])
    each = record.tables["documents"].pivot(index="document", columns="choice", values="log_likelihood")
    apart, of = each[one] - each[other], int(record.tables["scores"]["of_documents"].max())
    left = len(apart) / of
    drawn = np.sqrt((1 - left) * apart.var() / len(apart)) if left < 1 else 0.0
    return float(scores.loc[one, "log_score"] - scores.loc[other, "log_score"]), float(np.hypot(noise, drawn))


def score_ratios(record: Result, errors: pd.DataFrame) -> pd.DataFrame:
    """For each choice of h: log S(h) / S(tempering) and its error. S is the geometric mean over documents of the
    probability of a document given all others [George & Doss, section 5.2]."""
    rest = [choice for choice in record.tables["scores"]["choice"] if choice != TEMPERING]
    rows = [lead(record, errors, choice, TEMPERING) for choice in rest]
    return pd.DataFrame(rows, index=rest, columns=["log_ratio", "error"])


def scores_table(records: list[Result], errors: pd.DataFrame) -> pd.DataFrame:
    """One row per corpus: S(h) / S(tempering) for each choice, the error of its log, and the paper's ratio."""
    rows = []
    for record in of_kind(records, "score"):
        corpus, table = record.task.params["corpus"], score_ratios(record, errors)
        row: dict[str, Any] = {"corpus": corpus, "topics": record.task.params["topics"]}
        for name in ("documents", "of_documents"):
            row[name] = int(record.tables["scores"][name].max())
        papers = dict(zip(CHOICES, SCORES.get(corpus, ()), strict=False))
        for choice in CHOICES:
            if choice in table.index:
                row[choice] = float(np.exp(table.loc[choice, "log_ratio"]))
                row[f"{choice}_log_error"] = float(table.loc[choice, "error"])
            row[f"{choice}_paper"] = papers.get(choice, np.nan)
        rows.append(row)
    return pd.DataFrame(rows)


def times_table(records: list[Result]) -> pd.DataFrame:
    """One row per corpus and T: CPU seconds of each method (medians over the starts), beside the paper's minutes.

    Our seconds of tempering include everything: placing the grid, tuning, and all chains of the last run. Ratios
    compare one run of each method: `tempering_one` is the share of one chain.
    """
    rows = []
    models = [(r.task.params["corpus"], r.task.params["topics"], r) for r in records]
    for corpus, topics in dict.fromkeys((c, t) for c, t, r in models if r.task.params["kind"] in TIMED):
        here = [r for c, t, r in models if (c, t) == (corpus, topics)]
        row: dict[str, Any] = {"corpus": corpus, "topics": topics}
        if surfaces := in_order(of_kind(here, "surface")):
            row |= {key: surfaces[0].task.params[key] for key in ("chains", "sweeps")}
            row[TEMPERING] = surfaces[0].volatile["cpu_seconds"]
            row["tempering_one"] = row[TEMPERING] / row["chains"]
        if rivals := of_kind(here, "rivals"):
            seconds = rivals[0].tables["timing"].groupby("method")["seconds"].median()
            row |= {method: float(seconds[method]) for method in EM if method in seconds.index}
        row["tempering_to_gibbs-em"] = row.get("tempering_one", np.nan) / row.get("gibbs-em", np.nan)
        row["gibbs-em_to_variational-em"] = row.get("gibbs-em", np.nan) / row.get("variational-em", np.nan)
        for name, minutes in zip((TEMPERING, *ESTIMATES), MINUTES.get(corpus, ()), strict=False):
            row[f"{name}_paper_minutes"] = minutes
        rows.append(row)
    return pd.DataFrame(rows)


def way_table(records: list[Result]) -> pd.DataFrame:
    """One row per corpus with tempering and Gibbs-EM: for each kind of Gibbs-EM, the distance from the best h after
    `STEPS` steps over that at the start; and the share that noiseless EM would leave."""
    surfaces, rows = of_kind(records, "surface"), []
    for rivals in of_kind(records, "rivals"):
        params = rivals.task.params
        found = in_order(r for r in surfaces if r.task.corpus == rivals.task.corpus)
        if not found or found[0].task.params["topics"] != params["topics"]:
            continue
        row: dict[str, Any] = {key: params[key] for key in ("corpus", "topics")}
        for method in GIBBS:
            path = rivals.tables["path"]
            row[method] = _share_left(path[path["method"] == method], best_of(found[0]))
        row["rate"] = rivals.metrics.get("rate", np.nan)
        rows.append(row | {"exact step": row["rate"] ** STEPS})
    if not rows:
        raise MissingRecords(["tempering and its rivals on one corpus"])
    return pd.DataFrame(rows)


def _share_left(path: pd.DataFrame, best: np.ndarray) -> float:
    """The median over the starts; nan if no path has so many steps."""
    away = path.assign(away=np.linalg.norm(np.log(path[["alpha", "eta"]].to_numpy()) - np.log(best), axis=1))
    wide = away.pivot(index="start", columns="step", values="away")
    return float((wide[STEPS] / wide[0]).median()) if STEPS in wide else np.nan


def coverage_table(records: list[Result]) -> pd.DataFrame:
    """One row per corpus and kind of ellipse: how many ellipses cover the best h, with an exact 95 % interval."""
    rows = []
    for record in of_kind(records, "coverage"):
        params, metrics = record.task.params, record.metrics
        for kind, part in record.tables["chains"].groupby("kind", sort=False):
            covered, count = int(part["covers"].sum()), len(part)
            row = {key: params[key] for key in ("corpus", "topics", "sweeps")}
            row |= {"alpha": metrics["truth_alpha"], "eta": metrics["truth_eta"], "ellipses": kind, "of": count}
            # Clopper & Pearson
            low = beta.ppf(0.025, covered, count - covered + 1) if covered else 0.0
            high = beta.ppf(0.975, covered + 1, count - covered) if covered < count else 1.0
            rows.append(row | {"covered": covered / count, "from": float(low), "to": float(high)})
    return pd.DataFrame(rows)
