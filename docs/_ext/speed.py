"""The tables of `make bench`, from results/bench/kept."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from markdown_tables import cell, table

from bayestopics.bench import hdp_pages, pages
from bayestopics.bench.timing import PHASES

NOTHING = "No measurement is kept yet: `make bench`, and then `make keep-bench`.\n"
QUICK = """\
:::{warning}
These numbers are of a quick run on a tiny corpus (`--quick`), made to try out the page. They say nothing about speed.
:::
"""


def parts(root: Path) -> dict[str, str]:
    """speed/machine.md, lda.md, memory.md, hdp.md"""
    kept = root / "results/bench/kept"
    names = ("machine", "lda", "memory", "hdp")
    if not (kept / "bench.json").is_file():
        return {f"speed/{name}.md": NOTHING for name in names}
    machine = json.loads((kept / "bench.json").read_text(encoding="utf-8"))
    made = (of_machine(machine), of_lda(kept, machine), of_memory(kept), of_hdp(kept))
    return {f"speed/{name}.md": text for name, text in zip(names, made, strict=True)}


def of_machine(machine: dict) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in {**machine["versions"], **machine["peers"]}.items())
    rows = [
        ["date", machine["date"]],
        ["commit", f"`{machine['commit']}`"],
        ["processor", cell(machine["cpu"])],
        ["threads", str(machine["threads"])],
        ["packages", cell(versions)],
        ["rounds", f"{machine['rounds']}, after one that is not counted"],
        ["warm-up", f"{machine['warm_up']} sweeps"],
        ["took", f"{machine['seconds'] / 60:.0f} minutes"],
        *([f"left out: {name}", cell(why)] for name, why in machine["left_out"].items()),
    ]
    return (QUICK if machine["quick"] else "") + "\n" + table(["", ""], rows) + "\n"


def of_lda(kept: Path, machine: dict) -> str:
    """For each corpus, the ratios and the costs in both phases; one column per number of topics."""
    measured = pd.read_csv(kept / "bench.csv")
    lines = []
    for corpus, rows in measured.groupby("corpus", sort=False):
        lines.append(f"### {corpus}, {rows['tokens'].iloc[0]:,} words")
        for title, make in (("Times as fast as tomotopy", pages.ratios), ("Nanoseconds per token", pages.costs)):
            for phase in PHASES:
                lines.append(f"**{title}**, {pages.phase_title(phase, machine)}:")
                shown = make(rows, phase)
                shown.columns = [str(name).removeprefix(f"{corpus} ") for name in shown]
                lines.append(_shown(shown))
    caption = "Nanoseconds per token by number of topics, with quartiles over rounds."
    lines.append(
        f":::{{figure}} /../results/bench/kept/ns_per_token.png\n:alt: {caption}\n:width: 100%\n\n{caption}\n:::"
    )
    return "\n\n".join(lines) + "\n"


def of_memory(kept: Path) -> str:
    measured = pd.read_csv(kept / "memory.csv")
    return f"One sweep on {measured['corpus'][0]} with {measured['topics'][0]} topics:\n\n" + _shown(
        measured[["program", "peak_mb", "loaded_mb"]].round(0).astype({"peak_mb": int, "loaded_mb": int})
    )


def of_hdp(kept: Path) -> str:
    tables = {path.stem.removeprefix("hdp_"): pd.read_csv(path) for path in sorted(kept.glob("hdp_*.csv"))}
    lines = []
    for title, content in hdp_pages.shown(tables).items():
        lines += [f"**{cell(title)}**", _shown(content)]
    caption = "Held-out score over CPU seconds, and nanoseconds per token of a sweep by number of topics."
    lines.append(f":::{{figure}} /../results/bench/kept/hdp.png\n:alt: {caption}\n:width: 100%\n\n{caption}\n:::")
    return "\n\n".join(lines) + "\n"


def _shown(content: pd.DataFrame) -> str:
    if not len(content):
        return "(no rows)\n"
    return table([cell(str(name).replace("_", " ")) for name in content], content.map(cell).to_numpy().tolist()) + "\n"
