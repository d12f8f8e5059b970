"""Charts of chains and posteriors as plotly takes them (traces and layout), each with the table of its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.plotting import COLOURS
from bayestopics.evidence.topic_law import interval, law
from bayestopics.pages.topics import significant
from bayestopics.runs.fit_result import FitResult
from bayestopics.runs.select_result import SelectResult

LINES = (*COLOURS[:6], "#888888")  # no black, which is not seen on a dark page
POINTS = 300  # of a chain, or of a cloud of draws


@dataclass(frozen=True)
class Chart:
    """One chart; the label says what is to be seen, for those who do not see it."""

    name: str
    title: str
    label: str
    note: str
    traces: list[dict[str, Any]]
    layout: dict[str, Any]
    head: list[str]
    rows: list[list[str]]

    @property
    def plot(self) -> dict[str, Any]:
        return {"traces": self.traces, "layout": self.layout}


def fit_chains(result: FitResult) -> Chart:
    trace, burn_in = result.trace, result.task.params["burn_in"]
    traces = [_line(f"chain {c}", own["sweep"] + 1, own["log_joint"], c) for c, own in trace.groupby("chain")]
    kept = trace[trace["sweep"] >= burn_in].groupby("chain")["log_joint"]
    rows = [[f"chain {c}", f"{own.mean():,.1f}", f"{own.min():,.1f}", f"{own.max():,.1f}"] for c, own in kept]
    return Chart(
        "chains",
        "Do the chains agree?",
        "Line chart of the log joint probability along each chain",
        "After the burn-in (grey) the lines should lie on top of one another and have no trend. The log joint "
        "probability, in nats, says how well a state of the chain fits the corpus: higher is better.",
        traces,
        {
            **_axes("sweep", "log p(w, z) (nats)"),
            **_shaded(burn_in),
            "yaxis": _log_joint_axis(trace),
        },
        ["chain", "mean after the burn-in", "lowest", "highest"],
        rows,
    )


def posterior(result: SelectResult) -> Chart:
    found = law(result.tables["batches"])
    table = result.tables["posterior"]
    table = table[table["topics"].isin(result.posterior)]
    numbers, shares = table["topics"].tolist(), table["probability"].tolist()
    ends = [interval(found, number) for number in numbers]
    span = numbers[-1] - numbers[0]
    bar = {
        "type": "bar",
        "x": numbers,
        "width": max(0.8, span / 60),
        "y": significant(np.array(shares)),
        "marker": {"color": COLOURS[0]},
        "hoverinfo": "text",
        "hovertext": [f"{number} topics: {_between(*both)}" for number, both in zip(numbers, ends, strict=True)],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [max(0.0, high - share) for share, (_, high) in zip(shares, ends, strict=True)],
            "arrayminus": [max(0.0, share - low) for share, (low, _) in zip(shares, ends, strict=True)],
            "color": COLOURS[1],
        },
    }
    layout = _axes("number of topics", "posterior probability")
    layout["xaxis"] |= {"dtick": 1} if span <= 15 else {}
    layout["yaxis"] |= {"range": [0, 1.03], "tickformat": ".0%"}
    return Chart(
        "posterior",
        "How many topics?",
        "Bar chart of the posterior probability of each number of topics, with its Monte Carlo interval",
        "How probable each number of topics is, given the corpus; alpha and eta are integrated out. The intervals are "
        "two Monte Carlo standard errors on either side, and never shorter than what so few draws can tell."
        if found.agrees or len(found.by_chain) == 1
        else "The mean of what the chains say. They disagree, so these are not yet the probabilities of the numbers.",
        [bar],
        layout,
        ["number of topics", "probability", "known to be"],
        [[str(n), f"{p:.1%}", _between(*both)] for n, p, both in zip(numbers, shares, ends, strict=True)],
    )


def _between(low: float, high: float) -> str:
    return f"between {np.floor(100 * low):.0f} % and {np.ceil(100 * high):.0f} %"


def topic_chains(result: SelectResult) -> Chart:
    trace, burn_in = result.trace, result.task.params["burn_in"]
    traces = [_line(f"chain {c}", own["step"] + 1, own["topics"], c) for c, own in trace.groupby("chain")]
    rows = [
        [f"chain {c}", str(one["start"]), f"{one['mean']:.2f}", str(one["mode"])]
        for c, one in enumerate(result.answer["chains"])
    ]
    return Chart(
        "chains",
        "Do the chains agree?",
        "Line chart of the number of topics along each chain",
        "Chains from different starts should reach the same number of topics. On its way from one topic to another a "
        "chain also visits states of little weight. The burn-in (grey) is not used.",
        traces,
        {**_axes("iteration", "number of topics"), **_shaded(burn_in)},
        ["chain", "started with", "mean number of topics", "most probable"],
        rows,
    )


def hyper(result: SelectResult) -> Chart:
    """Draws at the chosen number of topics, by their weights: a larger dot is a draw that counts several times."""
    answer = result.answer
    kept = result.trace[result.trace["step"] >= result.task.params["burn_in"]]
    kept = kept[kept["topics"] == answer["topics"]]
    traces = []
    for number, own in kept.groupby("chain"):
        times = counts_by_weight(own["log_weight"].to_numpy(), min(POINTS, len(own)))
        own, times = own[times > 0], times[times > 0]
        trace = {"type": "scatter", "mode": "markers", "name": f"chain {number}"}
        x, y = (significant(own[side].to_numpy()) for side in ("alpha", "eta"))
        size = significant(4.0 * np.sqrt(times))
        marker = {"color": LINES[int(number) % len(LINES)], "size": size, "opacity": 0.6}
        traces.append({**trace, "x": x, "y": y, "marker": marker})
    layout = _axes("alpha", "eta")
    for side in ("xaxis", "yaxis"):
        layout[side] |= {"type": "log", "nticks": 6, "exponentformat": "none"}
    laws = {name: one for name, one in answer["hyper"].items() if one is not None}
    known = answer["agree"] or len(answer["chains"]) == 1
    elsewhere = "" if known else "; the chains disagree about that number, and with another one alpha and eta differ"
    return Chart(
        "hyper",
        "Which alpha and eta?",
        "Scatter chart of the draws of alpha and eta",
        f"Draws from the posterior given {answer['topics']} topics{elsewhere}. A small alpha means few topics in a "
        "document, a small eta few terms in a topic. A larger dot is a draw that counts several times.",
        traces,
        layout,
        ["", "median", "from", "to (with probability 95 %)"],
        [[name, *(f"{one[key]:.3g}" for key in ("median", "low", "high"))] for name, one in laws.items()],
    )


# -- parts -----------------------------------------------------------------------------------------------


def _line(name: str, x: pd.Series, y: pd.Series, number: int) -> dict[str, Any]:
    thin = _thinned(pd.DataFrame({"x": x, "y": y}))
    look = {"color": LINES[int(number) % len(LINES)], "width": 1.2}
    values = [float(f"{value:.8g}") for value in thin["y"]]
    return {"type": "scatter", "mode": "lines", "name": name, "x": thin["x"].tolist(), "y": values, "line": look}


def counts_by_weight(log_weights: np.ndarray, total: int) -> np.ndarray:
    """How often each draw is chosen if `total` are, in equal steps of the sum of the weights."""
    sums = np.cumsum(np.exp(log_weights - log_weights.max()))
    chosen = np.searchsorted(sums, (np.arange(total) + 0.5) / total * sums[-1])
    return np.bincount(chosen, minlength=len(sums))


def _thinned(table: pd.DataFrame) -> pd.DataFrame:
    return table.iloc[np.unique(np.linspace(0, len(table) - 1, min(POINTS, len(table))).round().astype(int))]


def _axes(x: str, y: str) -> dict[str, Any]:
    return {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}}}


def _shaded(burn_in: int) -> dict[str, Any]:
    look = {"fillcolor": "#888", "opacity": 0.15, "line": {"width": 0}, "layer": "below"}
    return {"shapes": [{"type": "rect", "yref": "paper", "x0": 0, "x1": burn_in, "y0": 0, "y1": 1, **look}]}


def _log_joint_axis(trace: pd.DataFrame) -> dict[str, Any]:
    """An axis without the first tenth of the chains, in which they climb from their random starts."""
    later = trace.loc[trace["sweep"] >= trace["sweep"].max() / 10, "log_joint"]
    room = 0.05 * (later.max() - later.min()) or 1.0
    return {
        "title": {"text": "log p(w, z) (nats)"},
        "range": [later.min() - room, later.max() + room],
        "tickformat": ",",
    }
