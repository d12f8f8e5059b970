"""Figures of the study `hyperparameters`: M-hat(h), posterior expectations over h, rivals, the iterative grid."""

from __future__ import annotations

import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bayestopics.base.plotting import COLOURS, label_scale, plain_ticks
from bayestopics.runs.plots import ELLIPSE, REGION, contours, outline, shades
from bayestopics.runs.result import Result
from bayestopics.studies.hyperparameters.tables import (
    OURS,
    best_of,
    between_seeds,
    ellipse_of,
    grid_of,
    in_order,
    pairs,
    with_functionals,
)
from bayestopics.studies.records import MissingRecords, by, of_kind

BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK = COLOURS
ERRORS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
MARGIN = 0.15  # space around the part that a zoomed panel shows
FURTHEST = 10.0  # a zoomed panel shows at most this many half-widths of the ellipse
STEPS = (1, 2, 4, 8, 12, 18)  # those in the paper's figure 2

TRUTH: dict[str, Any] = {"marker": "*", "s": 150, "facecolor": ORANGE, "edgecolor": "white", "linewidth": 0.6}
PAPER: dict[str, Any] = {"marker": "D", "s": 40, "facecolor": PINK, "edgecolor": "white", "linewidth": 0.6}
CHAINS: dict[str, Any] = {"color": RED, "s": 9, "linewidths": 0}
RIVALS: dict[str, dict[str, Any]] = {
    "variational-em": {"label": "variational EM", "marker": "+", "s": 45, "color": BLUE},
    "gibbs-em-minka": {"label": "Gibbs-EM as in the paper, last step", "marker": "x", "s": 28, "color": BLACK},
    "gibbs-em": {"label": "Gibbs-EM, exact M step, last step", "marker": "1", "s": 40, "color": GREEN},
    "gibbs-em-doubling": {"label": "Gibbs-EM, doubling chains, last step", "marker": "2", "s": 40, "color": PINK},
}
AVERAGED: dict[str, Any] = {"label": "Gibbs-EM, mean of its last steps", "marker": "o", "s": 20, "facecolor": "none"}


# -- parts ---------------------------------------------------------------------------------------------


def _point(axis: Axes, h: Any, label: str, style: dict[str, Any]) -> None:
    if h is not None:
        axis.scatter(*h, label=label, zorder=5, **style)


def _span(parts: list[np.ndarray], side: int) -> tuple[float, float]:
    """Axis limits that show all these points, with a margin."""
    values = np.concatenate([np.atleast_2d(part)[:, side] for part in parts])
    low, high = float(values.min()), float(values.max())
    margin = MARGIN * (high - low) or 0.01 * abs(high)
    return low - margin, high + margin


def _h_axes(axis: Axes, title: str = "") -> None:
    axis.set(title=title, xlabel="alpha", ylabel="eta")
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.yaxis.set_major_locator(MaxNLocator(5))
    axis.grid(False)


def _name(record: Result) -> str:
    params = record.task.params
    which = f"chain {params['replicate'] + 1}" if params["chains"] == 1 else f"{params['chains']} chains"
    return f"{'z alone' if params['sampler'] == OURS else params['sampler']}, {which}"


# -- M-hat -----------------------------------------------------------------------------------------------


def draw_surface(records: list[Result], scale: str) -> Figure:
    """One corpus: log M-hat where it matters, the same zoomed in on the Monte Carlo ellipse, and its relative error."""
    records = in_order(of_kind(records, "surface"))
    if not records:
        raise MissingRecords(["a surface"])
    first = records[0]
    params, surface = first.task.params, first.tables["surface"]
    ellipse, region = ellipse_of(first, "chains", "ellipse"), ellipse_of(first, "region")
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15.5, 5), layout="constrained")
    for axis in (left, middle):
        shown = contours(axis, *grid_of(surface, "log_m"), surface["log_m"].min())
        outline(axis, region, "95 % region for h itself (from the curvature of log m)", REGION)
        outline(axis, ellipse, "95 % Monte Carlo ellipse for the best h", ELLIPSE)
        for number, record in enumerate(records):
            style = {"marker": "ox^sv<>"[number % 7], "s": 26, "color": (RED, BLUE, GREEN, SKY)[number % 4]}
            _point(axis, best_of(record), f"best h: {_name(record)}", style)
        _point(axis, params.get("paper"), "the paper's estimate", PAPER)
        _point(axis, params.get("truth"), "truth", TRUTH)
        _h_axes(axis)
    left.set_xlim(surface["alpha"].min(), surface["alpha"].max())
    left.set_ylim(surface["eta"].min(), surface["eta"].max())
    left.set_title(f"{params['corpus']}, T = {params['topics']}: log M-hat(h)")
    points = [best_of(record) for record in records] + ([] if ellipse is None else [ellipse.outline()])
    middle.set_xlim(_span(points, 0))
    middle.set_ylim(_span(points, 1))
    middle.set_title("the same, near its maximum")
    figure.colorbar(shown, ax=[left, middle], label="log M-hat relative to its maximum (nats)", pad=0.01)
    _errors(figure, right, surface)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncol=4, fontsize=8.5)
    label_scale(figure, scale)
    return figure


