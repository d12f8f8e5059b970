"""Figure of the study `routes`: the number of topics of every corpus by every route."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bayestopics.base.plotting import COLOURS, label_scale, plain_ticks
from bayestopics.runs.result import Result
from bayestopics.studies.routes.compute_routes import ESTIMATES, EVIDENCE, GIBBS

OF_LDA = 3  # the first three routes are for LDA, the others for the HDP
COLOUR = dict(zip(ESTIMATES, (COLOURS[0],) * OF_LDA + (COLOURS[1],) * (len(ESTIMATES) - OF_LDA), strict=True))
PLACE = {route: len(ESTIMATES) - number for number, route in enumerate(ESTIMATES)}  # the first on top


def draw_routes(records: list[Result], scale: str) -> Figure:
    """One panel per corpus, one line per route: its number and interval; hollow marks count the large topics."""
    figure, axes = plt.subplots(
        1, len(records), figsize=(5.2 + 2.9 * len(records), 5.4), squeeze=False, sharey=True, layout="constrained"
    )
    for axis, record in zip(axes[0], records, strict=True):
        _panel(axis, record)
    first = axes[0, 0]
    first.set(yticks=list(PLACE.values()), ylim=(0.2, len(PLACE) + 0.5))
    first.set_yticklabels(PLACE, fontweight="bold")
    for route, place in PLACE.items():
        at: dict[str, Any] = {
            "xycoords": first.get_yaxis_transform(),
            "textcoords": "offset points",
            "ha": "right",
            "va": "top",
        }
        first.annotate(_folded(ESTIMATES[route]), (0, place), (-8, -9), fontsize=8.5, color="#444444", **at)
    figure.legend(handles=_legend(records), loc="outside lower left", ncol=3, fontsize=9)
    label_scale(figure, scale)
    return figure


def _folded(text: str, width: int = 36) -> str:
    """The name on two lines if it is long."""
    middle = text.rfind(" ", 0, width) if len(text) > width else len(text)
    return text[:middle] + ("\n" + text[middle + 1 :] if middle < len(text) else "")


def _legend(records: list[Result]) -> list[Line2D]:
    grey, hollow = "#555555", {"marker": "o", "markerfacecolor": "white", "linewidth": 0}
    lines: dict[str, dict[str, Any]] = {
        "LDA: number and interval": {"color": COLOUR[EVIDENCE], "marker": "o", "linewidth": 2.2},
        "HDP: number and interval": {"color": COLOUR[GIBBS], "marker": "o", "linewidth": 2.2},
        "chains from different starts disagree": {"color": grey, "linestyle": "--", "linewidth": 2.2},
        "topics with at least 1 % of the tokens": {"color": COLOUR[GIBBS], **hollow},
        "best T is at an end of the range tried": {"color": grey, "marker": "D", "linewidth": 0},
        "true number of topics": {"color": "#888888", "linestyle": ":"},
    }
    if not any(np.isfinite(record.metrics["true_topics"]) for record in records):
        del lines["true number of topics"]
    return [Line2D([], [], label=label, **look) for label, look in lines.items()]


def _panel(axis: Axes, record: Result) -> None:
    answers = record.tables["answers"]
    for row in answers.itertuples():
        place, colour = PLACE[row.route], COLOUR[row.route]
        axis.plot(
            (row.low, row.high), (place, place), color=colour, linewidth=2.2, linestyle="--" if row.apart else "-"
        )
        axis.plot(row.topics, place, "D" if row.at_the_edge else "o", color=colour, markersize=7)
        if np.isfinite(row.large_topics):
            axis.plot(row.large_topics, place - 0.22, "o", color=colour, markerfacecolor="white")
        axis.annotate(
            f"{row.topics:g}", (row.topics, place), (0, 7), textcoords="offset points", ha="center", fontsize=8.5
        )
    truth = record.metrics["true_topics"]
    if np.isfinite(truth):
        axis.axvline(truth, color="#888888", linestyle=":")
    params = record.task.params
    prior = (
        f"alpha {params['alpha']:g}, eta {params['eta']:g}, gamma {params['gamma']:g}, a {params['concentration']:g}"
    )
    axis.set_title(f"{params['corpus']}\n{prior}", fontsize=9.5)
    axis.set(xlabel="number of topics", xscale="log")
    low, high = axis.get_xlim()
    axis.set_xlim(min(low, 0.9 * answers["low"].min()), max(high, 1.15 * answers["high"].max()))
    plain_ticks(axis.xaxis)
