"""Study `number_of_topics`: the answers to claims T1 to T11 and T13 to T16.

At scales below `paper`, a smaller corpus drawn from the same model replaces the paper's simulated corpus; the answer
names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln, logsumexp
from scipy.stats import kendalltau

from bayestopics.corpus.registry import Entry
from bayestopics.runs.result import Result
from bayestopics.studies.claims import Answer, claim, verdict
from bayestopics.studies.errors import errors_of
from bayestopics.studies.number_of_topics.constants import SLIP
from bayestopics.studies.number_of_topics.tables import (
    YARDSTICK,
    constants_table,
    evidence_of,
    first_step,
    method_of,
    posteriors,
    running_mean,
    times_table,
    with_standard_errors,
)
from bayestopics.studies.records import MissingRecords, Records, of_kind, require

PAPER = "Chen & Doss"
SIMULATED = ("lda-20", "lda-20-short")  # the paper's corpus, and a smaller one that replaces it
REAL = ("whales", "birds-of-prey")
TOO_SHORT = "at this scale the chains are shorter than the paper's"
HALF = 0.5  # a running mean is "at" a number of topics if it is this near


# -- reading -----------------------------------------------------------------------------------------


def _walks(records: Records, corpus: str, sampler: str = "single-site", **params: int) -> list[Result]:
    """The PMMH chains of a corpus with these parameters."""
    wanted = {"corpus": corpus, "sampler": sampler, **params}
    found = of_kind(records.values(), "pmmh")
    found = [r for r in found if all(r.task.params.get(key) == value for key, value in wanted.items())]
    if not found:
        raise MissingRecords([corpus])
    return found


def _simulated(records: Records, kind: str = "pmmh") -> str:
    """The name of the simulated corpus that was run."""
    there = {record.task.corpus for record in of_kind(records.values(), kind)}
    found = [name for name in SIMULATED if name in there]
    if not found:
        raise MissingRecords([SIMULATED[0]])
    return found[0]


def _evidence(records: Records, corpus: str, method: str) -> Result:
    return _named(records, corpus, f"evidence-{method}")


def _log_evidence(records: Records, corpus: str, method: str) -> pd.Series:
    return evidence_of(_evidence(records, corpus, method))


def _named(records: Records, corpus: str, name: str) -> Result:
    """The record with this name; raises MissingRecords if there is none."""
    if f"{corpus}-{name}" not in records:
        raise MissingRecords([corpus])
    return records[f"{corpus}-{name}"]


def _has(table: pd.DataFrame, topics: int, corpus: str) -> None:
    if topics not in table.index:
        raise MissingRecords([f"T = {topics} on {corpus}"])


def _arrival(record: Result, topics: float) -> int | None:
    """The step after which the running mean of T stays within 0.5 of `topics`; None if it ends elsewhere."""
    away = np.flatnonzero(np.abs(running_mean(record.trace) - topics) > HALF)
    if not len(away):
        return 1
    return None if away[-1] == len(record.trace) - 1 else int(away[-1]) + 2


# -- saying ------------------------------------------------------------------------------------------


def _doubts(records: list[Result]) -> str:
    sds = [record.metrics["log_estimate_sd"] for record in records]
    rates = [record.metrics["acceptance_rate"] for record in records]
    scatter, accepted = _span("{:,.0f}", sds), _span("{:.2%}", rates)
    return f"log-estimates at the mode scatter by {scatter} nats; {accepted} of proposals accepted after burn-in"


def _span(form: str, values: list[float]) -> str:
    ends = dict.fromkeys((form.format(min(values)), form.format(max(values))))
    return " to ".join(ends)


def _said(step: int | None, steps: int) -> str:
    return f"after {step:,} steps" if step is not None else f"not within {steps:,} steps"


def _chains(records: Iterable[Result], **columns: list[Any]) -> pd.DataFrame:
    """The details of an answer: one row per chain."""
    keys = ("corpus", "sampler", "start", "inner", "iterations")
    rows = [{**{key: r.task.params.get(key) for key in keys}, **r.metrics} for r in records]
    return pd.DataFrame(rows).assign(**columns)


# -- PMMH on the simulated corpus --------------------------------------------------------------------


@claim(
    "T1",
    paper=PAPER,
    where="fig. 1",
    statement="Simulated corpus (T=20, V=100, D=2000, n_d=300, alpha=.1, eta=.5), PMMH from T0=30 with m=50, 75, 100: "
    "the running mean of T reaches 20 in under 4000 iterations and stays there; a larger m is a little faster.",
    rule="Two parts. (1) From T0 = 30 the running mean of every chain comes within 0.5 of 20 in under 4000 steps and "
    "stays there to the end. (2) With a larger m it gets there no later.",
)
def t1(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    corpus = _simulated(records)
    chains = sorted(_walks(records, corpus, start=30), key=lambda record: record.task.params["inner"])
    if len(chains) < 2:
        raise MissingRecords([f"chains of {corpus} with different m"])
    arrivals = [_arrival(record, 20) for record in chains]
    details = _chains(chains, running_mean_at_20_from_step=arrivals)
    there = [a for a in arrivals if a is not None]
    all_there = len(there) == len(chains)
    at = ", ".join("never" if a is None else f"{a:,}" for a in arrivals)
    ours = f"{corpus}: running mean stays at 20 from step {at} for m = {', '.join(str(m) for m in details['inner'])}"
    if not all_there and min(len(record.trace) for record in chains) < 4000:
        return Answer(ours, TOO_SHORT, "not comparable", details)
    parts = (all_there and max(there) < 4000, all_there and there == sorted(there, reverse=True))
    coupled = any("before" in record.task.params for record in chains)
    error = _doubts(chains) + coupled * "; the chains share estimates and luck"
    return Answer(ours, error, verdict(*parts), details)


@claim(
    "T2",
    paper=PAPER,
    where="fig. 1 bottom",
    statement="The same with V=3000 and m=50: PMMH converges, somewhat more slowly.",
    rule="Two parts. (1) On the corpus with 3000 terms the running mean comes within 0.5 of 20 and stays there. (2) It "
    "takes longer than with 100 terms.",
)
def t2(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    wide = _walks(records, "lda-20-wide", inner=50, start=30)
    narrow = _walks(records, "lda-20", inner=50, start=30)
    arrivals = [_arrival(chains[0], 20) for chains in (wide, narrow)]
    ours = f"3000 terms: running mean at 20 {_said(arrivals[0], len(wide[0].trace))}; 100 terms: "
    ours += _said(arrivals[1], len(narrow[0].trace))
    slower = None not in arrivals and arrivals[0] > arrivals[1]  # type: ignore[operator]
    return Answer(ours, _doubts(wide), verdict(arrivals[0] is not None, slower))


@claim(
    "T3",
    paper=PAPER,
    where="sec. 5.2",
    statement="From T0=200 the trace of T reaches 30 in 470 iterations.",
    rule="The chain from T0 = 200 is first at T = 30 after a number of steps within a factor of two of 470.",
)
def t3(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    chain = _walks(records, "lda-20", start=200)[0]
    step = first_step(chain.trace, 30)
    ours = f"T = 30 {_said(step, len(chain.trace))}; the last T is {chain.metrics['last_topics']:.0f}"
    return Answer(ours, _doubts([chain]), verdict(step is not None and 235 <= step <= 940))


@claim(
    "T4",
    paper=PAPER,
    where="sec. 5.2",
    statement="With the prior as importance distribution, the trace of T falls from 30 to 2 in under 100 iterations.",
    rule="Two parts, for the chain from T0 = 30 with the prior of z as importance distribution. (1) It reaches T = 2 "
    "in under 100 steps. (2) It stays there to the end.",
)
def t4(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    chain = _walks(records, _simulated(records), sampler="prior", start=30)[0]
    step = first_step(chain.trace, 2)
    stays = step is not None and step < len(chain.trace) and bool((chain.trace["topics"].iloc[step:] == 2).all())
    ours = f"{chain.task.corpus}: T = 2 {_said(step, len(chain.trace))}; the last T is "
    ours += f"{chain.metrics['last_topics']:.0f}"
    return Answer(ours, _doubts([chain]), verdict(step is not None and step < 100, stays))


# -- evidence on the simulated corpus ----------------------------------------------------------------


@claim(
    "T5",
    paper=PAPER,
    where="fig. 2",
    statement="The harmonic means HME-z and HME-psi are nearly equal, and both rise over T=3..60.",
    rule="Two parts. (1) Kendall's rank correlation between T and each harmonic mean is above 0.9. (2) The two differ "
    "by less than a tenth of the range of HME-z over T.",
)
def t5(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    corpus = _simulated(records, "evidence")
    z, psi = (_log_evidence(records, corpus, f"harmonic-{kind}") for kind in ("z", "psi"))
    rises = [float(kendalltau(values.index, values).statistic) for values in (z, psi)]
    apart, span = float((z - psi).abs().max()), float(np.ptp(z))
    yardstick = _log_evidence(records, corpus, YARDSTICK)
    ours = (
        f"{corpus}: rank correlation with T: {rises[0]:.2f} (z) and {rises[1]:.2f} (psi); the two differ by at most "
        f"{apart:,.0f} nats over a range of {span:,.0f} nats"
    )
    details = pd.DataFrame({"harmonic_z": z, "harmonic_psi": psi, "yardstick": yardstick}).reset_index()
    return Answer(ours, "one chain for each T", verdict(min(rises) > 0.9, apart < 0.1 * span), details)


@claim(
    "T6",
    paper=PAPER,
    where="fig. 2",
    statement="Chib's estimate peaks at T=18; its log ratio of T=18 to T=20 is 16732; T=20 is a local minimum.",
    rule="Three parts. (1) Chib's estimate is largest at T = 18. (2) Its log ratio of 18 to 20 is above 1000 nats, "
    "which would rule out the true T. (3) The estimate at T = 20 is below both neighbours.",
)
def t6(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    corpus = _simulated(records, "evidence")
    chib, yardstick = (_log_evidence(records, corpus, method) for method in ("chib", YARDSTICK))
    if not {18, 19, 20, 21} <= set(chib.index) & set(yardstick.index):
        raise MissingRecords([f"T = 18..21 on {corpus}"])
    ratio = float(chib[18] - chib[20])
    ours = (
        f"{corpus}: largest at T = {chib.idxmax()}; log ratio of 18 to 20 {ratio:+,.0f} nats (yardstick: "
        f"{yardstick[18] - yardstick[20]:+,.0f})"
    )
    # a chain that stays in one labelling misses a factor of T!, one for every order of the labels
    labelled = chib + gammaln(chib.index + 1)
    details = pd.DataFrame({"chib": chib, "chib_with_factorial": labelled, "yardstick": yardstick}).reset_index()
    parts = (chib.idxmax() == 18, ratio > 1000, bool(chib[20] < min(chib[19], chib[21])))
    return Answer(ours, "one chain for each T", verdict(*parts), details)


# -- the real corpora --------------------------------------------------------------------------------


@claim(
    "T7",
    paper=PAPER,
    where="table 2",
    statement="Posterior of T: T=5 has 96.35 % on R-1 (whales, alpha=.11, eta=.41), and T=7 has 97.22 % on R-2 (birds "
    "of prey, .11, .25).",
    rule="Two parts, one per corpus. In its second half, every PMMH chain spends more than half of its steps at the "
    "paper's T, whatever its start. The yardstick's evidence is shown beside it but not judged.",
    numbers={"topics": [5, 7]},
)
def t7(records: Records, entries: dict[str, Entry], numbers: dict[str, Any], errors: pd.DataFrame) -> Answer:
    parts, said, chains, rows = [], [], [], []
    for corpus, topics in zip(REAL, numbers["topics"], strict=True):
        walks = _walks(records, corpus, inner=50)
        parts.append(all(r.metrics["mode"] == topics and r.metrics["probability_of_mode"] > 0.5 for r in walks))
        chains += walks
        yardstick = _evidence(records, corpus, YARDSTICK)
        table = with_standard_errors(evidence_of(yardstick), errors, yardstick, "m")
        _has(table, topics, corpus)
        best = int(table["log_evidence"].idxmax())
        loss = float(table["log_evidence"][best] - table["log_evidence"][topics])
        keys = {"corpus": corpus, "paper": topics}
        rows.append({**keys, "by": "yardstick", "topics": best, "log_ratio_to_paper": loss})
        rows[-1]["error"] = float(np.hypot(table["standard_error"][best], table["standard_error"][topics]))
        slips = [r for r in of_kind(records.values(), "slip") if r.task.corpus == corpus]
        for name, group in (("PMMH", walks), (f"PMMH without {SLIP}", slips)):
            for r in group:
                row = {**keys, "by": name, "start": r.task.params["start"], "topics": int(r.metrics["mode"])}
                rows.append(row | {"share": r.metrics["probability_of_mode"]})
        modes = ", ".join(f"{r.metrics['mode']:.0f}" for r in walks)
        said.append(f"{corpus}: mode {modes} (PMMH), {best} (yardstick), {topics} (paper)")
    # a forgotten constant would give numbers near the paper's
    slipped = constants_table([_evidence(records, corpus, YARDSTICK) for corpus in REAL]).set_index("left out")
    for corpus, topics in zip(REAL, numbers["topics"], strict=True):
        best = int(slipped.loc[SLIP, corpus])
        rows.append({"corpus": corpus, "paper": topics, "by": f"yardstick without {SLIP}", "topics": best})
    return Answer("; ".join(said), _doubts(chains), verdict(*parts), pd.DataFrame(rows))


@claim(
    "T8",
    paper=PAPER,
    where="fig. 3",
    statement="The running mean of T reaches the mode in about 5000 (R-1) and 3000 (R-2) iterations.",
    rule="Two parts, one per corpus. In the chain from T0 = 30 the running mean comes within 0.5 of the paper's T, and "
    "stays there, in at most twice the paper's number of steps.",
    numbers={"topics": [5, 7], "steps": [5000, 3000]},
)
def t8(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    parts, said, short = [], [], False
    for corpus, topics, steps in zip(REAL, numbers["topics"], numbers["steps"], strict=True):
        chain = _walks(records, corpus, inner=50, start=30)[0]
        arrival = _arrival(chain, topics)
        short |= arrival is None and len(chain.trace) < steps
        parts.append(arrival is not None and arrival <= 2 * steps)
        mean = chain.metrics["running_mean"]
        said.append(f"{corpus}: at {topics} {_said(arrival, len(chain.trace))}, final running mean {mean:.1f}")
    if short:
        return Answer("; ".join(said), TOO_SHORT, "not comparable")
    return Answer("; ".join(said), "one chain for each corpus", verdict(*parts))


@claim(
    "T9",
    paper=PAPER,
    where="fig. 4",
    statement="Leave-one-out score over T=2..20: T=5 is nearly optimal for R-1, and T=7 is best for R-2.",
    rule="Two parts. (1) For whales, the log score at T = 5 is below the best by less than two standard errors of the "
    "difference. (2) For birds of prey, T = 7 has the best score.",
    numbers={"topics": [5, 7]},
)
def t9(records: Records, entries: dict[str, Entry], numbers: dict[str, Any], errors: pd.DataFrame) -> Answer:
    said, parts, scores = [], [], []
    for corpus, topics in zip(REAL, numbers["topics"], strict=True):
        record = _named(records, corpus, "leave-one-out")
        table = record.tables["scores"].set_index("topics")
        table["standard_error"] = with_standard_errors(table["log_score"], errors, record, "S")["standard_error"]
        _has(table, topics, corpus)
        best = table["log_score"].idxmax()
        loss = float(table["log_score"][best] - table["log_score"][topics])
        error = float(np.hypot(table["standard_error"][best], table["standard_error"][topics]))
        parts.append(loss < 2 * error if corpus == "whales" else best == topics)
        said.append(f"{corpus}: best T = {best} (the score of T = {topics} is {loss:.1f} +- {error:.1f} lower)")
        scores.append(table.reset_index().assign(corpus=corpus))
    doubt = "Monte Carlo errors, with the distance of the bounds of log L(d); same documents for every T"
    return Answer("; ".join(said), doubt, verdict(*parts), pd.concat(scores))


@claim(
    "T10",
    paper=PAPER,
    where="table 3",
    statement="Hours: PMMH (n=5000) with m=50, 75, 100 takes 22.7, 33.6, 44.5; Chib, HME-z and HME-psi take 22.7 each "
    "(the text says five times PMMH, the table says equal); PMMH (n=10000) takes 1.1 on R-1 and 1.2 on R-2; the "
    "leave-one-out score (PPC) takes 3.3 and 10.6.",
    rule="This is a comparison, not a claim to reproduce: hours of one core for the paper's work, from the seconds of "
    "our runs, scaled up to the paper's lengths. The verdict is always `not comparable`, because the machines differ.",
)
def t10(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    table = times_table(list(records.values()))
    if table.empty:
        raise MissingRecords([*SIMULATED[:1], *REAL])
    ratios = table["hours of the paper"] / table["hours"]
    ours = (
        f"{len(table)} pieces of the paper's work take {table['hours'].min():.2g} to {table['hours'].max():.2g} hours "
        f"here; the paper needed {ratios.min():.2g} to {ratios.max():.2g} times as long"
    )
    return Answer(ours, "CPU seconds of our runs, scaled to the same work", "not comparable", table)


@claim(
    "T11",
    paper=PAPER,
    where="sec. 4.3",
    statement="The normalised direct estimator has a large variance.",
    rule="On both real corpora, the most probable T by (4.11) differs between repeats, or its log-estimates scatter by "
    "more than 10 nats in the median over T.",
)
def t11(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    said, parts, rows = [], [], []
    for corpus in REAL:
        estimates = _evidence(records, corpus, "pseudo-marginal").tables["estimates"]
        modes = posteriors(estimates).idxmax(axis=1)
        scatter = float(estimates.groupby("topics")["log_estimate"].std().median())
        parts.append(modes.nunique() > 1 or scatter > 10)
        rows += [{"corpus": corpus, "topics": t, "repeats": n} for t, n in modes.value_counts().sort_index().items()]
        said.append(
            f"{corpus}: best T {modes.min()} to {modes.max()} over {len(modes)} repeats, scatter {scatter:.0f} nats"
        )
    return Answer("; ".join(said), "m = 50", verdict(*parts), pd.DataFrame(rows))


# -- small corpora -----------------------------------------------------------------------------------


@claim(
    "T13",
    paper=PAPER,
    where="sec. 1",
    statement="For a fixed m, the distribution of T does not converge to the posterior. (Because the estimates are "
    "unbiased, theory says that it does; exact enumeration decides, including m=1.)",
    rule="Reproduced if, for some m, the share of some T along a PMMH chain differs from the exact posterior by more "
    "than 4.5 standard errors (overall probability of a false alarm: 1e-4); not reproduced otherwise.",
)
def t13(records: Records, entries: dict[str, Entry], numbers: dict[str, Any], errors: pd.DataFrame) -> Answer:
    require(records, ["enumerable-exact"])
    record = records["enumerable-exact"]
    table: pd.DataFrame = record.tables["law"].copy()
    known = errors_of(errors, record)["standard_error"]
    quantities = [f"share of T = {row.topics}, m = {row.inner}" for row in table.itertuples()]
    table["error"] = known[quantities].to_numpy()
    table["score"] = (table["share"] - table["exact"]) / table["error"]
    apart = {m: float((t["share"] - t["exact"]).abs().max()) for m, t in table.groupby("inner")}
    ours = "largest error of a posterior probability: " + ", ".join(f"{d:.4f} (m = {m})" for m, d in apart.items())
    if not np.isfinite(score := float(table["score"].abs().max())):
        return Answer(ours, "the chains are too short: they never visited some T", "not comparable", table)
    error = f"the largest of {len(table)} differences is {score:.1f} standard errors"
    return Answer(ours, error, "reproduced" if score > 4.5 else "not reproduced", table)


@claim(
    "T14",
    paper=PAPER,
    where="sec. 5.2",
    statement="The empirical Bayes h in place of the true one makes no qualitative difference; with a more diffuse "
    "posterior, convergence is slower but still good.",
    rule="Three parts. (1) On the simulated corpus, the mode of every PMMH chain at the empirical Bayes h differs from "
    "the true T by at most one. (2) On the corpus with few documents, whose posterior of T is diffuse according to the "
    "yardstick (no T has more than 0.9), the running mean of every chain ends within 0.5 of the yardstick's posterior "
    "mean. (3) It gets there later than on the larger corpus of the same model.",
    numbers={"corpus": "lda-6", "few": "lda-6-few"},
)
def t14(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    corpus, few = numbers["corpus"], numbers["few"]
    empirical = [record for record in of_kind(records.values(), "empirical") if record.task.corpus == corpus]
    if not empirical:
        raise MissingRecords([corpus])
    truth = entries[corpus].generator["topics"]  # type: ignore[index]
    near = all(abs(r.metrics["mode"] - truth) <= 1 for r in empirical)
    table = _log_evidence(records, few, YARDSTICK)
    masses = np.exp(table - logsumexp(table))
    mean = float(masses @ table.index)
    diffuse, concentrated = _walks(records, few, inner=50), _walks(records, corpus, inner=50)
    arrivals = [_arrival(record, mean) for record in diffuse]
    others = [_arrival(record, truth) for record in concentrated]
    there = None not in arrivals
    slower = there and None not in others and np.mean(arrivals) > np.mean(others)  # type: ignore[arg-type]
    modes = ", ".join(f"{record.metrics['mode']:.0f}" for record in empirical)
    ends = ", ".join(f"{record.metrics['running_mean']:.2f}" for record in diffuse)
    ours = (
        f"{corpus} at the empirical h: mode {modes} (true T is {truth}); {few}: running means {ends} (posterior mean "
        f"by the yardstick {mean:.2f})"
    )
    details = _chains([*empirical, *diffuse, *concentrated], arrival=[*(None for _ in empirical), *arrivals, *others])
    if masses.max() > 0.9:
        return Answer(ours, "the posterior is not diffuse", "not comparable", details)
    return Answer(ours, _doubts([*empirical, *diffuse]), verdict(near, there, bool(slower)), details)


@claim(
    "T15",
    paper=PAPER,
    where="sec. 5.2",
    statement="Small corpora (T=6, D=300): PMMH is best, the leave-one-out score is reasonable but less accurate, and "
    "the harmonic means and Chib's estimate are very poor.",
    rule="Three parts. (1) On the small corpus, the mode of every PMMH chain differs from the true T by at most one. "
    "(2) The T with the best leave-one-out score differs from the true T by at most three, and by no less than PMMH's "
    "mode does. (3) The best T by Chib's estimate and by each harmonic mean differs from the true T by more than one.",
)
def t15(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    walks = _walks(records, "lda-6")
    modes = [int(record.metrics["mode"]) for record in walks]
    evidence = [record for record in of_kind(records.values(), "evidence") if record.task.corpus == "lda-6"]
    best = {method_of(record): int(record.metrics["best_topics"]) for record in evidence}
    names = ("chib", "harmonic-z", "harmonic-psi")
    require(records, [f"lda-6-evidence-{name}" for name in names])
    rivals = [best[name] for name in names]
    score = int(_named(records, "lda-6", "leave-one-out").metrics["best_topics"])
    ours = (
        f"best T (the truth is 6): PMMH {modes}, leave-one-out score {score}, Chib {rivals[0]}, harmonic means "
        f"{rivals[1]} and {rivals[2]}"
    )
    off = max(abs(mode - 6) for mode in modes)
    parts = (off <= 1, off <= abs(score - 6) <= 3, all(abs(value - 6) > 1 for value in rivals))
    found = [*(("PMMH", mode) for mode in modes), ("leave-one-out", score), *best.items()]
    return Answer(ours, _doubts(walks), verdict(*parts), pd.DataFrame(found, columns=["method", "topics"]))


@claim(
    "T16",
    paper=PAPER,
    where="sec. 5.3",
    statement="The L1 distances between topics are smaller for R-1 than for R-2.",
    rule="The mean L1 distance between pairs of topics is smaller for whales (T = 5) than for birds of prey (T = 7), "
    "by more than two standard errors.",
)
def t16(records: Records, entries: dict[str, Entry], numbers: dict[str, Any], errors: pd.DataFrame) -> Answer:
    found = [errors_of(errors, _named(records, corpus, "distances")).loc["distance"] for corpus in REAL]
    values, own = ([float(row[key]) for row in found] for key in ("estimate", "standard_error"))
    ours = f"mean distance {values[0]:.3f} (whales) and {values[1]:.3f} (birds of prey)"
    error = f"Monte Carlo errors {own[0]:.1g} and {own[1]:.1g}"
    return Answer(ours, error, verdict(values[1] - values[0] > 2 * float(np.hypot(own[0], own[1]))))