def _errors(figure: Figure, axis: Axes, surface: pd.DataFrame) -> None:
    alphas, etas, errors = grid_of(surface, "error")
    shown = axis.contourf(alphas, etas, errors, levels=ERRORS, colors=shades(len(ERRORS)), extend="max")
    bar = figure.colorbar(shown, ax=axis, label="standard error / M-hat(h)", pad=0.02)
    bar.ax.set_yticklabels([f"{level:.1%}" if level < 0.01 else f"{level:.0%}" for level in ERRORS])
    _h_axes(axis, "relative Monte Carlo error (batch means)")


# -- posterior expectations --------------------------------------------------------------------------------


def _slices(table: pd.DataFrame, along: str, shares: tuple[float, ...]) -> dict[float, pd.DataFrame]:
    """The values along one parameter, at these places in the range of the other."""
    across = "eta" if along == "alpha" else "alpha"
    values = np.sort(table[across].unique())
    places = [values[np.abs(values - np.quantile(values[[0, -1]], share)).argmin()] for share in shares]
    return {place: table[table[across] == place].sort_values(along) for place in dict.fromkeys(places)}


def draw_functionals(records: list[Result], scale: str) -> Figure:
    """I-hat over h with a band that is valid for all h at once; one row per functional."""
    if not (found := with_functionals(records)):
        raise MissingRecords(["a chain with functionals"])
    record = found[0]
    table = record.tables["functional"]
    names = list(table["name"].unique())
    figure, axes = plt.subplots(
        len(names), 3, figsize=(14, 0.4 + 3.6 * len(names)), squeeze=False, layout="constrained"
    )
    for name, (left, middle, right) in zip(names, axes, strict=True):
        part = table[table["name"] == name]
        shown = left.contourf(*grid_of(part, "hat"), levels=12, cmap="cividis")
        figure.colorbar(shown, ax=left, label="I-hat(h)")
        _h_axes(left, name)
        for axis, along, across in ((middle, "alpha", "eta"), (right, "eta", "alpha")):
            for number, (place, line) in enumerate(_slices(part, along, (0.0, 0.5, 1.0)).items()):
                style = {"color": COLOURS[number]}
                axis.fill_between(line[along], line["lower"], line["upper"], alpha=0.25, linewidth=0, **style)
                axis.plot(line[along], line["hat"], label=f"{across} = {place:.3g}", **style)
            axis.set(xlabel=along, ylabel="I-hat(h)", title=f"along {along}, with a 95 % band for all h at once")
            axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0)
    params = record.task.params
    figure.suptitle(f"{params['corpus']}, T = {params['topics']}, {_name(record)}", x=0.01, ha="left", fontsize=11)
    label_scale(figure, scale)
    return figure


