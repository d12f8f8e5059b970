"""Drawings that several kinds of result share."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.contour import QuadContourSet

from bayestopics.base.plotting import COLOURS
from bayestopics.hyper.best import Ellipse

MARKERS = "osD^v<>p"  # one more than there are colours
LINES = ("-", "--", ":")  # when all colours are taken, they begin again with the next kind of line
LEVELS = (-300.0, -100.0, -30.0, -10.0, -4.5, -3.0, -2.0, -1.0, -0.5, 0.0)  # nats; a chi-square of 2 at 95 % is at -3
# Monte Carlo ellipses and regions of h itself look the same in all figures
ELLIPSE: dict[str, Any] = {"color": COLOURS[1], "linewidth": 1.6}
REGION: dict[str, Any] = {"color": COLOURS[6], "linewidth": 1.2, "linestyle": "--"}


def looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """A colour, a marker and a line for each name, however many there are.

    Give the names in the order of their registry, so that each has the same look in all figures.
    """
    lines = cycle(line for line in LINES for _ in COLOURS)
    return {
        name: {"color": colour, "marker": marker, "linestyle": line}
        for name, colour, marker, line in zip(names, cycle(COLOURS), cycle(MARKERS), lines, strict=False)
    }


def shades(count: int) -> list[Any]:
    """From white to a grey that lines and marks stand out from."""
    return list(plt.get_cmap("Greys")(np.linspace(0.0, 0.55, count)))


def outline(axis: Axes, ellipse: Ellipse | None, label: str, style: dict[str, Any]) -> None:
    if ellipse is not None:
        axis.plot(*ellipse.outline().T, label=label, **style)


def contours(axis: Axes, alphas: np.ndarray, etas: np.ndarray, values: np.ndarray, lowest: float) -> QuadContourSet:
    """log M-hat, etas x alphas, 0 at the top; levels below `lowest`, which panels side by side share, are left out."""
    first = max(0, int(np.searchsorted(LEVELS, lowest, side="right")) - 1)
    levels = LEVELS[min(first, len(LEVELS) - 2) :]
    axis.contour(alphas, etas, values, levels=levels, colors="#999999", linewidths=0.5, linestyles="solid")
    return axis.contourf(alphas, etas, values, levels=levels, colors=shades(len(levels)), extend="min")
