"""Figures of the study `hyperparameters`: M-hat(h), posterior expectations over h, rivals, the iterative grid."""

from __future__ import annotations

import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bayestopics.base.plotting import COLOURS, label_scale, plain_ticks
from bayestopics.hyper.best import Ellipse
from bayestopics.hyper.level_set import DEEP
from bayestopics.runs.plots import ELLIPSE, LINES, REGION, contours, outline, shades
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
VISITS = (0.1, 10.0)  # shares of an equal share that have a colour of their own
BESTS = (RED, BLUE, GREEN, SKY, BLACK)  # the best h of several runs
THREE = (0.0, 0.5, 1.0)  # where slices are made, in the range of the other parameter
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
    "gibbs-em-doubling": {"label": "Gibbs-EM, exact M step, doubling chains", "marker": "2", "s": 40, "color": SKY},
    "gibbs-em-doubling-minka": {
        "label": "Gibbs-EM as in the paper, doubling chains",
        "marker": "3",
        "s": 40,
        "color": "#777777",
    },
}
METHODS: tuple[dict[str, Any], ...] = (
    {"marker": "o", "color": RED},
    {"marker": "s", "color": BLUE},
    {"marker": "^", "color": GREEN},
    {"marker": "v", "color": SKY},
)
METHOD_NAMES = {
    "score": "score chains",
    "tempering": "tempering",
    "full-bayes": "full Bayes",
    "gibbs-em": "Gibbs-EM",
}
AVERAGED: dict[str, Any] = {"label": "Gibbs-EM, mean of its last steps", "marker": "o", "s": 20, "facecolor": "none"}


# -- parts ---------------------------------------------------------------------------------------------


def _point(axis: Axes, h: Any, label: str, style: dict[str, Any]) -> None:
    if h is not None:
        axis.scatter(*h, label=label, zorder=5, **style)


def _span(parts: list[np.ndarray], side: int, space: float = MARGIN) -> tuple[float, float]:
    """Axis limits that show all these points, with a margin."""
    values = np.concatenate([np.atleast_2d(part)[:, side] for part in parts])
    low, high = float(values.min()), float(values.max())
    margin = space * (high - low) or 0.01 * abs(high)
    return low - margin, high + margin


def _h_axes(axis: Axes, title: str = "") -> None:
    axis.set(title=title, xlabel="alpha", ylabel="eta")
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.yaxis.set_major_locator(MaxNLocator(5))
    axis.grid(False)


def _name(record: Result) -> str:
    params = record.task.params
    which = f"chain {params['replicate'] + 1}"
    if params["chains"] > 1:
        which = f"{params['chains']} chains" + (f", run {params['replicate'] + 1}" if params["replicate"] else "")
    return f"{'z alone' if params['sampler'] == OURS else params['sampler']}, {which}"


# -- M-hat -----------------------------------------------------------------------------------------------


