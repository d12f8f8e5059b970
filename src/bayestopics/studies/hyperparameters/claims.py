"""Study `hyperparameters`: answers to claims H1 to H6, H8, H9 and T17. Each docstring is the rule of its verdict.

George & Doss write h = (eta, alpha); here it is (alpha, eta) everywhere. Distances between two h are of their logs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.corpus.registry import Entry
from bayestopics.hyper.search import FLAT, TOO_FEW_TRIPS
from bayestopics.runs.result import Result
from bayestopics.studies.claims import Answer, MissingRecords, Records, verdict
from bayestopics.studies.hyperparameters.tables import (
    AD_HOC,
    ESTIMATES,
    OURS,
    best_of,
    between_seeds,
    deviations,
    ellipse_of,
    in_order,
    of_kind,
    pairs,
    score_ratios,
    times_table,
    with_functionals,
)

LARGE = "lda-50-large"
CATS = "cats"
CLOSE = "theta 7 and 8 within .07"
PAPERS = (CLOSE, "beta 1 and 2 distance")  # the functionals of figure 4
FIGURE_7 = ("lda-8-low-low", "lda-8-high-low", "lda-8-low-high", "lda-8-high-high")
GROWING = ("lda-8-low-low-d100", "lda-8-low-low", "lda-8-low-low-d1600")
SIX = ("lda-4-d20", "lda-4-d40", "lda-4-d100", "lda-8-d20", "lda-8-d40", "lda-8-d100")
NEWSGROUPS = ("med-christian-baseball", "rec", "sci", "autos-motorcycles", "ibm-mac")
WIKIPEDIA = ("cats", "felines", "canis", "birds-of-prey")
GROUPS = {"newsgroups": NEWSGROUPS, "Wikipedia": WIKIPEDIA}


def _of(records: Records, kind: str, corpus: str, **params: Any) -> list[Result]:
    """The records of this kind and corpus with these parameters, or that the corpus is missing."""
    wanted = {"corpus": corpus, **params}
    found = of_kind(records.values(), kind)
    found = [r for r in found if all(r.task.params.get(key) == value for key, value in wanted.items())]
    if not found:
        raise MissingRecords([corpus])
    return found


def _all(records: Records, kind: str, corpora: Iterable[str]) -> dict[str, Result]:
    """The first record of each corpus, those on z alone before others; or all corpora that are missing."""
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


def _too_short(records: Iterable[Result]) -> str:
    """Why the best h of some of these is not known; empty if that of all is."""
    said = []
    for record in records:
        if record.metrics["on_edge"]:
            said.append(f"{record.task.name}: the best h is on the edge of the grid")
        elif record.metrics["round_trips"] < TOO_FEW_TRIPS:
            said.append(f"{record.task.name}: {record.metrics['round_trips']:.0f} round trips over the grid")
    return "; ".join(said)


def _h(h: Any) -> str:
    return f"({h[0]:.3g}, {h[1]:.3g})"


def _with_error(record: Result) -> str:
    """The best (alpha, eta) +- Monte Carlo error."""
    h, errors = best_of(record), deviations(ellipse_of(record, "chains", "ellipse"))
    return f"({h[0]:.3g} +- {errors[0]:.1g}, {h[1]:.3g} +- {errors[1]:.1g})"


def _apart(h: np.ndarray, other: Any) -> np.ndarray:
    """Distances of the logs of (alpha, eta), one a row."""
    return np.linalg.norm(np.log(np.atleast_2d(h)) - np.log(np.asarray(other)), axis=1)


def claim_h1(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """H1: two parts. The scheme settles, with its best h inside the grid, within a factor of 1.5 of the paper's number
    of steps. It uses at most twice the paper's number of documents. Not comparable if it was stopped before."""
    steps = sorted(_of(records, "step", LARGE), key=lambda record: record.task.params["number"])
    last = next((record for record in steps if record.metrics["settled"]), steps[-1])
    table = last.tables["steps"]
    count, documents, truth = len(table), int(table["documents"].iloc[-1]), last.task.params["truth"]
    settled = bool(last.metrics["settled"]) and not bool(table["on_edge"].iloc[-1])
    ours = (
        f"{'settled' if last.metrics['settled'] else 'not settled'} after {count} steps, {documents} documents, at "
        f"(alpha, eta) = {_h(best_of(last))}; truth {_h(truth)}"
    )
    error = "one sequence of steps; settled: h moved by less than the grid's spacing in three steps"
    if not last.metrics["settled"] and count < 1.5 * numbers["steps"]:
        return Answer(ours, f"{error}; stopped at this scale before it settled", "not comparable")
    in_time = settled and numbers["steps"] / 1.5 <= count <= 1.5 * numbers["steps"]
    return Answer(ours, error, verdict(in_time, documents <= 2 * numbers["documents"]))


