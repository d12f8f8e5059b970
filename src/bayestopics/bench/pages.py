"""The tables and the figure of a bench."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from bayestopics.base.plotting import COLOURS
from bayestopics.bench.memory import GOAL_MB
from bayestopics.bench.programs import OURS, PEERS, PROGRAMS
from bayestopics.bench.timing import PHASES, REFERENCE, SLOW, VERY_SLOW

OTHER_LINES = {"tomotopy": ("#000000", "--"), "lda": ("#777777", "--"), "gensim": ("#777777", ":")}
OTHER_LINES |= {"scikit-learn": ("#b0b0b0", ":"), "side-by-side": (COLOURS[0], ":")}  # as single-site
TITLES = {"early": "early: sweeps 2-{last} from a random start", "warmed": "warmed: after {warm_up} sweeps of sparse"}


def phase_title(phase: str, machine: dict[str, Any]) -> str:
    return TITLES[phase].format(last=machine["rounds"] + 1, warm_up=machine["warm_up"])


def ratios(table: pd.DataFrame, phase: str) -> pd.DataFrame:
    """How many times as fast as tomotopy, median (quartiles): one row per program, one column per corpus and T."""
    return _wide(table, phase, ["times_tomotopy", "times_tomotopy_q1", "times_tomotopy_q3"], _ratio)


def costs(table: pd.DataFrame, phase: str) -> pd.DataFrame:
    return _wide(table, phase, ["ns_a_token"], lambda cost: f"{cost:,.0f}")


def _ratio(median: float, low: float, high: float) -> str:
    return "" if median != median else f"{_short(median)} ({_short(low)}-{_short(high)})"


def _short(ratio: float) -> str:
    return f"{ratio:.{1 if ratio >= 10 else 2 if ratio >= 0.1 else 3}f}"


def _wide(table: pd.DataFrame, phase: str, columns: list[str], write: Any) -> pd.DataFrame:
    rows = table[table["phase"] == phase]
    cells = pd.DataFrame(
        {
            "program": rows["program"],
            "cell": rows["corpus"] + " T=" + rows["topics"].astype(str),
            "text": [write(*values) for values in rows[columns].to_numpy()],
        }
    )
    wide = cells.pivot(index="program", columns="cell", values="text").fillna("")
    wide = wide.loc[[name for name in PROGRAMS if name in wide.index], list(dict.fromkeys(cells["cell"]))]
    return wide.reset_index().rename_axis(columns=None)


def markdown(
    table: pd.DataFrame, memory: pd.DataFrame | None, hdp: dict[str, pd.DataFrame], machine: dict[str, Any]
) -> str:
    names = " and ".join(program.name for program in PEERS if program.variational)
    parts = [
        "# Speed compared with other programs",
        f"{machine['cpu']}; one thread; Python {machine['versions']['python']}; "
        + ", ".join(f"{name} {version}" for name, version in machine["peers"].items())
        + ".",
        f"Every program makes one sweep in turn, in {machine['rounds']} rounds after a first one that is not counted. "
        f"Programs whose sweep takes over {SLOW:g} s have fewer rounds, and over {VERY_SLOW:g} s only one (column "
        f"`rounds` of bench.csv). A ratio is the time of {REFERENCE} divided by the program's time in the same round; "
        f"above 1, the program is faster than {REFERENCE}. The tables show the median and the quartiles over rounds. "
        f"{names} are variational: a pass is not the same work as a sweep and does not aim at the same answer. The "
        f"cost of `sparse` depends on how far the chain has concentrated.",
    ]
    parts += [f"Left out: {name} ({reason})." for name, reason in machine["left_out"].items()]
    for phase in PHASES:
        title = phase_title(phase, machine)
        parts += [f"## Times as fast as {REFERENCE}, {title}", _markdown_table(ratios(table, phase))]
        parts += [f"## Nanoseconds per token, {title}", _markdown_table(costs(table, phase))]
    if memory is not None:
        corpus, topics = memory["corpus"].iloc[0], memory["topics"].iloc[0]
        title = f"## Peak memory of a process that runs one sweep on {corpus}, T={topics} (goal: {GOAL_MB:,.0f} MB)"
        whole = memory[["program", "peak_mb", "loaded_mb"]].round(0).astype({"peak_mb": int, "loaded_mb": int})
        parts += [title, _markdown_table(whole)]
    for title, of_hdp in hdp.items():
        parts += [f"## {title}", _markdown_table(of_hdp)]
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: pd.DataFrame) -> str:
    lines = [list(table.columns), ["---"] * table.shape[1], *table.astype(str).to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def figure(table: pd.DataFrame, machine: dict[str, Any]) -> Figure:
    """Nanoseconds per token against T: columns are corpora, rows phases, lines programs; bars are quartiles."""
    corpora = list(dict.fromkeys(table["corpus"]))
    size = (3.6 * len(corpora) + 1.8, 6.8)
    drawn, axes = plt.subplots(len(PHASES), len(corpora), figsize=size, sharex=True, sharey=True, squeeze=False)
    for row, phase in enumerate(PHASES):
        for column, corpus in enumerate(corpora):
            _panel(axes[row, column], table[(table["phase"] == phase) & (table["corpus"] == corpus)])
        axes[row, 0].set_ylabel("nanoseconds per token")
    for column, corpus in enumerate(corpora):
        axes[0, column].set_title(corpus)
        axes[-1, column].set_xlabel("number of topics T")
    for row, phase in enumerate(PHASES):
        axes[row, -1].annotate(
            phase_title(phase, machine),
            (1.02, 0.5),
            xycoords="axes fraction",
            rotation=-90,
            va="center",
            color="#555555",
        )
    handles = {line.get_label(): line for ax in axes.flat for line in ax.get_legend_handles_labels()[0]}
    names = [name for name in PROGRAMS if name in handles]
    labels = [f"{name} (variational: one pass)" if PROGRAMS[name].variational else name for name in names]
    drawn.tight_layout()
    drawn.legend([handles[name] for name in names], labels, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return drawn


def _panel(ax: Any, rows: pd.DataFrame) -> None:
    colours = {program.name: colour for program, colour in zip(OURS, COLOURS, strict=False)}
    for name in [name for name in PROGRAMS if name in set(rows["program"])]:
        line = rows[rows["program"] == name].sort_values("topics")
        cost = line["ns_a_token"]
        spread = [cost - line["ns_a_token_q1"], line["ns_a_token_q3"] - cost]
        colour, style = OTHER_LINES.get(name) or (colours[name], "-")
        ax.errorbar(line["topics"], cost, yerr=spread, color=colour, linestyle=style, marker="o", ms=3.5, label=name)
    ax.set(xscale="log", yscale="log")
    topics = sorted(set(rows["topics"]))
    ax.set_xticks(topics, [str(count) for count in topics], minor=False)
    ax.tick_params(axis="x", which="minor", labelbottom=False)
    ax.yaxis.set_major_formatter("{x:,.0f}")