def draw_surface(records: list[Result], scale: str) -> Figure:
    """One corpus. Above: log M-hat where it matters, near its maximum, and its relative error. Below, over the same h:
    log M-tilde, its relative error, and how often the chains visit each point of the grid."""
    records = in_order(of_kind(records, "surface"))
    if not records:
        raise MissingRecords(["a surface"])
    params, surface = records[0].task.params, records[0].tables["surface"]
    figure, ((left, middle, right), (lower, beside, visits)) = plt.subplots(
        2, 3, figsize=(15.5, 9.4), layout="constrained"
    )
    for axis in (left, middle):
        shown = contours(axis, *grid_of(surface, "log_m"), surface["log_m"].min())
        _marks(axis, records)
    contours(lower, *grid_of(surface, "log_m_tilde"), surface["log_m"].min())
    figure.colorbar(shown, ax=[left, lower], label="log M relative to its maximum (nats)", pad=0.01)
    _errors(figure, right, surface, "error", "M-hat")
    _errors(figure, beside, surface, "error_tilde", "M-tilde")
    _occupancy(figure, visits, records[0].tables["occupancy"])
    for axis, title in (
        (left, f"{params['corpus']}, T = {params['topics']}: log M-hat(h)"),
        (right, "relative Monte Carlo error of M-hat"),
        (lower, "log M-tilde(h)"),
        (beside, "relative Monte Carlo error of M-tilde"),
        (visits, "visits of the grid"),
    ):
        _h_axes(axis, title)
        axis.set(xlim=_span(_whole(records), 0, 0.02), ylim=_span(_whole(records), 1, 0.02))
    _h_axes(middle, "log M-hat near its maximum")
    middle.set(xlim=_span(_closest(records[0]), 0), ylim=_span(_closest(records[0]), 1))
    _no_variance(lower, surface)
    handles = dict(zip(*reversed(left.get_legend_handles_labels()), strict=True))
    handles |= dict(zip(*reversed(lower.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncol=4, fontsize=8.5)
    label_scale(figure, scale)
    return figure


def _marks(axis: Axes, records: list[Result]) -> None:
    """The ellipse and the region of the first record, the best h of every chain, the paper's estimate and the truth."""
    first, params = records[0], records[0].task.params
    outline(axis, ellipse_of(first, "region"), "95 % region for h itself (from the curvature of log m)", REGION)
    outline(axis, ellipse_of(first, "chains", "ellipse"), "95 % Monte Carlo ellipse for the best h", ELLIPSE)
    for number, record in enumerate(records):
        colour = BESTS[number % len(BESTS)]
        chains = record.tables["chains"]
        if len(chains) > 1:
            label = "best h of single chains" if number == 0 else None
            axis.scatter(chains["alpha"], chains["eta"], s=7, color=colour, linewidths=0, zorder=4, label=label)
        style = {"marker": "ox^sv<>"[number % 7], "s": 26, "color": colour}
        _point(axis, best_of(record), f"best h: {_name(record)}", style)
    _point(axis, params.get("paper"), "the paper's estimate", PAPER)
    _point(axis, params.get("truth"), "truth", TRUTH)


def _known(record: Result) -> list[np.ndarray]:
    """The truth and the paper's estimate, which are always inside the frame."""
    given = (record.task.params.get(name) for name in ("truth", "paper"))
    return [np.array(h) for h in given if h is not None]


def _tops(record: Result) -> np.ndarray:
    return np.vstack([best_of(record), record.tables["chains"][["alpha", "eta"]]])


def _closest(record: Result) -> list[np.ndarray]:
    """What a zoomed panel shows."""
    ellipse = ellipse_of(record, "chains", "ellipse")
    return [_tops(record), *_known(record)] + ([] if ellipse is None else [ellipse.outline()])


def _whole(records: list[Result]) -> list[np.ndarray]:
    tops = [_tops(record) for record in records]
    return [*tops, *_closest(records[0]), records[0].tables["surface"][["alpha", "eta"]].to_numpy()]


def _no_variance(axis: Axes, surface: pd.DataFrame) -> None:
    """Hatch where M-tilde has no finite variance (2.3)."""
    alphas, etas, finite = grid_of(surface.assign(tilde_finite=surface["tilde_finite"].astype(float)), "tilde_finite")
    if finite.min() < 1:
        axis.contourf(alphas, etas, finite, levels=[-0.5, 0.5], colors="none", hatches=["//"])
        label = "M-tilde has no finite variance (2.3)"
        axis.fill_between([], [], [], facecolor="none", edgecolor="#777777", hatch="//", linewidth=0, label=label)


def _errors(figure: Figure, axis: Axes, surface: pd.DataFrame, column: str, what: str) -> None:
    alphas, etas, errors = grid_of(surface, column)
    shown = axis.contourf(alphas, etas, errors, levels=ERRORS, colors=shades(len(ERRORS)), extend="max")
    bar = figure.colorbar(shown, ax=axis, label=f"standard error / {what}(h)", pad=0.02)
    bar.ax.set_yticklabels([f"{level:.1%}" if level < 0.01 else f"{level:.0%}" for level in ERRORS])


def _occupancy(figure: Figure, axis: Axes, occupancy: pd.DataFrame) -> None:
    """A square for each point of the grid."""
    shares = np.maximum(occupancy["share"], VISITS[0])
    shown = axis.scatter(
        occupancy["alpha"], occupancy["eta"], c=shares, norm=LogNorm(*VISITS), cmap="cividis", marker="s", s=28
    )
    bar = figure.colorbar(shown, ax=axis, label="visits (1 = an equal share)", pad=0.02, ticks=[0.1, 0.3, 1, 3, 10])
    bar.ax.set_yticklabels(["0.1 or less", "0.3", "1", "3", "10"])


# -- posterior expectations --------------------------------------------------------------------------------


def _slices(table: pd.DataFrame, along: str, shares: tuple[float, ...]) -> dict[float, pd.DataFrame]:
    """The values along one parameter, at these places in the range of the other."""
    across = "eta" if along == "alpha" else "alpha"
    values = np.sort(table[across].unique())
    places = [values[np.abs(values - np.quantile(values[[0, -1]], share)).argmin()] for share in shares]
    return {place: table[table[across] == place].sort_values(along) for place in dict.fromkeys(places)}


def draw_functionals(records: list[Result], scale: str) -> Figure:
    """I-hat over h, and along alpha and eta with a 95 % band; one row per functional. The lines of all other runs are
    thin, without bands."""
    if not (found := with_functionals(records)):
        raise MissingRecords(["a chain with functionals"])
    names = list(found[0].tables["functional"]["name"].unique())
    figure, axes = plt.subplots(
        len(names), 3, figsize=(15, 0.4 + 3.8 * len(names)), squeeze=False, layout="constrained"
    )
    for name, (left, middle, right) in zip(names, axes, strict=True):
        first, *rest = (_functional(record, name) for record in found)
        shown = left.contourf(*grid_of(first, "hat"), levels=12, cmap="cividis")
        figure.colorbar(shown, ax=left, label="I-hat(h)")
        _h_axes(left, name)
        for axis, along, across in ((middle, "alpha", "eta"), (right, "eta", "alpha")):
            for number, (place, line) in enumerate(_slices(first, along, THREE).items()):
                look = {"color": COLOURS[number], "linestyle": LINES[number]}
                axis.fill_between(line[along], line["lower"], line["upper"], alpha=0.18, edgecolor=look["color"])
                axis.collections[-1].set_facecolor(look["color"])
                axis.plot(line[along], line["hat"], label=f"{across} = {place:.3g}", linewidth=1.8, **look)
                for other in rest:
                    same = list(_slices(other, along, THREE).values())[number]
                    axis.plot(same[along], same["hat"], linewidth=0.7, **look)
            axis.set(xlabel=along, ylabel="I-hat(h)", title=f"along {along}, with a 95 % band")
            axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0)
    params = found[0].task.params
    title = f"{params['corpus']}, T = {params['topics']}; with a band: {_name(found[0])}"
    title += f"; thin: {', '.join(_name(record) for record in found[1:])}" if found[1:] else ""
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    label_scale(figure, scale)
    return figure


def _functional(record: Result, name: str) -> pd.DataFrame:
    table = record.tables["functional"]
    return table[table["name"] == name]


def draw_hat_tilde(records: list[Result], scale: str) -> Figure:
    """I-hat and I-tilde of two chains with different seeds. First row: the surfaces of the first functional, as in
    figure 5. Then, for each functional, along alpha at the two values of eta in figure 6."""
    if not (found := pairs(records)):
        raise MissingRecords(["two chains with functionals"])
    one, other = found[0]
    apart = between_seeds(one, other)
    names = list(apart.index)
    figure = plt.figure(figsize=(14, 4.2 + 3.1 * len(names)), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=(1.1, len(names)))  # type: ignore[misc]
    _two_surfaces(upper, [_functional(record, names[0]) for record in (one, other)], names[0])
    axes = lower.subplots(len(names), 4, squeeze=False, sharey="row")
    for name, row in zip(names, axes, strict=True):
        for number, record in enumerate((one, other)):
            for column, (place, line) in enumerate(_slices(_functional(record, name), "alpha", (0.2, 0.8)).items()):
                for axis, kind in ((row[column], "hat"), (row[2 + column], "tilde")):
                    axis.plot(line["alpha"], line[kind], color=COLOURS[number], linewidth=1.2, label=_name(record))
                    axis.set(title=f"I-{kind}, eta = {place:.3g}", xlabel="alpha")
        for kind, axis in (("hat", row[0]), ("tilde", row[2])):
            text = f"difference {apart.loc[name, kind]:.2g} over all h"
            axis.annotate(text, (0, 1.13), xycoords="axes fraction", fontsize=9, color="#555555", annotation_clip=False)
        row[0].set_ylabel(name, fontsize=9)
    lower.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=2, fontsize=9)
    title = f"{one.task.params['corpus']}, T = {one.task.params['topics']}: root mean square difference of two runs"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    label_scale(figure, scale)
    return figure


