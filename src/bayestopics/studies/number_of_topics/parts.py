"""Figures and tables of the study `number_of_topics` from the records that there are: at scale paper it is run in
parts, and of some records little is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd
from matplotlib.figure import Figure

from bayestopics.runs.result import Result
from bayestopics.studies.number_of_topics import figures as topics

WALKS = ("pmmh", "empirical")


def figures(records: Iterable[Result], scale: str) -> Iterator[tuple[str, Figure]]:
    """(name, figure), of the records that have what it shows."""
    records = list(records)
    for corpus in sorted({record.task.corpus for record in records}):
        here = [record for record in records if record.task.corpus == corpus]
        if walks := _having(here, *WALKS, tables=("trace", "posterior")):
            yield f"walks-{corpus}", topics.draw_walks(walks, scale)
        if evidence := _having(here, "evidence", tables=("evidence",)):
            yield f"evidence-{corpus}", topics.draw_evidence(evidence, scale)
    if ladders := _having(records, "ladder", tables=("estimates", "timing")):
        yield "ladders", topics.draw_ladders(ladders, scale)
    if scores := _having(records, "score", tables=("scores", "documents")):
        yield "scores", topics.draw_scores(scores, scale)


def tables(records: Iterable[Result]) -> Iterator[tuple[str, pd.DataFrame]]:
    """(name, table), likewise."""
    records = list(records)
    if walks := _having(records, *WALKS):
        yield "walks", topics.walks_table(walks)
    if evidence := _having(records, "evidence", tables=("evidence", "estimates", "size")):
        yield "evidence", topics.evidence_table(evidence)
        yield "constants", topics.constants_table(evidence)
    if ladders := _having(records, "ladder", tables=("estimates", "timing")):
        yield "ladders", topics.ladders_table(ladders)
        yield "lengths", topics.lengths_table(ladders)
    timed = _having(records, "evidence", "score", tables=("timing",))
    yield "times", topics.times_table([*walks, *timed])


def _having(records: Iterable[Result], *kinds: str, tables: Iterable[str] = ()) -> list[Result]:
    return [r for r in records if r.task.params["kind"] in kinds and set(tables) <= set(r.tables)]
