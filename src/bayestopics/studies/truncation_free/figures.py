"""Figures of the study `truncation_free`: the toy example, and both methods against batch size and over time.

Each method has the same colour, blue or orange, in all figures; within a panel, larger batch sizes are darker.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from bayestopics.base.plotting import COLOURS, label_scale, plain_ticks
from bayestopics.runs.result import Result
from bayestopics.studies.records import of_kind
from bayestopics.studies.truncation_free.tables import (
    METHODS,
    OURS,
    Panels,
    at_equal_seconds,
    budget,
    panels,
    reference_lines,
    seconds_of,
)

BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK = COLOURS
STYLES: dict[str, dict[str, Any]] = {
    "truncation-free": {"color": BLUE, "marker": "o"},
    "truncated": {"color": RED, "marker": "s", "linestyle": "--"},
    "truncation-free-data": {"color": GREEN, "marker": "^"},
    "truncated-restless": {"color": PINK, "marker": "D", "linestyle": "--"},
}
SHADES = {"truncation-free": "Blues", "truncated": "Oranges"}
SHADES |= {"truncation-free-data": "Greens", "truncated-restless": "RdPu"}
LINES: dict[str, dict[str, Any]] = {
    "unigram": {"color": "#888888", "linestyle": ":"},
    "Gibbs": {"color": BLACK, "linestyle": "-."},
}
Handles = dict[tuple[str, int], Any]  # (method, batch size) -> its line
TITLES = {"dp-mixture": "DP mixture", "hdp": "HDP"}
PER_WORD = "held-out log likelihood\n(nats per word)"


# -- the toy -------------------------------------------------------------------------------------------


def draw_toy(records: list[Result], scale: str) -> Figure:
    """Log-odds of component 1 in cases A and B [figure 2]."""
    table = of_kind(records, "toy")[0].tables["log_odds"]
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained", sharex=True)
    for axis, (case, part) in zip(axes, table.groupby("case"), strict=True):
        axis.axhline(0.0, color="#888888", linewidth=1)
        axis.plot(part["occurrences"], part["mean_field"], label="mean field", **STYLES["truncated"], markersize=4)
        axis.plot(part["occurrences"], part["exact"], color=BLACK, linewidth=1.2, label="exact")
        ours = {"color": BLUE, "marker": "o", "linestyle": "none", "markersize": 4.5}
        axis.plot(part["occurrences"], part["locally_collapsed"], label="locally collapsed", **ours)
        first = "Dirichlet(0.1, 1, ..., 1)" if case == "A" else "Dirichlet(1, ..., 1)"
        axis.set(title=f"case {case}: q(theta 1) = {first}", xlabel="occurrences of word 1")
    axes[0].set_ylabel("log q(z = 1) / q(z = 2)\n(nats; above 0 favours component 1)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper")
    label_scale(figure, scale)
    return figure


# -- against batch size ----------------------------------------------------------------------------------


def _grid(found: Panels, height: float = 3.3) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    """One axis per panel: a row for each model, a column for each corpus."""
    models, corpora = sorted({model for model, _ in found}), list(dict.fromkeys(corpus for _, corpus in found))
    size = (max(7.5, 4.1 * len(corpora) + 1.8), height * len(models) + 0.3)
    figure, axes = plt.subplots(len(models), len(corpora), figsize=size, layout="constrained", squeeze=False)
    named = {(model, corpus): axes[i, j] for i, model in enumerate(models) for j, corpus in enumerate(corpora)}
    for key in named.keys() - found.keys():
        named[key].set_axis_off()
    for model, corpus in found:
        named[model, corpus].set_title(f"{TITLES[model]}, {corpus}")
    return figure, {key: named[key] for key in found}


def _batch_axis(axis: Axes, sizes: list[int]) -> None:
    axis.set(xscale="log", xlabel="documents in a batch")
    axis.xaxis.set_major_locator(FixedLocator([float(size) for size in sizes]))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter("{x:g}")


def _against_batch(records: list[Result], scale: str, column: str, label: str, bars: bool) -> Figure:
    found = panels(records)
    figure, axes = _grid(found)
    handles: dict[str, Any] = {}
    for key, axis in axes.items():
        table = at_equal_seconds(found[key])
        if bars:
            handles |= _reference(axis, records, *key)
        for method, part in table.groupby("method"):
            style = STYLES[str(method)] | {"markersize": 5, "capsize": 3, "label": method}
            errors = 2.0 * part["bar"] if bars else None
            handles[str(method)] = axis.errorbar(part["batch"], part[column], errors, **style)
        _batch_axis(axis, sorted(table["batch"].unique().tolist()))
        axis.set_title(f"{axis.get_title(loc='left')}, after {budget(found[key]):.3g} CPU s", loc="left")
        axis.set_ylabel(label)
    ordered = {name: handles[name] for name in (*METHODS, *OURS, *LINES) if name in handles}
    figure.legend(list(ordered.values()), list(ordered), loc="outside right upper")
    label_scale(figure, scale)
    return figure


def _reference(axis: Axes, records: list[Result], model: str, corpus: str) -> dict[str, Any]:
    """Draw the lines to compare with; returns what a legend needs."""
    lines = reference_lines(records, model, corpus)
    return {name: axis.axhline(value, linewidth=1.3, **LINES[name]) for name, value in lines.items()}


def draw_held_out(records: list[Result], scale: str) -> Figure:
    """The held-out score against batch size, after equal seconds [figures 3a and 4a]."""
    return _against_batch(records, scale, "per_word", PER_WORD, bars=True)


def draw_components(records: list[Result], scale: str) -> Figure:
    """Components against batch size, after equal seconds [figures 3b and 4b, left]."""
    figure = _against_batch(records, scale, "components", "components", bars=False)
    for axis in figure.axes:
        if axis.axison:
            _count_axis(axis)
    return figure


def _count_axis(axis: Axes) -> None:
    """A log axis for counts: from 1 to a little above the largest, and at least to 10."""
    axis.set(yscale="log", ylabel="components")
    axis.set_ylim(0.8, max(10.0, 1.3 * axis.dataLim.ymax))
    plain_ticks(axis.yaxis)


# -- over time -------------------------------------------------------------------------------------------


def _shade(record: Result, sizes: list[int]) -> Any:
    place = sizes.index(record.task.params["batch"]) / max(1, len(sizes) - 1)
    return plt.get_cmap(SHADES[record.task.params["method"]])(0.35 + 0.6 * place)


def _over(axis: Axes, panel: list[Result], sizes: list[int], x: str, y: str) -> Handles:
    """Draw one line per run of a panel, over CPU seconds or documents; returns what a legend needs."""
    handles: Handles = {}
    for record in panel:
        method, batch = record.task.params["method"], record.task.params["batch"]
        along = seconds_of(record) if x == "seconds" else record.trace["documents"].to_numpy()
        line = STYLES[method] | {"color": _shade(record, sizes), "markersize": 3}
        (handles[method, batch],) = axis.plot(along, record.trace[y], **line)
    axis.set(xscale="log", xlabel="CPU seconds of learning" if x == "seconds" else "documents seen")
    return handles


def _legend(figure: Figure, handles: Handles, lines: dict[str, Any] | None = None) -> None:
    """A legend by method and batch size for all panels; not every panel has every size."""
    order = sorted(handles, key=lambda key: ((*METHODS, *OURS).index(key[0]), key[1]))
    found = {f"{method}, S = {batch}": handles[method, batch] for method, batch in order} | (lines or {})
    figure.legend(list(found.values()), list(found), loc="outside right upper", prop={"size": 8.5})


def _sizes(records: list[Result]) -> list[int]:
    return sorted({record.task.params["batch"] for record in of_kind(records, "stream")})


def draw_held_out_over_time(records: list[Result], scale: str) -> Figure:
    """The held-out score over seconds, one line per run; runs are compared at the dotted line."""
    found, lines = panels(records), dict[str, Any]()
    handles: Handles = {}
    figure, axes = _grid(found, height=3.6)
    for key, axis in axes.items():
        lines |= _reference(axis, records, *key)
        handles |= _over(axis, found[key], _sizes(records), "seconds", "per_word")
        axis.axvline(budget(found[key]), color="#888888", linestyle=":", linewidth=1.2)
        axis.set_ylabel(PER_WORD)
    _legend(figure, handles, lines)
    label_scale(figure, scale)
    return figure


def draw_components_over_time(records: list[Result], scale: str) -> Figure:
    """Components of one model over seconds (above) and documents (below) [figures 3b and 4b, right]."""
    found = panels(records)
    handles: Handles = {}
    size = (max(7.5, 4.1 * len(found) + 1.8), 7.2)
    figure, axes = plt.subplots(2, len(found), figsize=size, layout="constrained", squeeze=False)
    for column, ((model, corpus), panel) in enumerate(found.items()):
        for axis, x in zip(axes[:, column], ("seconds", "documents"), strict=True):
            handles |= _over(axis, panel, _sizes(records), x, "components")
            axis.set_title(f"{TITLES[model]}, {corpus}")
            _count_axis(axis)
    _legend(figure, handles)
    label_scale(figure, scale)
    return figure


# -- without end -----------------------------------------------------------------------------------------


def draw_endless(records: list[Result], scale: str) -> Figure:
    """Peak memory of the process (left) and components (right) over the documents of an endless stream."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
    for record in of_kind(records, "endless"):
        model, method = record.task.params["model"], record.task.params["method"]
        look = STYLES[method] | {"markersize": 5, "label": f"{TITLES[model]}, {method}"}
        look |= {"markerfacecolor": "white"} if model == "dp-mixture" else {}
        timing, trace = record.tables["timing"], record.trace
        left.plot(timing["documents"] / 1000, timing["peak_mb"], **look)
        right.plot(trace["documents"] / 1000, trace["components"], **look)
    left.set(xlabel="thousands of documents seen", ylabel="peak memory so far\n(MB, including Python and its packages)")
    left.set_ylim(0.0, 1.1 * left.dataLim.ymax)
    right.set(xlabel="thousands of documents seen", ylabel="components")
    right.set_ylim(bottom=0.0)
    figure.legend(*left.get_legend_handles_labels(), loc="outside right upper")
    label_scale(figure, scale)
    return figure
