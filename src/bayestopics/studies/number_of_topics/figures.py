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
from scipy.stats import binom

from bayestopics.base.plotting import COLOURS, label_scale, plain_ticks
from bayestopics.base.wording import in_figure
from bayestopics.evidence.compute import METHODS, PATHS
from bayestopics.evidence.pmmh import LARGEST_VARIATION
from bayestopics.runs.plots import LINES, looks
from bayestopics.runs.result import Result
from bayestopics.studies.errors import errors_of
from bayestopics.studies.number_of_topics.ladders import scatter
from bayestopics.studies.number_of_topics.tables import (
    YARDSTICK,
    answers_table,
    evidence_of,
    method_of,
    posteriors,
    running_mean,
    span,
    with_standard_errors,
)
from bayestopics.studies.records import MissingRecords

WALKS = ("pmmh", "empirical")
RANK_BINS, FEWEST_FOR_BINS = 10, 100  # fewer corpora have half as many bins
SHOWN = 1e-3  # probabilities below this are not drawn
NAMES = {
    "reference": "annealing from a reference (yardstick)",
    "ais": "annealing from the prior",
    "replica-exchange": "replica exchange",
    "smc": "sequential Monte Carlo",
    "pseudo-marginal": "pseudo-marginal estimate (4.9)",
    "chib": "Chib",
    "chib-independent": "Chib, chain independent of the pilot run",
    "harmonic-z": "harmonic mean, z",
    "harmonic-psi": "harmonic mean, psi (error unknown)",
}
PATH_LOOK = looks(PATHS)
OTHERS = [path for path in PATHS if path != YARDSTICK]
LOOK = looks((YARDSTICK, *(method for method in METHODS if method != "annealing"), *OTHERS))


def _mark(axis: Axes, record: Result, vertical: bool) -> None:
    """The number of topics that the paper gives, or that generated the corpus."""
    if (topics := record.task.params.get("expected_topics")) is not None:
        draw = axis.axvline if vertical else axis.axhline
        draw(topics, color="#888888", linestyle=":", linewidth=1, label="T in the paper, or the true T")


# -- PMMH --------------------------------------------------------------------------------------------


