"""Figures and tables of the study `number_of_topics`: PMMH chains, log m(T) by every method, leave-one-out scores."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy.special import gammaln
from scipy.stats import kendalltau

from bayestopics.base.plotting import COLOURS, label_scale, plain_ticks
from bayestopics.evidence.pmmh import LARGEST_VARIATION
from bayestopics.predict.leave_one_out import TOO_LOW
from bayestopics.runs.result import Result
from bayestopics.studies.number_of_topics.compute_ladder import scatter, spread
from bayestopics.studies.number_of_topics.compute_pmmh import running_mean
from bayestopics.studies.number_of_topics.times import hours

YARDSTICK = "reference"
LIKELIEST = 5  # numbers of topics that a table shows
NAMES = {
    "reference": "annealing from a reference (yardstick)",
    "ais": "annealing from the prior",
    "replica-exchange": "replica exchange",
    "smc": "sequential Monte Carlo",
    "pseudo-marginal": "pseudo-marginal estimate (4.9)",
    "chib": "Chib",
    "harmonic-z": "harmonic mean, z",
    "harmonic-psi": "harmonic mean, psi (its error is unknown)",
}
LOOK = {
    name: {"color": colour, "marker": marker}
    for name, colour, marker in zip(NAMES, (COLOURS[6], *COLOURS[:6], "#888888"), "osD^v<>p", strict=True)
}


def method_of(record: Result) -> str:
    params = record.task.params
    return str(params["path"] if params["method"] == "annealing" else params["method"])


def _mark(axis: Axes, record: Result, vertical: bool) -> None:
    """The number of topics that the paper gives, or that generated the corpus."""
    if (topics := record.task.params.get("expected_topics")) is not None:
        draw = axis.axvline if vertical else axis.axhline
        draw(topics, color="#888888", linestyle=":", linewidth=1, label="T of the paper, or the truth")


# -- PMMH --------------------------------------------------------------------------------------------


def draw_walks(records: list[Result], scale: str) -> Figure:
    """T along every chain of one corpus, its running mean, and the log-estimates that hold it; a row a largest T."""
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
        right.set(title="the log-estimate that holds the chain", xlabel="step", ylabel="nats")
        for axis in (left, middle, right):  # most happens early
            axis.set_xscale("log")
            plain_ticks(axis.xaxis)
        right.yaxis.set_major_formatter("{x:,.0f}")
    lines = {line.get_label(): line for left in axes[:, 0] for line in left.get_legend_handles_labels()[0]}
    handles, inches = list(lines.values()), figure.get_figheight()
    figure.legend(handles=handles, fontsize=8.5, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 0.2 / inches))
    doubts = [text] if (text := disagreement(records)) else []
    if doubted := sum(bool(record.warnings) for record in records):
        doubts.append(f"{doubted} of {len(records)} chains are not to be trusted: the table of chains has the reasons")
    figure.text(0.01, 0.03 / inches, "; ".join(doubts), color="#AA3333", fontsize=9)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, (0.3 + 0.21 * ((len(lines) + 1) // 2)) / inches, 1, 1))
    return figure


def _draw_walk(axes: np.ndarray, record: Result, colour: str) -> None:
    """One chain; T, its running mean and the log-estimate, an axis each."""
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
    if params["sampler"] != "prior":  # its estimates are far below all others
        axes[2].plot(steps, trace["log_estimate"], linewidth=1.0, color=colour)


def disagreement(records: list[Result]) -> str:
    """That chains which differ by their starts alone have different posteriors of T; nothing if they agree."""
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


def walks_table(records: list[Result]) -> pd.DataFrame:
    """A row a chain; `posterior` has the likeliest T and their probabilities, as the paper's table 2."""
    rows = []
    for record in records:
        params, metrics = record.task.params, record.metrics
        keys = ("corpus", "sampler", "start", "inner", "iterations")
        likeliest = ""
        if "posterior" in record.tables:
            shares = record.tables["posterior"].nlargest(LIKELIEST, "probability")
            likeliest = ", ".join(f"{t:.0f}: {p:.2%}" for t, p in shares.to_numpy())
        told = {"posterior": likeliest, "warnings": "; ".join(record.warnings)}
        rows.append({key: params[key] for key in keys} | metrics | told)
    return pd.DataFrame(rows)


def times_table(records: list[Result]) -> pd.DataFrame:
    return hours(records)


