"""Figures of the study `number_of_topics`: PMMH chains, log m(T) by every method, leave-one-out scores."""

from __future__ import annotations

from itertools import combinations
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from bayestopics.base.plotting import COLOURS, label_scale, plain_ticks
from bayestopics.evidence.compute import METHODS, PATHS
from bayestopics.evidence.pmmh import LARGEST_VARIATION
from bayestopics.runs.plots import looks
from bayestopics.runs.result import Result
from bayestopics.studies.number_of_topics.ladders import scatter
from bayestopics.studies.number_of_topics.tables import (
    YARDSTICK,
    answers_table,
    evidence_of,
    method_of,
    running_mean,
    with_standard_errors,
)

NAMES = {
    "reference": "annealing from a reference (yardstick)",
    "ais": "annealing from the prior",
    "replica-exchange": "replica exchange",
    "smc": "sequential Monte Carlo",
    "pseudo-marginal": "pseudo-marginal estimate (4.9)",
    "chib": "Chib",
    "harmonic-z": "harmonic mean, z",
    "harmonic-psi": "harmonic mean, psi (error unknown)",
}
LOOK = looks((*PATHS, *(method for method in METHODS if method != "annealing")))  # annealing goes along the paths


def _mark(axis: Axes, record: Result, vertical: bool) -> None:
    """The number of topics that the paper gives, or that generated the corpus."""
    if (topics := record.task.params.get("expected_topics")) is not None:
        draw = axis.axvline if vertical else axis.axhline
        draw(topics, color="#888888", linestyle=":", linewidth=1, label="T in the paper, or the true T")


# -- PMMH --------------------------------------------------------------------------------------------


def draw_walks(records: list[Result], scale: str) -> Figure:
    """Every chain of one corpus: T, its running mean, and the current log-estimate; one row per largest allowed T."""
    ranges = sorted({record.task.params["most"] for record in records})
    figure, axes = plt.subplots(len(ranges), 3, figsize=(14, 0.9 + 3.7 * len(ranges)), squeeze=False)
    for number, record in enumerate(records):
        row = axes[ranges.index(record.task.params["most"])]
        _draw_walk(row, record, COLOURS[number % len(COLOURS)])
    for left, middle, right in axes:
        for axis in (left, middle):
            _mark(axis, records[0], vertical=False)
            axis.yaxis.set_major_locator(MaxNLocator(integer=True))
        left.set(title=f"{records[0].task.corpus}: T", xlabel="step", ylabel="number of topics")
        middle.set(title="running mean of T", xlabel="step")
        right.set(title="log-estimate at the current state", xlabel="step", ylabel="nats")
        for axis in (left, middle, right):  # most changes happen early
            axis.set_xscale("log")
            plain_ticks(axis.xaxis)
        right.yaxis.set_major_formatter("{x:,.0f}")
    lines = {line.get_label(): line for left in axes[:, 0] for line in left.get_legend_handles_labels()[0]}
    handles, inches = list(lines.values()), figure.get_figheight()
    figure.legend(handles=handles, fontsize=8.5, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 0.2 / inches))
    doubts = [text] if (text := disagreement(records)) else []
    if doubted := sum(bool(record.warnings) for record in records):
        doubts.append(f"{doubted} of {len(records)} chains cannot be trusted; the table of chains gives the reasons")
    figure.text(0.01, 0.03 / inches, "; ".join(doubts), color="#AA3333", fontsize=9)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, (0.3 + 0.21 * ((len(lines) + 1) // 2)) / inches, 1, 1))
    return figure


def _draw_walk(axes: np.ndarray, record: Result, colour: str) -> None:
    """One chain: T, its running mean and the log-estimate, each on its own axis."""
    params, trace = record.task.params, record.trace
    label = f"from {params['start']}, m = {params['inner']}"
    if params["sampler"] == "prior":
        label += ", importance sampling from the prior"
    if params["kind"] == "empirical":
        label += f", alpha = {record.metrics['alpha']:.3f}, eta = {record.metrics['eta']:.3f} (estimated)"
    label += f": sd {record.metrics['log_estimate_sd']:,.0f} nats, {trace['accepted'].sum()} accepted"
    steps = np.arange(1, len(trace) + 1)
    axes[0].plot(steps, trace["topics"], linewidth=0.9, label=label, color=colour)
    axes[1].plot(steps, running_mean(trace), linewidth=1.3, color=colour)
    if params["sampler"] != "prior":  # estimates from the prior are far below all others
        axes[2].plot(steps, trace["log_estimate"], linewidth=1.0, color=colour)


def disagreement(records: list[Result]) -> str:
    """A warning if chains that differ only in their starts have different posteriors of T; empty if they agree."""
    posteriors: dict[tuple[str, ...], list[pd.Series]] = {}
    for record in records:
        alike = tuple(str(record.task.params[key]) for key in ("kind", "sampler", "inner"))
        shares = record.tables["posterior"].set_index("topics")["probability"]
        posteriors.setdefault(alike, []).append(shares)
    pairs = [pair for several in posteriors.values() for pair in combinations(several, 2)]
    largest = max((float(a.sub(b, fill_value=0.0).abs().sum() / 2) for a, b in pairs), default=0.0)
    if largest <= LARGEST_VARIATION:
        return ""
    return f"where a chain ends depends on where it starts (total variation {largest:.2f})"


# -- evidence ----------------------------------------------------------------------------------------


def draw_evidence(records: list[Result], scale: str, errors: pd.DataFrame) -> Figure:
    """log m(T) of one corpus by every method: all methods, those near the yardstick, and the top of the yardstick."""
    found = {method_of(r): with_standard_errors(evidence_of(r), errors, r, "m") for r in records}
    figure, axes = plt.subplots(1, 3 if YARDSTICK in found else 1, figsize=(17, 5), squeeze=False)
    _draw_methods(axes[0, 0], found)
    axes[0, 0].set(title=f"{records[0].task.corpus}: log m(T)")
    if YARDSTICK in found:
        values = found[YARDSTICK]["log_evidence"]
        best, span = values.max(), float(np.ptp(values))
        less = {method: table - [best, 0.0] for method, table in found.items()}
        titles = ("near the yardstick, relative to its maximum", "the top of the yardstick")
        fifth = best - values.nlargest(5).min()  # at least five T are shown
        depths = (1.2 * span + 10, max(0.05 * span, fifth) + 10)
        for axis, title, depth in zip(axes[0, 1:], titles, depths, strict=True):
            _draw_methods(axis, less)
            axis.set(title=title, ylim=(-depth, 0.2 * depth))
    for axis in axes[0]:
        _mark(axis, records[0], vertical=True)
        axis.set(xlabel="number of topics", ylabel="nats")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.yaxis.set_major_formatter("{x:,.0f}")
    top = axes[0, -1]
    if YARDSTICK in found:  # the limits ignore the paper's T, which may be far away
        shown = values.index[values > best - depths[1]]
        top.set_xlim(shown.min() - 1, shown.max() + 1)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncol=4, fontsize=8.5)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.11, 1, 1))
    return figure


