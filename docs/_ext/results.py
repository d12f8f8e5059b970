"""What came out of the studies, from results/paper/kept: claims by paper, figures and tables by study."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import yaml
from markdown_tables import cell, table

from bayestopics.corpus.registry import Registry
from bayestopics.studies.claims import VERDICTS
from bayestopics.studies.plan import Plan, Settings, names_in, plan_of

SCALE = "paper"
OPEN = "no answer yet"
LONGEST = 40  # rows of a table that is shown; a longer one is a link


def parts(root: Path) -> dict[str, str]:
    """claims.md, claims/<paper>.md and studies/<study>.md"""
    kept = root / "results" / SCALE / "kept"
    claims = pd.read_csv(kept / "claims.csv", keep_default_na=False)
    found = {"claims.md": counts(claims)}
    for paper, rows in claims.groupby("paper", sort=False):
        found[f"claims/{slug(str(paper))}.md"] = of_paper(rows, kept)
    for study in names_in(root / "config/studies"):
        found[f"studies/{study}.md"] = of_study(plan_at_scale(study, root), kept)
    return found


def slug(text: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in text.lower()).split())


# -- claims --------------------------------------------------------------------------------------------


def counts(claims: pd.DataFrame) -> str:
    """How many claims of each paper have each verdict; in brackets, how many of these are old."""
    verdicts = claims["verdict"].where(claims["verdict"].isin(VERDICTS), OPEN)
    rows = []
    for paper, said in verdicts.groupby(claims["paper"], sort=False):
        rows.append([cell(str(paper)), *(_count(said, verdict, claims) for verdict in (*VERDICTS, OPEN))])
    rows.append(["**all**", *(_count(verdicts, verdict, claims) for verdict in (*VERDICTS, OPEN))])
    return table(["paper", *VERDICTS, OPEN], rows) + "\n"


def _count(said: pd.Series, verdict: str, claims: pd.DataFrame) -> str:
    here = said[said == verdict]
    old = int((claims.loc[here.index, "evidence"] == "old").sum())
    return (f"{len(here)} ({old} old)" if old else str(len(here))) if len(here) else ""


def of_paper(claims: pd.DataFrame, kept: Path) -> str:
    answered = claims[claims["verdict"].isin(VERDICTS)]
    rows = [
        [_name(row, kept), cell(row["claim"]), cell(row["ours"]), cell(row["error"]), _verdict(row)]
        for row in answered.to_dict("records")
    ]
    lines = [table(["id", "the paper says", "we find", "error", "verdict"], rows, "claims")] if rows else []
    rest = claims[~claims["verdict"].isin(VERDICTS)]
    if len(rest):
        rows = [[row["id"], cell(row["claim"]), cell(row["verdict"])] for row in rest.to_dict("records")]
        lines += [f"No answer at the paper's sizes yet ({len(rest)}):"]
        lines += [table(["id", "the paper says", "why there is no answer"], rows, "claims")]
    rules = [f"- **{row['id']}** ({cell(row['where'])}): {cell(row['rule'])}" for row in claims.to_dict("records")]
    lines += [":::{dropdown} How each verdict is decided\n" + "\n".join(rules) + "\n:::"]
    return "\n\n".join(lines) + "\n"


def _name(row: dict[str, str], kept: Path) -> str:
    if row["details"] and (kept / row["details"]).is_file():
        return f"{{download}}`{row['id']} </../results/{SCALE}/kept/{row['details']}>`"
    return row["id"]


def _verdict(row: dict[str, str]) -> str:
    said = f"[{row['verdict']}]{{.verdict .verdict-{slug(row['verdict'])}}}"
    return said + (" [old]{.verdict .verdict-old}" if row["evidence"] == "old" else "")


# -- figures and tables ------------------------------------------------------------------------------


def plan_at_scale(study: str, root: Path) -> Plan:
    """As if all corpora were within reach: what was kept decides."""
    content = yaml.safe_load((root / f"config/studies/{study}.yaml").read_text(encoding="utf-8"))
    entries = Registry(root / "config/corpora.yaml").entries
    return plan_of(Settings.of(study, SCALE, content, entries, reach=entries))


def of_study(plan: Plan, kept: Path) -> str:
    lines = []
    for folder, old in ((kept / plan.study, False), (kept / "old" / plan.study, True)):
        figures, tables = (sorted(folder.glob(f"*.{end}")) for end in ("png", "csv"))
        if old and (figures or tables):
            lines += ["## Old figures and tables", "These come from records that were not kept in full, so that they "]
            lines[-1] += "cannot be made again until the runs behind them are run again."
        elif figures or tables:
            lines.append("## Figures and tables")
        lines += _figures(figures, plan) + [_table(path, plan) for path in tables]
    return "\n\n".join(lines or ["Nothing of this study is kept at the papers' sizes yet."]) + "\n"


def _figures(paths: list[Path], plan: Plan) -> list[str]:
    """Each with its label; what several have in common is said once, above them."""
    by_caption: dict[str, list[Path]] = {}
    for path in paths:
        by_caption.setdefault(_caption(path, plan), []).append(path)
    lines = []
    for caption, alike in by_caption.items():
        lines += [cell(caption)] if caption else []
        for path in alike:
            label = plan.figures[path.stem].label if path.stem in plan.figures else path.stem.replace("-", " ")
            place = path.as_posix().partition("/results/")[2]
            options = f":alt: {label}\n:width: 100%"
            lines.append(f":::{{figure}} /../results/{place}\n{options}\n\n{cell(label)}\n:::")
    return lines


def _caption(path: Path, plan: Plan) -> str:
    """From the plan; that of a figure of the same kind where this one is not planned any more."""
    alike = [figure for name, figure in plan.figures.items() if name.split("-")[0] == path.stem.split("-")[0]]
    planned = plan.figures.get(path.stem) or next(iter(alike), None)
    return " ".join(planned.caption.split()) if planned else ""


def _table(path: Path, plan: Plan) -> str:
    planned = plan.tables.get(path.stem)
    title = planned.title if planned else path.stem.replace("-", " ")
    caption = " ".join(planned.caption.split()) if planned else ""
    place = path.as_posix().partition("/results/")[2]
    link = f"{{download}}`{path.name} </../results/{place}>`"
    content = pd.read_csv(path, keep_default_na=False, na_values=[""])
    lines = [f"### {cell(title)}", f"{cell(caption)} ({len(content)} rows; {link})"]
    if len(content) <= LONGEST:
        rows = [[cell(_short(value)) for value in row] for row in content.to_numpy().tolist()]
        shown = table([cell(str(name).replace("_", " ")) for name in content], rows)
        lines.append(f":::{{dropdown}} The table\n{shown}\n:::")
    return "\n\n".join(lines)


def _short(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return "" if value != value else f"{value:.0f}" if value.is_integer() else f"{value:.5g}"
