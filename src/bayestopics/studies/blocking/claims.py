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
    """With fewer than four runs of a sampler no rank test can tell them apart."""
    if min(map(len, chains.values())) >= 4:
        return None
    return Answer(ours, "there are too few runs at this scale to tell samplers apart", "not comparable", details)


def _smaller(first: list[Result], second: list[Result], metric: str) -> float:
    """One-sided p-value of Mann & Whitney's test: is the metric smaller in the first group of runs?"""
    values = [[record.metrics[metric] for record in group] for group in (first, second)]
    return float(mannwhitneyu(*values, alternative="less").pvalue)


def _median(runs: list[Result], metric: str) -> float:
    return float(np.median([record.metrics[metric] for record in runs]))


@claim(
    "B1",
    paper=PAPER,
    where="fig. 1",
    statement="bars (D=2000, V=25, T=10, 100 words, alpha=.1, eta=.01), 30 runs x 500: trapped runs 5/30 for both "
    "collapsed samplers, 10/30 for data augmentation; perplexity order",
    rule="two parts. The numbers of trapped runs agree with the paper's (Fisher's exact test, each p > .05). A run is "
    "trapped if the mean log joint of its last tenth is more than ten standard deviations (of the log joint within a "
    "chain) below the best run's. Both collapsed samplers reach a lower perplexity than data augmentation (Mann & "
    "Whitney, one-sided, each p < .05)",
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
    error = f"smallest p that as many are trapped as in the paper {p_counts.min():.2g}; largest p of the order "
    error += f"{p_order.max():.2g}"
    return Answer(ours, error, verdict(p_counts.min() > LEVEL, p_order.max() < LEVEL), details)


@claim(
    "B3",
    paper=PAPER,
    where="fig. 2",
    statement="KOS (T=32, 20 runs): blocked no better in log posterior, a little better in perplexity",
    rule="two parts, in the last tenth of the runs. The blocked sampler's log posterior is not higher (Mann & "
    "Whitney, one-sided, p > .05). Its perplexity is lower (p < .05)",
)
def b3(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    chains = _chains(records, "kos")
    single, blocked = chains["single-site"], chains["blocked-nested"]
    ours, details = _difference(single, blocked), _ends(single, blocked)
    if answer := _too_few(chains, ours, details):
        return answer
    p_joint, p_perplexity = _smaller(single, blocked, "log_joint"), _smaller(blocked, single, "perplexity")
    error = f"p that the log posterior is not higher {p_joint:.2g}, that perplexity is not lower {p_perplexity:.2g}"
    return Answer(ours, error, verdict(p_joint > LEVEL, p_perplexity < LEVEL), details)


def _difference(single: list[Result], blocked: list[Result]) -> str:
    joint = _median(blocked, "log_joint") - _median(single, "log_joint")
    perplexity = [_median(runs, "perplexity") for runs in (blocked, single)]
    return (
        f"log posterior of blocked minus single-site {joint:+,.0f} nats; perplexity {perplexity[0]:,.1f} against "
        f"{perplexity[1]:,.1f}"
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
    """The first sweep at which the median log joint over the runs is at the level; None if it never is."""
    median = np.median([record.trace["log_joint"] for record in runs], axis=0)
    return int(np.argmax(median >= level)) + 1 if np.any(median >= level) else None


@claim(
    "B4",
    paper=PAPER,
    where="fig. 2",
    statement="NIPS (T=40, 10 runs): blocked reaches the high region several hundred iterations sooner, and a lower "
    "perplexity",
    rule="two parts. The level is the lower of the two samplers' median log posteriors at the end; the blocked "
    'sampler\'s median trace reaches it at least 200 sweeps before that of single-site ("several hundred"). Its '
    "perplexity at the end is lower (Mann & Whitney, one-sided, p < .05)",
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
    ours = f"level reached after {reached[0]} (single-site) and {reached[1]} (blocked) sweeps; median perplexity "
    ours += f"{_median(single, 'perplexity'):,.1f} and {_median(blocked, 'perplexity'):,.1f}"
    parts = (sooner is not None and sooner >= 200, p < LEVEL)
    return Answer(ours, f"p that perplexity is not lower {p:.2g}", verdict(*parts), details)


@claim(
    "B5",
    paper=PAPER,
    where="fig. 3",
    statement="seconds per iteration, T=8..1024: single-site over twice as fast as backward on KOS; backward +25 % on "
    "NIPS; nested saves 14.4 % (KOS) and 36.5 % (NIPS) at T=1024",
    rule="three parts, as ratios of seconds a sweep. Backward to single-site on KOS is over 2 at every T; backward to "
    "single-site on NIPS is 1.25 +- .25 in the median over T; nested to single-site at the largest T is below 1 on "
    "both corpora. The ratios to `sparse` are reported and not judged: the paper had no such sampler",
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
        f"backward to single-site: KOS at least {kos['backward_to_single_site'].min():.1f}, NIPS in the median "
        f"{nips['backward_to_single_site'].median():.1f}; nested at T = {kos.index.max()}: {nested[0]:.2f}, "
        f"{nested[1]:.2f}"
    )
    parts = (
        bool(kos["backward_to_single_site"].min() > 2),
        bool(abs(nips["backward_to_single_site"].median() - 1.25) <= 0.25),
        max(nested) < 1,
    )
    details = pd.concat(ratios).reset_index()
    return Answer(ours, "medians of rounds; the table of times has their spread", verdict(*parts), details)


def _ratios(seconds: pd.DataFrame) -> pd.DataFrame:
    """By the number of topics: seconds a sweep as ratios."""
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
    statement="the grouped sampler mixes more slowly than the collapsed one, but not by much; it parallelises",
    rule="two parts. On whales, with the prior of Chen & Doss, the median autocorrelation time of the log joint under "
    "the grouped sampler is above that of single-site and at most three times it. On KOS a sweep of the grouped "
    "sampler is at least 1.5 times as fast with all threads as with one, in the median over T",
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
        f"whales: autocorrelation time of the log joint {grouped:.0f} sweeps against {single:.0f}, ratio {ratio:.1f}; "
        f"KOS: {speedup:.2f} times as fast with {threads} threads"
    )
    spread = ", ".join(f"{r['sampler']} {r['quartile']:.0f} to {r['upper_quartile']:.0f}" for r in rows)
    return Answer(
        ours, f"quartiles over runs: {spread}", verdict(1 < ratio <= 3, threads > 1 and speedup >= 1.5), details
    )
