"""Study `number_of_topics`: the answers to claims T1 to T6, on the simulated corpus with 20 topics.

At scales below `paper`, a smaller corpus drawn from the same model replaces the paper's simulated corpus; the answer
names it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln
from scipy.stats import kendalltau

from bayestopics.corpus.registry import Entry
from bayestopics.studies.claims import Answer, claim, verdict
from bayestopics.studies.number_of_topics.reading import (
    PAPER,
    TOO_SHORT,
    arrival_at,
    chain_rows,
    doubts,
    log_evidence_by,
    median,
    simulated_corpus,
    walks_on,
    when,
)
from bayestopics.studies.number_of_topics.tables import YARDSTICK, first_step
from bayestopics.studies.records import MissingRecords, Records


@claim(
    "T1",
    paper=PAPER,
    where="fig. 1",
    statement="Simulated corpus (T=20, V=100, D=2000, n_d=300, alpha=.1, eta=.5), PMMH from T0=30 with m=50, 75, 100: "
    "the running mean of T reaches 20 in under 4000 iterations and stays there; a larger m is a little faster.",
    rule="Three parts, over all chains from T0 = 30. (1) The running mean of every chain comes within 0.5 of 20 and "
    "stays there to the end. (2) For every m the median chain gets there in under 4000 steps. (3) With a larger m the "
    "median chain gets there no later.",
    numbers={"inner": [50, 75, 100]},
)
def t1(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    corpus = simulated_corpus(records)
    chains = [one for one in walks_on(records, corpus, start=30) if one.task.params["inner"] in numbers["inner"]]
    arrivals = {m: [arrival_at(r, 20) for r in chains if r.task.params["inner"] == m] for m in numbers["inner"]}
    arrivals = {m: steps for m, steps in arrivals.items() if steps}
    if len(arrivals) < 2:
        raise MissingRecords([f"chains of {corpus} with different m"])
    details = chain_rows(chains, running_mean_at_20_from_step=[arrival_at(record, 20) for record in chains])
    medians = [median(steps) for steps in arrivals.values()]
    there = [len(steps) - steps.count(None) for steps in arrivals.values()]
    most = max(len(steps) for steps in arrivals.values())
    at = ", ".join(f"{step:,.0f}" if math.isfinite(step) else "never" for step in medians)
    ours = f"{corpus}: running means that stay at 20: {_listed(there)} of {most} for m = {_listed(arrivals)}; "
    ours += f"median step {at}"
    all_there = sum(there) == len(chains)
    if any(arrival_at(record, 20) is None and len(record.trace) < 4000 for record in chains):
        return Answer(ours, TOO_SHORT, "not comparable", details)
    parts = (all_there, max(medians) < 4000, medians == sorted(medians, reverse=True) and math.isfinite(medians[0]))
    coupled = any("before" in record.task.params for record in chains)
    error = doubts(chains) + coupled * "; different m share estimates and luck"
    return Answer(ours, error, verdict(*parts), details)


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(str(value) for value in values)


@claim(
    "T2",
    paper=PAPER,
    where="fig. 1 bottom",
    statement="The same with V=3000 and m=50: PMMH converges, somewhat more slowly.",
    rule="Two parts, over all chains from T0 = 30 with m = 50. (1) On the corpus with 3000 terms the running mean of "
    "every chain comes within 0.5 of 20 and stays there. (2) The median chain takes longer than with 100 terms.",
)
def t2(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    wide, narrow = (walks_on(records, corpus, inner=50, start=30) for corpus in ("lda-20-wide", "lda-20"))
    arrivals = [[arrival_at(record, 20) for record in chains] for chains in (wide, narrow)]
    medians = [median(steps) for steps in arrivals]
    there = len(wide) - arrivals[0].count(None)
    ours = f"3000 terms: {there} of {len(wide)} running means stay at 20, the median "
    ours += f"{when(medians[0], len(wide[0].trace))}; 100 terms: {when(medians[1], len(narrow[0].trace))}"
    slower = math.inf > medians[0] > medians[1]
    details = chain_rows([*wide, *narrow], running_mean_at_20_from_step=[*arrivals[0], *arrivals[1]])
    return Answer(ours, doubts(wide), verdict(there == len(wide), slower), details)


@claim(
    "T3",
    paper=PAPER,
    where="sec. 5.2",
    statement="From T0=200 the trace of T reaches 30 in 470 iterations.",
    rule="The median chain from T0 = 200 is first at T = 30 after a number of steps within a factor of two of 470.",
)
def t3(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    chains = walks_on(records, "lda-20", start=200)
    steps = [first_step(chain.trace, 30) for chain in chains]
    step, there = median(steps), len(chains) - steps.count(None)
    ours = f"{there} of {len(chains)} chains reach T = 30, the median {when(step, len(chains[0].trace))}"
    details = chain_rows(chains, first_at_30=steps)
    return Answer(ours, doubts(chains), verdict(235 <= step <= 940), details)


@claim(
    "T4",
    paper=PAPER,
    where="sec. 5.2",
    statement="With the prior as importance distribution, the trace of T falls from 30 to 2 in under 100 iterations.",
    rule="Two parts, for the chain from T0 = 30 with the prior of z as importance distribution. (1) It reaches T = 2 "
    "in under 100 steps. (2) It stays there to the end.",
)
def t4(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    chain = walks_on(records, simulated_corpus(records), sampler="prior", start=30)[0]
    step = first_step(chain.trace, 2)
    stays = step is not None and step < len(chain.trace) and bool((chain.trace["topics"].iloc[step:] == 2).all())
    ours = f"{chain.task.corpus}: T = 2 {when(step, len(chain.trace))}; the last T is "
    ours += f"{chain.metrics['last_topics']:.0f}"
    return Answer(ours, doubts([chain]), verdict(step is not None and step < 100, stays))


@claim(
    "T5",
    paper=PAPER,
    where="fig. 2",
    statement="The harmonic means HME-z and HME-psi are nearly equal, and both rise over T=3..60.",
    rule="Two parts. (1) Kendall's rank correlation between T and each harmonic mean is above 0.9. (2) The two differ "
    "by less than a tenth of the range of HME-z over T.",
)
def t5(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    corpus = simulated_corpus(records, "evidence")
    z, psi = (log_evidence_by(records, corpus, f"harmonic-{kind}") for kind in ("z", "psi"))
    rises = [float(kendalltau(values.index, values).statistic) for values in (z, psi)]
    apart, span = float((z - psi).abs().max()), float(np.ptp(z))
    yardstick = log_evidence_by(records, corpus, YARDSTICK)
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
    "which would rule out the true T. (3) The estimate at T = 20 is below both neighbours. The text does not say "
    "whether the main chain continues the pilot run or is independent of it; both are run, and a part holds if it "
    "holds for one of them.",
)
def t6(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    corpus = simulated_corpus(records, "evidence")
    chib, yardstick = (log_evidence_by(records, corpus, method) for method in ("chib", YARDSTICK))
    readings = {"continued": chib}
    if f"{corpus}-evidence-chib-independent" in records:
        readings["independent"] = log_evidence_by(records, corpus, "chib-independent")
    if not all({18, 19, 20, 21} <= set(one.index) for one in (yardstick, *readings.values())):
        raise MissingRecords([f"T = 18..21 on {corpus}"])
    told = [f"{name}: best T {one.idxmax()}, {one[18] - one[20]:+,.0f}" for name, one in readings.items()]
    ours = f"{corpus}, with log m(18) / m(20): {'; '.join(told)}; yardstick: {yardstick[18] - yardstick[20]:+,.0f} nats"
    # a chain that stays in one labelling misses a factor of T!, one for every order of the labels
    labelled = chib + gammaln(chib.index + 1)
    columns = {"chib": chib, "chib_with_factorial": labelled, "yardstick": yardstick}
    if "independent" in readings:
        columns["chib_independent"] = readings["independent"]
    details = pd.DataFrame(columns).rename_axis("topics").reset_index()
    held = [_as_figure_2(one) for one in readings.values()]
    jumps = {
        name: float(one.diff()[np.diff(one.index, prepend=0) == 1].abs().median()) for name, one in readings.items()
    }
    error = "one chain for each T; neighbouring T differ by "
    error += " and ".join(f"{jump:,.0f} ({name})" for name, jump in jumps.items()) + " nats in the median"
    return Answer(ours, error, verdict(*(any(part) for part in zip(*held, strict=True))), details)


def _as_figure_2(chib: pd.Series) -> tuple[bool, bool, bool]:
    ratio = float(chib[18] - chib[20])
    return chib.idxmax() == 18, ratio > 1000, bool(chib[20] < min(chib[19], chib[21]))
