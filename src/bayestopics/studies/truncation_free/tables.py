"""Tables of the study `truncation_free`, and functions with which its figures and claims read its records.

A panel is a model on a corpus. Its runs are compared after equal seconds, namely when the first of them ends. Between
two checks, scores and components are interpolated in the log of seconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bayestopics.runs.result import Result
from bayestopics.studies.errors import errors_of
from bayestopics.studies.records import of_kind
from bayestopics.studies.truncation_free.errors import PAPERS, SCORE

METHODS = ("truncation-free", "truncated")  # the paper's
OURS = ("truncation-free-data", "truncated-restless")  # births from the data; tables of few words keep their topics
MODELS = ("dp-mixture", "hdp")
LEAST = 1e-9  # seconds, so that logs exist
Panels = dict[tuple[str, str], list[Result]]


# -- reading -------------------------------------------------------------------------------------------


def panels(records: Iterable[Result]) -> Panels:
    """For each (model, corpus) its streams, sorted by method and batch size."""
    found: Panels = {}
    streams, order = of_kind(records, "stream"), METHODS + OURS
    for record in sorted(streams, key=lambda r: (order.index(r.task.params["method"]), r.task.params["batch"])):
        found.setdefault((record.task.params["model"], record.task.params["corpus"]), []).append(record)
    return dict(sorted(found.items()))


def reference_lines(records: Iterable[Result], model: str, corpus: str) -> dict[str, float]:
    """Scores per word to compare a panel with: unigram frequencies of the training documents, and a Gibbs sampler."""
    panel, lines = {"model": model, "corpus": corpus}.items(), dict[str, float]()
    for one in records:
        if panel <= one.task.params.items() and one.task.params["kind"] == "gibbs":
            lines["Gibbs"] = one.metrics["per_word"]
        elif panel <= one.task.params.items():
            lines["unigram"] = one.metrics["unigram_per_word"]
    return lines


def seconds_of(record: Result) -> np.ndarray:
    """The CPU seconds of learning at every check."""
    return np.maximum(record.tables["timing"]["seconds"].to_numpy(), LEAST)


def budget(panel: list[Result]) -> float:
    """The seconds that all runs of a panel reached."""
    return float(min(seconds_of(record)[-1] for record in panel))


def too_late(panel: list[Result]) -> list[str]:
    """The runs whose first check comes after the budget, so that they have no score at equal seconds."""
    given = budget(panel)
    return [record.task.name for record in panel if seconds_of(record)[0] > given]


@dataclass(frozen=True, eq=False)
class Moment:
    """A run after some seconds."""

    logs: np.ndarray  # log p(x) of each held-out document
    tokens: np.ndarray
    documents: float  # seen
    components: float

    @property
    def per_word(self) -> float:
        return float(self.logs.sum() / self.tokens.sum())


def moment(record: Result, seconds: float) -> Moment | None:
    """The run at this time; None before its first check."""
    times, trace = np.log(seconds_of(record)), record.trace
    if np.log(seconds) < times[0]:
        return None
    place = float(np.interp(np.log(seconds), times, np.arange(len(times))))
    before, after, share = int(np.floor(place)), int(np.ceil(place)), place % 1.0

    def between(values: np.ndarray) -> np.ndarray:
        return np.asarray((1.0 - share) * values[before] + share * values[after])

    numbers = between(trace[["documents", "components"]].to_numpy(float)).tolist()
    return Moment(between(record.arrays["log_likelihoods"]), record.arrays["tokens"], *numbers)


def mean_and_error(logs: np.ndarray, tokens: np.ndarray) -> tuple[float, float]:
    """The mean per word and its standard error over documents: the mean is a ratio of two sums over documents."""
    count, ratio = len(logs), logs.sum() / tokens.sum()
    if count < 2:
        return float(ratio), np.nan
    return float(ratio), float(np.sqrt(count / (count - 1) * np.sum((logs - ratio * tokens) ** 2)) / tokens.sum())


# -- tables --------------------------------------------------------------------------------------------


def at_equal_seconds(panel: list[Result]) -> pd.DataFrame:
    """One row per run. `bar` is the standard error, over documents, of the difference from the panel's mean: it leaves
    out that some documents are harder than others for all runs."""
    given = budget(panel)
    found = [(record, now) for record in panel if (now := moment(record, given)) is not None]
    mean = np.mean([now.logs for _, now in found], axis=0)
    rows = [
        {
            "method": record.task.params["method"],
            "batch": record.task.params["batch"],
            "per_word": now.per_word,
            "bar": mean_and_error(now.logs - mean, now.tokens)[1],
            "components": now.components,
            "documents": now.documents,
        }
        for record, now in found
    ]
    return pd.DataFrame(rows)


def scores_table(records: list[Result], errors: pd.DataFrame) -> pd.DataFrame:
    """Every stream: at its end, with the paper's own estimate, and at equal seconds."""
    rows = []
    for (model, corpus), panel in panels(records).items():
        given = budget(panel)
        for record in panel:
            params, metrics, now = record.task.params, record.metrics, moment(record, given)
            known = errors_of(errors, record)["standard_error"]
            rows.append(
                {
                    "model": model,
                    "corpus": corpus,
                    "method": params["method"],
                    "batch": params["batch"],
                    "documents": int(metrics["documents"]),
                    "passes": metrics["passes"],
                    "seconds": float(seconds_of(record)[-1]),
                    "per_word": metrics["per_word"],
                    "monte_carlo_error": known[SCORE],
                    "papers_per_word": metrics["papers_per_word"],
                    "papers_error": known.get(PAPERS, np.nan),
                    "components": int(metrics["components"]),
                    "equal_seconds": given,
                    "per_word_at_equal_seconds": np.nan if now is None else now.per_word,
                    "components_at_equal_seconds": np.nan if now is None else now.components,
                }
            )
    return pd.DataFrame(rows)


def differences_table(records: list[Result]) -> pd.DataFrame:
    """Truncation-free minus truncated, for every panel and batch size that has both; errors are over documents."""
    columns = ["model", "corpus", "batch", "seconds", "difference", "error", "truncation_free_components"]
    rows = []
    for (model, corpus), panel in panels(records).items():
        given = budget(panel)
        found = {(r.task.params["method"], r.task.params["batch"]): moment(r, given) for r in panel}
        for batch in sorted({batch for _, batch in found}):
            ours, other = (found.get((method, batch)) for method in METHODS)
            if ours is not None and other is not None:
                numbers = mean_and_error(ours.logs - other.logs, ours.tokens)
                rows.append([model, corpus, batch, given, *numbers, ours.components, other.components])
    return pd.DataFrame(rows, columns=[*columns, "truncated_components"])


def endless_table(records: list[Result]) -> pd.DataFrame:
    """Endless streams: components, and the peak memory before the first document, after a part and at the end."""
    rows = []
    for record in of_kind(records, "endless"):
        params, timing = record.task.params, record.tables["timing"]
        before, early, *_, end = timing["peak_mb"]
        rows.append(
            {
                "model": params["model"],
                "method": params["method"],
                "documents": int(record.metrics["documents"]),
                "components": int(record.metrics["components"]),
                "most_components": int(record.metrics["most_components"]),
                "seconds": float(timing["seconds"].iloc[-1]),
                "peak_mb_at_start": before,
                "early_documents": int(timing["documents"].iloc[1]),
                "peak_mb_early": early,
                "peak_mb_at_end": end,
            }
        )
    return pd.DataFrame(rows)