def claim_h2(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """H2: two parts, one a functional, on every chain on Cats: no constant fits in the 95 % band that holds for all h
    at once, and the largest I-hat is at least 1.25 times the smallest. The mean over all pairs of topics is shown, not
    judged. Not comparable if a chain made too few round trips."""
    chains = with_functionals(_of(records, "surface", CATS))
    if not chains:
        raise MissingRecords([CATS])
    found: dict[str, list[bool]] = {name: [] for name in PAPERS}
    said = []
    for record in chains:
        for name, part in record.tables["functional"].groupby("name", sort=False):
            low, high = part["hat"].min(), part["hat"].max()
            half = float((part["upper"] - part["lower"]).max() / 2)
            said.append(f"{_chain(record)}: {name} {low:.3g} to {high:.3g} (band +- {half:.1g})")
            if name in found:
                found[str(name)].append(part["lower"].max() > part["upper"].min() and high >= 1.25 * low)
    error = f"{len(chains)} chains; globally valid 95 % bands from batches"
    if short := _few_trips(chains):
        return Answer("; ".join(said), f"{error}; {short}", "not comparable")
    return Answer("; ".join(said), error, verdict(*(bool(holds) and all(holds) for holds in found.values())))


def _chain(record: Result) -> str:
    return f"{record.task.params['sampler']} {record.task.params['replicate'] + 1}"


def _few_trips(records: Iterable[Result]) -> str:
    """As `_too_short`, where the range of h is given and its edge does not matter."""
    trips = min(record.metrics["round_trips"] for record in records)
    return f"only {trips:.0f} round trips over the grid" if trips < TOO_FEW_TRIPS else ""


def claim_h3(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """H3: two parts, for P(theta 7 and 8 within .07) on Cats, in every pair of chains that differ by their seeds. The
    root mean square difference over h of I-hat is below that of I-tilde. It is below half of it. Not comparable if a
    chain made too few round trips."""
    found = pairs(_of(records, "surface", CATS))
    tables = [between_seeds(*pair) for pair in found]
    if not tables or any(CLOSE not in table.index for table in tables):
        raise MissingRecords([f"two chains with functionals on {CATS}"])
    said = [
        f"{_chain(pair[0])} and {_chain(pair[1])}: {name}: I-hat {row['hat']:.2g}, I-tilde {row['tilde']:.2g}"
        for pair, table in zip(found, tables, strict=True)
        for name, row in table.iterrows()
    ]
    ours, error = "root mean square differences: " + "; ".join(said), f"{len(found)} pairs of chains"
    if short := _few_trips(record for pair in found for record in pair):
        return Answer(ours, f"{error}; {short}", "not comparable")
    ratios = [float(table.loc[CLOSE, "hat"] / table.loc[CLOSE, "tilde"]) for table in tables]
    return Answer(ours, error, verdict(max(ratios) < 1, max(ratios) < 0.5))


def claim_h4(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """H4: two parts. Each of the eight numbers is within a factor of 1.35 of the truth (the paper's furthest: 1.32).
    The standard error of M-hat is below a tenth of M-hat's largest value at every h. The corpora are our own draws of
    the same law: the paper's estimates are shown, not judged. Where log M-hat changes by less than 0.5 nats over all
    alpha (or eta) of a grid, the corpus does not identify it: that is said, and counts as off. Else not comparable if a
    best h is on the edge of its grid or a chain made too few round trips."""
    found, said, off, errors, covered, identified = _all(records, "surface", FIGURE_7), [], [], [], 0, []
    for corpus, record in found.items():
        truth, region, surface = record.task.params["truth"], ellipse_of(record, "region"), record.tables["surface"]
        off.append(float(np.abs(np.log(best_of(record) / truth)).max()))
        errors.append(float((surface["error"] * np.exp(surface["log_m"])).max()))
        covered += region is not None and region.covers(np.array(truth))
        said.append(f"{_with_error(record)}, truth {_h(truth)}, paper {_h(numbers['estimates'][corpus])}")
        if unknown := _not_identified(surface):
            said[-1] += f" ({corpus} does not identify {unknown})"
            off[-1] = np.inf
        else:
            identified.append(record)
    ours = "(alpha, eta): " + "; ".join(said) + f"; {covered} of 4 regions for h cover the truth"
    largest = max(float(record.tables["surface"]["error"].max()) for record in found.values())
    error = (
        f"+- Monte Carlo; standard error of M-hat at most {max(errors):.1%} of its largest value, {largest:.0%} of its "
        "own value"
    )
    if short := _too_short(identified):
        return Answer(ours, f"{error}; {short}", "not comparable")
    return Answer(ours, error, verdict(max(off) < np.log(1.35), max(errors) < 0.1))


def _not_identified(surface: pd.DataFrame) -> str:
    """The side along which m(h) is flat, with its ends; empty if there is none."""
    for name in ("alpha", "eta"):
        tops = surface.groupby(name)["log_m"].max()
        if np.ptp(tops) < FLAT:
            return (
                f"{name}: log M-hat changes by {np.ptp(tops):.2g} nats from {name} = {tops.index.min():.3g} to "
                f"{tops.index.max():.3g}"
            )
    return ""


def claim_h4b(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """H4b: two parts. With each larger corpus of the law (.25, .25) the standard deviations of alpha and of eta in the
    region for h get smaller. The best h of the largest is nearer to the truth than that of the smallest. Not
    comparable if a best h is on the edge of its grid, has no region, or a chain made too few round trips."""
    there = {record.task.params["corpus"] for record in of_kind(records.values(), "surface")}
    if len(names := [name for name in GROWING if name in there]) < 2:
        raise MissingRecords(name for name in GROWING if name not in there)
    found = _all(records, "surface", names)
    own = np.array([deviations(ellipse_of(record, "region")) for record in found.values()])
    away = [float(_apart(best_of(record), record.task.params["truth"])[0]) for record in found.values()]
    ours = "; ".join(
        f"{name}: {_h(best_of(record))}, sd of h {_h(sd)}, {far:.2f} from the truth"
        for (name, record), sd, far in zip(found.items(), own, away, strict=True)
    )
    error = "one corpus a size: the distance may fall or rise by chance"
    short = _too_short(found.values()) or ("no region for h" if np.isnan(own).any() else "")
    if short:
        return Answer(ours, f"{error}; {short}", "not comparable")
    return Answer(ours, error, verdict(bool((np.diff(own, axis=0) < 0).all()), away[-1] < away[0]))


def _ends(record: Result, method: str) -> pd.DataFrame:
    ends = record.tables["ends"]
    part = ends[ends["method"] == method]
    if part.empty:
        raise MissingRecords([f"{method} on {record.task.params['corpus']}"])
    return part


def claim_h5(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """H5: six parts; Gibbs-EM is the paper's (Minka's fixed point, last step), distances are to the mean of tempering's
    chains. On every corpus (1) variational EM is off by more than a factor of 1.25 from every start, (2) its ends lie
    more than a factor of 1.1 apart, (3) Gibbs-EM is nearer than variational EM on average, and (4) at most a tenth of
    its ends is in the 95 % ellipse. (5) Both are nearer with 100 documents than with 20, for both T. (6) With doubling
    chains over half of the distance stays on average, and at most a tenth of the ends is in the ellipse. Not comparable
    without ellipses, or if tempering is on an edge or made too few round trips."""
    surfaces, rivals = _all(records, "surface", SIX), _all(records, "rivals", SIX)
    rows = []
    for corpus, surface in surfaces.items():
        ellipse = ellipse_of(surface, "chains", "ellipse")
        h = best_of(surface) if ellipse is None else np.array(ellipse.center)
        row: dict[str, Any] = {"corpus": corpus}
        names = {"variational": "variational-em", "gibbs": "gibbs-em-minka", "doubling": "gibbs-em-doubling"}
        for name, method in names.items():
            ends = _ends(rivals[corpus], method)[["alpha", "eta"]].to_numpy()
            row[name], row[f"{name}_nearest"] = _apart(ends, h).mean(), np.abs(np.log(ends / h)).max(axis=1).min()
            row[f"{name}_range"] = float(np.ptp(np.log(ends), axis=0).max())
            row[f"{name}_inside"] = np.nan if ellipse is None else np.mean([ellipse.covers(end) for end in ends])
        ends = _ends(rivals[corpus], "gibbs-em")[["averaged_alpha", "averaged_eta"]].dropna().to_numpy()
        row["averaged_inside"] = np.mean([ellipse.covers(end) for end in ends]) if ellipse and len(ends) else np.nan
        rows.append(row)
    table = pd.DataFrame(rows).set_index("corpus")
    ours = "; ".join(
        f"{corpus}: distance of variational EM {row['variational']:.2f} (ends {row['variational_range']:.2f} apart), "
        f"Gibbs-EM {row['gibbs']:.3f} ({row['gibbs_inside']:.0%} in the ellipse), doubling {row['doubling']:.3f} "
        f"({row['doubling_inside']:.0%}), averaged over its last steps {row['averaged_inside']:.0%} in the ellipse"
        for corpus, row in table.iterrows()
    )
    here = surfaces[SIX[0]].task.params
    there = rivals[SIX[0]].task.params["methods"]["gibbs-em-minka"]["sweeps"]
    error = (
        "in logs of (alpha, eta); the ellipse is Monte Carlo error of tempering alone, not of Gibbs-EM's last step; "
        f"tempering {here['chains']} x {here['sweeps']} sweeps (paper 10 x 100000), Gibbs-EM {there} a step "
        "(paper 10000)"
    )
    short = _too_short(surfaces.values()) or ("no ellipse" if table["gibbs_inside"].isna().any() else "")
    if short:
        return Answer(ours, f"{error}; {short}", "not comparable")
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
    return Answer(f"{holds}. {ours}", error, verdict(*(bool(part) for part in parts)))


def claim_h6(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """H6: not a claim to be reproduced but a comparison: seconds of our runs, and their ratios, beside the paper's;
    never a verdict but `not comparable`, for lengths, programs and machines differ."""
    table = times_table([r for r in records.values() if r.task.corpus in (*SIX, *NEWSGROUPS, *WIKIPEDIA)])
    columns = ("tempering", "gibbs-em", "variational-em")
    if not set(columns) <= set(table.columns) or (whole := table.dropna(subset=list(columns))).empty:
        raise MissingRecords(SIX)
    said = []
    for row in whole.to_dict("records"):
        said.append(
            f"{row['corpus']}: {row['tempering']:,.0f} s ({row['chains']:.0f} chains), {row['gibbs-em']:,.3g} s, "
            f"{row['variational-em']:,.3g} s"
        )
        if not np.isnan(row.get("tempering_paper_minutes", np.nan)):
            minutes = [f"{row[f'{name}_paper_minutes']:g}" for name in columns]
            said[-1] += f" (paper {', '.join(minutes)} min)"
    ratios = [float(whole[name].median()) for name in ("tempering_to_gibbs-em", "gibbs-em_to_variational-em")]
    ours = (
        f"tempering to Gibbs-EM {ratios[0]:,.2g}, Gibbs-EM to variational EM {ratios[1]:,.2g} (medians; paper "
        f"{numbers['ratios'][0]} and {numbers['ratios'][1]}). " + "; ".join(said)
    )
    return Answer(ours, "CPU seconds, of tempering with search and tuning; medians over the starts", "not comparable")


def claim_h8(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """H8: three parts. On every corpus each of the three estimates beats each ad-hoc choice by more than two standard
    errors of the difference. The mean over the corpora of the log ratio to tempering is below zero by more than two
    standard errors, for Gibbs-EM and for variational EM. The mean log ratio of each ad-hoc choice is lower on the
    Wikipedia corpora than on the newsgroups. Not comparable if a Monte Carlo error is not known."""
    found = _all(records, "score", (*NEWSGROUPS, *WIKIPEDIA))
    beaten = 0
    for record in found.values():
        table = record.tables["scores"].set_index("choice")
        rest = table.loc[list(AD_HOC)]
        for _, row in table.loc[["tempering", *ESTIMATES]].iterrows():
            error_of_lead = np.hypot(row["standard_error"], rest["standard_error"])
            beaten += int((row["log_score"] - rest["log_score"] > 2 * error_of_lead).sum())
    of = len(found) * (1 + len(ESTIMATES)) * len(AD_HOC)
    ratios = pd.DataFrame({corpus: score_ratios(record)["log_ratio"] for corpus, record in found.items()})
    errors = pd.DataFrame({corpus: score_ratios(record)["error"] for corpus, record in found.items()})
    means = ratios.mean(axis=1)
    mean_errors = np.sqrt((errors**2).sum(axis=1)) / len(found)
    groups = pd.DataFrame({name: ratios[list(part)].mean(axis=1) for name, part in GROUPS.items()})
    said = [f"estimates beat ad-hoc choices in {beaten} of {of} cases; mean log ratios to tempering"]
    said += [f"{name} {means[name]:+.2f} +- {mean_errors[name]:.2f}" for name in ESTIMATES]
    said += [f"{n} {groups.loc[n, 'newsgroups']:+.1f} (newsgroups), {groups.loc[n, 'Wikipedia']:+.1f}" for n in AD_HOC]
    better = all(means[name] < -2 * mean_errors[name] for name in ESTIMATES)
    worse = bool((groups.loc[list(AD_HOC), "Wikipedia"] < groups.loc[list(AD_HOC), "newsgroups"]).all())
    fewest = min(int(record.tables["scores"]["documents"].max()) for record in found.values())
    error = f"Monte Carlo errors; at least {fewest} documents left out a corpus, the same for every h"
    if errors.isna().any(axis=None):
        return Answer("; ".join(said), "some Monte Carlo errors are not known", "not comparable")
    return Answer("; ".join(said), error, verdict(beaten == of, better, worse))


def claim_h9(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """H9: two parts, on every corpus with both. The best h by the augmented and by the grouped sampler differ by less
    than their joint Monte Carlo error at 95 %. They differ by less than a tenth in alpha and in eta. Not comparable if
    a best h has no ellipse, a Monte Carlo error above a tenth, or is on an edge, or with too few round trips."""
    by_name: dict[str, dict[str, Result]] = {}
    for record in in_order(of_kind(records.values(), "surface"))[::-1]:  # so that the first replicate stays
        params = record.task.params
        by_name.setdefault(f"{params['corpus']}, T = {params['topics']}", {})[params["sampler"]] = record
    both = {name: samplers for name, samplers in sorted(by_name.items()) if {"augmented", "grouped"} <= set(samplers)}
    if not both:
        raise MissingRecords(["augmented and grouped on one corpus"])
    said, within, near, short = [], [], [], []
    for name, samplers in both.items():
        one, other = samplers["augmented"], samplers["grouped"]
        said.append(f"{name}: augmented {_with_error(one)}, grouped {_with_error(other)}")
        if OURS in samplers:
            said[-1] += f", z alone {_with_error(samplers[OURS])}"
        ellipses = [ellipse_of(record, "chains", "ellipse") for record in (one, other)]
        errors = [deviations(ellipse) / best_of(record) for ellipse, record in zip(ellipses, (one, other), strict=True)]
        short += [_too_short((one, other))] if _too_short((one, other)) else []
        if ellipses[0] is None or ellipses[1] is None or np.max(errors) > 0.1:
            short.append(f"{name}: Monte Carlo errors above a tenth, or not known")
            continue
        apart = np.log(best_of(one) / best_of(other))
        joint = np.array(ellipses[0].log_covariance) + np.array(ellipses[1].log_covariance)
        most = max(ellipse.radius_squared for ellipse in ellipses if ellipse is not None)
        within.append(float(apart @ np.linalg.solve(joint, apart)) <= most)
        near.append(float(np.abs(np.log(best_of(one) / best_of(other))).max()) < np.log(1.1))
    if short:
        return Answer("; ".join(said), "; ".join(short), "not comparable")
    return Answer("; ".join(said), "(alpha, eta) +- Monte Carlo", verdict(all(within), all(near)))


def claim_t17(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T17: two parts, one a corpus: alpha and eta are both within a tenth, plus the rounding of .005, of the paper's
    (whose Monte Carlo error is not known; the corpora are the paper's). How far log M-hat at the paper's h is below its
    top is shown. Not comparable if a best h is on the edge of its grid or a chain made too few round trips."""
    said, parts, chains = [], [], []
    for corpus, (topics, alpha, eta) in numbers["estimates"].items():
        record = in_order(_of(records, "surface", corpus, topics=topics))[0]
        h, paper = best_of(record), np.array([alpha, eta])
        parts.append(bool((np.abs(h - paper) <= 0.1 * paper + 0.005).all()))
        own = deviations(ellipse_of(record, "region"))
        said.append(
            f"{corpus}, T = {topics}: {_with_error(record)}, sd of h itself {_h(own)}, paper {_h(paper)}, where log "
            f"M-hat is {_below(record, paper)}"
        )
        chains.append(record)
    if short := _too_short(chains):
        return Answer("; ".join(said), short, "not comparable")
    return Answer("; ".join(said), "(alpha, eta) +- Monte Carlo", verdict(*parts))


def _below(record: Result, h: np.ndarray) -> str:
    """How far log M-hat at the nearest point of the surface to h is below its top."""
    surface = record.tables["surface"]
    sides = surface[["alpha", "eta"]]
    if bool(((h < sides.min()) | (h > sides.max())).any()):
        return f"off the surface, whose lowest is {surface['log_m'].min():,.1f} nats"
    nearest = int(np.argmin(_apart(sides.to_numpy(), h)))
    return f"{surface['log_m'].iloc[nearest]:,.1f} nats"
