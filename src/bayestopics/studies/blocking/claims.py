"""Study `blocking`: the answers to claims B1, B3, B4, B5 and T12."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact, mannwhitneyu

from bayestopics.corpus.registry import Entry
from bayestopics.runs.result import Result
from bayestopics.studies.blocking.tables import autocorrelation_times, seconds_a_sweep, trapped
from bayestopics.studies.claims import Answer, claim, verdict
from bayestopics.studies.records import MissingRecords, Records, by, of_kind

PAPER = "Zhang & Sisson"
LEVEL = 0.05  # of every test


def _chains(records: Records, corpus: str) -> dict[str, list[Result]]:
    """The corpus's chains by sampler."""
    found = [record for record in of_kind(records.values(), "chain") if record.task.corpus == corpus]
    if not found:
        raise MissingRecords([corpus])
    return by("sampler", found)


def _too_few(chains: dict[str, list[Result]], ours: str, details: pd.DataFrame) -> Answer | None:
    """With fewer than four runs per sampler, no rank test can tell the samplers apart."""
    if min(map(len, chains.values())) >= 4:
        return None
    return Answer(ours, "this scale has too few runs to tell the samplers apart", "not comparable", details)


def _smaller(first: list[Result], second: list[Result], metric: str) -> float:
    """One-sided p-value of the Mann-Whitney test: is the metric smaller in the first group of runs?"""
    values = [[record.metrics[metric] for record in group] for group in (first, second)]
    return float(mannwhitneyu(*values, alternative="less").pvalue)


def _median(runs: list[Result], metric: str) -> float:
    return float(np.median([record.metrics[metric] for record in runs]))


