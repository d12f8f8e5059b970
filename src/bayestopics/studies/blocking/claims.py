"""Study `blocking`: the answers to claims B1, B3, B4, B5 and T12. Each docstring is the rule of its verdict."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import fisher_exact, mannwhitneyu

from bayestopics.corpus.registry import Entry
from bayestopics.runs.result import Result
from bayestopics.studies.blocking.compute_times import seconds_a_sweep
from bayestopics.studies.blocking.figures import by, trapped
from bayestopics.studies.claims import Answer, MissingRecords, Records, verdict

LEVEL = 0.05  # of every test


def _chains(records: Records, corpus: str) -> dict[str, list[Result]]:
    """The corpus's chains by sampler."""
    found = [r for r in records.values() if r.task.corpus == corpus and "sampler" in r.task.params]
    if not found:
        raise MissingRecords([corpus])
    return by("sampler", found)


def _too_few(chains: dict[str, list[Result]], ours: str) -> Answer | None:
    """With fewer than four runs a sampler no rank test can tell them apart."""
    if min(map(len, chains.values())) >= 4:
        return None
    return Answer(ours, "too few runs at this scale to tell samplers apart", "not comparable")


def _smaller(first: list[Result], second: list[Result], metric: str) -> float:
    """One-sided p-value of Mann & Whitney's test: is the metric smaller in the first group of runs?"""
    values = [[record.metrics[metric] for record in group] for group in (first, second)]
    return float(mannwhitneyu(*values, alternative="less").pvalue)


def _median(runs: list[Result], metric: str) -> float:
    return float(np.median([record.metrics[metric] for record in runs]))


