"""Study `hyperparameters`: the answers to claims H1 to H6, H8, H9 and T17.

George & Doss write h = (eta, alpha); here it is (alpha, eta) everywhere. The distance between two h is measured on the
log scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.corpus.registry import Entry
from bayestopics.hyper.search import FLAT, TOO_FEW_TRIPS
from bayestopics.hyper.tempering import MISSED
from bayestopics.runs.result import Result
from bayestopics.studies.claims import Answer, claim, verdict
from bayestopics.studies.errors import errors_of
from bayestopics.studies.hyperparameters.errors import LARGEST
from bayestopics.studies.hyperparameters.tables import (
    AD_HOC,
    ESTIMATES,
    MINUTES,
    STEPS,
    best_of,
    between_seeds,
    deviations,
    ellipse_of,
    in_order,
    lead,
    pairs,
    score_ratios,
    times_table,
    with_functionals,
)
from bayestopics.studies.records import MissingRecords, Records, of_kind

PAPER = "George & Doss"
LARGE = "lda-50-large"
CATS = "cats"
CLOSE = "theta 7 and 8 within .07"
PAPERS = (CLOSE, "beta 1 and 2 distance")  # the functionals of figure 4
FIGURE_7 = ("lda-8-low-low", "lda-8-high-low", "lda-8-low-high", "lda-8-high-high")
GROWING = ("lda-8-low-low-d100", "lda-8-low-low", "lda-8-low-low-d1600")
SIX = ("lda-4-d20", "lda-4-d40", "lda-4-d100", "lda-8-d20", "lda-8-d40", "lda-8-d100")
NEWSGROUPS = ("med-christian-baseball", "rec", "sci", "autos-motorcycles", "ibm-mac")
WIKIPEDIA = ("cats", "felines", "canis", "birds-of-prey")
WORST = 1.35  # the worst of the paper's estimates is off by a factor of 1.32
GROUPS = {"newsgroups": NEWSGROUPS, "Wikipedia": WIKIPEDIA}


# -- reading -----------------------------------------------------------------------------------------


def _of(records: Records, kind: str, corpus: str, **params: Any) -> list[Result]:
    """The records of this kind and corpus with these parameters; raises MissingRecords if there are none."""
    wanted = {"corpus": corpus, **params}
    found = of_kind(records.values(), kind)
    found = [r for r in found if all(r.task.params.get(key) == value for key, value in wanted.items())]
    if not found:
        raise MissingRecords([corpus])
    return found


def _all(records: Records, kind: str, corpora: Iterable[str]) -> dict[str, Result]:
    """The first record of each corpus, with chains on z alone first; raises MissingRecords if a corpus has none."""
    found, missing = {}, []
    for corpus in corpora:
        try:
            there = _of(records, kind, corpus)
            found[corpus] = (in_order(there) if kind == "surface" else there)[0]
        except MissingRecords:
            missing.append(corpus)
    if missing:
        raise MissingRecords(missing)
    return found


def _doubt(record: Result) -> str:
    """Why the best h of this record is not known; empty if it is known."""
    if record.metrics["on_edge"]:
        return "the best h is on the edge of the grid"
    return _badly_explored([record])


def _badly_explored(records: Sequence[Result]) -> str:
    """The same as `_doubt` for a given range of h, whose edge does not matter."""
    trips = min(record.metrics["round_trips"] for record in records)
    if trips < TOO_FEW_TRIPS:
        return f"only {trips:.0f} round trips over the grid"
    least = min(record.metrics["uniformity"] for record in records)
    return f"a point of the grid has only {least:.0%} of an equal share of visits" if least < MISSED else ""


def _too_short(records: Iterable[Result]) -> str:
    """The first record whose best h is not known, and why; empty if all are known."""
    said = [f"{record.task.name}: {doubt}" for record in records if (doubt := _doubt(record))]
    return said[0] + (len(said) > 1) * f" (and {len(said) - 1} more runs)" if said else ""


def _estimate(record: Result, errors: pd.DataFrame) -> dict[str, Any]:
    """The details of an answer: the best h, its Monte Carlo errors, and the standard deviations of h itself."""
    params = record.task.params
    row: dict[str, Any] = {key: params[key] for key in ("corpus", "topics", "sampler")}
    known, own = errors_of(errors, record)["standard_error"], deviations(ellipse_of(record, "region"))
    for side, name in enumerate(("alpha", "eta")):
        row |= {name: best_of(record)[side], f"{name}_error": known[name], f"{name}_deviation": own[side]}
    return row | {"round_trips": record.metrics["round_trips"], "doubt": _doubt(record)}


def _pair(name: str, h: Any) -> dict[str, float]:
    return {f"{name}_alpha": float(h[0]), f"{name}_eta": float(h[1])}


def _h(h: Any) -> str:
    return f"({h[0]:.3g}, {h[1]:.3g})"


def _apart(h: np.ndarray, other: Any) -> np.ndarray:
    """The distance of each row (alpha, eta) from `other`, on the log scale."""
    return np.linalg.norm(np.log(np.atleast_2d(h)) - np.log(np.asarray(other)), axis=1)


def _judged(ours: str, error: str, short: str, parts: Iterable[bool], details: pd.DataFrame) -> Answer:
    """The answer; its verdict is "not comparable" if the chains were too short to decide."""
    if short:
        return Answer(ours, short, "not comparable", details)
    return Answer(ours, error, verdict(*(bool(part) for part in parts)), details)


# -- the iterative grid ------------------------------------------------------------------------------


@claim(
    "H1",
    paper=PAPER,
    where="fig. 2, 3",
    statement="D=1e5, (eta, alpha)=(.8, .2), T=50, V=500, n_d=80 in the text (the caption says 20, 100, 100): the "
    "iterative grid converges in about 18 steps, using 200 documents.",
    rule="Two parts. (1) The scheme settles, with its best h inside the grid, after a number of steps within a factor "
    "of 1.5 of the paper's. (2) It uses at most twice the paper's number of documents. Not comparable if it was "
    "stopped before it could settle.",
    numbers={"steps": 18, "documents": 200},
)
def h1(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    steps = sorted(_of(records, "step", LARGE), key=lambda record: record.task.params["number"])
    last = next((record for record in steps if record.metrics["settled"]), steps[-1])
    table = last.tables["steps"]
    count, documents, truth = len(table), int(table["documents"].iloc[-1]), last.task.params["truth"]
    settled = bool(last.metrics["settled"]) and not bool(table["on_edge"].iloc[-1])
    ours = (
        f"{'settled' if last.metrics['settled'] else 'not settled'} after {count} steps with {documents} documents, at "
        f"(alpha, eta) = {_h(best_of(last))}; the truth is {_h(truth)}"
    )
    stopped = not last.metrics["settled"] and count < 1.5 * numbers["steps"]
    short = "at this scale the scheme was stopped before it settled" if stopped else ""
    in_time = settled and numbers["steps"] / 1.5 <= count <= 1.5 * numbers["steps"]
    error = "one sequence of steps; settled means that h moved by less than the grid's spacing in three steps"
    return _judged(ours, error, short, (in_time, documents <= 2 * numbers["documents"]), table)


# -- posterior expectations --------------------------------------------------------------------------


@claim(
    "H2",
    paper=PAPER,
    where="fig. 4",
    statement="Cats: P(||theta_7-theta_8|| <= .07) and E||beta_1-beta_2|| vary considerably with h (the paper shows "
    "bands).",
    rule="Two parts, one per functional, for every run on Cats: no constant function fits in the 95 % band for all h "
    "at once, from long batches of several chains, and the largest I-hat is at least 1.25 times the smallest. The mean "
    "over all pairs of topics is shown but not judged. Not comparable if a chain explored its grid badly.",
)
def h2(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    chains = with_functionals(_of(records, "surface", CATS))
    if not chains:
        raise MissingRecords([CATS])
    rows = []
    for record in chains:
        for name, part in record.tables["functional"].groupby("name", sort=False):
            low, high = float(part["hat"].min()), float(part["hat"].max())
            row = {**_named(record), "functional": name, "smallest": low, "largest": high}
            row["half_band"] = float((part["upper"] - part["lower"]).max() / 2)
            row["half_band_paper"] = float(part["paper_half"].max())
            row["varies"] = bool(part["lower"].max() > part["upper"].min() and high >= 1.25 * low)
            rows.append(row)
    details = pd.DataFrame(rows)
    found = {name: details[details["functional"] == name] for name in PAPERS}
    said = [f"{name} from {part['smallest'].min():.3g} to {part['largest'].max():.3g}" for name, part in found.items()]
    parts = [len(part) > 0 and part["varies"].all() for part in found.values()]
    error = f"{len(chains)} runs; 95 % bands for all h at once, from long batches of "
    error += f"{chains[0].task.params['chains']} chains"
    return _judged("; ".join(said), error, _badly_explored(chains), parts, details)


def _named(record: Result) -> dict[str, Any]:
    return {"sampler": record.task.params["sampler"], "chain": record.task.params["replicate"] + 1}


@claim(
    "H3",
    paper=PAPER,
    where="fig. 5, 6",
    statement="I-hat varies far less between seeds than I-tilde.",
    rule="Two parts, for P(theta 7 and 8 within .07) on Cats, in every pair of chains that differ only in their seeds. "
    "(1) The root mean square difference over h is smaller for I-hat than for I-tilde. (2) It is less than half as "
    "large. Not comparable if a chain explored its grid badly.",
)
def h3(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    found = pairs(_of(records, "surface", CATS))
    tables = [between_seeds(*pair) for pair in found]
    if not tables or any(CLOSE not in table.index for table in tables):
        raise MissingRecords([f"two chains with functionals on {CATS}"])
    ratios = [float(table.loc[CLOSE, "hat"] / table.loc[CLOSE, "tilde"]) for table in tables]
    ours = f"between two seeds, I-hat differs {min(ratios):.2g} to {max(ratios):.2g} times as much as I-tilde"
    rows = [
        {**_named(one), "other_chain": _named(other)["chain"], "functional": name, **row}
        for (one, other), table in zip(found, tables, strict=True)
        for name, row in table.to_dict("index").items()
    ]
    short = _badly_explored([record for pair in found for record in pair])
    parts = (max(ratios) < 1, max(ratios) < 0.5)
    return _judged(ours, f"{len(found)} pairs of chains", short, parts, pd.DataFrame(rows))


# -- the best h --------------------------------------------------------------------------------------


@claim(
    "H4",
    paper=PAPER,
    where="fig. 7",
    statement="Four corpora (V=40, D=400, n_d=80, T=8) with true (eta, alpha) = (.25,.25), (.25,4), (4,.25), (4,4): "
    "the estimates are (.24,.24), (.19,4.2), (4.2,.27), (4.9,4.2), and the Monte Carlo standard errors are adequate "
    "everywhere.",
    rule="Two parts. (1) Each of the eight numbers is within a factor of 1.35 of the truth (the paper's worst is "
    "1.32). (2) At every h the standard error of M-hat is below a tenth of M-hat's largest value. The corpora are our "
    "own draws from the same model, so the paper's estimates are shown but not judged. If log M-hat changes by less "
    "than 0.5 nats over all alpha (or eta) of a grid, the corpus does not identify it; the answer says so and counts "
    "it as off. Otherwise not comparable if a best h is on the edge of its grid or a chain explored its grid badly: it "
    "made fewer than 5 round trips, or a point that matters has less than a twentieth of an equal share of visits.",
    numbers={  # (alpha, eta)
        "estimates": {
            "lda-8-low-low": [0.24, 0.24],
            "lda-8-high-low": [4.2, 0.19],
            "lda-8-low-high": [0.27, 4.2],
            "lda-8-high-high": [4.2, 4.9],
        }
    },
)
def h4(records: Records, entries: dict[str, Entry], numbers: dict[str, Any], errors: pd.DataFrame) -> Answer:
    rows, identified = [], []
    for corpus, record in _all(records, "surface", FIGURE_7).items():
        truth, region, surface = record.task.params["truth"], ellipse_of(record, "region"), record.tables["surface"]
        row = _estimate(record, errors) | _pair("truth", truth) | _pair("paper", numbers["estimates"][corpus])
        row["not_identified"] = _not_identified(surface)
        off = float(np.exp(np.abs(np.log(best_of(record) / truth)).max()))
        row["factor_off"] = np.inf if row["not_identified"] else off
        row["largest_error"] = errors_of(errors, record).loc[LARGEST, "standard_error"]
        row["region_covers_truth"] = region is not None and bool(region.covers(np.array(truth)))
        rows.append(row)
        identified += [] if row["not_identified"] else [record]
    details = pd.DataFrame(rows)
    unknown = [f"{row['corpus']} does not identify {row['not_identified']}" for row in rows if row["not_identified"]]
    known = details.loc[details["not_identified"] == "", "factor_off"]
    near = f"(alpha, eta) is off by a factor below {WORST} on {np.sum(known < WORST)} of 4 corpora"
    ours = f"{near}, and by at most {known.max():.3g}" if known.max() >= WORST else near
    ours += f"; {unknown[0]}" if unknown else ""
    error = f"standard error of M-hat at most {details['largest_error'].max():.1%} of its largest value; "
    error += f"{details['region_covers_truth'].sum()} of 4 regions for h cover the truth"
    parts = (details["factor_off"].max() < WORST, details["largest_error"].max() < 0.1)
    return _judged(ours, error, _too_short(identified), parts, details)


def _not_identified(surface: pd.DataFrame) -> str:
    """The parameter along which m(h) is flat; empty if there is none."""
    for name in ("alpha", "eta"):
        if np.ptp(surface.groupby(name)["log_m"].max()) < FLAT:
            return name
    return ""


@claim(
    "H4b",
    paper=PAPER,
    where="sec. 3",
    statement="With more documents the surfaces become sharper and the estimate approaches the truth.",
    rule="Two parts, for corpora of growing size with true h = (.25, .25). (1) With each larger corpus the standard "
    "deviations of alpha and of eta in the region for h get smaller. (2) The best h of the largest corpus is nearer to "
    "the truth than that of the smallest. Not comparable if a best h is on the edge of its grid or has no region, or "
    "if a chain explored its grid badly.",
)
def h4b(records: Records, entries: dict[str, Entry], numbers: dict[str, Any], errors: pd.DataFrame) -> Answer:
    there = {record.task.params["corpus"] for record in of_kind(records.values(), "surface")}
    if len(names := [name for name in GROWING if name in there]) < 2:
        raise MissingRecords(name for name in GROWING if name not in there)
    found = _all(records, "surface", names)
    details = pd.DataFrame([_estimate(record, errors) for record in found.values()])
    details["distance_to_truth"] = [
        float(_apart(best_of(record), record.task.params["truth"])[0]) for record in found.values()
    ]
    own, away = details[["alpha_deviation", "eta_deviation"]].to_numpy(), details["distance_to_truth"].to_numpy()
    ours = "smallest to largest corpus: standard deviations " + ", ".join(_h(sd) for sd in own)
    ours += "; distance to the truth " + ", ".join(f"{far:.2f}" for far in away)
    short = _too_short(found.values()) or ("a best h has no region" if np.isnan(own).any() else "")
    error = "there is one corpus of each size, so the distance may fall or rise by chance"
    return _judged(ours, error, short, ((np.diff(own, axis=0) < 0).all(), away[-1] < away[0]), details)


@claim(
    "H5",
    paper=PAPER,
    where="fig. 8",
    statement="Six corpora (V=20, n_d=80, T=4, 8, D=20, 40, 100) with (eta, alpha)=(.8,.2): variational EM is far off "
    "and depends on its start; Gibbs-EM is near but outside the 95 % ellipse; both improve with D; doubling the chain "
    "lengths does not help Gibbs-EM.",
    rule="Six parts. Gibbs-EM is the paper's (Minka's fixed point, last step), and distances are to the mean of "
    "tempering's chains. On every corpus (1) variational EM is off by more than a factor of 1.25 from every start, "
    "(2) its results from different starts lie more than a factor of 1.1 apart, (3) Gibbs-EM is nearer than "
    "variational EM on average, and (4) at most a tenth of Gibbs-EM's results lie in the 95 % ellipse. (5) Both are "
    "nearer with 100 documents than with 20, for both T. (6) With doubling chain lengths (up to a cap that the details "
    "name) more than half of Gibbs-EM's distance remains on average, and at most a tenth of the results lie in the "
    "ellipse. Not comparable without ellipses, or if tempering ends on an edge of its grid or explored it badly.",
)
def h5(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    surfaces, rivals = _all(records, "surface", SIX), _all(records, "rivals", SIX)
    table = pd.DataFrame([_distances(surface, rivals[name]) for name, surface in surfaces.items()]).set_index("corpus")
    short = _too_short(surfaces.values()) or ("a corpus has no ellipse" if table["gibbs_inside"].isna().any() else "")
    small, large = (table.loc[[f"lda-{topics}-d{size}" for topics in (4, 8)]] for size in (20, 100))
    sides = ["variational", "gibbs"]
    parts = (
        table["variational_nearest"].min() > np.log(1.25),
        table["variational_range"].min() > np.log(1.1),
        (table["gibbs"] < table["variational"]).all(),
        table["gibbs_inside"].max() <= 0.1,
        (large[sides].to_numpy() < small[sides].to_numpy()).all(),
        (table["doubling"] > table["gibbs"] / 2).all() and table["doubling_inside"].max() <= 0.1,
    )
    holds = ", ".join(f"({n}) {'yes' if part else 'no'}" for n, part in enumerate(parts, 1))
    ours = f"parts {holds}; mean distance: variational EM {table['variational'].mean():.2f}, Gibbs-EM "
    ours += f"{table['gibbs'].mean():.3f}, with doubling {table['doubling'].mean():.3f}"
    error = (
        f"distances in log h; the ellipse is tempering's Monte Carlo error; {STEPS} steps of EM without noise leave "
    )
    error += f"{table['left'].min():.0%} to {table['left'].max():.0%} of the way"
    return _judged(ours, error, short, parts, table.reset_index())


def _distances(surface: Result, rivals: Result) -> dict[str, Any]:
    """How far the rivals' results are from tempering on one corpus, and how many lie in its ellipse."""
    ellipse = ellipse_of(surface, "chains", "ellipse")
    h = best_of(surface) if ellipse is None else np.array(ellipse.center)
    row: dict[str, Any] = {key: surface.task.params[key] for key in ("corpus", "chains", "sweeps")}
    row["left"] = rivals.metrics.get("rate", np.nan) ** STEPS
    row["longest"] = rivals.task.params["methods"].get("gibbs-em-doubling-minka", {}).get("longest", np.nan)
    names = {"variational": "variational-em", "gibbs": "gibbs-em-minka", "doubling": "gibbs-em-doubling-minka"}
    names |= {"exact": "gibbs-em", "exact_doubling": "gibbs-em-doubling"}
    for name, method in names.items():
        ends = _ends(rivals, method)[["alpha", "eta"]].to_numpy()
        row[name], row[f"{name}_nearest"] = _apart(ends, h).mean(), np.abs(np.log(ends / h)).max(axis=1).min()
        row[f"{name}_range"] = float(np.ptp(np.log(ends), axis=0).max())
        row[f"{name}_inside"] = np.nan if ellipse is None else np.mean([ellipse.covers(end) for end in ends])
    ends = _ends(rivals, "gibbs-em")[["averaged_alpha", "averaged_eta"]].dropna().to_numpy()
    row["averaged_inside"] = np.mean([ellipse.covers(end) for end in ends]) if ellipse and len(ends) else np.nan
    return row


