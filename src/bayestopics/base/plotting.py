"""What all figures share: colours that colour-blind readers can tell apart, the scale's label, tables as pages."""

from __future__ import annotations

import html
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from bayestopics.base.files import replacing

# Okabe & Ito (2008), without yellow, which is faint on white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

plt.rcParams.update(
    {
        "axes.prop_cycle": plt.cycler(color=COLOURS),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#e6e6e6",
        "axes.axisbelow": True,
        "font.size": 10,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "legend.frameon": False,
        "figure.dpi": 130,
        "svg.hashsalt": "bayestopics",
    }
)

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 14px/1.45 system-ui, sans-serif; margin: 1.5em; color: #222; }}
table {{ border-collapse: collapse; }} th, td {{ padding: .35em .7em; text-align: left; vertical-align: top; }}
th {{ position: sticky; top: 0; background: #f3f3f3; }} tr:nth-child(even) {{ background: #fafafa; }}
td.number {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
td.long {{ min-width: 18em; }} .note {{ color: #a33; }}
</style></head><body><h1>{title}</h1><p class="note">{note}</p>
<table><thead><tr>{head}</tr></thead><tbody>
{body}
</tbody></table></body></html>
"""


def label_scale(figure: Figure, scale: str) -> None:
    """Every figure says at which scale it was made."""
    figure.text(0.995, 0.005, f"scale: {scale}", ha="right", va="bottom", fontsize=8, color="#666666")


def plain_ticks(side: Axis) -> None:
    """Ticks of a log scale as plain numbers, few enough to be read also where it spans less than a decade."""
    low, high = side.get_view_interval()
    decades = np.log10(high / low)
    if decades > 4:
        side.set_major_locator(LogLocator(numticks=6))
    elif decades > 1:
        side.set_major_locator(LogLocator(subs=(1.0, 3.0) if decades > 2 else (1.0, 2.0, 5.0)))
    else:
        side.set_major_locator(MaxNLocator(4))
    side.set_major_formatter("{x:g}")
    side.set_minor_locator(NullLocator())


def save(figure: Figure, path: str | Path) -> None:
    path = Path(path)
    with replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)


def html_table(table: pd.DataFrame, title: str, note: str = "") -> str:
    """A table as a page of its own, for the report; columns that are empty throughout are left out."""
    table = table.loc[:, [table[column].notna().any() and (table[column] != "").any() for column in table.columns]]
    head = "".join(f"<th>{html.escape(column.replace('_', ' '))}</th>" for column in table.columns)
    rows = ["".join(_cell(value) for value in row) for row in table.itertuples(index=False)]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return PAGE.format(title=html.escape(title), note=html.escape(note), head=head, body=body)


def _cell(value: object) -> str:
    if value is None or value is pd.NA or value != value:
        return "<td></td>"
    if isinstance(value, float):
        text = f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.4g}"
        return f'<td class="number">{text}</td>'
    if isinstance(value, int) or hasattr(value, "dtype"):
        return f'<td class="number">{value:,}</td>'
    text = str(value)
    return f"<td{' class=long' if len(text) > 40 else ''}>{html.escape(text)}</td>"