def draw_hat_tilde(records: list[Result], scale: str) -> Figure:
    """I-hat and I-tilde of two chains along alpha, at the two values of eta in figure 6; one row per functional."""
    if not (found := pairs(records)):
        raise MissingRecords(["two chains with functionals"])
    one, other = found[0]
    apart = between_seeds(one, other)
    names = list(apart.index)
    size = (14, 0.8 + 3.1 * len(names))
    figure, axes = plt.subplots(len(names), 4, figsize=size, squeeze=False, sharey="row", layout="constrained")
    for name, row in zip(names, axes, strict=True):
        for number, record in enumerate((one, other)):
            table = record.tables["functional"]
            part = table[table["name"] == name]
            for column, (place, line) in enumerate(_slices(part, "alpha", (0.2, 0.8)).items()):
                for axis, kind in ((row[column], "hat"), (row[2 + column], "tilde")):
                    axis.plot(line["alpha"], line[kind], color=COLOURS[number], linewidth=1.2, label=_name(record))
                    axis.set(title=f"I-{kind}, eta = {place:.3g}", xlabel="alpha")
        for kind, axis in (("hat", row[0]), ("tilde", row[2])):
            text = f"difference {apart.loc[name, kind]:.2g} over all h"
            axis.annotate(text, (0, 1.13), xycoords="axes fraction", fontsize=9, color="#555555", annotation_clip=False)
        row[0].set_ylabel(name, fontsize=9)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=2, fontsize=9)
    title = f"{one.task.params['corpus']}, T = {one.task.params['topics']}: root mean square difference of two chains"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    label_scale(figure, scale)
    return figure


# -- rivals ------------------------------------------------------------------------------------------------


def _rivals(axis: Axes, surface: Result, ends: pd.DataFrame) -> None:
    for method, look in RIVALS.items():
        part = ends[ends["method"] == method]
        if len(part):
            axis.scatter(part["alpha"], part["eta"], zorder=3, linewidths=1.1, **look)
    part = ends[(ends["method"] == "gibbs-em") & ends["averaged_alpha"].notna()]
    if len(part):
        axis.scatter(part["averaged_alpha"], part["averaged_eta"], edgecolor=GREEN, zorder=3, **AVERAGED)
    chains = surface.tables["chains"]
    axis.scatter(chains["alpha"], chains["eta"], label="tempering, single chains", zorder=4, **CHAINS)
    outline(axis, ellipse_of(surface, "chains", "ellipse"), "tempering, 95 % Monte Carlo ellipse", ELLIPSE)
    outline(axis, ellipse_of(surface, "region"), "95 % region for h itself", REGION)
    _point(axis, surface.task.params.get("truth"), "truth", TRUTH)


def _near(surface: Result, ends: pd.DataFrame) -> list[np.ndarray]:
    """What a zoomed panel shows: tempering, and the Gibbs-EM steps that are not too far away."""
    ellipse = ellipse_of(surface, "chains", "ellipse")
    near = surface.tables["chains"][["alpha", "eta"]].to_numpy()
    near = near if ellipse is None else np.vstack([near, ellipse.outline()])
    rest = ends.loc[ends["method"] != "variational-em", ["alpha", "eta"]].to_numpy()
    center, half = near.mean(axis=0), np.ptp(near, axis=0) / 2
    return [near, np.clip(rest, center - FURTHEST * half, center + FURTHEST * half)]


def _every(surface: Result, ends: pd.DataFrame) -> list[np.ndarray]:
    """What a whole panel shows, in logs: all estimates and the region."""
    points = np.vstack([ends[["alpha", "eta"]], surface.tables["chains"][["alpha", "eta"]]])
    region = ellipse_of(surface, "region")
    return [np.log(points)] + ([] if region is None else [np.log(region.outline())])


def _whole_and_zoomed(whole: Axes, zoomed: Axes, surface: Result, ends: pd.DataFrame) -> None:
    for axis in (whole, zoomed):
        _rivals(axis, surface, ends)
        axis.set(xlabel="alpha", ylabel="eta")
    every, near = _every(surface, ends), _near(surface, ends)
    whole.set(title=f"{surface.task.params['corpus']}: all estimates", xscale="log", yscale="log")
    whole.set(xlim=np.exp(_span(every, 0)), ylim=np.exp(_span(every, 1)))
    plain_ticks(whole.xaxis)
    plain_ticks(whole.yaxis)
    zoomed.set(title="the same, near the ellipse", xlim=_span(near, 0), ylim=_span(near, 1))
    zoomed.xaxis.set_major_locator(MaxNLocator(5))