# -- evidence ----------------------------------------------------------------------------------------


def evidence_of(record: Result) -> pd.DataFrame:
    """log_evidence and standard_error by T."""
    return record.tables["evidence"].set_index("topics").sort_index()


def draw_evidence(records: list[Result], scale: str) -> Figure:
    """log m(T) of one corpus by every method: all of them, those that come near the yardstick, and its top."""
    found = {method_of(record): evidence_of(record) for record in records}
    figure, axes = plt.subplots(1, 3 if YARDSTICK in found else 1, figsize=(17, 5), squeeze=False)
    _draw_methods(axes[0, 0], found)
    axes[0, 0].set(title=f"{records[0].task.corpus}: log m(T)")
    if YARDSTICK in found:
        values = found[YARDSTICK]["log_evidence"]
        best, span = values.max(), float(np.ptp(values))
        less = {method: table - [best, 0.0] for method, table in found.items()}
        titles = ("the same, near the yardstick, less its largest", "the top of the yardstick")
        fifth = best - values.nlargest(5).min()  # so many T at least
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
    if YARDSTICK in found:  # without the paper's T, which may be far away
        shown = values.index[values > best - depths[1]]
        top.set_xlim(shown.min() - 1, shown.max() + 1)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncol=4, fontsize=8.5)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.11, 1, 1))
    return figure


def _draw_methods(axis: Axes, tables: dict[str, pd.DataFrame]) -> None:
    for method, table in tables.items():
        style: dict[str, Any] = {"markersize": 4.5, "linewidth": 1.1, "capsize": 2.5, **LOOK[method]}
        axis.errorbar(table.index, table["log_evidence"], table["standard_error"], label=NAMES[method], **style)


def evidence_table(records: list[Result]) -> pd.DataFrame:
    """A row a corpus and method: its best T, how it orders T beside the yardstick, how far off it is, its seconds."""
    yardsticks = {r.task.corpus: evidence_of(r) for r in records if method_of(r) == YARDSTICK}
    rows = []
    for record in records:
        table, estimates = evidence_of(record), record.tables["estimates"]
        row: dict[str, Any] = {
            "corpus": record.task.corpus,
            "method": method_of(record),
            "sweeps": record.task.params["sweeps"],
            "repeats": record.task.params["repeats"],
            "best_topics": int(table["log_evidence"].idxmax()),
            "scatter": float(estimates.groupby("topics")["log_estimate"].agg(spread).median()),
            "seconds_an_estimate": record.volatile["sampling_seconds"] / len(estimates),
        }
        if record.task.corpus in yardsticks:
            both = pd.concat(
                [yardsticks[record.task.corpus]["log_evidence"], table["log_evidence"]], axis=1, join="inner"
            )
            yardstick, here = both.iloc[:, 0], both.iloc[:, 1]
        if record.task.corpus in yardsticks and len(both):
            row["best_topics_of_yardstick"] = int(yardstick.idxmax())
            row["rank_correlation"] = float(kendalltau(yardstick, here).statistic)
            row["median_difference"] = float((here - yardstick).median())
        rows.append(row | {"warnings": len(record.warnings)})
    return pd.DataFrame(rows)


def constants(record: Result, topics: np.ndarray) -> dict[str, np.ndarray]:
    """The factors of p(w, z | T) that depend on T and not on z, as logs."""
    params, size = record.task.params, record.tables["size"].iloc[0]
    alpha, eta, documents, terms = params["alpha"], params["eta"], float(size["documents"]), float(size["terms"])
    return {
        "G(T alpha)^D": documents * gammaln(topics * alpha),
        "G(alpha)^-TD": -documents * topics * gammaln(alpha),
        "G(V eta)^T": topics * gammaln(terms * eta),
        "G(eta)^-VT": -terms * topics * gammaln(eta),
    }


def constants_table(records: list[Result]) -> pd.DataFrame:
    """A row a set of constants that is left out: the best T of each corpus by the yardstick."""
    columns: dict[str, dict[str, int]] = {}
    expected: dict[str, Any] = {"left out": "(the paper, or the truth)"}
    for record in records:
        if method_of(record) != YARDSTICK:
            continue
        values = evidence_of(record)["log_evidence"]
        parts = constants(record, values.index.to_numpy())
        for size in range(len(parts) + 1):
            for names in combinations(parts, size):
                rest = values - sum(parts[name] for name in names)
                row = columns.setdefault(", ".join(names) or "nothing", {})
                row[record.task.corpus] = int(rest.idxmax())
        expected[record.task.corpus] = record.task.params.get("expected_topics")
    return pd.DataFrame([expected, *({"left out": names, **row} for names, row in columns.items())])


