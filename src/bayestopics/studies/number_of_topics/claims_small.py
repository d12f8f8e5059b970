"""Study `number_of_topics`: the answers to claims T13 to T15, on small corpora.

The paper's three corpora with six topics have 300 documents of 300 words; where they were not run, one corpus with
shorter documents replaces them, and the answer names it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayestopics.corpus.registry import Entry
from bayestopics.runs.result import Result
from bayestopics.studies.claims import Answer, claim, verdict
from bayestopics.studies.errors import errors_of
from bayestopics.studies.number_of_topics.errors import share_of
from bayestopics.studies.number_of_topics.reading import (
    PAPER,
    arrival_at,
    chain_rows,
    doubts,
    evidence_by,
    log_evidence_by,
    median,
    record_of,
    simulated_corpus,
    walks_on,
)
from bayestopics.studies.number_of_topics.tables import YARDSTICK, span
from bayestopics.studies.records import Records, of_kind, require

SMALL = ("lda-6-a", "lda-6-b", "lda-6-c")
SHORTER = "lda-6"  # replaces them


def _small(records: Records, *names: str) -> list[str]:
    """Those of the paper's three corpora that have PMMH chains and the records with these names; without any, the one
    that replaces them."""
    walked = {record.task.corpus for record in of_kind(records.values(), "pmmh")}
    there = [one for one in SMALL if one in walked and all(f"{one}-{name}" in records for name in names)]
    return there or [SHORTER]


@claim(
    "T13",
    paper=PAPER,
    where="sec. 1",
    statement="For a fixed m, the distribution of T does not converge to the posterior. (Because the estimates are "
    "unbiased, theory says that it does; exact enumeration decides, including m=1.)",
    rule="Reproduced if, for some m, the share of some T along a PMMH chain differs from the exact posterior by more "
    "than 4.5 standard errors (overall probability of a false alarm: 1e-4); not reproduced otherwise. A chain that "
    "refreshes the estimate of the current T at every step (remark 1) is shown beside it but not judged.",
)
def t13(records: Records, entries: dict[str, Entry], numbers: dict[str, Any], errors: pd.DataFrame) -> Answer:
    require(records, ["enumerable-exact"])
    record = records["enumerable-exact"]
    table: pd.DataFrame = record.tables["law"].copy()
    known = errors_of(errors, record)["standard_error"]
    quantities = [share_of(row.topics, row.inner, row.refreshed) for row in table.itertuples()]
    table["error"] = known[quantities].to_numpy()
    table["score"] = (table["share"] - table["exact"]) / table["error"]
    apart = (table["share"] - table["exact"]).abs().groupby([table["refreshed"], table["inner"]]).max()
    largest = {
        key: ", ".join(f"{d:.4f} (m = {m})" for m, d in part.droplevel(0).items())
        for key, part in apart.groupby(level=0)
    }
    ours = f"largest error of a posterior probability: {largest[False]}"
    score = float(table.loc[~table["refreshed"], "score"].abs().max())
    if not np.isfinite(score):
        return Answer(ours, "the chains are too short: they never visited some T", "not comparable", table)
    error = f"largest difference {score:.1f} standard errors; estimates refreshed: {largest[True]}"
    return Answer(ours, error, "reproduced" if score > 4.5 else "not reproduced", table)


@claim(
    "T14",
    paper=PAPER,
    where="sec. 5.2",
    statement="The empirical Bayes h in place of the true one makes no qualitative difference; with a more diffuse "
    "posterior, convergence is slower but still good.",
    rule="Three parts. (1) On the simulated corpus with 20 topics, the mode of every PMMH chain at the empirical Bayes "
    "h differs from the true T by at most one. (2) On a corpus with few documents, whose posterior of T is diffuse "
    "according to the yardstick (no T has more than 0.9), the running mean of every chain ends within 0.5 of the "
    "yardstick's posterior mean. (3) The median chain gets there later than the median chain on the corpora with six "
    "topics and 300 documents gets to their true T.",
    numbers={"few": "lda-6-few", "topics": 20, "of_small": 6},
)
def t14(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    corpus, few, truth = simulated_corpus(records, "empirical"), numbers["few"], numbers["topics"]
    empirical = [record for record in of_kind(records.values(), "empirical") if record.task.corpus == corpus]
    near = all(abs(r.metrics["mode"] - truth) <= 1 for r in empirical)
    table = log_evidence_by(records, few, YARDSTICK)
    masses = np.exp(table - logsumexp(table))
    mean = float(masses @ table.index)
    diffuse = walks_on(records, few, inner=50)
    concentrated = [one for small in _small(records) for one in walks_on(records, small, inner=50)]
    arrivals = [arrival_at(record, mean) for record in diffuse]
    others = [arrival_at(record, numbers["of_small"]) for record in concentrated]
    there = None not in arrivals
    slower = there and median(arrivals) > median(others)
    modes = ", ".join(f"{record.metrics['mode']:.0f}" for record in empirical)
    ends = ", ".join(f"{record.metrics['running_mean']:.2f}" for record in diffuse)
    ours = (
        f"{corpus} at the empirical h: mode {modes} (true T is {truth}); {few}: running means {ends} (posterior mean "
        f"by the yardstick {mean:.2f})"
    )
    details = chain_rows(
        [*empirical, *diffuse, *concentrated], arrival=[*(None for _ in empirical), *arrivals, *others]
    )
    if masses.max() > 0.9:
        return Answer(ours, "the posterior is not diffuse", "not comparable", details)
    return Answer(ours, doubts([*empirical, *diffuse]), verdict(near, there, slower), details)


RIVALS = ("chib", "harmonic-z", "harmonic-psi")


@claim(
    "T15",
    paper=PAPER,
    where="sec. 5.2",
    statement="Small corpora (T=6, D=300): PMMH is best, the leave-one-out score is reasonable but less accurate, and "
    "the harmonic means and Chib's estimate are very poor.",
    rule="Three parts, over the three corpora. (1) The mode of every PMMH chain with m = 50 differs from the true T by "
    "at most one. (2) The T with the best leave-one-out score differs from the true T by at most three, and on average "
    "over the corpora by no less than PMMH's modes do. (3) The best T by Chib's estimate and by each harmonic mean "
    "differs from the true T by more than one.",
    numbers={"topics": 6},
)
def t15(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    names, truth = [f"evidence-{name}" for name in RIVALS], numbers["topics"]
    corpora = _small(records, "leave-one-out", *names)
    rows: list[dict[str, Any]] = []
    chains: list[Result] = []
    for corpus in corpora:
        here = walks_on(records, corpus, inner=50)
        chains += here
        rows += [{"corpus": corpus, "method": "PMMH", "topics": int(one.metrics["mode"])} for one in here]
        score = record_of(records, corpus, "leave-one-out")
        rows.append({"corpus": corpus, "method": "leave-one-out", "topics": int(score.metrics["best_topics"])})
        for name in RIVALS:
            best = int(evidence_by(records, corpus, name).metrics["best_topics"])
            rows.append({"corpus": corpus, "method": name, "topics": best})
    table = pd.DataFrame(rows)
    off = (table["topics"] - truth).abs().groupby(table["method"])
    found = [f"{name} {span('{:.0f}', list(part))}" for name, part in table.groupby("method", sort=False)["topics"]]
    ours = f"best T on {' and '.join(corpora)} (true T: {truth}): {', '.join(found)}"
    parts = (
        off.max()["PMMH"] <= 1,
        off.max()["leave-one-out"] <= 3 and off.mean()["leave-one-out"] >= off.mean()["PMMH"],
        bool((off.min()[list(RIVALS)] > 1).all()),
    )
    which = "" if corpora != [SHORTER] else "its documents have 50 words instead of 300; "
    return Answer(ours, which + doubts(chains), verdict(*parts), table)