def _draw_methods(axis: Axes, tables: dict[str, pd.DataFrame]) -> None:
    for method, table in tables.items():
        style: dict[str, Any] = {"markersize": 4.5, "linewidth": 1.1, "capsize": 2.5, **LOOK[method]}
        axis.errorbar(
            table.index, table["log_evidence"], table["standard_error"], label=NAMES.get(method, method), **style
        )


# -- every method's answer -----------------------------------------------------------------------------

ANSWERS = {  # from the first line to the last
    YARDSTICK: ("annealed evidence", "best T, and those that its errors leave open"),
    "pmmh": ("PMMH", "one mark per chain, from different starts"),
    "pseudo-marginal": ("short Gibbs runs", "the estimate (4.9) of PMMH, on its own"),
    "score": ("leave-one-out score", "the T that best predicts a left-out document"),
    "chib": ("Chib's estimate", "one chain for each T"),
    "harmonic-z": ("harmonic mean, z", "one chain for each T"),
    "harmonic-psi": ("harmonic mean, psi", "the same chains"),
}
STILL_RISING = ">"


def draw_answers(
    records: list[Result], scale: str, titles: dict[str, str], simulated: list[str], errors: pd.DataFrame
) -> Figure:
    """The number of topics of every corpus by every method; `simulated` are the corpora whose true T is known."""
    table = answers_table(records, errors)
    expected = {record.task.corpus: record.task.params.get("expected_topics") for record in records}
    shown = {corpus: title for corpus, title in titles.items() if corpus in expected}
    figure, axes = plt.subplots(1, len(shown), figsize=(2.9 + 2.8 * len(shown), 5.2), sharey=True, squeeze=False)
    for axis, (corpus, title) in zip(axes[0], shown.items(), strict=True):
        _draw_answers(axis, table[table["corpus"] == corpus])
        if (number := expected[corpus]) is not None:
            known = corpus in simulated
            axis.axvline(number, color="#444444", linestyle="-" if known else ":", linewidth=1.2, zorder=0)
            told = f"truth: {number}" if known else f"the paper: {number}"
            axis.annotate(told, (number, len(ANSWERS) - 0.45), (3, 0), textcoords="offset points", fontsize=8.5)
        axis.set(xlabel="number of topics", xscale="log", xlim=(1.7, 190), ylim=(-0.6, len(ANSWERS)))
        axis.set_title(fill(title, 26), fontsize=10)
        axis.set_xticks([2, 5, 10, 20, 50, 100], ["2", "5", "10", "20", "50", "100"])
        axis.minorticks_off()
        axis.tick_params(axis="y", length=0)
    first = axes[0, 0]
    first.set_yticks(range(len(ANSWERS)), [name for name, _ in reversed(ANSWERS.values())], fontweight="bold")
    for place, (_, about) in enumerate(reversed(ANSWERS.values())):
        at: dict[str, Any] = {"xycoords": first.get_yaxis_transform(), "textcoords": "offset points"}
        first.annotate(about, (0, place), (-7, -8), ha="right", va="top", fontsize=8, color="#555555", **at)
    rising = Line2D([], [], color="#666666", marker=STILL_RISING, linestyle="none", markersize=6.5)
    rising.set_label("still rising at the largest T that was tried")
    figure.legend(handles=[rising], loc="lower center", fontsize=9)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.045, 1, 1))
    return figure