def _two_surfaces(figure: Any, tables: list[pd.DataFrame], name: str) -> None:
    """Two I-hat and two I-tilde, in the same colours."""
    axes = figure.subplots(1, 4)
    values = np.concatenate([table[kind] for table in tables for kind in ("hat", "tilde")])
    levels = np.linspace(values.min(), values.max() or 1.0, 13) if np.ptp(values) > 0 else 12
    for place, kind in enumerate(("hat", "tilde")):
        for number, table in enumerate(tables):
            axis = axes[2 * place + number]
            shown = axis.contourf(*grid_of(table, kind), levels=levels, cmap="cividis")
            _h_axes(axis, f"I-{kind}, seed {number + 1}")
    figure.colorbar(shown, ax=axes, label=name, pad=0.01)


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
    _point(axis, surface.task.params.get("paper"), "the paper's estimate", PAPER)
    _point(axis, surface.task.params.get("truth"), "truth", TRUTH)


def _near(surface: Result, ends: pd.DataFrame) -> list[np.ndarray]:
    """What a zoomed panel shows: tempering, and the Gibbs-EM steps that are not too far away."""
    ellipse = ellipse_of(surface, "chains", "ellipse")
    near = surface.tables["chains"][["alpha", "eta"]].to_numpy()
    near = near if ellipse is None else np.vstack([near, ellipse.outline()])
    rest = ends.loc[ends["method"] != "variational-em", ["alpha", "eta"]].to_numpy()
    center, half = near.mean(axis=0), np.ptp(near, axis=0) / 2
    return [near, np.clip(rest, center - FURTHEST * half, center + FURTHEST * half), *_known(surface)]


