"""Figures of the study `first_look`: traces and topics."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from bayestopics.base.plotting import COLOURS, label_scale
from bayestopics.base.wording import in_figure
from bayestopics.runs.fit import convergence
from bayestopics.runs.result import Result
from bayestopics.studies.first_look.tables import second_halves
from bayestopics.studies.records import by

LARGEST = 6  # topics shown per corpus
WORDS = 8  # words shown per topic


def draw_traces(records: list[Result], scale: str) -> Figure:
    """One row per corpus, one line per chain: log joint per token over all sweeps and second halves, and perplexity."""
    groups = by("corpus", records)
    figure, axes = plt.subplots(len(groups), 3, figsize=(12.5, 0.6 + 2.4 * len(groups)), squeeze=False)
    for (whole, half, right), (corpus, chains) in zip(axes, groups.items(), strict=True):
        for number, record in enumerate(chains):
            trace = record.trace
            style = {"color": COLOURS[number % len(COLOURS)], "label": f"chain {number}"}
            sweeps, per_token = trace["sweep"] + 1, trace["log_joint"] / record.metrics["training_tokens"]
            whole.plot(sweeps, per_token, linewidth=1, **style)
            middle = len(trace) // 2
            half.plot(sweeps[middle:], per_token[middle:], linewidth=0.7, **style)
            blocks = trace.dropna(subset="perplexity")
            right.plot(blocks["sweep"] + 1, blocks["perplexity"], linewidth=1.1, **style)
        rhat, _ = convergence(second_halves(chains))
        whole.set(title=f"{corpus}, {chains[0].task.params['topics']} topics", ylabel="log p(w, z) per token (nats)")
        whole.set(xscale="log")
        half.set(title="second halves" if rhat is None else f"second halves: R-hat of the log joint is {rhat:.2f}")
        half.ticklabel_format(axis="y", useOffset=False)
        right.set(title="held-out words, every ten sweeps", ylabel="perplexity")
    for axis in axes[-1]:
        axis.set_xlabel("sweep")
    axes[0, 0].legend(loc="lower right", fontsize=8)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    return figure


def draw_topics(records: list[Result], scale: str) -> Figure:
    """The largest topics of the last sweep of each corpus's first chain, as bars labelled with their words."""
    groups = by("corpus", records)
    rows = -(-len(groups) // 2)
    figure, axes = plt.subplots(rows, 2, figsize=(13, 0.5 + 2.6 * rows), squeeze=False)
    for axis, (corpus, chains) in zip(axes.flat, groups.items(), strict=False):
        topics = chains[0].tables["topics"]
        share = chains[0].tables["shares"].set_index("topic")["share"].sort_values(ascending=False)[:LARGEST]
        for y, (topic, value) in enumerate(share.items()):
            words = topics.loc[topics["topic"] == topic, "term"][:WORDS]
            axis.barh(-y, value, height=0.42, color=COLOURS[0])
            axis.text(share.iloc[0] * 0.006, -y + 0.3, in_figure(" ".join(words)), fontsize=9, va="bottom")
        axis.set(title=f"{corpus}: largest {len(share)} of {chains[0].task.params['topics']} topics", yticks=[])
        axis.set_ylim(-len(share) + 0.5, 0.95)
        axis.xaxis.set_major_formatter(PercentFormatter(xmax=1))
        axis.set_xlabel("share of all tokens")
        axis.grid(axis="y", visible=False)
    for axis in axes.flat[len(groups) :]:
        axis.set_visible(False)
    label_scale(figure, scale)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    return figure
