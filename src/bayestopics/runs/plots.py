"""Figures of results, and the parts that they share with the figures of the studies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import cycle
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bayestopics.base.plotting import COLOURS, STYLE, plain_ticks
from bayestopics.hyper.best import Ellipse

MARKERS = "osD^v<>p"  # one more than there are colours, so that the combinations differ
LINES = ("-", "--", ":")  # when all colours are used up, they start again with the next line style
LEVELS = (-300.0, -100.0, -30.0, -10.0, -4.5, -3.0, -2.0, -1.0, -0.5, 0.0)  # nats; a chi-square of 2 at 95 % is at -3
# Monte Carlo ellipses and regions of h have the same look in all figures
ELLIPSE: dict[str, Any] = {"color": COLOURS[1], "linewidth": 1.6}
REGION: dict[str, Any] = {"color": COLOURS[6], "linewidth": 1.2, "linestyle": "--"}
CHOSEN: dict[str, Any] = {"s": 110, "facecolor": "none", "edgecolor": COLOURS[1], "linewidth": 1.6, "zorder": 5}
H = ("alpha", "eta")
COUNTS = 0.01  # a draw counts if it has at least this share of the largest weight of its chain


def looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """A colour, a marker and a line style for each of any number of names.

    Give the names in the order of their registry, so that each has the same look in all figures.
    """
    lines = cycle(line for line in LINES for _ in COLOURS)
    return {
        name: {"color": colour, "marker": marker, "linestyle": line}
        for name, colour, marker, line in zip(names, cycle(COLOURS), cycle(MARKERS), lines, strict=False)
    }


def shades(count: int) -> list[Any]:
    """Shades from white to a grey that is light enough for lines and markers to stand out."""
    return list(matplotlib.colormaps["Greys"](np.linspace(0.0, 0.55, count)))


def outline(axis: Axes, ellipse: Ellipse | None, label: str, style: dict[str, Any]) -> None:
    if ellipse is not None:
        axis.plot(*ellipse.outline().T, label=label, **style)


def contours(axis: Axes, alphas: np.ndarray, etas: np.ndarray, values: np.ndarray, lowest: float) -> QuadContourSet:
    """Contours of log M-hat (etas x alphas), whose largest value is 0. Levels below `lowest` are left out; panels side
    by side share it."""
    first = max(0, int(np.searchsorted(LEVELS, lowest, side="right")) - 1)
    levels = LEVELS[min(first, len(LEVELS) - 2) :]
    axis.contour(alphas, etas, values, levels=levels, colors="#999999", linewidths=0.5, linestyles="solid")
    return axis.contourf(alphas, etas, values, levels=levels, colors=shades(len(levels)), extend="min")


# -- figures of results --------------------------------------------------------------------------------


def _empty(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure that pyplot does not know about, so that a notebook does not show it twice."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _shade(axis: Axes, burn_in: int) -> None:
    if burn_in:
        axis.axvspan(0, burn_in, color="#f0f0f0", zorder=0, label="burn-in")


@matplotlib.rc_context(STYLE)
def draw_chains(trace: pd.DataFrame, column: str, burn_in: int, title: str, label: str, by: str = "sweep") -> Figure:
    """One line per chain; the burn-in is shaded."""
    figure, axis = _empty(7, 4)
    for number, chain in trace.groupby("chain", sort=True):
        axis.plot(np.arange(1, len(chain) + 1), chain[column], linewidth=0.9, label=f"chain {number}")
    _shade(axis, burn_in)
    axis.set(title=title, xlabel=by, ylabel=label)
    figure.legend(loc="outside lower center", ncol=6, fontsize=9)
    return figure


@matplotlib.rc_context(STYLE)
def draw_weighted_chains(trace: pd.DataFrame, burn_in: int, title: str) -> Figure:
    """T along chains whose draws are weighted: a thin line per chain, and dots for the draws that count."""
    figure, axis = _empty(7, 4)
    for (number, chain), colour in zip(trace.groupby("chain", sort=True), cycle(COLOURS), strict=False):
        axis.plot(chain["step"] + 1, chain["topics"], linewidth=0.7, alpha=0.5, color=colour)
        kept = chain[chain["step"] >= burn_in]
        counts = kept[kept["log_weight"] > kept["log_weight"].max() + np.log(COUNTS)]
        axis.scatter(counts["step"] + 1, counts["topics"], s=5, color=colour, zorder=3, label=f"chain {number}")
    _shade(axis, burn_in)
    axis.set(title=title, xlabel="iteration", ylabel="number of topics T")
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(loc="outside lower center", ncol=6, fontsize=9)
    return figure


@matplotlib.rc_context(STYLE)
def draw_evidence(table: pd.DataFrame, best: int, title: str, label: str) -> Figure:
    """log evidence over T, with two standard errors on either side."""
    figure, axis = _empty(7, 4.2)
    errors = 2 * table["standard_error"].fillna(0.0)
    axis.errorbar(table["topics"], table["log_evidence"], errors, marker="o", markersize=5, capsize=3)
    chosen = table[table["topics"] == best]
    axis.scatter(chosen["topics"], chosen["log_evidence"], label=f"T = {best}", **CHOSEN)
    axis.set(title=title, xlabel="number of topics T", ylabel=label)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(loc="outside lower center")
    return figure


@matplotlib.rc_context(STYLE)
def draw_posterior(
    posterior: Mapping[int, float],
    title: str,
    errors: Mapping[int, float | None] | None = None,
    intervals: Mapping[int, tuple[float, float]] | None = None,
) -> Figure:
    """One bar per number of topics, with two standard errors where they are known, or with its interval."""
    figure, axis = _empty(7, 3.8)
    bars = np.array([2 * (errors.get(topics) or 0.0) for topics in posterior]) if errors else None
    if intervals:
        ends, shares = np.array([intervals[topics] for topics in posterior]), np.array(list(posterior.values()))
        bars = np.maximum(0.0, [shares - ends[:, 0], ends[:, 1] - shares])
    axis.bar(list(posterior), list(posterior.values()), width=0.8, yerr=bars, capsize=3)
    axis.set(title=title, xlabel="number of topics", ylabel="posterior probability")
    axis.set_ylim(bottom=0)
    axis.set_xlim(min(posterior) - 2.5, max(posterior) + 2.5)  # a single bar is a bar
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


@matplotlib.rc_context(STYLE)
def draw_surface(
    surface: pd.DataFrame, answer: Mapping[str, Any], title: str, integration: pd.DataFrame | None = None
) -> Figure:
    """log M-hat over the grid of the first tempered chain; the best h of each chain and of all chains together, with
    its Monte Carlo ellipse and the region of h. Beside it, if it was made, the integral of the score along two lines
    through the best h, from both ends."""
    values = surface.pivot(index="eta", columns="alpha", values="log_m")
    figure = Figure(figsize=(7 if integration is None else 11, 5.4), layout="constrained")
    places = [["surface"]] if integration is None else [["surface", "alpha"], ["surface", "eta"]]
    axes = figure.subplot_mosaic(places, width_ratios=(1,) if integration is None else (1.5, 1))  # type: ignore[arg-type]
    axis = axes["surface"]
    if integration is not None:
        for side in H:
            _draw_integration(axes[side], integration[integration["side"] == side], side)
    shown = contours(axis, values.columns.to_numpy(), values.index.to_numpy(), values.to_numpy(), values.min().min())
    outline(axis, _ellipse(answer["region"]), "95 % region for h itself", REGION)
    outline(axis, _ellipse(answer["ellipse"]), "95 % Monte Carlo ellipse of the best h", ELLIPSE)
    tops = np.array([[one["alpha"], one["eta"]] for one in answer["chains"]])
    if len(tops) > 1:
        axis.scatter(tops[:, 0], tops[:, 1], s=14, color=COLOURS[0], zorder=5, label="best h of single chains")
    axis.scatter(answer["alpha"], answer["eta"], s=26, color=COLOURS[1], zorder=5, label="the best h = (alpha, eta)")
    spans = [(min(*surface[name], *tops[:, side]), max(*surface[name], *tops[:, side])) for side, name in enumerate(H)]
    axis.set(xlabel="alpha", ylabel="eta", title=title, xlim=spans[0], ylim=spans[1])
    axis.grid(False)
    figure.colorbar(shown, ax=axis, label="log M-hat less its largest value (nats)")
    figure.legend(loc="outside lower center", ncol=2, fontsize=9)
    return figure


def _draw_integration(axis: Axes, table: pd.DataFrame, side: str) -> None:
    """log m along one side: M-hat, and the integrals from both ends with two standard errors."""
    first = side == "alpha"
    for (start, rows), colour in zip(table.groupby("start", sort=False), (COLOURS[2], COLOURS[5]), strict=False):
        label = f"integral of the score from {start}, 2 standard errors" if first else None
        axis.errorbar(rows[side], rows["log_m"], 2 * rows["error"], color=colour, marker=".", capsize=2, label=label)
    one = table[table["start"] == table["start"].iloc[0]]
    axis.plot(one[side], one["log_m_hat"], color="black", linewidth=1, label="log M-hat" if first else None)
    axis.set(xlabel=side, ylabel="log m (nats)", xscale="log")
    plain_ticks(axis.xaxis)


def _ellipse(content: Mapping[str, Any] | None) -> Ellipse | None:
    """An ellipse from its `Ellipse.summary`."""
    if content is None:
        return None
    rows = tuple(tuple(row) for row in content["log_covariance"])
    return Ellipse(tuple(content["center"]), rows, content["radius_squared"], content["level"])  # type: ignore[arg-type]


@matplotlib.rc_context(STYLE)
def draw_path(path: pd.DataFrame, title: str) -> Figure:
    """alpha and eta over the steps of EM."""
    figure, axis = _empty(7, 4)
    for name in H:
        axis.plot(path["step"], path[name], label=name)
    axis.set(title=title, xlabel="step", ylabel="value", yscale="log")
    figure.legend(loc="outside lower center", ncol=2)
    return figure


@matplotlib.rc_context(STYLE)
def draw_score(path: pd.DataFrame, answer: Mapping[str, Any], title: str) -> Figure:
    """The Newton steps of score chains; the best h of each chain and of all chains together, with its Monte Carlo
    ellipse and the region of h. Where log m is flat, its profile with two standard errors is beside it."""
    region = answer["region"]
    flat = region is not None and "profile" in region
    figure = Figure(figsize=(10 if flat else 7, 5.0), layout="constrained")
    axes = figure.subplots(1, 2 if flat else 1, squeeze=False)[0]
    axis = axes[0]
    outline(axis, None if flat else _ellipse(region), "95 % region for h itself", REGION)
    outline(axis, _ellipse(answer["ellipse"]), "95 % Monte Carlo ellipse of the best h", ELLIPSE)
    axis.plot(path["alpha"], path["eta"], "-", color="#9a9a9a", linewidth=1, label="Newton steps")
    tops = np.array([[one["alpha"], one["eta"]] for one in answer["chains"]])
    if flat:
        axis.plot(
            region["profile"]["alpha"], region["profile"]["eta"], ".-", color=COLOURS[0], label="the ridge of m(h)"
        )
        _draw_profile(axes[1], region)
    elif len(tops) > 1:
        axis.scatter(tops[:, 0], tops[:, 1], s=14, color=COLOURS[0], zorder=5, label="best h of single chains")
    axis.scatter(answer["alpha"], answer["eta"], s=26, color=COLOURS[1], zorder=5, label="the best h = (alpha, eta)")
    axis.set(title=title, xlabel="alpha", ylabel="eta", xscale="log", yscale="log")
    for side in (axis.xaxis, axis.yaxis):
        plain_ticks(side)
    figure.legend(loc="outside lower center", ncol=2, fontsize=9)
    return figure


@matplotlib.rc_context(STYLE)
def draw_asymmetric(alphas: pd.DataFrame, answer: Mapping[str, Any], title: str) -> Figure:
    """The alpha of each topic, with its uncertainty given the corpus and two Monte Carlo errors; and the best single
    alpha."""
    figure, axis = _empty(max(7.0, 0.4 * len(alphas)), 4.4)
    axis.bar(alphas["topic"], alphas["alpha"], width=0.8, color=COLOURS[0], alpha=0.45, label="alpha")
    region = [alphas["alpha"] - alphas["low"], alphas["high"] - alphas["alpha"]]
    look: dict[str, Any] = {"fmt": "none", "capsize": 4}
    axis.errorbar(
        alphas["topic"], alphas["alpha"], region, ecolor=REGION["color"], label="95 % given the corpus", **look
    )
    errors, label = 2 * alphas["standard_error"], "2 Monte Carlo errors"
    axis.errorbar(
        alphas["topic"], alphas["alpha"], errors, ecolor=ELLIPSE["color"], elinewidth=4, label=label, fmt="none"
    )
    axis.axhline(answer["symmetric"]["alpha"], color="black", linewidth=1, linestyle=":", label="the best single alpha")
    axis.set(title=title, xlabel="topic", ylabel="alpha", yscale="log")
    axis.set_ylim(bottom=float(np.nanmin([alphas["alpha"].min(), alphas["low"].min()])) / 2)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    plain_ticks(axis.yaxis)
    figure.legend(loc="outside lower center", ncol=4, fontsize=9)
    return figure


def _draw_profile(axis: Axes, region: Mapping[str, Any]) -> None:
    """log m along the ridge, and the level set."""
    profile = region["profile"]
    side = "alpha" if np.ptp(np.log(profile["alpha"])) > np.ptp(np.log(profile["eta"])) else "eta"
    errors = [2 * (error or 0.0) for error in profile["error"]]
    axis.errorbar(profile[side], profile["log_m"], errors, marker=".", capsize=2, label="log m along the ridge")
    reached = min(profile[side]), max(profile[side])
    low, high = (far if end is None else end for end, far in zip(region[side], reached, strict=True))
    axis.axvspan(low, high, color=REGION["color"], alpha=0.15, linewidth=0, label="95 % level set for h itself")
    axis.set(title="2 standard errors", xlabel=side, ylabel="log m less its largest value (nats)", xscale="log")
    plain_ticks(axis.xaxis)


@matplotlib.rc_context(STYLE)
def draw_draws(trace: pd.DataFrame, answer: Mapping[str, Any], title: str) -> Figure:
    """The draws of full Bayes; the best h with its Monte Carlo ellipse, and the region of h; alpha and eta by sweep."""
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    both = figure.subplot_mosaic([["h", "alpha"], ["h", "eta"]], width_ratios=(1.1, 1))
    axis = both["h"]
    axis.scatter(trace["alpha"], trace["eta"], s=5, color="#9a9a9a", linewidths=0, label="draws")
    outline(axis, _ellipse(answer["region"]), "95 % region for h itself", REGION)
    outline(axis, _ellipse(answer["ellipse"]), "95 % Monte Carlo ellipse of the best h", ELLIPSE)
    axis.scatter(answer["alpha"], answer["eta"], s=26, color=COLOURS[1], zorder=5, label="the best h = (alpha, eta)")
    axis.set(title=title, xlabel="alpha", ylabel="eta", xscale="log", yscale="log")
    for name in H:
        both[name].plot(trace["sweep"] + 1, trace[name], color="#9a9a9a", linewidth=0.7)
        both[name].axhline(answer[name], color=COLOURS[1], linewidth=1.2)
        both[name].set(ylabel=name, yscale="log")
        plain_ticks(both[name].yaxis)
    both["eta"].set_xlabel("sweep after the burn-in")
    for side in (axis.xaxis, axis.yaxis):
        plain_ticks(side)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncol=4, fontsize=9)
    return figure


@matplotlib.rc_context(STYLE)
def draw_hyper(kept: pd.DataFrame, answer: Mapping[str, Any], title: str) -> Figure:
    """Weighted draws of h along chains over T: those at the chosen T by chain, larger the more they weigh; all others
    in grey."""
    figure, axis = _empty(7, 5)
    here = kept["topics"] == answer["topics"]
    axis.scatter(kept["alpha"][~here], kept["eta"][~here], s=4, color="#cccccc", linewidths=0, label="other T")
    for number, chain in kept[here].groupby("chain"):
        shares = np.exp(chain["log_weight"] - chain["log_weight"].max())
        axis.scatter(chain["alpha"], chain["eta"], s=1 + 14 * shares, linewidths=0, label=f"chain {number}")
    outline(axis, _ellipse(answer["region"]), "95 % region for h", REGION)
    if answer["alpha"] is not None:
        axis.scatter(answer["alpha"], answer["eta"], s=36, color="black", marker="+", zorder=5, label="the medians")
    axis.set(title=f"{title}, T = {answer['topics']}", xlabel="alpha", ylabel="eta", xscale="log", yscale="log")
    for side in (axis.xaxis, axis.yaxis):
        plain_ticks(side)
    figure.legend(loc="outside lower center", ncol=4, fontsize=9)
    return figure


@matplotlib.rc_context(STYLE)
def draw_completion(heldout: pd.DataFrame, batches: pd.DataFrame, answer: Mapping[str, Any], title: str) -> Figure:
    """Log probability per held-out word: of every document, by how many it has; and where every batch of sweeps alone
    would move their mean, to first order."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.scatter(heldout["tokens"], heldout["log_probability"] / heldout["tokens"], s=14, label="a document")
    left.set(title=f"{title}: held-out words", xlabel="held-out words in the document", xscale="log")
    left.set_ylabel("log probability per held-out word (nats)")
    plain_ticks(left.xaxis)
    middles = batches["first_sweep"] + (batches["sweeps"] + 1) / 2
    right.plot(
        middles, batches["log_score"], "o-", markersize=4, linewidth=0.8, label="where a batch of sweeps would move it"
    )
    right.set(
        title="does the chain still move?",
        xlabel="sweep after the burn-in",
        ylabel="mean over all held-out words (nats)",
    )
    right.ticklabel_format(axis="y", useOffset=False)
    for axis in (left, right):
        axis.axhline(answer["log_score"], color=COLOURS[1], linewidth=1.2, label="the score")
    if answer["standard_error"] is not None:
        ends = [answer["log_score"] + 2 * sign * answer["standard_error"] for sign in (-1, 1)]
        right.axhspan(*ends, color=COLOURS[1], alpha=0.15, linewidth=0, label="2 standard errors of it")
    lines = {
        label: line for axis in (left, right) for line, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(list(lines.values()), list(lines), loc="outside lower center", ncol=4, fontsize=9)
    return figure


@matplotlib.rc_context(STYLE)
def draw_documents(documents: pd.DataFrame, title: str) -> Figure:
    """log L(d) per word of every document that was left out, over its length."""
    known = documents[documents["tokens"] > 0]
    figure, axis = _empty(7, 4)
    axis.scatter(known["tokens"], known["log_likelihood"] / known["tokens"], s=14)
    axis.set(title=title, xlabel="words in the document", ylabel="log L(d) per word (nats)", xscale="log")
    return figure


@matplotlib.rc_context(STYLE)
def draw_shares(theta: np.ndarray, title: str) -> Figure:
    """The shares of each topic in the documents: quartiles, and all but the outermost twentieths."""
    figure, axis = _empty(7, 4.2)
    axis.boxplot(list(theta.T), positions=range(theta.shape[1]), whis=(5, 95), showfliers=False, manage_ticks=False)
    axis.set(title=title, xlabel="topic", ylabel="share in a document (middle 50 % and 90 %)")
    axis.set_ylim(bottom=0)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure
