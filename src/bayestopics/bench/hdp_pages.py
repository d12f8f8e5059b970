"""The tables and the figure of the bench's HDP part."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from bayestopics.base.plotting import COLOURS
from bayestopics.bench.growth import LENGTH, TERMS, TERMS_A_COMPONENT
from bayestopics.bench.hdp import BATCH, CHAINS, MOVES, NEAR, OVER_TIME, PEERS, TABLES, TRUNCATION, VARIATIONAL

Tables = dict[str, pd.DataFrame]
BEST = ("best", "best_of_reference")
LINES = dict(zip([name for name in (*VARIATIONAL, *CHAINS) if name not in PEERS], COLOURS, strict=False))
LINES |= {"gensim": "#777777", "tomotopy": "#000000"}


def passes(table: pd.DataFrame) -> pd.DataFrame:
    shown = table[["corpus", "program", "topics"]].copy()
    shown["tokens per second"] = table["tokens_a_second"].map("{:,.0f}".format)
    shown["times gensim"] = _ratios(table, "times_gensim")
    shown["held-out nats per word"] = _scores(table)
    return shown


def sweeps(table: pd.DataFrame) -> pd.DataFrame:
    shown = table[["corpus", "eta", "topics", "program"]].copy()
    shown["ns per token"] = table["ns_a_token"].map("{:,.0f}".format)
    shown["times tomotopy"] = _ratios(table, "times_tomotopy")
    shown["topics after"] = table["topics_after"]
    return shown


def levels(table: pd.DataFrame) -> pd.DataFrame:
    shown = table[["corpus", "program", "reference"]].copy()
    shown["held-out nats per word"] = table["level"].map("{:.3f}".format)
    shown["seconds"] = table["seconds"].map("{:.2g}".format)
    shown["seconds of the reference"] = table["seconds_of_reference"].map("{:.2g}".format)
    shown["times as fast"] = (table["seconds_of_reference"] / table["seconds"]).map("{:.2g}".format)
    shown["best"], shown["best of the reference"] = (table[name].map("{:.3f}".format) for name in BEST)
    return shown


def growth(table: pd.DataFrame) -> pd.DataFrame:
    """One column per number of components."""
    names = {"touched": "per document", "batch": "documents per batch"}
    wide = table.pivot(index=["learner", *names], columns="components", values="us_a_document")
    shown = wide.map("{:,.0f}".format).sort_index(ascending=[False, True, True]).reset_index().rename(columns=names)
    return shown.rename(columns={count: f"{count} components" for count in wide}).rename_axis(columns=None)


def _ratios(table: pd.DataFrame, name: str) -> list[str]:
    parts = table[[name, f"{name}_q1", f"{name}_q3"]].to_numpy()
    return ["" if middle != middle else f"{middle:.2f} ({low:.2f}-{high:.2f})" for middle, low, high in parts]


def _scores(table: pd.DataFrame) -> list[str]:
    return [f"{score:.3f} ({error:.1g})" for score, error in table[["per_word", "error"]].to_numpy()]


def shown(tables: Tables) -> dict[str, pd.DataFrame]:
    """The tables by their titles."""
    move = tables["sweeps"].drop_duplicates(["corpus", "eta"])
    cost = ", ".join(f"{share:.2g}" for share in move["move_in_sweeps"])
    return {
        f"HDP, a first pass in batches of {BATCH}, with at most {TRUNCATION} topics and {TABLES} tables for truncated "
        "methods; held-out scores after the pass (Monte Carlo error), by the same scorer": passes(tables["passes"]),
        "HDP, one sweep from the same state; the cost of a split-merge move in sweeps of gibbs (means of "
        f"{MOVES} moves): {cost}": sweeps(tables["sweeps"]),
        f"HDP, CPU seconds until the held-out score is within {NEAR} of the best that a program and the reference "
        f"both reach; batches of {OVER_TIME}": levels(tables["levels"]),
        "Truncation-free learners, CPU microseconds per document by the number of components, on generated documents "
        f"of {LENGTH} tokens with {TERMS_A_COMPONENT} of {TERMS} terms per component": growth(tables["growth"]),
    }


def figure(tables: Tables) -> Figure:
    """Held-out score over CPU seconds, and nanoseconds per token over the number of topics; one column per corpus."""
    curves, costs = tables["curves"], tables["sweeps"]
    corpora = list(dict.fromkeys(curves["corpus"]))
    drawn, axes = plt.subplots(2, len(corpora), figsize=(5.0 * len(corpora) + 2.0, 7.6), squeeze=False)
    for column, corpus in enumerate(corpora):
        above, below = axes[:, column]
        for name, curve in curves[curves["corpus"] == corpus].groupby("program", sort=False):
            style = "--" if name in PEERS else "-"
            look = {"color": LINES[name], "linestyle": style, "marker": "o", "ms": 3.5, "label": name}
            above.errorbar(curve["seconds"], curve["per_word"], yerr=curve["error"], **look)
        above.set(xscale="log", title=corpus, xlabel="CPU seconds of learning", ylabel="held-out nats per word")
        for name, line in costs[costs["corpus"] == corpus].groupby("program", sort=False):
            line = line.sort_values("topics")
            cost = line["ns_a_token"]
            spread = [cost - line["ns_a_token_q1"], line["ns_a_token_q3"] - cost]
            style = "--" if name in PEERS else "-"
            below.errorbar(line["topics"], cost, yerr=spread, color=LINES[name], linestyle=style, marker="o", ms=3.5)
        below.set(xlabel="number of topics in use", ylabel="nanoseconds per token", yscale="log", xscale="log")
        topics = sorted(set(costs.loc[costs["corpus"] == corpus, "topics"]))
        below.set_xticks(topics, [str(count) for count in topics])
        below.tick_params(axis="x", which="minor", labelbottom=False)
        below.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        below.yaxis.set_major_formatter("{x:,.0f}")
        below.yaxis.set_minor_formatter(NullFormatter())
    drawn.tight_layout()
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return drawn
