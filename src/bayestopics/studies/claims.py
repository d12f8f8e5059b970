"""The table of claims (config/claims.yaml): what the papers say, what came out here, and a computed verdict.

A claim names a function of its study's module, `module:function`, which gets the study's records, the registry's
entries and the paper's `numbers`, and returns an Answer. Verdicts are computed there by the rule that its docstring
and the claim's `rule` state; nothing is typed into the table by hand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pandas as pd

from bayestopics.corpus.registry import Entry
from bayestopics.runs.result import Result

Records = Mapping[str, Result]
VERDICTS = ("reproduced", "partly", "not reproduced", "not comparable")
NOT_YET = "not yet answered"


@dataclass(frozen=True)
class Answer:
    ours: str
    error: str
    verdict: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is none of {VERDICTS}")


def verdict(*parts: bool) -> str:
    """Of a claim with several parts."""
    return "reproduced" if all(parts) else "partly" if any(parts) else "not reproduced"


class MissingRecords(Exception):
    """A claim needs records that are not there."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(names)


def require(records: Records, names: Iterable[str]) -> None:
    if missing := [name for name in names if name not in records]:
        raise MissingRecords(missing)


def answer(
    claim: dict[str, Any], studies: Mapping[str, Records], entries: dict[str, Entry], left_out: Collection[str]
) -> Answer | str:
    """The answer, or the reason why there is none; `left_out` are the corpora that are out of reach."""
    if "function" not in claim:
        return NOT_YET
    if claim["study"] not in studies:
        return f"not answered: the study {claim['study']} was not run"
    module, _, function = claim["function"].partition(":")
    try:
        result: Answer = getattr(import_module(module), function)(
            studies[claim["study"]], entries, claim.get("numbers", {})
        )
    except MissingRecords as missing:
        out_of_reach = [name for name in missing.names if name in left_out]
        if out_of_reach:
            return f"not answered: corpus not available: {', '.join(out_of_reach)}"
        return f"not answered: not run at this scale: {', '.join(missing.names)}"
    return result


def table(
    claims: list[dict[str, Any]],
    studies: Mapping[str, Records],
    entries: dict[str, Entry],
    scale: str,
    left_out: Collection[str],
) -> pd.DataFrame:
    rows = []
    for claim in claims:
        found = answer(claim, studies, entries, left_out)
        text = found if isinstance(found, str) else ""
        rows.append(
            {
                "id": claim["id"],
                "paper": claim["paper"],
                "where": claim["where"],
                "claim": claim["statement"],
                "ours": "" if isinstance(found, str) else found.ours,
                "error": "" if isinstance(found, str) else found.error,
                "scale": scale,
                "verdict": text or found.verdict,  # type: ignore[union-attr]
                "rule": claim.get("rule", ""),
            }
        )
    return pd.DataFrame(rows)


def merged(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """The new table, with old answers where it has none."""
    before = {row["id"]: row for row in old.to_dict("records") if row["verdict"] in VERDICTS}
    rows = [row if row["verdict"] in VERDICTS else before.get(row["id"], row) for row in new.to_dict("records")]
    return pd.DataFrame(rows, columns=new.columns)


def summary(table: pd.DataFrame) -> dict[str, int]:
    """How many claims have each verdict; reasons for no answer are put together."""
    return dict(table["verdict"].str.split(":").str[0].value_counts())


def markdown(table: pd.DataFrame, scale: str, left_out: Mapping[str, str]) -> str:
    """The table for people: answered claims first, then a line a claim that is still open."""
    lines = [f"# Claims of the papers, at scale {scale}", ""]
    lines += [f"- {count} {verdict}" for verdict, count in summary(table).items()]
    if left_out:
        lines += ["", "Corpora that were not available:", "", *(f"- {name}: {how}" for name, how in left_out.items())]
    answered = table[table["verdict"].isin(VERDICTS)]
    lines += ["", "## Answered", "", "| id | where | claim | ours | error | verdict |", "|---|---|---|---|---|---|"]
    for row in answered.itertuples():
        cells = [row.id, f"{row.paper}, {row.where}", row.claim, row.ours, row.error, f"**{row.verdict}**"]
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    if len(answered):
        lines += ["", "How each verdict is decided:", ""]
        lines += [f"- {row.id}: {row.rule}" for row in answered.itertuples()]
    lines += ["", "## Open", "", "| id | where | claim | |", "|---|---|---|---|"]
    for row in table[~table["verdict"].isin(VERDICTS)].itertuples():
        cells = [row.id, f"{row.paper}, {row.where}", row.claim, row.verdict]
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(text: Any) -> str:
    return " ".join(str(text).replace("|", "\\|").split())
