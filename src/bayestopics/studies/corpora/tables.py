"""Table of the study `corpora`: the sizes of every corpus, beside what the papers say about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bayestopics.corpus.registry import Entry, Registry
from bayestopics.runs.result import Result

SIZES = ("documents", "terms", "tokens")


def sizes_table(records: list[Result], names: Sequence[str] | None = None) -> pd.DataFrame:
    """One row per corpus and paper: our sizes, the paper's, and whether they agree.

    `names` are the corpora to list; one without a record gets a row too. By default the corpora of the records are
    listed.
    """
    entries = Registry().entries
    found = {record.task.corpus: record.metrics for record in records}
    rows: list[dict[str, Any]] = []
    for name in found if names is None else names:
        entry, metrics = entries[name], found.get(name, {})
        for paper in entry.papers or [{}]:
            row: dict[str, Any] = {
                "corpus": name,
                "title": entry.title,
                "source": _source(entry) if metrics else "not available",
            }
            row |= {size: metrics.get(size) for size in SIZES}
            row |= {"paper": paper.get("id"), "paper_source": paper.get("source")}
            row |= {f"paper_{size}": paper.get(size) for size in SIZES}
            row["agrees"] = _agreement(row, entry)
            row |= {
                "share_of_words_once_in_document": metrics.get("words_once_share"),
                "empty_documents": metrics.get("empty_documents"),
            }
            rows.append(row | {"note": entry.note})
    whole = {name: "Int64" for size in SIZES for name in (size, f"paper_{size}")}
    return pd.DataFrame(rows).astype(whole | {"empty_documents": "Int64"})


def _source(entry: Entry) -> str:
    return "generated" if entry.generator else "own file" if entry.path else f"{entry.reader} reader"


def _agreement(row: dict[str, Any], entry: Entry) -> str:
    said = [size for size in SIZES if row[f"paper_{size}"] is not None]
    if not said:
        return ""
    if entry.stand_in_for:
        return f"stand-in for {entry.stand_in_for}"
    if any(row[size] is None for size in said):
        return "not available"
    different = [size for size in said if row[size] != row[f"paper_{size}"]]
    return f"differs in {', '.join(different)}" if different else "agrees"
