"""What all figures share: colours that colour-blind readers can tell apart, and a label for the scale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from bayestopics.base.files import replacing

# Okabe & Ito (2008), without yellow, which is faint on white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

STYLE: dict[Any, Any] = {
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


def use_style() -> None:
    """Set the style for a program that only draws files; do not use it in a user's own session."""
    matplotlib.use("Agg")
    plt.rcParams.update(STYLE)


def label_scale(figure: Figure, scale: str) -> None:
    """Write the scale of the run into a corner of the figure."""
    figure.text(0.995, 0.005, f"scale: {scale}", ha="right", va="bottom", fontsize=8, color="#666666")


def plain_ticks(side: Axis) -> None:
    """Show the ticks of a log scale as plain numbers, few enough to be readable even if it spans less than a decade."""
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