def draw_walks(records: list[Result], scale: str, steps: int) -> Figure:
    """Every chain of one corpus: T, its running mean, and the current log-estimate; one row per largest allowed T.

    The axes of steps and of T are the same for all corpora; `steps` is the length of the longest chain of any corpus.
    Among the records there may be one of the yardstick, whose best T is marked.
    """
    walks = [record for record in records if record.task.params["kind"] in WALKS]
    best = [int(evidence_of(record).idxmax()) for record in records if record not in walks]
    if not walks:
        raise MissingRecords(["PMMH chains"])
    groups = _alike(walks)
    ranges = sorted({record.task.params["most"] for record in walks})
    figure, axes = plt.subplots(len(ranges), 3, figsize=(14, 0.9 + 3.7 * len(ranges)), squeeze=False)
    for number, group in enumerate(groups):
        row = axes[ranges.index(group[0].task.params["most"])]
        look = {"color": COLOURS[number % len(COLOURS)], "linestyle": LINES[number // len(COLOURS) % len(LINES)]}
        for record in group:
            _draw_walk(row, record, _label(group) if record is group[0] else "", look)
    for (left, middle, right), most in zip(axes, ranges, strict=True):
        for axis in (left, middle):
            _mark(axis, walks[0], vertical=False)
            for topics in best:
                axis.axhline(topics, color="#444444", linestyle="--", linewidth=1, label="T of the yardstick")
            axis.set(yscale="log", ylim=(1.8, 1.1 * most))
            axis.set_yticks(ticks := [t for t in (2, 5, 10, 20, 50, 100, 200) if t <= most], map(str, ticks))
            axis.minorticks_off()
        left.set(title=f"{walks[0].task.corpus}: T", xlabel="step", ylabel="number of topics")
        middle.set(title="running mean of T", xlabel="step")
        right.set(title="log-estimate at the current state", xlabel="step", ylabel="nats")
        for axis in (left, middle, right):  # most changes happen early
            axis.set(xscale="log", xlim=(0.9, 1.1 * steps))
            plain_ticks(axis.xaxis)
        right.yaxis.set_major_formatter("{x:,.0f}")
    lines = {line.get_label(): line for left in axes[:, 0] for line in left.get_legend_handles_labels()[0]}
    handles, inches = list(lines.values()), figure.get_figheight()
    figure.legend(handles=handles, fontsize=8.5, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 0.2 / inches))
    doubts = [text] if (text := disagreement(walks)) else []
    if doubted := sum(bool(record.warnings) for record in walks):
        doubts.append(f"{doubted} of {len(walks)} chains cannot be trusted; the table of chains gives the reasons")
    figure.text(0.01, 0.03 / inches, "; ".join(doubts), color="#AA3333", fontsize=9)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, (0.3 + 0.21 * ((len(lines) + 1) // 2)) / inches, 1, 1))
    return figure


def _alike(walks: list[Result]) -> list[list[Result]]:
    """Chains that differ only in their random numbers: those of the paper first, in the order of the start and of m."""
    groups: dict[tuple[Any, ...], list[Result]] = {}
    for record in walks:
        params = record.task.params
        how = (params["kind"] != "pmmh", params["sampler"] != "single-site", params["sampler"], "z_start" in params)
        groups.setdefault((*how, params["most"], params["start"], params["inner"]), []).append(record)
    return [groups[key] for key in sorted(groups)]


def _label(group: list[Result]) -> str:
    params, metrics = group[0].task.params, group[0].metrics
    label = f"from {params['start']}, m = {params['inner']}"
    if params["sampler"] == "prior":
        label += ", importance sampling from the prior"
    elif params["sampler"] != "single-site":
        label += f", {params['sampler']} sampler"
    if "z_start" in params:
        label += ", z from a pilot run"
    if params["kind"] == "empirical":
        label += f", alpha = {metrics['alpha']:.3f}, eta = {metrics['eta']:.3f} (estimated)"
    sds = [record.metrics["log_estimate_sd"] for record in group]
    accepted = [float(record.trace["accepted"].sum()) for record in group]
    several = f" ({len(group)} chains)" if len(group) > 1 else ""
    return f"{label}{several}: sd {span('{:,.0f}', sds)} nats, {span('{:.0f}', accepted)} accepted"


def _draw_walk(axes: np.ndarray, record: Result, label: str, look: dict[str, Any]) -> None:
    """One chain: T, its running mean and the log-estimate, each on its own axis."""
    trace = record.trace
    steps = np.arange(1, len(trace) + 1)
    axes[0].plot(steps, trace["topics"], linewidth=0.9, label=label or None, **look)
    axes[1].plot(steps, running_mean(trace), linewidth=1.3, **look)
    if record.task.params["sampler"] != "prior":  # estimates from the prior are far below all others
        axes[2].plot(steps, trace["log_estimate"], linewidth=1.0, **look)


def disagreement(records: list[Result]) -> str:
    """A warning if chains that differ only in their starts or random numbers have different posteriors of T; empty if
    they agree."""
    posteriors: dict[tuple[str, ...], list[pd.Series]] = {}
    for record in records:
        alike = tuple(str(record.task.params.get(key)) for key in ("kind", "sampler", "z_start", "inner"))
        shares = record.tables["posterior"].set_index("topics")["probability"]
        posteriors.setdefault(alike, []).append(shares)
    pairs = [pair for several in posteriors.values() for pair in combinations(several, 2)]
    largest = max((float(a.sub(b, fill_value=0.0).abs().sum() / 2) for a, b in pairs), default=0.0)
    if largest <= LARGEST_VARIATION:
        return ""
    return f"where a chain ends depends on where it starts, or on chance (total variation {largest:.2f})"


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
        titles = ("near the yardstick, relative to its maximum", "the top of the yardstick alone")
        fifth = best - values.nlargest(5).min()  # at least five T are shown
        depths = (1.2 * span + 10, 1.5 * fifth + 10)
        shown = values.index[values > best - depths[1]]
        top = less[YARDSTICK].loc[shown]
        for axis, tables, title, depth in zip(axes[0, 1:], (less, {YARDSTICK: top}), titles, depths, strict=True):
            _draw_methods(axis, tables)
            axis.set(title=title, ylim=(-1.05 * depth, 0.2 * depth))
    for axis in axes[0]:
        _mark(axis, records[0], vertical=True)
        axis.set(xlabel="number of topics", ylabel="nats")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.yaxis.set_major_formatter("{x:,.0f}")
    if YARDSTICK in found:  # the limits ignore the paper's T, which may be far away
        ends = pd.concat([top["log_evidence"] + sign * top["standard_error"].fillna(0.0) for sign in (-1, 1)])
        pad = 0.05 * float(np.ptp(ends)) + 1
        axes[0, -1].set(xlim=(shown.min() - 1, shown.max() + 1), ylim=(ends.min() - pad, ends.max() + pad))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncol=4, fontsize=8.5)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.11, 1, 1))
    return figure