@claim(
    "B1",
    paper=PAPER,
    where="fig. 1",
    statement="Bars corpus (D=2000, V=25, T=10, 100 words per document, alpha=.1, eta=.01), 30 runs of 500 sweeps: "
    "5 of 30 runs are trapped for each collapsed sampler, 10 of 30 for data augmentation, which also has the worst "
    "perplexity.",
    rule="Two parts. (1) The numbers of trapped runs agree with the paper's (Fisher's exact test, each p > .05). A run "
    "is trapped if the mean log joint of its last tenth lies more than ten standard deviations (of the log joint "
    "within a chain) below that of the best run. (2) Both collapsed samplers reach a lower perplexity than data "
    "augmentation (Mann-Whitney test, one-sided, each p < .05).",
    numbers={"runs": 30, "trapped": {"single-site": 5, "blocked-nested": 5, "grouped": 10}},
)
def b1(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    chains = _chains(records, "bars")
    stuck = trapped([record for runs in chains.values() for record in runs])
    rows = []
    for sampler, said in numbers["trapped"].items():
        runs = chains[sampler]
        count = sum(stuck[record.task.name] for record in runs)
        table = [[count, len(runs) - count], [said, numbers["runs"] - said]]
        row = {"sampler": sampler, "runs": len(runs), "trapped": count, "trapped_in_paper": said}
        row |= {"p_trapped_as_in_paper": float(fisher_exact(table).pvalue), "perplexity": _median(runs, "perplexity")}
        if sampler != "grouped":
            row["p_perplexity_not_lower"] = _smaller(runs, chains["grouped"], "perplexity")
        rows.append(row)
    details = pd.DataFrame(rows)
    p_counts, p_order = details["p_trapped_as_in_paper"], details["p_perplexity_not_lower"]
    ours = "trapped runs: " + ", ".join(f"{row['sampler']} {row['trapped']}/{row['runs']}" for row in rows)
    ours += "; median perplexity " + ", ".join(f"{row['perplexity']:.3f}" for row in rows)
    if answer := _too_few(chains, ours, details):
        return answer
    error = f"same number trapped as in the paper: smallest p {p_counts.min():.2g}; order of perplexities: largest p "
    error += f"{p_order.max():.2g}"
    return Answer(ours, error, verdict(p_counts.min() > LEVEL, p_order.max() < LEVEL), details)


@claim(
    "B3",
    paper=PAPER,
    where="fig. 2",
    statement="KOS (T=32, 20 runs): the blocked sampler is no better in log posterior and a little better in "
    "perplexity.",
    rule="Two parts, for the last tenth of the runs. (1) The blocked sampler's log posterior is not higher "
    "(Mann-Whitney test, one-sided, p > .05). (2) Its perplexity is lower (p < .05).",
)
def b3(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    chains = _chains(records, "kos")
    single, blocked = chains["single-site"], chains["blocked-nested"]
    ours, details = _difference(single, blocked), _ends(single, blocked)
    if answer := _too_few(chains, ours, details):
        return answer
    p_joint, p_perplexity = _smaller(single, blocked, "log_joint"), _smaller(blocked, single, "perplexity")
    error = f"one-sided tests: higher log posterior p = {p_joint:.2g}, lower perplexity p = {p_perplexity:.2g}"
    return Answer(ours, error, verdict(p_joint > LEVEL, p_perplexity < LEVEL), details)


def _difference(single: list[Result], blocked: list[Result]) -> str:
    joint = _median(blocked, "log_joint") - _median(single, "log_joint")
    perplexity = [_median(runs, "perplexity") for runs in (blocked, single)]
    return (
        f"blocked compared with single-site: log posterior {joint:+,.0f} nats; perplexity {perplexity[0]:,.1f} "
        f"instead of {perplexity[1]:,.1f}"
    )


def _ends(single: list[Result], blocked: list[Result]) -> pd.DataFrame:
    rows = [
        {
            "sampler": runs[0].task.params["sampler"],
            "runs": len(runs),
            "sweeps": runs[0].task.params["sweeps"],
            "log_joint": _median(runs, "log_joint"),
            "perplexity": _median(runs, "perplexity"),
            "seconds_a_sweep": float(np.median([record.volatile["seconds_a_sweep"] for record in runs])),
        }
        for runs in (single, blocked)
    ]
    return pd.DataFrame(rows)


def sweeps_to_level(runs: list[Result], level: float) -> int | None:
    """The first sweep at which the median log joint over the runs reaches the level; None if it never does."""
    median = np.median([record.trace["log_joint"] for record in runs], axis=0)
    return int(np.argmax(median >= level)) + 1 if np.any(median >= level) else None


@claim(
    "B4",
    paper=PAPER,
    where="fig. 2",
    statement="NIPS (T=40, 10 runs): the blocked sampler reaches the high region several hundred iterations sooner, "
    "and it reaches a lower perplexity.",
    rule="Two parts. (1) The level is the lower of the two samplers' median log posteriors at the end. The blocked "
    "sampler's median trace reaches this level at least 200 sweeps (\"several hundred\") before single-site's median "
    "trace does. (2) Its perplexity at the end is lower (Mann-Whitney test, one-sided, p < .05).",
)
def b4(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    chains = _chains(records, "nips")
    single, blocked = chains["single-site"], chains["blocked-nested"]
    level = min(_median(single, "log_joint"), _median(blocked, "log_joint"))
    reached = [sweeps_to_level(runs, level) for runs in (single, blocked)]
    sooner = reached[0] - reached[1] if None not in reached else None  # type: ignore[operator]
    p = _smaller(blocked, single, "perplexity")
    details = _ends(single, blocked).assign(sweeps_to_level=reached)
    details["seconds_to_level"] = details["sweeps_to_level"] * details["seconds_a_sweep"]
    ours = f"the level is reached after {reached[0]} (single-site) and {reached[1]} (blocked) sweeps; median "
    ours += f"perplexity {_median(single, 'perplexity'):,.1f} and {_median(blocked, 'perplexity'):,.1f}"
    parts = (sooner is not None and sooner >= 200, p < LEVEL)
    return Answer(ours, f"one-sided test: lower perplexity p = {p:.2g}", verdict(*parts), details)


@claim(
    "B5",
    paper=PAPER,
    where="fig. 3",
    statement="Seconds per iteration for T=8..1024: on KOS single-site is over twice as fast as backward; on NIPS "
    "backward takes 25 % longer; at T=1024 nested saves 14.4 % (KOS) and 36.5 % (NIPS).",
    rule="Three parts, as ratios of seconds per sweep. (1) Backward over single-site on KOS is above 2 at every T. "
    "(2) Backward over single-site on NIPS is 1.25 +- .25 in the median over T. (3) Nested over single-site at the "
    "largest T is below 1 on both corpora. The ratios to `sparse` are reported but not judged, because the paper had "
    "no such sampler.",
)
def b5(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    names = [f"{corpus}-times" for corpus in ("kos", "nips")]
    if missing := [name for name in names if name not in records]:
        raise MissingRecords([name.removesuffix("-times") for name in missing])
    tables = [seconds_a_sweep(records[name]).xs(1, axis=1, level="threads") for name in names]
    ratios = [_ratios(table).assign(corpus=corpus) for table, corpus in zip(tables, ("kos", "nips"), strict=True)]
    kos, nips = ratios
    nested = [float(table["nested_to_single_site"].iloc[-1]) for table in ratios]
    ours = (
        f"times the seconds of single-site: backward at least {kos['backward_to_single_site'].min():.1f} (KOS), median "
        f"{nips['backward_to_single_site'].median():.1f} (NIPS); nested at T = {kos.index.max()} {nested[0]:.2f} and "
        f"{nested[1]:.2f}"
    )
    parts = (
        bool(kos["backward_to_single_site"].min() > 2),
        bool(abs(nips["backward_to_single_site"].median() - 1.25) <= 0.25),
        max(nested) < 1,
    )
    details = pd.concat(ratios).reset_index()
    return Answer(ours, "medians over rounds; the table of times shows their spread", verdict(*parts), details)


def _ratios(seconds: pd.DataFrame) -> pd.DataFrame:
    """Ratios of the seconds per sweep, for each number of topics."""
    columns = {
        "backward_to_single_site": seconds["blocked-backward"] / seconds["single-site"],
        "nested_to_single_site": seconds["blocked-nested"] / seconds["single-site"],
        "nested_to_sparse": seconds["blocked-nested"] / seconds["sparse"],
    }
    return pd.DataFrame(columns).sort_index()


@claim(
    "T12",
    paper="Chen & Doss",
    where="sec. 5.4",
    statement="The grouped sampler mixes more slowly than the collapsed one, but not by much; it can run in parallel.",
    rule="Two parts. (1) On whales, with the prior of Chen & Doss, the median autocorrelation time of the log joint is "
    "longer for the grouped sampler than for single-site, but at most three times as long. (2) On KOS a sweep of the "
    "grouped sampler is at least 1.5 times as fast with all threads as with one, in the median over T.",
)
def t12(records: Records, entries: dict[str, Entry], numbers: dict[str, Any], errors: pd.DataFrame) -> Answer:
    chains = _chains(records, "whales")
    everything = trapped([record for runs in chains.values() for record in runs])
    free = {s: [r for r in runs if not everything[r.task.name]] for s, runs in chains.items()}
    if "kos-times" not in records:
        raise MissingRecords(["kos"])
    if not all(free.values()):
        raise MissingRecords(["runs on whales that are not trapped"])
    rows = []
    for sampler, runs in free.items():
        times = autocorrelation_times(runs, "log_joint", errors)
        low, middle, high = np.quantile(times, [0.25, 0.5, 0.75])
        rows.append({"sampler": sampler, "runs": len(runs), "median": middle, "quartile": low, "upper_quartile": high})
    details = pd.DataFrame(rows)
    grouped, single = (float(details.set_index("sampler").loc[name, "median"]) for name in ("grouped", "single-site"))
    seconds = seconds_a_sweep(records["kos-times"])["grouped"]
    threads = seconds.columns.max()
    ratio, speedup = grouped / single, float((seconds[1] / seconds[threads]).median())
    ours = (
        f"whales: autocorrelation time {grouped:.0f} sweeps (grouped) and {single:.0f} (single-site), ratio "
        f"{ratio:.1f}; KOS: {speedup:.2f} times as fast with {threads} threads"
    )
    spread = ", ".join(f"{r['sampler']} {r['quartile']:.0f} to {r['upper_quartile']:.0f}" for r in rows)
    return Answer(
        ours, f"quartiles over runs: {spread}", verdict(1 < ratio <= 3, threads > 1 and speedup >= 1.5), details
    )