def draw_rivals(records: list[Result], scale: str) -> Figure:
    """All estimates of each corpus (upper panels) and the estimates near tempering's ellipse (lower panels)."""
    surfaces, rivals = by("corpus", of_kind(records, "surface")), by("corpus", of_kind(records, "rivals"))
    if not (names := [name for name in surfaces if name in rivals]):
        raise MissingRecords(["a corpus with tempering and its rivals"])
    names.sort(key=lambda name: [int(digits) for digits in re.findall(r"\d+", name)])  # by T, then by D
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    figure, axes = plt.subplots(
        2 * rows, columns, figsize=(max(11, 1 + 4.3 * columns), 1.2 + 6.4 * rows), squeeze=False, layout="constrained"
    )
    for number in range(rows * columns):
        row, column = divmod(number, columns)
        both = axes[2 * row, column], axes[2 * row + 1, column]
        if number < len(names):
            name = names[number]
            _whole_and_zoomed(*both, in_order(surfaces[name])[0], rivals[name][0].tables["ends"])
        else:
            for axis in both:
                axis.set_axis_off()
    handles: dict[str, Any] = {}
    for axis in axes.flat:  # not every corpus has every method
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncol=3, fontsize=9)
    label_scale(figure, scale)
    return figure


# -- the iterative grid --------------------------------------------------------------------------------------


def draw_grid(records: list[Result], scale: str) -> Figure:
    """The documents and grids of the iterative scheme at every step, and M-hat at some steps."""
    records = sorted(of_kind(records, "step"), key=lambda record: record.task.params["number"])
    if not records:
        raise MissingRecords(["a step of the iterative grid"])
    last = records[-1]
    steps, params = last.tables["steps"].sort_values("number"), last.task.params
    first = int(steps["number"].iloc[0])
    numbered = {record.task.params["number"] - first + 1: record for record in records}
    shown = sorted({*(n for n in STEPS if n in numbered), max(numbered)})[-6:]
    figure = plt.figure(figsize=(14, 7.6), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=(1.15, 1.0))  # type: ignore[misc]
    left, right = upper.subplots(1, 2, width_ratios=(1, 1.6))
    numbers = steps["number"].to_numpy() - first + 1
    left.plot(numbers, steps["documents"], marker="o", markersize=3.5)
    left.set(title=f"{params['corpus']}, T = {params['topics']}: documents", xlabel="step", ylabel="documents")
    left.set_ylim(bottom=0)
    _grids(right, steps, numbers, params.get("truth"))
    for axis in (left, right):
        axis.set_xlim(0.5, numbers[-1] + 0.5)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    panels = lower.subplots(1, max(4, len(shown)))
    for axis in panels[len(shown) :]:
        axis.set_axis_off()
    lowest = min(numbered[number].tables["surface"]["log_m"].min() for number in shown)
    for axis, number in zip(panels, shown, strict=False):
        filled = contours(axis, *grid_of(numbered[number].tables["surface"], "log_m"), lowest)
        _point(axis, best_of(numbered[number]), "best h", {"marker": "o", "s": 20, "color": RED})
        _h_axes(axis, f"step {number}: {numbered[number].metrics['documents']:.0f} documents")
        if number != shown[0]:
            axis.set_ylabel("")
        axis.xaxis.set_major_locator(MaxNLocator(3))
    lower.colorbar(filled, ax=panels, label="log M-hat relative to its maximum (nats)", pad=0.01)
    settled = [number for number, record in numbered.items() if record.metrics["settled"]]
    said = f"settled at step {min(settled)}" if settled else f"not settled in {len(steps)} steps"
    figure.suptitle(said, x=0.01, ha="left", fontsize=11)
    label_scale(figure, scale)
    return figure


def _grids(axis: Axes, steps: pd.DataFrame, numbers: np.ndarray, truth: Any) -> None:
    for side, (name, colour) in enumerate((("alpha", BLUE), ("eta", RED))):
        style: dict[str, Any] = {"color": colour}
        low, high = steps[f"{name}_low"], steps[f"{name}_high"]
        axis.fill_between(numbers, low, high, alpha=0.2, linewidth=0, label=f"grid of {name}", **style)
        axis.plot(numbers, steps[name], marker="o", markersize=3.5, label=f"{name}: best", **style)
        if truth is not None:
            axis.axhline(truth[side], linestyle=":", linewidth=1.3, label=f"{name}: truth", **style)
    edge = steps["on_edge"].to_numpy(bool)
    for name in ("alpha", "eta"):
        label = "on the edge of the grid" if name == "eta" and edge.any() else None
        axis.scatter(numbers[edge], steps.loc[edge, name], marker="s", s=55, color="none", edgecolor=BLACK, label=label)
    axis.set(title="the grid and its best h at every step", xlabel="step", ylabel="alpha, eta", yscale="log")
    plain_ticks(axis.yaxis)
    axis.legend(fontsize=8.5, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0)