def _draw_answers(axis: Axes, table: pd.DataFrame) -> None:
    """A disc for a method's T on a bar for the range that it leaves open."""
    for place, method in enumerate(reversed(ANSWERS)):
        found = table[table["method"] == method]
        colour = {YARDSTICK: COLOURS[0], "pmmh": COLOURS[1]}.get(method, "#666666")
        for number, row in enumerate(found.itertuples()):
            height = place - 0.19 * (number - (len(found) - 1) / 2)
            marker = STILL_RISING if row.at_the_edge else "o"
            axis.plot((row.low, row.high), (height, height), color=colour, linewidth=3, alpha=0.5)
            axis.plot(row.topics, height, marker, color=colour, markersize=6.5)
        if len(found):
            told = ", ".join(f"{topics:.0f}" for topics in found["topics"])
            axis.annotate(told, (found["high"].max(), place), (7, -3), textcoords="offset points", fontsize=8.5)


# -- the yardstick -------------------------------------------------------------------------------------


def draw_ladders(records: list[Result], scale: str) -> Figure:
    """Scatter of single estimates against their seconds: one panel per corpus size, the smallest first."""
    records = sorted(records, key=lambda r: r.task.params["law"]["documents"] * r.task.params["law"]["length"])
    figure, axes = plt.subplots(1, len(records), figsize=(1 + 4.4 * len(records), 4.4), squeeze=False)
    for axis, record in zip(axes[0], records, strict=True):
        table = scatter(record)
        for path, part in table.groupby("path", sort=False):
            axis.plot(
                part["seconds"], part["scatter"], label=NAMES.get(str(path), str(path)), markersize=5, **LOOK[str(path)]
            )
        axis.axhline(1.0, color="#888888", linestyle="--", linewidth=1)
        axis.set(title=f"{record.task.corpus}: {table['tokens'].iloc[0]:,} tokens", xscale="log", yscale="log")
        axis.set(xlabel="CPU seconds per estimate", ylabel="scatter of log-estimates (nats)")
        plain_ticks(axis.xaxis)
        plain_ticks(axis.yaxis)
    lines = {line.get_label(): line for axis in axes[0] for line in axis.get_legend_handles_labels()[0]}
    figure.legend(handles=list(lines.values()), loc="lower center", ncol=2, fontsize=8.5)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    return figure


# -- leave-one-out scores ----------------------------------------------------------------------------


def draw_scores(records: list[Result], scale: str, errors: pd.DataFrame) -> Figure:
    """log S(T) of each corpus, with its Monte Carlo error and its bounds."""
    figure, axes = plt.subplots(1, len(records), figsize=(1 + 5.5 * len(records), 4.4), squeeze=False)
    for axis, record in zip(axes[0], records, strict=True):
        found = record.tables["scores"].set_index("topics").sort_index()
        table = with_standard_errors(found["log_score"], errors, record, "S")
        if "lower" in found:  # older records have no bounds
            low, high = found[["lower", "upper"]].min(axis=1), found[["lower", "upper"]].max(axis=1)
            axis.fill_between(found.index, low, high, alpha=0.2, linewidth=0, label="between the bounds")
        bars = {"marker": "o", "markersize": 4, "capsize": 4, "elinewidth": 1.5, "ecolor": "#333333"}
        axis.errorbar(table.index, table["log_score"], table["standard_error"], **bars, label="score, standard error")
        _mark(axis, record, vertical=True)
        documents = record.tables["documents"]["document"].nunique()
        axis.set(title=f"{record.task.corpus}: {documents} documents left out", xlabel="number of topics")
        axis.set(ylabel="log score: mean of log L(d) (nats)")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.legend(loc="lower right", fontsize=8.5)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    return figure