def _every(surface: Result, ends: pd.DataFrame) -> list[np.ndarray]:
    """What a whole panel shows, in logs: all estimates and the region."""
    points = np.vstack([ends[["alpha", "eta"]], surface.tables["chains"][["alpha", "eta"]], *_known(surface)])
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


# -- methods -----------------------------------------------------------------------------------------------


def draw_methods(records: list[Result], scale: str) -> Figure:
    """The answers of several methods on one corpus: regions for h itself, or a level set (left); Monte Carlo ellipses,
    or log m along the ridge (right)."""
    if not (found := of_kind(records, "methods")):
        raise MissingRecords(["the answers of several methods"])
    record = found[0]
    params, answers, ridge = record.task.params, record.tables["answers"], record.tables["level_set"]
    flat = len(ridge) > 0
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.6), layout="constrained")
    for row, look in zip(answers.itertuples(), METHODS, strict=False):
        name, colour = METHOD_NAMES[row.method], look["color"]
        region, ellipse = (ellipse_of(record, f"{row.method} {what}") for what in ("region", "ellipse"))
        outline(left, region, f"{name}: 95 % region for h itself", {"color": colour, "linestyle": "--"})
        for axis in (left,) if flat else (left, right):
            outline(axis, ellipse, f"{name}: 95 % Monte Carlo ellipse", {"color": colour, "linewidth": 1.6})
            _point(axis, (row.alpha, row.eta), f"{name}: best h", {"s": 30, **look})
    for axis in (left,) if flat else (left, right):
        _point(axis, params.get("paper"), "the paper's estimate", PAPER)
        _point(axis, params.get("truth"), "truth", TRUTH)
    if flat:
        _level_set(left, ridge)
        _ridge(right, ridge, params.get("truth"))
    else:
        near = [answers.loc[answers["method"] != "gibbs-em", ["alpha", "eta"]].to_numpy(), *_known(record)]
        near += [one.outline() for one in _ellipses(record)]
        right.set(xlim=_span(near, 0), ylim=_span(near, 1), title="near the best h")
        right.set(xlabel="alpha", ylabel="eta")
    left.set(title=f"{params['corpus']}, T = {params['topics']}: alpha and eta by several methods")
    left.set(xlabel="alpha", ylabel="eta", xscale="log", yscale="log")
    for side in (left.xaxis, left.yaxis):
        plain_ticks(side)
    handles: dict[str, Any] = {}
    for axis in (left, right):
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncol=3, fontsize=8.5)
    label_scale(figure, scale)
    return figure