def _draw_methods(axis: Axes, tables: dict[str, pd.DataFrame]) -> None:
    """Marks with error bars; lines join neighbouring T, and stop at T that were not tried."""
    for method, table in tables.items():
        look = LOOK[method]
        style: dict[str, Any] = {"markersize": 4.5, "capsize": 2.5, **look, "linestyle": "none"}
        axis.errorbar(
            table.index, table["log_evidence"], table["standard_error"], label=NAMES.get(method, method), **style
        )
        every = table["log_evidence"].reindex(range(table.index.min(), table.index.max() + 1))
        axis.plot(every.index, every, linewidth=1.1, color=look["color"], linestyle=look["linestyle"])


# -- every method's answer -----------------------------------------------------------------------------

ANSWERS = {  # from the first line to the last
    YARDSTICK: ("annealed evidence", "best T, and those that its errors leave open"),
    "jump": ("chain over (T, z)", "median and central 95 % of its posterior"),
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
    methods = {name: words for name, words in ANSWERS.items() if name in set(table["method"])}
    expected = {record.task.corpus: record.task.params.get("expected_topics") for record in records}
    shown = {corpus: title for corpus, title in titles.items() if corpus in expected}
    figure, axes = plt.subplots(1, len(shown), figsize=(2.9 + 2.8 * len(shown), 5.2), sharey=True, squeeze=False)
    for axis, (corpus, title) in zip(axes[0], shown.items(), strict=True):
        _draw_answers(axis, table[table["corpus"] == corpus], list(methods))
        if (number := expected[corpus]) is not None:
            known = corpus in simulated
            axis.axvline(number, color="#444444", linestyle="-" if known else ":", linewidth=1.2, zorder=0)
            told = f"truth: {number}" if known else f"the paper: {number}"
            axis.annotate(told, (number, len(methods) - 0.45), (3, 0), textcoords="offset points", fontsize=8.5)
        axis.set(xlabel="number of topics", xscale="log", xlim=(1.7, 190), ylim=(-0.6, len(methods)))
        axis.set_title(fill(in_figure(title), 26), fontsize=10)
        axis.set_xticks([2, 5, 10, 20, 50, 100], ["2", "5", "10", "20", "50", "100"])
        axis.minorticks_off()
        axis.tick_params(axis="y", length=0)
    first = axes[0, 0]
    first.set_yticks(range(len(methods)), [name for name, _ in reversed(methods.values())], fontweight="bold")
    for place, (_, about) in enumerate(reversed(methods.values())):
        at: dict[str, Any] = {"xycoords": first.get_yaxis_transform(), "textcoords": "offset points"}
        first.annotate(about, (0, place), (-7, -8), ha="right", va="top", fontsize=8, color="#555555", **at)
    rising = Line2D([], [], color="#666666", marker=STILL_RISING, linestyle="none", markersize=6.5)
    rising.set_label("still rising at the largest T that was tried")
    figure.legend(handles=[rising], loc="lower center", fontsize=9)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.045, 1, 1))
    return figure


def _draw_answers(axis: Axes, table: pd.DataFrame, methods: list[str]) -> None:
    """A disc for a method's T on a bar for the range that it leaves open."""
    for place, method in enumerate(reversed(methods)):
        found = table[table["method"] == method]
        colour = {YARDSTICK: COLOURS[0], "jump": COLOURS[2], "pmmh": COLOURS[1]}.get(method, "#666666")
        for number, row in enumerate(found.itertuples()):
            height = place - 0.19 * (number - (len(found) - 1) / 2)
            marker = STILL_RISING if row.at_the_edge else "o"
            axis.plot((row.low, row.high), (height, height), color=colour, linewidth=3, alpha=0.5)
            axis.plot(row.topics, height, marker, color=colour, markersize=6.5)
        if len(found):
            told = ", ".join(f"{topics:.0f}" for topics in found["topics"])
            axis.annotate(told, (found["high"].max(), place), (7, -3), textcoords="offset points", fontsize=8.5)


# -- chains over (T, z) --------------------------------------------------------------------------------


