"""The claims of the papers: what each paper says, what came out here, and a computed verdict.

Each claim is written once, above the function in studies/<study>/claims.py that answers it (or in claims_<part>.py, if
there are many):

    @claim("T3", paper="Chen & Doss", where="sec. 5.2", statement="...", rule="...", numbers={"steps": 470})
    def _(records, entries, numbers): ...
        return Answer(ours, error, verdict, details)

`rule` says how the verdict is decided, and `numbers` are the paper's numbers. The function gets the study's records,
the entries of the corpus registry and the numbers; if it has a parameter `errors`, it also gets the study's Monte Carlo
errors. It raises MissingRecords if a record that it needs is missing.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from bayestopics.base.html_table import html_table
from bayestopics.corpus.registry import Entry
from bayestopics.studies.errors import with_errors
from bayestopics.studies.records import MissingRecords, Records

FOLDER = Path(__file__).parent
VERDICTS = ("reproduced", "partly", "not reproduced", "not comparable")
LONGEST = 160  # characters of an answer: it is one line of a table
NAT = "Differences of log probabilities are in nats: 1 nat is a factor of 2.7 in probability."
OLD = "(old): the records behind this answer were not kept in full. It can be computed again once they are rerun."


@dataclass(frozen=True, eq=False)
class Answer:
    """What came out here, how certain it is, and the verdict; `details` has the numbers behind the answer."""

    ours: str
    error: str
    verdict: str
    details: pd.DataFrame | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is none of {VERDICTS}")
        for text in (self.ours, self.error):
            if len(text) > LONGEST or "\n" in text:
                raise ValueError(f"an answer is one line of at most {LONGEST} characters, not {len(text)}: {text}")


Function = Callable[..., Answer]


@dataclass(frozen=True)
class Claim:
    id: str
    study: str
    paper: str
    where: str
    statement: str
    rule: str
    function: Function
    numbers: dict[str, Any] = field(default_factory=dict)

    def answer(self, records: Records, errors: pd.DataFrame, entries: dict[str, Entry]) -> Answer:
        answer: Answer = with_errors(self.function, errors)(records, entries, self.numbers)
        return answer


def claim(
    id: str, *, paper: str, where: str, statement: str, rule: str, numbers: dict[str, Any] | None = None
) -> Callable[[Function], Function]:
    """Register the function below as the answer to a claim, in `CLAIMS` of its module."""

    def register(function: Function) -> Function:
        study = function.__module__.split(".")[-2]
        listed = function.__globals__.setdefault("CLAIMS", {})
        if id in listed:
            raise ValueError(f"claim {id} is answered twice")
        listed[id] = Claim(id, study, paper, where, statement, rule, function, numbers or {})
        return function

    return register


def modules_with_claims(study: str) -> list[str]:
    """claims.py and claims_<part>.py of a study."""
    names = sorted(path.stem for path in (FOLDER / study).glob("claims*.py"))
    return [f"{__package__}.{study}.{name}" for name in names if re.fullmatch(r"claims(_\w+)?", name)]


def all_claims() -> list[Claim]:
    """The claims of every study, in the order of their names."""
    studies = [module.name for module in pkgutil.iter_modules([str(FOLDER)]) if module.ispkg]
    modules = [import_module(name) for study in studies for name in modules_with_claims(study)]
    found = [one for module in modules for one in module.CLAIMS.values()]
    return sorted(found, key=lambda one: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", one.id)])


def verdict(*parts: bool) -> str:
    """The verdict on a claim with several parts."""
    return "reproduced" if all(parts) else "partly" if any(parts) else "not reproduced"


# -- the table -----------------------------------------------------------------------------------------


def answers(
    records: Mapping[str, Records],
    errors: Mapping[str, pd.DataFrame],
    entries: dict[str, Entry],
    left_out: Collection[str],
    absent: str = "was not run",
) -> dict[str, Answer | str]:
    """For each claim its answer, or the reason why there is none. `records` and `errors` are by study; `left_out` are
    the corpora that are not available; `absent` says why a study has no records."""
    return {
        one.id: _answer(one, records[one.study], errors[one.study], entries, left_out)
        if one.study in records
        else f"not answered: the study {one.study} {absent}"
        for one in all_claims()
    }


def _answer(
    one: Claim, records: Records, errors: pd.DataFrame, entries: dict[str, Entry], left_out: Collection[str]
) -> Answer | str:
    try:
        return one.answer(records, errors, entries)
    except MissingRecords as missing:
        out_of_reach = [name for name in missing.names if name in left_out]
        if out_of_reach:
            return f"not answered: corpus not available: {', '.join(out_of_reach)}"
        return f"not answered: {missing.why}: {missing}"


def table_of(found: Mapping[str, Answer | str], scale: str) -> pd.DataFrame:
    """One row per claim: what the paper says, what came out here, and the verdict."""
    rows = []
    for one in all_claims():
        answer = found[one.id]
        row = {"id": one.id, "paper": one.paper, "where": one.where, "claim": one.statement}
        if isinstance(answer, str):
            row |= {"ours": "", "error": "", "scale": scale, "verdict": answer, "details": ""}
        else:
            details = "" if answer.details is None else f"claims/{one.id}.csv"
            row |= {"ours": answer.ours, "error": answer.error, "scale": scale, "verdict": answer.verdict}
            row["details"] = details
        rows.append(row | {"rule": one.rule})
    return pd.DataFrame(rows)


def summary(table: pd.DataFrame) -> dict[str, int]:
    """How many claims have each verdict; all claims without an answer are counted together."""
    return dict(table["verdict"].str.split(":").str[0].value_counts())


def write(
    folder: Path, table: pd.DataFrame, found: Mapping[str, Answer | str], scale: str, left_out: Mapping[str, str]
) -> None:
    """claims.csv and claims.md, and the details of each answer in claims/<id>.csv."""
    (folder / "claims").mkdir(parents=True, exist_ok=True)
    for name, answer in found.items():
        if isinstance(answer, Answer) and answer.details is not None:
            answer.details.to_csv(folder / "claims" / f"{name}.csv", index=False)
    table.to_csv(folder / "claims.csv", index=False)
    (folder / "claims.md").write_text(markdown(table, scale, left_out), encoding="utf-8")


def page(table: pd.DataFrame, scale: str, left_out: Collection[str]) -> str:
    """The table as a page, answered claims first, with links to the details."""
    note = "; ".join(f"{count} {verdict}" for verdict, count in summary(table).items())
    if left_out:
        note += ". Corpora that were not available: " + ", ".join(left_out)
    ordered = table.sort_values("verdict", key=lambda verdicts: ~verdicts.isin(VERDICTS), kind="stable")
    text = html_table(ordered, f"Claims of the papers, at scale {scale}", note)
    return re.sub(r">(claims/\w+\.csv)<", r'><a href="\1">details</a><', text)


def markdown(table: pd.DataFrame, scale: str, left_out: Mapping[str, str]) -> str:
    """The table for readers: answered claims first, then the open ones, then the rules."""
    lines = [f"# Claims of the papers, at scale {scale}", ""]
    lines += [f"- {count} {verdict}" for verdict, count in summary(table).items()]
    if left_out:
        lines += ["", "Corpora that were not available:", "", *(f"- {name}: {how}" for name, how in left_out.items())]
    is_answered = table["verdict"].isin(VERDICTS)
    lines += ["", "## Answered", "", NAT, "", "| id | claim | ours | error | verdict |", "|---|---|---|---|---|"]
    for row in table[is_answered].to_dict("records"):
        name = f"[{row['id']}]({row['details']})" if row["details"] else row["id"]
        said = f"**{row['verdict']}**" + " (old)" * (row.get("evidence") == "old")
        lines.append(_row(name, row["claim"], row["ours"], row["error"], said))
    if "evidence" in table:
        lines += ["", OLD]
    lines += ["", "## Open", "", "| id | claim | why |", "|---|---|---|"]
    lines += [_row(row["id"], row["claim"], row["verdict"]) for row in table[~is_answered].to_dict("records")]
    lines += ["", "## Where each claim is made, and how its verdict is decided", ""]
    lines += [f"- {row['id']} ({row['paper']}, {row['where']}): {row['rule']}" for row in table.to_dict("records")]
    return "\n".join(lines) + "\n"


def _row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"
