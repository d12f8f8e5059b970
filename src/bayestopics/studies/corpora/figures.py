"""Figure of the study `corpora`: sizes of all corpora beside the papers' numbers."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bayestopics.base.plotting import COLOURS, label_scale
from bayestopics.runs.result import Result
from bayestopics.studies.corpora.tables import SIZES, sizes_table

OURS, PAPER, DIFFERENT = COLOURS[0], COLOURS[6], COLOURS[1]


def draw_sizes(records: list[Result], scale: str, names: Sequence[str] | None = None) -> Figure:
    """One row per corpus, one panel per size. A dot is our number, a ring the paper's; a line joins two that differ.

    `names` is the same as for `sizes_table`.
    """
    table = sizes_table(records, names)
    names = list(dict.fromkeys(table["corpus"]))[::-1]
    position = {name: i for i, name in enumerate(names)}
    figure, axes = plt.subplots(1, 3, figsize=(11, 0.8 + 0.29 * len(names)), sharey=True, squeeze=True)
    any_differ = False
    for axis, size in zip(axes, SIZES, strict=True):
        for row in table.to_dict("records"):
            y, ours, paper = position[row["corpus"]], row[size], row[f"paper_{size}"]
            if pd.notna(ours):
                axis.plot(ours, y, "o", color=OURS, markersize=5, zorder=3)
            differ = pd.notna(paper) and pd.notna(ours) and paper != ours
            if pd.notna(paper):
                colour = DIFFERENT if differ else PAPER
                axis.plot(paper, y, "o", mfc="none", color=colour, markersize=10, zorder=2)
            if differ:
                any_differ = True
                axis.plot([ours, paper], [y, y], "-", color=DIFFERENT, linewidth=2, zorder=1)
        axis.set(xscale="log", xlabel=size)
    missing = set(table.loc[table["documents"].isna(), "corpus"])
    axes[0].set_yticks(range(len(names)), [f"{name} (not available)" if name in missing else name for name in names])
    axes[0].set_ylim(-0.7, len(names) - 0.3)
    handles = [
        Line2D([], [], marker="o", linestyle="", color=OURS, markersize=5, label="here"),
        Line2D([], [], marker="o", linestyle="", mfc="none", color=PAPER, markersize=10, label="in the paper"),
    ]
    if any_differ:
        label = "the two differ"
        handles.append(Line2D([], [], marker="o", mfc="none", color=DIFFERENT, linewidth=2, markersize=10, label=label))
    figure.legend(handles=handles, loc="lower center", ncols=3, bbox_to_anchor=(0.5, 1.0))
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    return figure