def draw_jump(records: list[Result], scale: str, errors: pd.DataFrame) -> Figure:
    """The posterior of T by chains over (T, z) beside that by annealed evidence, two methods that share nothing, both
    with their errors; and T along every chain."""
    jumps, yardsticks = ([r for r in records if r.task.params["kind"] == kind] for kind in ("jump", "evidence"))
    if not jumps:
        raise MissingRecords("no chain over (T, z)")
    record = jumps[0]
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(7.5, 7))
    known = errors_of(errors, record)["standard_error"]
    chains = pd.DataFrame({"share": record.tables["posterior"].set_index("topics")["probability"]})
    chains["error"] = [known[f"p({topics})"] for topics in chains.index]
    methods = {"chains over (T, z)": chains}
    for yardstick in yardsticks:
        each = posteriors(yardstick.tables["estimates"])
        methods["annealed evidence"] = pd.DataFrame({"share": each.mean(), "error": each.sem()})
        best = int(evidence_of(yardstick).idxmax())
        bottom.axhline(best, color=COLOURS[1], linestyle="--", linewidth=1, label="best T by annealed evidence")
    _draw_bars(top, methods)
    top.set(xlabel="number of topics T", ylabel="posterior probability", ylim=(0, 1.05))
    top.xaxis.set_major_locator(MaxNLocator(integer=True))
    top.legend(fontsize=8.5)
    top.set_title(f"{record.task.corpus}: posterior of T, with 2 standard errors")
    for number, start in enumerate(record.task.params["starts"]):
        chain = record.trace[record.trace["chain"] == number]
        bottom.plot(chain["step"], chain["topics"], linewidth=1, color=COLOURS[2 + number], label=f"from {start}")
    bottom.axvspan(0, record.task.params["burn_in"], color="#eeeeee", zorder=0)
    _mark(bottom, record, vertical=False)
    bottom.set(xlabel="iteration", ylabel="number of topics T", yscale="log")
    plain_ticks(bottom.yaxis)
    bottom.legend(fontsize=8.5, ncol=2)
    if any("disagree" in warning for warning in record.warnings):
        bottom.set_title("the chains disagree: T is not known yet", color="#AA3333", fontsize=10)
    label_scale(figure, scale)
    figure.tight_layout()
    return figure


def _draw_bars(axis: Axes, methods: dict[str, pd.DataFrame]) -> None:
    """Probabilities of T side by side, with 2 standard errors."""
    width = 0.8 / len(methods)
    for number, (name, table) in enumerate(methods.items()):
        shown = table[table["share"] > SHOWN]
        places = shown.index + (number - (len(methods) - 1) / 2) * width
        axis.bar(places, shown["share"], width, yerr=2 * shown["error"], capsize=3, color=COLOURS[number], label=name)


# -- the yardstick -------------------------------------------------------------------------------------


def draw_ladders(records: list[Result], scale: str) -> Figure:
    """Scatter of single estimates against their seconds: one panel per corpus size, the smallest first."""
    records = sorted(records, key=lambda r: r.task.params["law"]["documents"] * r.task.params["law"]["length"])
    figure, axes = plt.subplots(1, len(records), figsize=(1 + 4.4 * len(records), 4.4), squeeze=False)
    for axis, record in zip(axes[0], records, strict=True):
        table = scatter(record)
        for path, part in table.groupby("path", sort=False):
            look = {"markersize": 5, **PATH_LOOK[str(path)]}
            axis.plot(part["seconds"], part["scatter"], label=NAMES.get(str(path), str(path)), **look)
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


# -- calibration -------------------------------------------------------------------------------------------


def draw_calibration(records: list[Result], scale: str) -> Figure:
    """A histogram of ranks for each law of alpha and eta, with the band of a uniform law."""
    panels = [
        (hyper, part) for record in records for hyper, part in record.tables["ranks"].groupby("hyper", sort=False)
    ]
    figure, axes = plt.subplots(1, len(panels), figsize=(1 + 4.4 * len(panels), 4.2), squeeze=False, sharey=True)
    for axis, (hyper, part) in zip(axes[0], panels, strict=True):
        count = len(part)
        bins = RANK_BINS if count >= FEWEST_FOR_BINS else RANK_BINS // 2
        axis.hist(part["rank"], bins=bins, range=(0, 1), color=COLOURS[0], rwidth=0.92, label="simulated corpora")
        band = binom.ppf([0.025, 0.975], count, 1 / bins)
        axis.axhspan(*band, color="#bbbbbb", alpha=0.5, linewidth=0, zorder=2, label="95 % of a uniform law")
        axis.axhline(count / bins, color="#555555", linestyle="--", linewidth=1, zorder=3, label="uniform")
        axis.set(title=f"alpha and eta {hyper}: {count} corpora", xlabel="rank of the true T in its posterior")
    axes[0, 0].set_ylabel("number of corpora")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncol=3, fontsize=8.5)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
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
    if not all("lower" in record.tables["scores"] for record in records):
        said = "scores by left-to-right: probably too low, by more than the bars show, because a few draws dominate"
        figure.text(0.01, 0.005, said, color="#AA3333", fontsize=9)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    return figure