def _ellipses(record: Result) -> list[Ellipse]:
    found = [ellipse_of(record, f"{method} ellipse") for method in record.tables["answers"]["method"]]
    return [one for one in found if one is not None]


def _level_set(axis: Axes, ridge: pd.DataFrame) -> None:
    """The ridge of log m, and around it where log m is at most `DEEP` below its top."""
    inside, look = ridge[ridge["log_m"] >= -DEEP], {"color": REGION["color"], "alpha": 0.15, "linewidth": 0}
    label = f"95 % level set for h itself: log m within {DEEP:.1f} nats of its top"
    if ridge["side"].iloc[0] == "alpha":
        axis.fill_between(inside["alpha"], inside["low"], inside["high"], label=label, **look)
    else:
        axis.fill_betweenx(inside["eta"], inside["low"], inside["high"], label=label, **look)
    axis.plot(ridge["alpha"], ridge["eta"], ".-", color=REGION["color"], linewidth=1, label="the ridge of m(h)")


def _ridge(axis: Axes, ridge: pd.DataFrame, truth: Any) -> None:
    side = str(ridge["side"].iloc[0])
    axis.errorbar(ridge[side], ridge["log_m"], 2 * ridge["error"], marker=".", capsize=2, color=BLACK)
    axis.axhline(-DEEP, color="#777777", linewidth=1, linestyle="--", label=f"{DEEP:.1f} nats below the top")
    if truth is not None:
        axis.axvline(truth[side == "eta"], color=TRUTH["facecolor"], linewidth=1.6)
    axis.set(title="log m along the ridge, 2 standard errors", xlabel=side, xscale="log")
    axis.set_ylabel("log m relative to its maximum (nats)")
    plain_ticks(axis.xaxis)


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
        _point(axis, params.get("truth"), "truth", TRUTH)
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
            look = {"color": TRUTH["facecolor"], "linestyle": (":", "-.")[side]}
            axis.axhline(truth[side], linewidth=1.4, label=f"{name}: truth", **look)
    edge = steps["on_edge"].to_numpy(bool)
    for name in ("alpha", "eta"):
        label = "on the edge of the grid" if name == "eta" and edge.any() else None
        axis.scatter(numbers[edge], steps.loc[edge, name], marker="s", s=55, color="none", edgecolor=BLACK, label=label)
    axis.set(title="the grid and its best h at every step", xlabel="step", ylabel="alpha, eta", yscale="log")
    plain_ticks(axis.yaxis)
    axis.legend(fontsize=8.5, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0)