def _ends(record: Result, method: str) -> pd.DataFrame:
    ends = record.tables["ends"]
    part = ends[ends["method"] == method]
    if part.empty:
        raise MissingRecords([f"{method} on {record.task.params['corpus']}"])
    return part


@claim(
    "H6",
    paper=PAPER,
    where="table 1, 4",
    statement="Minutes of the three methods: on the corpora of table 1, tempering takes about 7 times as long as "
    "Gibbs-EM, and Gibbs-EM about 55 times as long as variational EM (in table 4, tempering takes 53, 52 and 4.9 times "
    "as long as Gibbs-EM).",
    rule="This is a comparison, not a claim to reproduce: the seconds of one run of each method and their ratios, "
    "beside the paper's, on the six simulated corpora and then on the nine of table 3. The verdict is always `not "
    "comparable`, because chain lengths, programs and machines differ.",
)
def h6(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    nine = (*NEWSGROUPS, *WIKIPEDIA)
    table = times_table([r for r in records.values() if r.task.corpus in (*SIX, *nine)])
    needed = ["tempering", "gibbs-em", "variational-em"]
    if not set(needed) <= set(table.columns) or (whole := table.dropna(subset=needed)).empty:
        raise MissingRecords(SIX)
    columns = {"tempering / Gibbs-EM": "tempering_to_gibbs-em", "Gibbs-EM / variational": "gibbs-em_to_variational-em"}
    ours = "median ratios of times; " + "; ".join(
        f"{name}: {', '.join(_ratios(whole, column, place, {'six': SIX, 'nine': nine}))}"
        for place, (name, column) in enumerate(columns.items())
    )
    error = "CPU seconds of one run; tempering includes its search and tuning; medians over the starts"
    return Answer(ours, error, "not comparable", whole)


def _ratios(table: pd.DataFrame, column: str, place: int, groups: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """The median ratio of times on each group of corpora, ours and the paper's."""
    for name, corpora in groups.items():
        here = table.loc[table["corpus"].isin(corpora), column]
        minutes = np.array([MINUTES[corpus] for corpus in corpora if corpus in MINUTES])
        paper = minutes[:, place] / minutes[:, place + 1]
        if len(here):
            yield f"{name} {here.median():,.2g} (paper {np.median(paper):.2g})"


@claim(
    "H8",
    paper=PAPER,
    where="table 3",
    statement="Scores of Gibbs-EM, variational EM and three ad-hoc choices relative to tempering on C-1..C-9 (T = 3, "
    "4, 4, 2, 2, 3, 4, 3, 8): the text says that every estimate beats every ad-hoc choice uniformly (the paper's own "
    "table has exceptions on C-1, C-2, C-9); tempering is best on the whole; ad-hoc choices lose more on Wikipedia "
    "than on newsgroups.",
    rule="Three parts. Errors contain Monte Carlo noise and which documents were left out, if not all were. (1) On "
    "every corpus, each of the three estimates beats each ad-hoc choice by more than two standard errors of the "
    "difference. (2) For Gibbs-EM and for variational EM, the mean over the corpora of the log "
    "ratio to tempering is below zero by more than two standard errors. (3) The mean log ratio of each ad-hoc choice "
    "is lower on the Wikipedia corpora than on the newsgroups. Not comparable if a Monte Carlo error is not known.",
)
def h8(records: Records, entries: dict[str, Entry], numbers: dict[str, Any], errors: pd.DataFrame) -> Answer:
    found = _all(records, "score", (*NEWSGROUPS, *WIKIPEDIA))
    beaten = 0
    for record in found.values():
        for one in ("tempering", *ESTIMATES):
            for other in AD_HOC:
                ahead, error_of_lead = lead(record, errors, one, other)
                beaten += ahead > 2 * error_of_lead
    of = len(found) * (1 + len(ESTIMATES)) * len(AD_HOC)
    ratios = pd.DataFrame({corpus: score_ratios(record, errors)["log_ratio"] for corpus, record in found.items()})
    joint = pd.DataFrame({corpus: score_ratios(record, errors)["error"] for corpus, record in found.items()})
    details = pd.DataFrame({"mean": ratios.mean(axis=1), "error": np.sqrt((joint**2).sum(axis=1)) / len(found)})
    for name, part in GROUPS.items():
        details[name] = ratios[list(part)].mean(axis=1)
    means = ", ".join(f"{name} {details['mean'][name]:+.2f} +- {details['error'][name]:.2f}" for name in ESTIMATES)
    ours = f"estimates beat ad-hoc choices in {beaten} of {of} cases; mean log ratios to tempering: {means}"
    short = "some Monte Carlo errors are not known" if joint.isna().any(axis=None) else ""
    better = all(details["mean"][name] < -2 * details["error"][name] for name in ESTIMATES)
    worse = (details.loc[list(AD_HOC), "Wikipedia"] < details.loc[list(AD_HOC), "newsgroups"]).all()
    fewest = min(int(record.tables["scores"]["documents"].max()) for record in found.values())
    error = f"errors of draws and of documents; at least {fewest} documents of each corpus are left out, the same for "
    error += "every h"
    return _judged(ours, error, short, (beaten == of, better, worse), details.reset_index())


@claim(
    "H9",
    paper=PAPER,
    where="sec. 2.4",
    statement="Tempering with the augmented and with the grouped kernel gives very similar results.",
    rule="Two parts, for every corpus with both samplers. (1) The best h of the two samplers differ by less than their "
    "joint Monte Carlo error at 95 %. (2) They differ by less than a tenth in alpha and in eta. Not comparable if a "
    "best h has no ellipse, has a Monte Carlo error above a tenth or is on an edge of its grid, or if a chain explored "
    "its grid badly.",
)
def h9(records: Records, entries: dict[str, Entry], numbers: dict[str, Any], errors: pd.DataFrame) -> Answer:
    by_name: dict[str, dict[str, Result]] = {}
    for record in in_order(of_kind(records.values(), "surface"))[::-1]:  # backwards: the first stays
        params = record.task.params
        by_name.setdefault(f"{params['corpus']}, T = {params['topics']}", {})[params["sampler"]] = record
    both = {name: samplers for name, samplers in sorted(by_name.items()) if {"augmented", "grouped"} <= set(samplers)}
    if not both:
        raise MissingRecords(["augmented and grouped on one corpus"])
    within, near, short, furthest = [], [], "", 0.0
    for name, samplers in both.items():
        one, other = samplers["augmented"], samplers["grouped"]
        ellipses = [ellipse_of(record, "chains", "ellipse") for record in (one, other)]
        known = [errors_of(errors, r)["standard_error"][["alpha", "eta"]] / best_of(r) for r in (one, other)]
        apart = np.log(best_of(one) / best_of(other))
        furthest = max(furthest, float(np.exp(np.abs(apart).max())))
        short = short or _too_short((one, other))
        if ellipses[0] is None or ellipses[1] is None or np.max(known) > 0.1:
            short = short or f"{name}: a Monte Carlo error is above a tenth or not known"
            continue
        joint = np.array(ellipses[0].log_covariance) + np.array(ellipses[1].log_covariance)
        most = max(ellipse.radius_squared for ellipse in ellipses if ellipse is not None)
        within.append(float(apart @ np.linalg.solve(joint, apart)) <= most)
        near.append(float(np.abs(apart).max()) < np.log(1.1))
    details = pd.DataFrame([_estimate(record, errors) for samplers in both.values() for record in samplers.values()])
    ours = f"{len(both)} models: the two samplers differ by a factor of at most {furthest:.3g}, within their joint "
    ours += f"error in {sum(within)} of {len(within)}"
    error = "the details list (alpha, eta) with Monte Carlo errors"
    return _judged(ours, error, short, (all(within), all(near)), details)


@claim(
    "T17",
    paper="Chen & Doss",
    where="table 1",
    statement="The empirical Bayes estimate of (alpha, eta) is (.11, .41) for R-1 and (.11, .25) for R-2 (here found "
    "by our own tempering).",
    rule="Two parts, one per corpus: alpha and eta are both within a tenth of the paper's values, plus .005 for "
    "rounding. (The corpora are the paper's; its Monte Carlo error is not known.) The details show how far log M-hat "
    "at the paper's h is below its maximum. Not comparable if a best h is on the edge of its grid or a chain "
    "explored its grid badly.",
    numbers={"estimates": {"whales": [5, 0.11, 0.41], "birds-of-prey": [7, 0.11, 0.25]}},  # T, alpha, eta
)
def t17(records: Records, entries: dict[str, Entry], numbers: dict[str, Any], errors: pd.DataFrame) -> Answer:
    said, parts, chains, rows = [], [], [], []
    for corpus, (topics, alpha, eta) in numbers["estimates"].items():
        record = in_order(_of(records, "surface", corpus, topics=topics))[0]
        h, paper = best_of(record), np.array([alpha, eta])
        parts.append(bool((np.abs(h - paper) <= 0.1 * paper + 0.005).all()))
        said.append(f"{corpus}, T = {topics}: {_h(h)} (paper: {_h(paper)})")
        rows.append(_estimate(record, errors) | _pair("paper", paper) | {"log_m_at_paper": _below(record, paper)})
        chains.append(record)
    error = "the numbers are (alpha, eta); the details list their Monte Carlo errors"
    return _judged("; ".join(said), error, _too_short(chains), parts, pd.DataFrame(rows))


def _below(record: Result, h: np.ndarray) -> float:
    """log M-hat, relative to its maximum, at the point of the surface nearest to h; nan if h is off the surface."""
    surface = record.tables["surface"]
    sides = surface[["alpha", "eta"]]
    if bool(((h < sides.min()) | (h > sides.max())).any()):
        return np.nan
    return float(surface["log_m"].iloc[int(np.argmin(_apart(sides.to_numpy(), h)))])
