"""Study `number_of_topics`: answers to claims T1 to T11 and T13 to T16. Each docstring is the rule of its verdict.

At scales below `paper` a smaller corpus of the same law stands for the paper's simulated one; the answer names it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln, logsumexp
from scipy.stats import kendalltau

from bayestopics.corpus.registry import Entry
from bayestopics.predict.leave_one_out import TOO_LOW
from bayestopics.runs.result import Result
from bayestopics.studies.claims import Answer, MissingRecords, Records, require, verdict
from bayestopics.studies.number_of_topics.compute_evidence import posteriors
from bayestopics.studies.number_of_topics.compute_pmmh import first_step, running_mean
from bayestopics.studies.number_of_topics.figures import YARDSTICK, constants_table, evidence_of, method_of
from bayestopics.studies.number_of_topics.times import hours

SIMULATED = ("lda-20", "lda-20-short")  # the paper's, and a smaller one in its place
REAL = ("whales", "birds-of-prey")
SLIP = "G(V eta)^T"
TOO_SHORT = "chains are shorter than the paper's at this scale"
HALF = 0.5  # a running mean so near is "at" a number of topics


def _walks(records: Records, corpus: str, sampler: str = "single-site", **params: int) -> list[Result]:
    """The PMMH chains of a corpus with these parameters."""
    wanted = {"kind": "pmmh", "corpus": corpus, "sampler": sampler, **params}
    found = [r for r in records.values() if all(r.task.params.get(key) == value for key, value in wanted.items())]
    if not found:
        raise MissingRecords([corpus])
    return found


def _simulated(records: Records, kind: str = "pmmh") -> str:
    """The name of the simulated corpus that was run."""
    there = {r.task.corpus for r in records.values() if r.task.params["kind"] == kind}
    found = [name for name in SIMULATED if name in there]
    if not found:
        raise MissingRecords([SIMULATED[0]])
    return found[0]


def _evidence(records: Records, corpus: str, method: str) -> Result:
    return _named(records, corpus, f"evidence-{method}")


def _named(records: Records, corpus: str, name: str) -> Result:
    """The record, or that the corpus is missing."""
    if f"{corpus}-{name}" not in records:
        raise MissingRecords([corpus])
    return records[f"{corpus}-{name}"]


def _has(table: pd.DataFrame, topics: int, corpus: str) -> None:
    if topics not in table.index:
        raise MissingRecords([f"T = {topics} on {corpus}"])


def _arrival(record: Result, topics: float) -> int | None:
    """The step from which the running mean of T stays within a half of `topics`; None if it is not there at the end."""
    away = np.flatnonzero(np.abs(running_mean(record.trace) - topics) > HALF)
    if not len(away):
        return 1
    return None if away[-1] == len(record.trace) - 1 else int(away[-1]) + 2


def _doubts(records: list[Result]) -> str:
    sds = [record.metrics["log_estimate_sd"] for record in records]
    rates = [record.metrics["acceptance_rate"] for record in records]
    return (
        f"log-estimates at the mode scatter by {min(sds):,.0f} to {max(sds):,.0f} nats; accepted "
        f"{min(rates):.2%} to {max(rates):.2%} in the second half"
    )


def _said(step: int | None, steps: int) -> str:
    return f"after {step:,} steps" if step is not None else f"not in {steps:,} steps"


def claim_t1(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T1: two parts. From T0 = 30 the running mean of every chain comes within 0.5 of 20 in under 4000 steps and stays
    to the end. It comes there no later with a larger m."""
    corpus = _simulated(records)
    chains = sorted(_walks(records, corpus, start=30), key=lambda record: record.task.params["inner"])
    if len(chains) < 2:
        raise MissingRecords([f"chains of {corpus} with different m"])
    arrivals = [_arrival(record, 20) for record in chains]
    lists = [
        f"m = {r.task.params['inner']}: {_said(a, len(r.trace))}, last T {r.metrics['last_topics']:.0f}"
        for r, a in zip(chains, arrivals, strict=True)
    ]
    there = [a for a in arrivals if a is not None]
    all_there, ours = len(there) == len(chains), f"{corpus}: running mean at 20 " + "; ".join(lists)
    if not all_there and min(len(record.trace) for record in chains) < 4000:
        return Answer(ours, TOO_SHORT, "not comparable")
    parts = (all_there and max(there) < 4000, all_there and there == sorted(there, reverse=True))
    coupled = any("before" in record.task.params for record in chains)
    return Answer(ours, _doubts(chains) + coupled * "; the chains share estimates, and so their luck", verdict(*parts))