def claim_b1(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """B1: two parts. The numbers of trapped runs agree with the paper's (Fisher's exact test, each p > .05). Both
    collapsed samplers reach a lower perplexity than data augmentation (Mann & Whitney, one-sided, each p < .05)."""
    chains = _chains(records, "bars")
    stuck = trapped([record for runs in chains.values() for record in runs])
    counts = {sampler: sum(stuck[record.task.name] for record in runs) for sampler, runs in chains.items()}
    p_counts = []
    for sampler, said in numbers["trapped"].items():
        runs = len(chains[sampler])
        table = [[counts[sampler], runs - counts[sampler]], [said, numbers["runs"] - said]]
        p_counts.append(float(fisher_exact(table).pvalue))
    collapsed = ("single-site", "blocked-nested")
    p_order = [_smaller(chains[sampler], chains["grouped"], "perplexity") for sampler in collapsed]
    ours = "trapped: " + ", ".join(f"{s} {counts[s]}/{len(chains[s])}" for s in numbers["trapped"])
    ours += "; median perplexity: " + ", ".join(f"{s} {_median(chains[s], 'perplexity'):.3f}" for s in chains)
    if answer := _too_few(chains, ours):
        return answer
    error = "p (trapped as in the paper) " + ", ".join(f"{p:.2g}" for p in p_counts)
    error += "; p (perplexity not lower than grouped) " + ", ".join(f"{p:.2g}" for p in p_order)
    return Answer(ours, error, verdict(min(p_counts) > LEVEL, max(p_order) < LEVEL))


def claim_b3(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """B3: two parts, at the end of the runs. The blocked sampler's log posterior is not higher (Mann & Whitney,
    one-sided, p > .05). Its perplexity is lower (p < .05)."""
    chains = _chains(records, "kos")
    single, blocked = chains["single-site"], chains["blocked-nested"]
    if answer := _too_few(chains, _difference(single, blocked)):
        return answer
    p_joint, p_perplexity = _smaller(single, blocked, "log_joint"), _smaller(blocked, single, "perplexity")
    return Answer(
        _difference(single, blocked),
        f"p (log posterior not higher) {p_joint:.2g}; p (perplexity not lower) {p_perplexity:.2g}",
        verdict(p_joint > LEVEL, p_perplexity < LEVEL),
    )


def _difference(single: list[Result], blocked: list[Result]) -> str:
    joint = _median(blocked, "log_joint") - _median(single, "log_joint")
    perplexity = [_median(runs, "perplexity") for runs in (blocked, single)]
    return (
        f"after {len(single[0].trace)} sweeps, medians of {len(single)} and {len(blocked)} runs: log posterior blocked "
        f"minus single-site {joint:+,.0f} nats; perplexity {perplexity[0]:,.1f} against {perplexity[1]:,.1f}"
    )


def sweeps_to_level(runs: list[Result], level: float) -> int | None:
    """The first sweep at which the median log joint over the runs is at the level; None if it never is."""
    median = np.median([record.trace["log_joint"] for record in runs], axis=0)
    return int(np.argmax(median >= level)) + 1 if np.any(median >= level) else None


def claim_b4(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """B4: two parts. The level is the lower of the two samplers' median log posteriors at the end; the blocked
    sampler's median trace reaches it at least 200 sweeps before that of single-site ("several hundred"). Its
    perplexity at the end is lower (Mann & Whitney, one-sided, p < .05)."""
    chains = _chains(records, "nips")
    single, blocked = chains["single-site"], chains["blocked-nested"]
    level = min(_median(single, "log_joint"), _median(blocked, "log_joint"))
    reached = [sweeps_to_level(runs, level) for runs in (single, blocked)]
    sooner = reached[0] - reached[1] if None not in reached else None  # type: ignore[operator]
    seconds = [np.median([r.volatile["seconds_a_sweep"] for r in runs]) for runs in (single, blocked)]
    p = _smaller(blocked, single, "perplexity")
    ours = f"level reached after {reached[0]} (single-site) and {reached[1]} (blocked) sweeps; "
    if sooner is not None:
        spent = [sweeps * second for sweeps, second in zip(reached, seconds, strict=True)]
        ours += f"in seconds {spent[0]:.0f} and {spent[1]:.0f}; "
    ours += _difference(single, blocked)
    return Answer(ours, f"p (perplexity not lower) {p:.2g}", verdict(sooner is not None and sooner >= 200, p < LEVEL))


def claim_b5(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """B5: three parts, as ratios of seconds a sweep. Backward to single-site on KOS is over 2 at every T; backward to
    single-site on NIPS is 1.25 +- .25 in the median over T; nested to single-site at the largest T is below 1 on both
    corpora. The ratios to `sparse` are reported and not judged: the paper had no such sampler."""
    names = [f"{corpus}-times" for corpus in ("kos", "nips")]
    if missing := [name for name in names if name not in records]:
        raise MissingRecords([name.removesuffix("-times") for name in missing])
    kos, nips = (seconds_a_sweep(records[name]).xs(1, axis=1, level="threads") for name in names)
    slower = [table["blocked-backward"] / table["single-site"] for table in (kos, nips)]
    largest = kos.index.max()
    nested = [table["blocked-nested"][largest] / table["single-site"][largest] for table in (kos, nips)]
    sparse = [table["blocked-nested"][largest] / table["sparse"][largest] for table in (kos, nips)]
    ours = (
        f"backward / single-site: KOS {slower[0].min():.1f} to {slower[0].max():.1f}, NIPS {slower[1].min():.1f} to "
        f"{slower[1].max():.1f} over T = {kos.index.min()}..{largest}; nested / single-site at T = {largest}: KOS "
        f"{nested[0]:.2f}, NIPS {nested[1]:.2f}; nested / sparse: KOS {sparse[0]:.1f}, NIPS {sparse[1]:.1f}"
    )
    parts = (slower[0].min() > 2, abs(slower[1].median() - 1.25) <= 0.25, max(nested) < 1)
    return Answer(ours, "medians of rounds; see times.csv for their spread", verdict(*parts))


def claim_t12(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T12: two parts. On whales, with the prior of Chen & Doss, the median autocorrelation time of the log joint
    under the grouped sampler is above that of single-site and at most three times it. On KOS a sweep of the grouped
    sampler is at least 1.5 times as fast with all threads as with one, in the median over T."""
    chains = _chains(records, "whales")
    everything = trapped([record for runs in chains.values() for record in runs])
    free = {s: [r for r in runs if not everything[r.task.name]] for s, runs in chains.items()}
    if "kos-times" not in records:
        raise MissingRecords(["kos"])
    if not all(free.values()):
        raise MissingRecords(["runs on whales that are not trapped"])
    times = {s: _median(runs, "autocorrelation_log_joint") for s, runs in free.items()}
    seconds = seconds_a_sweep(records["kos-times"])["grouped"]
    threads = seconds.columns.max()
    ratio, speedup = times["grouped"] / times["single-site"], float((seconds[1] / seconds[threads]).median())
    ours = (
        f"whales: autocorrelation time of the log joint {times['grouped']:.0f} sweeps against "
        f"{times['single-site']:.0f}, ratio {ratio:.1f}; KOS: {speedup:.2f} times as fast with {threads} threads"
    )
    quartiles = {
        s: np.quantile([r.metrics["autocorrelation_log_joint"] for r in runs], [0.25, 0.75]) for s, runs in free.items()
    }
    error = "quartiles over runs: " + ", ".join(f"{s} {low:.0f} to {high:.0f}" for s, (low, high) in quartiles.items())
    return Answer(ours, error, verdict(1 < ratio <= 3, threads > 1 and speedup >= 1.5))
