"""Study `split_merge`: the answers to claims S1 to S5.

The paper does not give gamma, the concentration a, or the number of words in a group, and "the extracted four groups"
may be all groups or four of many. So every claim is tested in all of our settings, both with the exact moves and with
the paper's rule of acceptance. It is reproduced if it holds in all of them, and partly reproduced if it holds in some.
We chose some settings after we had seen K in others, each time in favour of S1: gamma = 3, because 1 gave fewer than
ten topics and 10 gave more; longer groups with a = 10; and the corpus of a hundred groups, where K is nearer to ten.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayestopics.corpus.registry import Entry
from bayestopics.runs.result import Result
from bayestopics.studies.claims import Answer, claim, verdict
from bayestopics.studies.records import MissingRecords, Records
from bayestopics.studies.split_merge.tables import (
    FIRST,
    GIBBS,
    LABELS,
    SETTING,
    acceptance_around,
    first_sweeps,
    in_order,
    leads,
    mean_and_error,
    posterior,
    separated_first,
    sweeps_to_bulk,
    true_topics,
)

PAPER = "split-merge paper"
SYNTHETIC = "overlapping-topics"
MOVES = ("exact", "paper")  # the samplers that are judged
FEWEST_SEEDS = 3  # for a standard error over them


def _synthetic(records: Records) -> list[Result]:
    """The records on the paper's simulated corpus, with groups of any length."""
    found = in_order(records.values(), "synthetic")
    found = [record for record in found if record.task.params["corpus"].startswith(SYNTHETIC)]
    if not found:
        raise MissingRecords([SYNTHETIC])
    return found


def _where(record: Result, sampler: str) -> dict[str, Any]:
    """The first columns of the details: the case that a row belongs to."""
    keys = ("corpus", *SETTING, "sweeps", "seeds")
    return {**{key: record.task.params[key] for key in keys}, "sampler": LABELS[sampler]}


def _too_short(found: list[Result], sweeps: int) -> str:
    fewest, seeds = (min(record.task.params[key] for record in found) for key in ("sweeps", "seeds"))
    if fewest < sweeps:
        return f"the chains have {fewest} sweeps, fewer than {sweeps}"
    return f"there are {seeds} seeds, fewer than {FEWEST_SEEDS}" if seeds < FEWEST_SEEDS else ""


def _judged(case: str, holds: list[bool], error: str, short: str, rows: list[dict[str, Any]]) -> Answer:
    """The answer; its verdict is "not comparable" if the chains were too short or too few to decide."""
    ours = f"{case} in {sum(holds)} of {len(holds)} cases"
    if short:
        return Answer(ours, short, "not comparable", pd.DataFrame(rows))
    return Answer(ours, error, verdict(*holds), pd.DataFrame(rows))


