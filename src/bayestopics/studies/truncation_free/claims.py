"""Study `truncation_free`: the answers to claims V1 to V3.

Scores and components are compared after equal seconds (see `tables`). The corpora are ten times smaller than the
paper's Nature and two hundred times smaller than its New York Times; the budgets are seconds or minutes, not 10 hours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayestopics.corpus.registry import Entry
from bayestopics.runs.result import Result
from bayestopics.studies.claims import Answer, claim, verdict
from bayestopics.studies.records import MissingRecords, Records, of_kind
from bayestopics.studies.truncation_free.tables import (
    METHODS,
    MODELS,
    Panels,
    at_equal_seconds,
    budget,
    differences_table,
    mean_and_error,
    moment,
    panels,
    too_late,
)

PAPER = "Wang & Blei"
OTHER = METHODS[1]
MOVING = 0.02  # nats per word: a run that still changes by more has not settled


@claim(
    "V1",
    paper=PAPER,
    where="fig. 2",
    statement="Log-odds in a toy example: mean field is wrong in case B; the locally collapsed update is right in "
    "cases A and B (at one occurrence, case B is a tie).",
    rule="Four parts, for every number of occurrences. (1) The log-odds of the locally collapsed update have the same "
    "sign as the exact ones in cases A and B. (2) The log-odds of mean field have the right sign in case A. (3) They "
    "have the wrong sign in case B from two occurrences on. (4) At one occurrence, the exact answer in case B is a "
    "tie: 0 to nine digits.",
)
def v1(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    found = of_kind(records.values(), "toy")
    if not found:
        raise MissingRecords(["toy"])
    table = found[0].tables["log_odds"]
    tied = table["exact"].abs() < 1e-9
    signs = np.sign(table[["exact", "locally_collapsed", "mean_field"]]).where(~tied)
    case_b, decided = table["case"] == "B", ~tied
    collapsed_right = signs["locally_collapsed"] == signs["exact"]
    field_right = signs["mean_field"] == signs["exact"]
    later = case_b & (table["occurrences"] > 1)
    parts = (
        bool(collapsed_right[decided].all()),
        bool(field_right[decided & ~case_b].all()),
        bool((decided & ~field_right)[later].all()),
        bool(tied[case_b & (table["occurrences"] == 1)].all()),
    )
    ours = (
        f"locally collapsed: right in {collapsed_right.sum()} of {decided.sum()}; mean field: right in "
        f"{field_right[~case_b].sum()} of {(decided & ~case_b).sum()} in case A, wrong in "
        f"{(decided & ~field_right)[later].sum()} of {later.sum()} in case B"
    )
    furthest = float((table["locally_collapsed"] - table["exact"]).abs().max())
    error = f"closed forms; locally collapsed is within {furthest:.1g} of the exact log-odds"
    return Answer(ours, error, verdict(*parts), table)


@claim(
    "V2",
    paper=PAPER,
    where="fig. 3a, 4a",
    statement="The truncation-free method is more robust to the batch size (1..500) and usually has the higher "
    "held-out likelihood, for the DP mixture and for the HDP.",
    rule="Four parts, two per model. (1) On every corpus, the range of the held-out score over batch sizes is smaller "
    "for truncation-free than for truncated. (2) Truncation-free has the higher score, by more than two standard "
    "errors over documents, in more than half of all combinations of corpus and batch size. Not comparable if a run "
    "has no score at equal seconds. Our corpora are 10 to 200 times smaller than the paper's, and our budgets far "
    "shorter than its 10 hours.",
)
def v2(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    found, table, late = _compared(records, entries)
    if late:
        return _no_score(late)
    said, parts, rows = [], [], []
    for model in MODELS:
        ranges = {corpus: _ranges(panel) for (name, corpus), panel in found.items() if name == model}
        part = table[table["model"] == model]
        higher = int((part["difference"] > 2 * part["error"]).sum())
        narrower = [ours < other for ours, other in ranges.values()]
        parts += [all(narrower), higher > len(part) / 2]
        said.append(
            f"{model}: steadier over batch sizes on {sum(narrower)} of {len(ranges)} corpora, higher in {higher} of "
            f"{len(part)} cases"
        )
        for corpus, (ours, other) in ranges.items():
            rows.append({"model": model, "corpus": corpus, "range_truncation_free": ours, "range_truncated": other})
    details = table.merge(pd.DataFrame(rows))
    return Answer("; ".join(said), _budgets(found), verdict(*parts), details)


def _no_score(late: list[str]) -> Answer:
    return Answer(f"{len(late)} runs have no score at equal seconds; one is {late[0]}", "", "not comparable")


def _ranges(panel: list[Result]) -> tuple[float, float]:
    table = at_equal_seconds(panel)
    ours, other = (float(np.ptp(table.loc[table["method"] == method, "per_word"])) for method in METHODS)
    return ours, other


@claim(
    "V3",
    paper=PAPER,
    where="fig. 3b, 4b",
    statement="The truncation-free method finds more components and their number grows; mean field starts from 300 and "
    "shrinks; small batches break mean field.",
    rule="Eight parts, four per model. (1) Truncation-free has more components than truncated in more than half of all "
    "combinations of corpus and batch size. (2) Every truncation-free run has more components at the end than at the "
    "first check. (3) Every truncated run has fewer components at the end than its truncation level. (4) On every "
    "corpus, truncated with its smallest batch has less than half as many components as with some other batch, and its "
    "held-out score is more than two standard errors below its best. Not comparable if a run has no score at equal "
    "seconds. Our corpora are 10 to 200 times smaller than the paper's, and our budgets far shorter than its 10 hours.",
)
def v3(records: Records, entries: dict[str, Entry], numbers: dict[str, Any]) -> Answer:
    found, table, late = _compared(records, entries)
    if late:
        return _no_score(late)
    said, parts, rows = [], [], []
    for model in MODELS:
        of_model = {corpus: panel for (name, corpus), panel in found.items() if name == model}
        part = table[table["model"] == model]
        more = int((part["truncation_free_components"] > part["truncated_components"]).sum())
        ours, other = (
            [record for panel in of_model.values() for record in panel if record.task.params["method"] == method]
            for method in METHODS
        )
        grown = [int(r.trace["components"].iloc[-1]) > int(r.trace["components"].iloc[0]) for r in ours]
        shrunk = [int(r.trace["components"].iloc[-1]) < r.task.params["truncation"] for r in other]
        broken = {corpus: _small_batches_break(panel) for corpus, panel in of_model.items()}
        parts += [more > len(part) / 2, all(grown), all(shrunk), all(broken.values())]
        said.append(
            f"{model}: (1) holds in {more} of {len(part)}, (2) {sum(grown)} of {len(grown)}, (3) {sum(shrunk)} of "
            f"{len(shrunk)}, (4) {sum(broken.values())} of {len(broken)}"
        )
        rows += [_run_row(record) for record in (*ours, *other)]
    return Answer("; ".join(said), _budgets(found), verdict(*parts), pd.DataFrame(rows))


def _run_row(record: Result) -> dict[str, Any]:
    row = {key: record.task.params[key] for key in ("model", "corpus", "method", "batch")}
    first, last = record.trace["components"].iloc[[0, -1]]
    return row | {"components_at_first_check": int(first), "components_at_end": int(last)}


def _small_batches_break(panel: list[Result]) -> bool:
    given = budget(panel)
    runs = [record for record in panel if record.task.params["method"] == OTHER]  # by batch size
    smallest, *others = (now for record in runs if (now := moment(record, given)) is not None)
    best = max(others, key=lambda now: now.per_word)
    below, error = mean_and_error(best.logs - smallest.logs, best.tokens)
    return 2 * smallest.components < max(now.components for now in others) and below > 2 * error


# -- shared --------------------------------------------------------------------------------------------


def _real(records: Records, entries: dict[str, Entry]) -> Records:
    """The records on real corpora: the paper says nothing about simulated ones."""
    simulated = {name for name, entry in entries.items() if entry.generator}
    return {name: record for name, record in records.items() if record.task.corpus not in simulated}


def _compared(records: Records, entries: dict[str, Entry]) -> tuple[Panels, pd.DataFrame, list[str]]:
    """The panels, the differences at equal seconds, and the runs without a score at that time."""
    records = _real(records, entries)
    found = _needed(records)
    late = [name for panel in found.values() for name in too_late(panel)]
    return found, differences_table(list(records.values())), late


def _needed(records: Records) -> Panels:
    """The panels, which must have both methods of both models, each with at least two batch sizes."""
    found = panels(records.values())
    missing = [model for model in MODELS if model not in {name for name, _ in found}]
    for (model, corpus), panel in found.items():
        for method in METHODS:
            if sum(record.task.params["method"] == method for record in panel) < 2:
                missing.append(f"{model}, {method} on {corpus}")
    if missing:
        raise MissingRecords(missing)
    return found


def _budgets(found: Panels) -> str:
    """After how many seconds runs are compared, and how many of them still change."""
    seconds = [budget(panel) for panel in found.values()]
    steps = [np.diff(record.trace["per_word"].to_numpy())[-1] for panel in found.values() for record in panel]
    moving = sum(abs(step) > MOVING for step in steps)
    return (
        f"one run per setting, after {min(seconds):.2g} to {max(seconds):.2g} CPU seconds; {moving} of {len(steps)} "
        f"runs still changed by more than {MOVING} nats per word"
    )