# -- the yardstick -------------------------------------------------------------------------------------


def ladders_table(records: list[Result]) -> pd.DataFrame:
    return pd.concat([scatter(record) for record in records], ignore_index=True) if records else pd.DataFrame()


def lengths_table(records: list[Result]) -> pd.DataFrame:
    """A row a law and path: steps and seconds of an estimate that scatters by 1 nat, which is its standard error.

    Between two lengths that were run it is interpolated, in logs ("measured"). Where the longest still scatters by
    more, scatter is taken to fall as 1 / sqrt(steps) from there ("extrapolated"); where the shortest scatters by less,
    that is enough ("at most").
    """
    rows = []
    for (law, path), part in ladders_table(records).groupby(["law", "path"], sort=False) if records else ():
        part = part.sort_values("steps")
        sizes, scatters = np.log(part[["steps", "seconds"]]).to_numpy(), np.log(part["scatter"].clip(1e-9)).to_numpy()
        above = np.flatnonzero(scatters > 0)
        if not len(above):
            how, at = "at most", sizes[0]
        elif (last := int(above[-1])) == len(part) - 1:
            how, at = "extrapolated", sizes[last] + 2 * scatters[last]
        else:
            first, second = scatters[last : last + 2]
            share = first / (first - second) if np.isfinite(first) else 1.0
            how, at = "measured", sizes[last] + share * (sizes[last + 1] - sizes[last])
        keys = {"law": law, "tokens": part["tokens"].iloc[0], "path": path}
        rows.append(keys | {"steps": float(np.exp(at[0])), "seconds": float(np.exp(at[1])), "how": how})
    return pd.DataFrame(rows)


def draw_ladders(records: list[Result], scale: str) -> Figure:
    """Scatter of single estimates against their seconds, a panel a law, the smallest corpora first."""
    records = sorted(records, key=lambda r: r.task.params["law"]["documents"] * r.task.params["law"]["length"])
    figure, axes = plt.subplots(1, len(records), figsize=(1 + 4.4 * len(records), 4.4), squeeze=False)
    for axis, record in zip(axes[0], records, strict=True):
        table = scatter(record)
        for path, part in table.groupby("path", sort=False):
            axis.plot(part["seconds"], part["scatter"], label=NAMES[str(path)], markersize=5, **LOOK[str(path)])
        axis.axhline(1.0, color="#888888", linestyle="--", linewidth=1)
        axis.set(title=f"{record.task.corpus}: {table['tokens'].iloc[0]:,} tokens", xscale="log", yscale="log")
        axis.set(xlabel="CPU seconds an estimate", ylabel="scatter of log-estimates (nats)")
        plain_ticks(axis.xaxis)
        plain_ticks(axis.yaxis)
    lines = {line.get_label(): line for axis in axes[0] for line in axis.get_legend_handles_labels()[0]}
    figure.legend(handles=list(lines.values()), loc="lower center", ncol=2, fontsize=8.5)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    return figure


# -- leave-one-out scores ----------------------------------------------------------------------------


def draw_scores(records: list[Result], scale: str) -> Figure:
    """log S(T) of each corpus, with its Monte Carlo error."""
    figure, axes = plt.subplots(1, len(records), figsize=(1 + 5.5 * len(records), 4.4), squeeze=False)
    for axis, record in zip(axes[0], records, strict=True):
        table = record.tables["scores"]
        axis.errorbar(table["topics"], table["log_score"], table["standard_error"], marker="o", capsize=2.5)
        _mark(axis, record, vertical=True)
        documents = record.tables["documents"]["document"].nunique()
        axis.set(title=f"{record.task.corpus}: {documents} documents left out", xlabel="number of topics")
        axis.set(ylabel="log score: mean of log L(d)")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        if axis.get_legend_handles_labels()[0]:
            axis.legend(loc="lower right", fontsize=8.5)
    if any(TOO_LOW in warning for record in records for warning in record.warnings):
        said = "few draws carry the weight of a document: the scores are likely too low, by more than the bars tell"
        figure.text(0.01, 0.005, said, color="#AA3333", fontsize=9)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    return figure
