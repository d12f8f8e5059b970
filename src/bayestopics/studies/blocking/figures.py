"""Figures of the study `blocking`: chains side by side, autocorrelation times, seconds per sweep."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayestopics.base.plotting import label_scale, plain_ticks
from bayestopics.lda import SAMPLERS
from bayestopics.runs.plots import looks
from bayestopics.runs.result import Result
from bayestopics.studies.blocking.compute_chain import STATISTICS
from bayestopics.studies.blocking.tables import autocorrelation_times, seconds_a_sweep, trapped
from bayestopics.studies.records import by

LOOK = looks(SAMPLERS)  # a sampler has one colour in all figures
NAMES = {
    "log_joint": "log joint",
    "squared_shares": "sum of squared topic shares",
    "together": "share of token pairs in one topic",
}


# -- chains side by side ---------------------------------------------------------------------------


def draw_mixing(records: list[Result], scale: str) -> Figure:
    """Log posterior and perplexity of one corpus against sweeps and seconds: every run, and the median on top."""
    figure, axes = plt.subplots(2, 2, figsize=(12, 7), sharey="row")
    stuck = trapped(records)
    for sampler, runs in by("sampler", records).items():
        caught = sum(stuck[record.task.name] for record in runs)
        label = f"{sampler}: {len(runs)} runs, {caught} trapped"
        for row, column in zip(axes, ("log_joint", "perplexity"), strict=True):
            _lines(row, runs, column, LOOK[sampler]["color"], label)
    for row, column in zip(axes, ("log_joint", "perplexity"), strict=True):
        late = np.concatenate(
            [_values(record, column)[1][len(_values(record, column)[1]) // 10 :] for record in records]
        )
        margin = 0.05 * np.ptp(late)
        row[0].set_ylim(late.min() - margin, late.max() + margin)  # the first tenth may fall outside the picture
    model = records[0].task.params
    axes[0, 0].set(title=f"{records[0].task.corpus}, {model['topics']} topics", ylabel="log p(w, z) (nats)")
    axes[1, 0].set(xlabel="sweep", ylabel="perplexity of held-out words")
    axes[1, 1].set(xlabel="seconds of sampling")
    seconds = [np.sum(record.tables["timing"]["seconds"][: len(record.trace) // 20]) for record in records]
    for axis in axes[:, 1]:
        axis.set(xscale="log", xlim=(min(seconds), None))  # the first twentieth falls outside the picture
    axes[0, 0].ticklabel_format(axis="y", style="plain", useOffset=False)
    axes[0, 1].legend(loc="lower right", fontsize=9)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    return figure


def _values(record: Result, column: str) -> tuple[np.ndarray, np.ndarray]:
    """(sweeps, values) of the sweeps that have a value."""
    trace = record.trace.dropna(subset=column)
    return trace["sweep"].to_numpy() + 1, trace[column].to_numpy()


def _lines(row: np.ndarray, runs: list[Result], column: str, colour: str, label: str) -> None:
    values = np.array([_values(record, column)[1] for record in runs])
    sweeps = _values(runs[0], column)[0]
    seconds = np.array([np.cumsum(record.tables["timing"]["seconds"])[sweeps - 1] for record in runs])
    for axis, x in zip(row, (np.broadcast_to(sweeps, values.shape), seconds), strict=True):
        axis.plot(x.T, values.T, color=colour, linewidth=0.5, alpha=0.35)
        axis.plot(np.median(x, axis=0), np.median(values, axis=0), color=colour, linewidth=2, label=label)


# -- autocorrelation -------------------------------------------------------------------------------


def draw_autocorrelation(records: list[Result], scale: str, errors: pd.DataFrame) -> Figure:
    """Integrated autocorrelation times in sweeps (left) and seconds (right): one dot per run that is not trapped."""
    corpora = by("corpus", records)
    figure, axes = plt.subplots(len(corpora), 2, figsize=(12, 0.8 + 2.1 * len(corpora)), squeeze=False, sharey=True)
    for row, (corpus, chains) in zip(axes, corpora.items(), strict=True):
        stuck = trapped(chains)
        samplers = by("sampler", chains)
        for place, (sampler, runs) in enumerate(samplers.items()):
            free = [record for record in runs if not stuck[record.task.name]]
            offset = 0.22 * (place - (len(samplers) - 1) / 2)
            times = {name: autocorrelation_times(free, name, errors) for name in STATISTICS}
            seconds = [record.volatile["seconds_a_sweep"] for record in free]
            _dots(row[0], times, offset, LOOK[sampler]["color"], sampler, np.ones(len(free)))
            _dots(row[1], times, offset, LOOK[sampler]["color"], sampler, np.array(seconds))
        row[0].set(title=f"{corpus}: autocorrelation time in sweeps", xscale="log")
        row[1].set(title="in seconds of sampling", xscale="log")
        for axis in row:
            plain_ticks(axis.xaxis)
        row[0].set_yticks(range(len(STATISTICS)), [NAMES[name] for name in STATISTICS])
        row[0].set_ylim(len(STATISTICS) - 0.5, -0.5)
        row[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=9)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    return figure


def _dots(axis: Axes, found: dict[str, list[float]], offset: float, colour: str, label: str, unit: np.ndarray) -> None:
    for y, in_sweeps in enumerate(found.values()):
        times = np.array(in_sweeps) * unit
        axis.plot(times, np.full(len(times), y + offset), ".", color=colour, alpha=0.4, label=label if y == 0 else None)
        if len(times):
            axis.plot(np.median(times), y + offset, "|", color=colour, markersize=16, markeredgewidth=2.5)


# -- seconds per sweep -----------------------------------------------------------------------------


def draw_times(records: list[Result], scale: str) -> Figure:
    """Seconds per sweep against the number of topics, and the ratio to single-site."""
    figure, axes = plt.subplots(2, len(records), figsize=(6 * len(records) + 1.5, 7.5), squeeze=False, sharex=True)
    for (upper, lower), record in zip(axes.T, records, strict=True):
        seconds = seconds_a_sweep(record)
        for sampler, threads in seconds.columns:
            label = sampler if threads == 1 else f"{sampler}, {threads} threads"
            style = {"color": LOOK[sampler]["color"], "marker": "o", "markersize": 4, "label": label}
            style |= {"linestyle": "-" if threads == 1 else ":"}
            times = seconds[sampler, threads]
            upper.plot(times.index, times, **style)
            lower.plot(times.index, times / seconds["single-site", 1], **style)
        upper.set(title=f"{record.task.corpus}: seconds per sweep", xscale="log", yscale="log")
        lower.set(title="ratio to single-site", xscale="log", yscale="log", xlabel="number of topics")
        lower.axhline(1, color="black", linewidth=0.8)
        plain_ticks(upper.yaxis)
        lower.set_xticks(seconds.index, [str(topics) for topics in seconds.index])
        ratios = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16]
        limits = lower.get_ylim()
        lower.set_yticks(ratios, [f"{ratio:g}" for ratio in ratios])
        lower.set_ylim(limits)
        lower.minorticks_off()
    axes[0, -1].legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=9)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    return figure
