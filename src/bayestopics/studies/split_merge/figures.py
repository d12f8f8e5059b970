"""Figures of the study `split_merge` [Rana et al., figures 2-5]. Lines are means over seeds; bands show their range."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator

from bayestopics.base.plotting import COLOURS, label_scale, plain_ticks
from bayestopics.runs.plots import looks
from bayestopics.runs.result import Result
from bayestopics.studies.split_merge.tables import (
    GIBBS,
    LABELS,
    at_equal_seconds,
    blocks_of,
    chains_of,
    first_sweeps,
    in_order,
    moves_of,
    perplexities,
    posterior,
    setting,
    true_topics,
)

LOOK = looks(LABELS)
WIDTH = 0.2  # of a bar: four samplers stand side by side
BINS = 12  # of sweeps, in which acceptance is counted: the first have one move per chain and sweep
EXACT = "#888888"
BLOCKS = {"plain": COLOURS[6], "blocked": COLOURS[4]}
CONFUSED = (GIBBS, "exact", "paper")


def draw_data(records: list[Result], scale: str) -> Figure:
    """The true topics of one corpus and the words of its groups [figure 2]."""
    record = in_order(records, "synthetic")[0]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    groups = record.arrays["groups"] / np.maximum(record.arrays["groups"].sum(axis=1, keepdims=True), 1)
    for axis, rows, name in ((left, record.arrays["topics"], "topic"), (right, groups, "group")):
        label = "probability of the word" if name == "topic" else "share of the group's words"
        figure.colorbar(_heat(axis, rows), ax=axis, label=label, pad=0.02)
        axis.set(xlabel="word", ylabel=name)
    left.set_title(f"{record.task.params['corpus']}: the true topics")
    right.set_title("the groups")
    label_scale(figure, scale)
    return figure


def _heat(axis: Axes, values: np.ndarray, largest: float | None = None) -> AxesImage:
    rows, columns = values.shape
    extent = (0.5, columns + 0.5, rows + 0.5, 0.5)
    axis.grid(False)
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_locator(MaxNLocator(10, integer=True))
    return axis.imshow(values, cmap="Greys", vmin=0.0, vmax=largest, aspect="auto", extent=extent, interpolation="none")


def draw_topics(records: list[Result], scale: str) -> Figure:
    """One row per setting: the posterior of K from the second half of the chains, and K over the sweeps [figure 3]."""
    records = in_order(records, "synthetic")
    figure, axes = plt.subplots(
        len(records), 2, figsize=(12, 2.9 * len(records) + 0.6), squeeze=False, layout="constrained"
    )
    for (left, right), record in zip(axes, records, strict=True):
        shares, truth = posterior(record), true_topics(record)
        names = [name for name in LABELS if name in shares.index]
        for number, sampler in enumerate(names):
            place = shares.columns + WIDTH * (number - (len(names) - 1) / 2)
            left.bar(place, shares.loc[sampler], WIDTH, color=LOOK[sampler]["color"], label=LABELS[sampler])
            chains = chains_of(record, sampler)
            _band(right, chains.groupby("sweep")["topics"], sampler)
        left.axvline(truth, color="#888888", linestyle=":", label="true number of topics")
        right.axhline(truth, color="#888888", linestyle=":")
        left.set(title=f"{record.task.params['corpus']}: {setting(record)}", xlabel="K", ylabel="posterior probability")
        left.xaxis.set_major_locator(MaxNLocator(integer=True))
        seeds = record.task.params["seeds"]
        right.set(title=f"K over the sweeps ({seeds} chains)", xlabel="sweep", ylabel="K", xscale="log")
        plain_ticks(right.xaxis)
        right.yaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=3)
    label_scale(figure, scale)
    return figure


def _band(axis: Axes, by_time: pd.api.typing.SeriesGroupBy, sampler: str) -> None:
    middle, low, high = by_time.mean(), by_time.min(), by_time.max()
    axis.plot(middle.index, middle, color=LOOK[sampler]["color"], linewidth=1.4, label=LABELS[sampler])
    axis.fill_between(middle.index, low, high, color=LOOK[sampler]["color"], alpha=0.12, linewidth=0)


def draw_acceptance(records: list[Result], scale: str) -> Figure:
    """One panel per setting: the share of accepted moves over the sweeps [figure 3a]."""
    records = in_order(records, "synthetic")
    figure, axes = _panels(len(records))
    for axis, record in zip(axes, records, strict=False):
        last = record.task.params["sweeps"]
        edges = np.unique(np.round(np.geomspace(1, last + 1, BINS + 1)).astype(int))
        for sampler in [name for name in LABELS if name != GIBBS]:
            chains = chains_of(record, sampler)
            moves, accepted = moves_of(chains)
            number = np.digitize(chains["sweep"], edges) - 1
            count = np.bincount(number, weights=moves, minlength=len(edges) - 1)
            share = np.bincount(number, weights=accepted, minlength=len(edges) - 1) / count
            error = np.sqrt(np.maximum(share * (1 - share), 0.25 / count) / count)  # above 0 even if none was accepted
            centre = np.sqrt(edges[:-1] * (edges[1:] - 1.0))
            style: dict[str, Any] = {**LOOK[sampler], "markersize": 3.5}
            axis.errorbar(centre, share, error, linewidth=1, elinewidth=0.7, label=LABELS[sampler], **style)
            first = first_sweeps(record).loc[sampler].median()
            if np.isfinite(first):
                axis.axvline(first, color=LOOK[sampler]["color"], linestyle=":", linewidth=1)
        axis.set(title=setting(record), xlabel="sweep", ylabel="share accepted", xscale="log")
        axis.set_ylim(0.0, 1.02)
        plain_ticks(axis.xaxis)
    corpus = records[0].task.params["corpus"]
    figure.suptitle(f"{corpus}: share of accepted moves +- binomial error; dotted: median first sweep with all topics")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=3)
    label_scale(figure, scale)
    return figure


def _panels(count: int, columns: int = 3) -> tuple[Figure, list[Axes]]:
    columns = min(columns, count)
    rows = -(-count // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(max(4.6 * columns, 9.5), 3.3 * rows + 0.9), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[count:]:
        axis.remove()
    return figure, list(axes.flat[:count])


def draw_confusion(records: list[Result], scale: str) -> Figure:
    """One row per setting: tokens by true and found topic after the last sweep of the first chains [figure 4]."""
    records = in_order(records, "synthetic")
    figure, axes = plt.subplots(
        len(records), len(CONFUSED), figsize=(13, 3.5 * len(records)), squeeze=False, layout="constrained"
    )
    for row, record in zip(axes, records, strict=True):
        matches = record.tables["matches"]
        for axis, sampler in zip(row, CONFUSED, strict=True):
            table = record.tables["confusion"].query("sampler == @sampler and seed == 0")
            counts = np.zeros((true_topics(record), int(table["found"].max()) + 1))
            counts[table["true"], table["found"]] = table["tokens"]
            image = _heat(axis, counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), largest=1.0)
            separated = matches[matches["sampler"] == sampler].groupby("seed")["separated"].sum().mean()
            heading = f"{record.task.params['corpus']}: {setting(record)}" if axis is row[0] else ""
            axis.set_title(f"{heading}\n{LABELS[sampler]}: {separated:.1f} of {len(counts)} separated", fontsize=9.5)
            axis.set(xlabel="found topic, numbered by its match", ylabel="true topic")
    figure.colorbar(image, ax=axes, label="share of the true topic's tokens", pad=0.01, shrink=1 / len(records))
    label_scale(figure, scale)
    return figure


def draw_perplexity(records: list[Result], scale: str) -> Figure:
    """One column per setting of one corpus: perplexity against seconds, and its ratio to Gibbs [figure 5]."""
    records = in_order(records, "perplexity")
    figure, axes = plt.subplots(
        2, len(records), figsize=(max(4.6 * len(records), 9.5), 6.6), squeeze=False, layout="constrained"
    )
    for (upper, lower), record in zip(axes.T, records, strict=True):
        table, equal = perplexities(record), at_equal_seconds(record)
        for sampler in [name for name in LABELS if name in set(table["sampler"])]:
            style = {**LOOK[sampler], "linewidth": 1.1, "markersize": 2.5}
            for seed, chain in table[table["sampler"] == sampler].groupby("seed"):
                label = LABELS[sampler] if seed == 0 else None
                upper.plot(chain["seconds"], np.exp(chain["log_perplexity"]), label=label, **style)
        wide = equal.pivot(index=["seed", "share"], columns="sampler", values="log_perplexity")
        for sampler in [name for name in LABELS if name in wide and name != GIBBS]:
            ratio = np.exp(wide[sampler] - wide[GIBBS]).groupby("share")
            _band(lower, ratio, sampler)
        lower.axhline(1.0, color=LOOK[GIBBS]["color"], linewidth=0.8)
        upper.set(title=setting(record), xlabel="CPU seconds of sweeps and moves", ylabel="held-out perplexity")
        end = equal[equal["share"] == 1]["seconds"].mean()
        lower.set(xlabel=f"share of the common time ({end:.3g} s)", ylabel="perplexity relative to Gibbs")
    params = records[0].task.params
    figure.suptitle(
        f"{params['corpus']}: {params['seeds']} chains per sampler; below: mean and range over seeds at equal seconds"
    )
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=3)
    label_scale(figure, scale)
    return figure


def draw_blocks(records: list[Result], scale: str, errors: pd.DataFrame) -> Figure:
    """One row per corpus: the log joint over sweeps and seconds, and autocorrelation times in sweeps and seconds."""
    records = in_order(records, "blocks")
    figure, axes = plt.subplots(
        len(records), 4, figsize=(15, 3.2 * len(records) + 0.6), squeeze=False, layout="constrained"
    )
    for row, record in zip(axes, records, strict=True):
        table, chains = blocks_of(record, errors), record.tables["chains"]
        for place, (sampler, colour) in enumerate(BLOCKS.items()):
            own = table[table["sampler"] == sampler].set_index("seed")
            for seed, chain in chains[chains["sampler"] == sampler].groupby("seed"):
                style = {"color": colour, "linewidth": 0.8, "label": sampler if seed == 0 else None}
                row[0].plot(chain["sweep"], chain["log_joint"] / 1000, **style)
                row[1].plot(chain["sweep"] * own.loc[seed, "seconds_a_sweep"], chain["log_joint"] / 1000, **style)
            of_joint, of_topics = own["autocorrelation_log_joint"], own["autocorrelation_topics"]
            for axis, unit in ((row[2], 1.0), (row[3], own["seconds_a_sweep"])):
                for offset, times in ((0, of_joint * unit), (2.6, of_topics * unit)):
                    axis.plot(times, np.full(len(times), offset + place), "o", color=colour, alpha=0.7)
                    axis.plot(times.mean(), offset + place, "|", color=colour, markersize=16)
        share = record.metrics["tokens_in_blocks"]
        row[0].set_title(f"{record.task.params['corpus']}: {setting(record)};\n{share:.0%} of the tokens in blocks")
        row[0].set(xlabel="sweep", ylabel="log joint (1000 nats)", xscale="log")
        row[1].set(xlabel="CPU seconds", xscale="log")
        row[2].set(title="autocorrelation time", xlabel="sweeps", xscale="log")
        row[3].set(title="autocorrelation time", xlabel="CPU seconds", xscale="log")
        for axis in row[2:]:
            axis.set(yticks=(0.5, 3.1), yticklabels=("log joint", "K"), ylim=(-0.8, 4.4))
        for axis in row:
            plain_ticks(axis.xaxis)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=2)
    label_scale(figure, scale)
    return figure


def draw_law(records: list[Result], scale: str) -> Figure:
    """One panel per case: p(K) by enumeration, and the share of sweeps with each K for every sampler."""
    (record,) = records
    cases, exact, shares = record.task.params["cases"], record.tables["exact"], record.tables["shares"]
    figure, axes = _panels(len(cases), columns=2)
    for number, (axis, case) in enumerate(zip(axes, cases, strict=True)):
        law = exact[exact["case"] == number].set_index("topics")["probability"]
        names, of_case = list(LABELS), shares[shares["case"] == number]
        width = 0.8 / (len(names) + 1)
        axis.bar(law.index - 0.4 + width / 2, law, width, color=EXACT, label="exact posterior (enumerated)")
        for place, sampler in enumerate(names, 1):
            own = of_case[of_case["sampler"] == sampler]
            wide = own.pivot(index="seed", columns="topics", values="probability")
            wide = wide.reindex(columns=law.index).fillna(0.0)
            middle = wide.mean()
            reach = (middle - wide.min(), wide.max() - middle)
            at = law.index - 0.4 + width * (place + 0.5)
            axis.bar(
                at, middle, width, yerr=reach, color=LOOK[sampler]["color"], label=LABELS[sampler], error_kw={"lw": 0.8}
            )
        tokens = sum(map(len, case["documents"]))
        prior = f"gamma = {case['gamma']:g}, a = {case['concentration']:g}, eta = {case['eta']:g}"
        axis.set(title=f"{tokens} tokens: {prior}", xlabel="K", ylabel="probability")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=3)
    label_scale(figure, scale)
    return figure