@claim(
    "S1",
    paper=PAPER,
    where="fig. 3",
    statement="Simulated corpus of 10 topics x 10 words in four groups: plain Gibbs has not found all topics after "
    "1000 iterations; split-merge has found them within 25.",
    rule="A sampler counts as having found all topics at the first sweep with K >= 10 (median over seeds), but only if "
    "10 is the most frequent K in the second half of its chains. There is one case per setting, for the exact moves "
    "and for the paper's rule. A case holds if plain Gibbs has not found all topics within 1000 sweeps and split-merge "
    "has within 25. Reproduced if all cases hold, partly if some do. Not comparable with shorter chains or fewer than "
    "3 seeds.",
    numbers={"gibbs": 1000, "split_merge": 25},
)
def s1(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    found, rows, holds = _synthetic(records), [], []
    for record in found:
        first, shares, sweep_of = first_sweeps(record), posterior(record), {}
        for sampler in (GIBBS, *MOVES):
            mode, median = int(shares.loc[sampler].idxmax()), float(first.loc[sampler].median())
            sweep_of[sampler] = median if mode == true_topics(record) else np.inf
            row = {"most_frequent_topics": mode, "median_first_sweep_with_all": median}
            rows.append(_where(record, sampler) | row)
        late = sweep_of[GIBBS] > numbers["gibbs"]
        holds += [late and sweep_of[sampler] <= numbers["split_merge"] for sampler in MOVES]
    case = "split-merge finds all topics within 25 sweeps, and Gibbs not within 1000,"
    error = "most frequent K in the second halves of the chains; medians over seeds"
    return _judged(case, holds, error, _too_short(found, numbers["gibbs"]), rows)


@claim(
    "S2",
    paper=PAPER,
    where="fig. 3a",
    statement="The acceptance rate of split-merge falls once the topics are found.",
    rule="There is one case per setting, for the exact moves and for the paper's rule, if at least 3 chains reach "
    "K >= 10 before their end. A case holds if, over these chains, the share of accepted moves is lower after the "
    "first such sweep than up to it, by more than two standard errors of the mean difference. Reproduced if all cases "
    "hold, partly if some do. Not comparable without a case.",
)
def s2(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    rows, holds = [], []
    for record in _synthetic(records):
        for sampler in MOVES:
            table = acceptance_around(record, sampler)
            if len(table) < FEWEST_SEEDS:
                continue
            fall, error = mean_and_error(table["before"] - table["after"])
            holds.append(fall > 2 * error)
            row = {"chains": len(table), "before": table["before"].mean(), "after": table["after"].mean()}
            rows.append(_where(record, sampler) | row | {"fall": fall, "error": error})
    if not holds:
        return Answer("no setting has 3 chains in which K reaches 10", "", "not comparable")
    return _judged("acceptance falls", holds, "judged by two standard errors over chains", "", rows)


@claim(
    "S3",
    paper=PAPER,
    where="fig. 4",
    statement="Confusion matrix: Gibbs cannot separate the first topics, which overlap.",
    rule="Found topics are matched one to one with the true ones. A true topic is separated if the total variation "
    "distance to its match is less than half the distance to the nearest other true topic. There is one case per "
    "setting, for the exact moves and for the paper's rule. A case holds if, after the last sweep and on average over "
    "seeds, plain Gibbs separates at most one of the first five topics and split-merge at least four. Reproduced if "
    "all cases hold, partly if some do. Not comparable with chains below 1000 sweeps or fewer than 3 seeds.",
    numbers={"sweeps": 1000},
)
def s3(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    found, rows, holds = _synthetic(records), [], []
    for record in found:
        separated, matches = separated_first(record), record.tables["matches"].groupby("sampler")
        holds += [separated.loc[GIBBS].mean() <= 1 and separated.loc[sampler].mean() >= FIRST - 1 for sampler in MOVES]
        recall, ceiling = matches["recall"].mean(), matches["ceiling"].mean()
        for sampler in (GIBBS, *MOVES):
            mean, error = mean_and_error(separated.loc[sampler])
            row = {"separated": mean, "error": error, "tokens_recalled": recall[sampler], "ceiling": ceiling[sampler]}
            rows.append(_where(record, sampler) | row)
    case = "Gibbs separates at most one of the first five topics, and split-merge at least four,"
    how = "means over seeds; the details list their standard errors"
    return _judged(case, holds, how, _too_short(found, numbers["sweeps"]), rows)


@claim(
    "S3b",
    paper=PAPER,
    where="sec. 3.3",
    statement="Choosing split or merge with equal chance converges faster than choosing by two random words.",
    rule="For the exact moves, in each setting: we look at the first sweep at which K reaches or passes its median "
    "over the second halves of both samplers. The claim holds if this sweep comes earlier with equal chance than with "
    "two random words, by more than two standard errors of the mean difference over seeds. Reproduced if it holds in "
    "all settings, partly if in some. Not comparable with chains below 1000 sweeps or fewer than 3 seeds.",
    numbers={"sweeps": 1000},
)
def s3b(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    found, rows, holds = _synthetic(records), [], []
    for record in found:
        sweeps = sweeps_to_bulk(record, ("exact", "exact-words"))
        lead, error = mean_and_error(sweeps.loc["exact-words"] - sweeps.loc["exact"])
        holds.append(lead > 2 * error)
        row = {"sweeps_equal_chance": sweeps.loc["exact"].mean(), "sweeps_two_words": sweeps.loc["exact-words"].mean()}
        rows.append(_where(record, "exact") | row | {"sooner_by": lead, "error": error})
    how = "judged by two standard errors of the mean over seeds"
    return _judged("equal chance converges sooner", holds, how, _too_short(found, numbers["sweeps"]), rows)


def _perplexity(records: Records, corpus: str) -> Answer:
    found = [r for r in in_order(records.values(), "perplexity") if r.task.params["corpus"] == corpus]
    if not found:
        raise MissingRecords([corpus])
    rows, holds = [], []
    for record in found:
        table = leads(record)
        for sampler in MOVES:
            row = _where(record, sampler)
            for name in ("end", "mean"):
                lead, error = mean_and_error(table.loc[table["sampler"] == sampler, name])
                holds.append(lead < -2 * error)
                row |= {f"log_ratio_to_gibbs_{name}": lead, f"error_{name}": error}
            rows.append(row)
    few = min(record.task.params["seeds"] for record in found) < FEWEST_SEEDS
    how = "at equal CPU seconds, at the end and on average; judged by two standard errors over seeds"
    short = f"there are fewer than {FEWEST_SEEDS} seeds" if few else ""
    return _judged("split-merge has a lower perplexity than Gibbs", holds, how, short, rows)


@claim(
    "S4",
    paper=PAPER,
    where="fig. 5a",
    statement="NIPS abstracts (eta=.5), 80 % for training and 20 % for testing: split-merge has a lower perplexity in "
    "the same time.",
    rule="On the NIPS abstracts there are two cases per setting, for the exact moves and for the paper's rule each: at "
    "the end of the CPU seconds that all chains of a seed have, and on average over these seconds. A case holds if the "
    "held-out log perplexity is below that of Gibbs by more than two standard errors of the mean difference over "
    "seeds. Reproduced if all cases hold, partly if some do. Not comparable with fewer than 3 seeds.",
)
def s4(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    return _perplexity(records, "nips-abstracts")


@claim(
    "S5",
    paper=PAPER,
    where="fig. 5b",
    statement="20 Newsgroups with 100 words (eta=.05), 80 % for training and 20 % for testing: split-merge has a lower "
    "perplexity in the same time.",
    rule="The same as S4, on the 20 Newsgroups with 100 words.",
)
def s5(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    return _perplexity(records, "20news-w100")