def claim_t2(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T2: two parts. On the corpus with 3000 terms the running mean comes within 0.5 of 20 and stays. It takes longer
    than with 100 terms."""
    wide = _walks(records, "lda-20-wide", inner=50, start=30)
    narrow = _walks(records, "lda-20", inner=50, start=30)
    arrivals = [_arrival(chains[0], 20) for chains in (wide, narrow)]
    ours = f"running mean at 20 {_said(arrivals[0], len(wide[0].trace))}, with 100 terms "
    ours += _said(arrivals[1], len(narrow[0].trace))
    slower = None not in arrivals and arrivals[0] > arrivals[1]  # type: ignore[operator]
    return Answer(ours, _doubts(wide), verdict(arrivals[0] is not None, slower))


def claim_t3(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T3: the first step at T = 30 of the chain from T0 = 200 is within a factor of two of 470."""
    chain = _walks(records, "lda-20", start=200)[0]
    step = first_step(chain.trace, 30)
    ours = f"T = 30 {_said(step, len(chain.trace))}; last T {chain.metrics['last_topics']:.0f}"
    return Answer(ours, _doubts([chain]), verdict(step is not None and 235 <= step <= 940))


def claim_t4(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T4: two parts, for the chain from T0 = 30 with the prior of z as importance distribution. It comes to T = 2 in
    under 100 steps. It stays there to the end."""
    chain = _walks(records, _simulated(records), sampler="prior", start=30)[0]
    step = first_step(chain.trace, 2)
    stays = step is not None and step < len(chain.trace) and bool((chain.trace["topics"].iloc[step:] == 2).all())
    ours = f"{chain.task.corpus}: T = 2 {_said(step, len(chain.trace))}; last T {chain.metrics['last_topics']:.0f}"
    return Answer(ours, _doubts([chain]), verdict(step is not None and step < 100, stays))


def claim_t5(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T5: two parts. Kendall's rank correlation of T and each harmonic mean is above 0.9. The two differ by less than a
    tenth of their range over T."""
    corpus = _simulated(records, "evidence")
    z, psi = (evidence_of(_evidence(records, corpus, f"harmonic-{kind}"))["log_evidence"] for kind in ("z", "psi"))
    rises = [float(kendalltau(values.index, values).statistic) for values in (z, psi)]
    apart, span = float((z - psi).abs().max()), float(np.ptp(z))
    best = evidence_of(_evidence(records, corpus, YARDSTICK))["log_evidence"].idxmax()
    ours = (
        f"{corpus}, T = {z.index.min()}..{z.index.max()}: rank correlation with T {rises[0]:.2f} (z), {rises[1]:.2f} "
        f"(psi); they differ by {apart:,.0f} nats at most and range over {span:,.0f}; yardstick's best T {best}"
    )
    return Answer(ours, "one chain a T", verdict(min(rises) > 0.9, apart < 0.1 * span))


def claim_t6(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T6: three parts. Chib's estimate is largest at T = 18. Its log ratio of 18 to 20 is over 1000 nats, so that the
    true T is ruled out. T = 20 is below both of its neighbours."""
    corpus = _simulated(records, "evidence")
    chib = evidence_of(_evidence(records, corpus, "chib"))["log_evidence"]
    yardstick = evidence_of(_evidence(records, corpus, YARDSTICK))["log_evidence"]
    if not {18, 19, 20, 21} <= set(chib.index) & set(yardstick.index):
        raise MissingRecords([f"T = 18..21 on {corpus}"])
    ratio = float(chib[18] - chib[20])
    ours = (
        f"{corpus}: largest at T = {chib.idxmax()}; log ratio of 18 to 20 {ratio:+,.0f} nats (yardstick "
        f"{yardstick[18] - yardstick[20]:+,.0f}); with T! for a chain that keeps to one labelling largest at T = "
        f"{(chib + gammaln(chib.index + 1)).idxmax()}"
    )
    parts = (chib.idxmax() == 18, ratio > 1000, bool(chib[20] < min(chib[19], chib[21])))
    return Answer(ours, "one chain a T", verdict(*parts))


def claim_t7(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T7: two parts, one a corpus. Every PMMH chain, whatever its start, gives the paper's T over half of its mass in
    the second half. The yardstick's evidence is shown beside, and not judged."""
    parts, said, chains = [], [], []
    for corpus, topics in zip(REAL, numbers["topics"], strict=True):
        walks = _walks(records, corpus, inner=50)
        parts.append(all(r.metrics["mode"] == topics and r.metrics["probability_of_mode"] > 0.5 for r in walks))
        ends = ", ".join(f"from {r.task.params['start']}: T = {r.metrics['mode']:.0f}" for r in walks)
        table = evidence_of(_evidence(records, corpus, YARDSTICK))
        _has(table, topics, corpus)
        best = table["log_evidence"].idxmax()
        loss = table["log_evidence"][best] - table["log_evidence"][topics]
        said.append(
            f"{corpus}: PMMH {ends}; by the yardstick log m({best}) - log m({topics}) = {loss:,.0f} nats (errors "
            f"{table['standard_error'][best]:.0f}, {table['standard_error'][topics]:.0f})"
        )
        chains += walks
    said += _slips(records)
    return Answer("; ".join(said), _doubts(chains), verdict(*parts))


def _slips(records: Records) -> list[str]:
    """What a forgotten constant would do: it comes near the paper's numbers."""
    table = constants_table([_evidence(records, corpus, YARDSTICK) for corpus in REAL]).set_index("left out")[
        list(REAL)
    ]
    best = " and ".join(map(str, table.loc[SLIP]))
    said = [f"if the factor {SLIP} of p(w, z | T) were left out, the yardstick's best T would be {best}"]
    chains = [r for r in records.values() if r.task.params["kind"] == "slip"]
    ends = ", ".join(f"{r.task.corpus} from {r.task.params['start']}: T = {r.metrics['mode']:.0f}" for r in chains)
    return [*said, f"PMMH without it: {ends}"] if chains else said


def claim_t8(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T8: two parts, one a corpus: in the chain from T0 = 30 the running mean comes within 0.5 of the paper's T, and
    stays, in at most twice the paper's number of steps."""
    parts, said, short = [], [], False
    for corpus, topics, steps in zip(REAL, numbers["topics"], numbers["steps"], strict=True):
        chain = _walks(records, corpus, inner=50, start=30)[0]
        arrival = _arrival(chain, topics)
        short |= arrival is None and len(chain.trace) < steps
        parts.append(arrival is not None and arrival <= 2 * steps)
        mean = chain.metrics["running_mean"]
        said.append(f"{corpus}: at {topics} {_said(arrival, len(chain.trace))}, running mean at the end {mean:.1f}")
    if short:
        return Answer("; ".join(said), TOO_SHORT, "not comparable")
    return Answer("; ".join(said), "one chain a corpus", verdict(*parts))


def claim_t9(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T9: two parts. For whales the log score at T = 5 is within two standard errors of a difference of the best; for
    birds of prey T = 7 has the best score."""
    said, parts, low = [], [], False
    for corpus, topics in zip(REAL, numbers["topics"], strict=True):
        record = _named(records, corpus, "leave-one-out")
        low |= any(TOO_LOW in warning for warning in record.warnings)
        table = record.tables["scores"].set_index("topics")
        _has(table, topics, corpus)
        best = table["log_score"].idxmax()
        loss = float(table["log_score"][best] - table["log_score"][topics])
        error = float(np.hypot(table["standard_error"][best], table["standard_error"][topics]))
        parts.append(loss < 2 * error if corpus == "whales" else best == topics)
        said.append(
            f"{corpus}: best T = {best} of {list(table.index)}, T = {topics} is {loss:.1f} +- {error:.1f} below"
        )
    errors = "Monte Carlo errors, the same documents for every T"
    errors += low * f"; few draws carry the weight of most documents: {TOO_LOW}, which these errors leave out"
    return Answer("; ".join(said), errors, verdict(*parts))


def claim_t10(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T10: not a claim to be reproduced but a comparison: hours of one core for the paper's work, from the seconds of
    our runs scaled up to its lengths; never a verdict but `not comparable`, for the machines differ."""
    table = hours(records.values())
    if table.empty:
        raise MissingRecords([*SIMULATED[:1], *REAL])
    said = [
        f"{r['method']} {r['corpus']}, {r['work']}: {r['hours']:.2g} h (paper {r['hours of the paper']})"
        for _, r in table.iterrows()
    ]
    return Answer("; ".join(said), "CPU seconds of our runs, scaled to the same work", "not comparable")


def claim_t11(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T11: on both real corpora the T of largest probability by (4.11) differs between repeats, or its log-estimates
    scatter by more than 10 nats in the median over T."""
    said, parts = [], []
    for corpus in REAL:
        estimates = _evidence(records, corpus, "pseudo-marginal").tables["estimates"]
        modes = posteriors(estimates).idxmax(axis=1)
        scatter = float(estimates.groupby("topics")["log_estimate"].std().median())
        parts.append(modes.nunique() > 1 or scatter > 10)
        counts = modes.value_counts().sort_index()
        ends = ", ".join(f"T = {t} in {n} of {len(modes)}" for t, n in counts.items())
        said.append(f"{corpus}: largest at {ends} repeats; log-estimates scatter by {scatter:.0f} nats")
    return Answer("; ".join(said), "m = 50", verdict(*parts))


def claim_t13(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T13: reproduced if, for some m, the share of some T along a PMMH chain differs from the exact posterior by more
    than 4.5 standard errors (false alarms: 1e-4 in all); otherwise not reproduced."""
    require(records, ["enumerable-exact"])
    record = records["enumerable-exact"]
    table: pd.DataFrame = record.tables["law"]
    apart = {m: float((t["share"] - t["exact"]).abs().max()) for m, t in table.groupby("inner")}
    ours = "largest difference from the exact posterior: " + ", ".join(f"m = {m}: {d:.4f}" for m, d in apart.items())
    if not np.isfinite(score := record.metrics["largest_score"]):
        return Answer(ours, "some T were never visited: the chains are too short", "not comparable")
    error = f"largest {score:.1f} standard errors, of {len(table)} comparisons"
    return Answer(ours, error, "reproduced" if score > 4.5 else "not reproduced")


def claim_t14(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T14: three parts. On the simulated corpus every PMMH chain at the empirical Bayes h has its mode within one of
    the true T. On the corpus with few documents, whose posterior of T is diffuse by the yardstick (no T has 0.9), the
    running mean of every chain ends within 0.5 of the yardstick's posterior mean. It comes there later than on the
    larger corpus of the same law."""
    corpus, few = numbers["corpus"], numbers["few"]
    empirical = [r for r in records.values() if r.task.params["kind"] == "empirical" and r.task.corpus == corpus]
    if not empirical:
        raise MissingRecords([corpus])
    truth = entries[corpus].generator["topics"]  # type: ignore[index]
    near = all(abs(r.metrics["mode"] - truth) <= 1 for r in empirical)
    modes = ", ".join(
        f"T = {r.metrics['mode']:.0f} at ({r.metrics['alpha']:.3f}, {r.metrics['eta']:.3f})" for r in empirical
    )
    table = evidence_of(_evidence(records, few, YARDSTICK))["log_evidence"]
    masses = np.exp(table - logsumexp(table))
    mean = float(masses @ table.index)
    diffuse, concentrated = _walks(records, few, inner=50), _walks(records, corpus, inner=50)
    arrivals = [_arrival(record, mean) for record in diffuse]
    others = [_arrival(record, truth) for record in concentrated]
    there = None not in arrivals
    slower = there and None not in others and np.mean(arrivals) > np.mean(others)  # type: ignore[arg-type]
    ends = "; ".join(
        f"from {r.task.params['start']}: mean {r.metrics['running_mean']:.2f}, at {mean:.2f} {_said(a, len(r.trace))}"
        for r, a in zip(diffuse, arrivals, strict=True)
    )
    ours = (
        f"{corpus} (true T = {truth}): mode {modes}; {few}: largest posterior mass {masses.max():.2f}, posterior mean "
        f"{mean:.2f} by the yardstick; PMMH {ends}"
    )
    if masses.max() > 0.9:
        return Answer(ours, "the posterior is not diffuse", "not comparable")
    return Answer(ours, _doubts([*empirical, *diffuse]), verdict(near, there, bool(slower)))


def claim_t15(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T15: three parts. Every PMMH chain on the small corpus has its mode within one of the true T. The leave-one-out
    score is best within three of it, and no nearer to it than PMMH. Neither Chib nor a harmonic mean is best within
    one of it."""
    walks = _walks(records, "lda-6")
    modes = [int(record.metrics["mode"]) for record in walks]
    best = {
        method_of(r): int(r.metrics["best_topics"])
        for r in records.values()
        if r.task.params["kind"] == "evidence" and r.task.corpus == "lda-6"
    }
    names = ("chib", "harmonic-z", "harmonic-psi")
    require(records, [f"lda-6-evidence-{name}" for name in names])
    rivals = [best[name] for name in names]
    score = int(_named(records, "lda-6", "leave-one-out").metrics["best_topics"])
    methods = ", ".join(f"{name} {value}" for name, value in best.items())
    ours = f"true T = 6; PMMH modes {modes}; {methods}, leave-one-out score {score}"
    off = max(abs(mode - 6) for mode in modes)
    parts = (off <= 1, off <= abs(score - 6) <= 3, all(abs(value - 6) > 1 for value in rivals))
    return Answer(ours, _doubts(walks), verdict(*parts))


def claim_t16(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    """T16: the mean L1 distance between pairs of topics is smaller for whales (T = 5) than for birds of prey (T = 7),
    by more than two standard errors."""
    found = [_named(records, corpus, "distances").metrics for corpus in REAL]
    values, errors = ([metrics[key] for metrics in found] for key in ("distance", "distance_error"))
    ours = f"whales {values[0]:.3f}, birds of prey {values[1]:.3f}"
    error = f"Monte Carlo errors {errors[0]:.1g}, {errors[1]:.1g}"
    return Answer(ours, error, verdict(values[1] - values[0] > 2 * float(np.hypot(errors[0], errors[1]))))
