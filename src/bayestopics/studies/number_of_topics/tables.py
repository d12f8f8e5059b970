"""Tables of the study `number_of_topics`, and functions with which its figures and claims read its records."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln
from scipy.stats import kendalltau

from bayestopics.evidence.estimate import not_excluded
from bayestopics.runs.result import Result
from bayestopics.studies.errors import errors_of
from bayestopics.studies.number_of_topics.constants import constants
from bayestopics.studies.number_of_topics.ladders import one_nat, scatter, spread
from bayestopics.studies.number_of_topics.times import hours

YARDSTICK = "reference"
LIKELIEST = 5  # numbers of topics that a table shows
USUAL = {"z_start": "uniform", "chain": 1}
SURE = 0.99  # probability that a bound holds


# -- reading ------------------------------------------------------------------------------------------


def method_of(record: Result) -> str:
    params = record.task.params
    return str(params["path"] if params["method"] == "annealing" else params["method"])


def evidence_of(record: Result) -> pd.Series:
    """The column log_evidence, indexed by T."""
    return record.tables["evidence"].set_index("topics")["log_evidence"].sort_index()


def with_standard_errors(values: pd.Series, errors: pd.DataFrame, record: Result, quantity: str) -> pd.DataFrame:
    """Values by T, with a column for their Monte Carlo errors; `quantity` is the letter before (T)."""
    known = errors_of(errors, record)["standard_error"]
    return values.to_frame().assign(standard_error=[known[f"log {quantity}({t})"] for t in values.index])


def posteriors(estimates: pd.DataFrame) -> pd.DataFrame:
    """The normalised direct estimator [Chen & Doss 4.11], with a uniform prior: a table of repeats x T."""
    logs = estimates.pivot(index="repeat", columns="topics", values="log_estimate")
    weights = np.exp(logs.sub(logs.max(axis=1), axis=0))
    return weights.div(weights.sum(axis=1), axis=0)


def running_mean(trace: pd.DataFrame) -> np.ndarray:
    """The mean of T over all steps so far."""
    return trace["topics"].expanding().mean().to_numpy()


def first_step(trace: pd.DataFrame, topics: int) -> int | None:
    """The first step at which T equals `topics`; None if it never does."""
    there = trace["topics"].to_numpy() == topics
    return int(np.argmax(there)) + 1 if there.any() else None


def span(form: str, values: list[float]) -> str:
    """The smallest and the largest of these values, or the one that they have in common."""
    return " to ".join(dict.fromkeys((form.format(min(values)), form.format(max(values)))))


# -- tables -------------------------------------------------------------------------------------------


def walks_table(records: list[Result]) -> pd.DataFrame:
    """One row per chain; `posterior` has the likeliest T and their probabilities, like table 2 of the paper."""
    rows = []
    for record in records:
        params, metrics = record.task.params, record.metrics
        keys = ("corpus", "sampler", "z_start", "start", "inner", "chain", "iterations")
        likeliest = ""
        if "posterior" in record.tables:
            shares = record.tables["posterior"].nlargest(LIKELIEST, "probability")
            likeliest = ", ".join(f"{t:.0f}: {p:.2%}" for t, p in shares.to_numpy())
        told = {"posterior": likeliest, "warnings": "; ".join(record.warnings)}
        rows.append({key: params.get(key, USUAL.get(key)) for key in keys} | metrics | told)
    return pd.DataFrame(rows)


def jumps_table(records: list[Result]) -> pd.DataFrame:
    """One row per chain over (T, z)."""
    rows = []
    for record in records:
        shared = {name: record.metrics.get(name) for name in ("mean", "mean_error", "rhat", "rhat_log_joint")}
        for chain in record.tables["chains"].itertuples():
            own = {"start": chain.start, "mean of this chain": chain.mean, "mode of this chain": chain.mode}
            rest = {"changes of T": chain.changes, "CPU seconds of all": record.volatile.get("cpu_seconds")}
            rows.append({"corpus": record.task.corpus, **own, **shared, **rest})
    return pd.DataFrame(rows)


def calibration_table(records: list[Result]) -> pd.DataFrame:
    """One row per law of alpha and eta."""
    rows = []
    for record in records:
        for hyper, part in record.tables["ranks"].groupby("hyper", sort=False):
            ranks = part["rank"]
            rows.append(
                {
                    "alpha and eta": hyper,
                    "corpora": len(part),
                    "mean rank": ranks.mean(),
                    "standard deviation": ranks.std(),
                    "p-value": record.metrics[f"p_{hyper}"],
                    "probability of the true T": part["probability"].mean(),
                    "in the central 80 %": ranks.between(0.1, 0.9).mean(),
                }
            )
    return pd.DataFrame(rows)


def evidence_table(records: list[Result]) -> pd.DataFrame:
    """One row per corpus and method: its best T, and how its order of T and its values compare with the yardstick."""
    yardsticks = {r.task.corpus: evidence_of(r) for r in records if method_of(r) == YARDSTICK}
    rows = []
    for record in records:
        values, estimates = evidence_of(record), record.tables["estimates"]
        row: dict[str, Any] = {
            "corpus": record.task.corpus,
            "method": method_of(record),
            "sweeps": record.task.params["sweeps"],
            "repeats": record.task.params["repeats"],
            "best_topics": int(values.idxmax()),
            "scatter": float(estimates.groupby("topics")["log_estimate"].agg(spread).median()),
            "seconds_an_estimate": record.volatile["sampling_seconds"] / len(estimates),
        }
        if record.task.corpus in yardsticks:
            both = pd.concat([yardsticks[record.task.corpus], values], axis=1, join="inner")
            yardstick, here = both.iloc[:, 0], both.iloc[:, 1]
        if record.task.corpus in yardsticks and len(both):
            row["best_topics_of_yardstick"] = int(yardstick.idxmax())
            row["rank_correlation"] = float(kendalltau(yardstick, here).statistic)
            row["median_difference"] = float((here - yardstick).median())
        rows.append(row | {"warnings": len(record.warnings)})
    return pd.DataFrame(rows)


def answers_table(records: list[Result], errors: pd.DataFrame) -> pd.DataFrame:
    """One row per corpus and method (for PMMH, per chain): its number of topics, and the range that it leaves open.

    - Evidence: the T of the largest log m(T), and the T that its errors do not exclude. Where an error is unknown, as
      with one chain for each T, there is no range.
    - Chains over (T, z): the median and the central 95 % of the posterior of T.
    - PMMH: the median and the central 95 % of the second half of a chain.
    - Leave-one-out score: the T of the largest score. There is no range, because its error does not include which
      documents there are.
    `at_the_edge`: the best T is the largest that was tried, so that a larger one may be better.
    """
    rows = [
        {"corpus": record.task.corpus, "method": method, "start": record.task.params.get("start")} | row
        for record in records
        for method, row in [_answer_of(record, errors)]
    ]
    return pd.DataFrame(rows)


def _answer_of(record: Result, errors: pd.DataFrame) -> tuple[str, dict[str, Any]]:
    kind = record.task.params["kind"]
    if kind == "jump":
        posterior = record.tables["posterior"].set_index("topics")["probability"].cumsum()
        low, middle, high = (int(posterior.index[np.searchsorted(posterior, level)]) for level in (0.025, 0.5, 0.975))
        return kind, {"low": low, "topics": middle, "high": high, "at_the_edge": high == record.task.params["most"]}
    if kind == "pmmh":
        late = record.trace["topics"].iloc[len(record.trace) // 2 :]
        low, middle, high = np.quantile(late, (0.025, 0.5, 0.975), method="inverted_cdf")
        return kind, {"low": low, "topics": middle, "high": high, "at_the_edge": False}
    if kind == "score":
        method, values = kind, record.tables["scores"].set_index("topics")["log_score"]
        near = values.index[[values.argmax()]]
    else:
        method, values = method_of(record), evidence_of(record)
        known = with_standard_errors(values, errors, record, "m")["standard_error"]
        is_open = not_excluded(values.tolist(), known.tolist(), record.task.params["repeats"])
        near = values.index[is_open] if known.notna().all() else values.index[[values.argmax()]]
    best = values.idxmax()
    row = {"low": near.min(), "topics": best, "high": near.max(), "at_the_edge": best == values.index.max()}
    return method, row


def constants_table(records: list[Result]) -> pd.DataFrame:
    """One row per set of constants left out: the T of each corpus that the yardstick would then prefer."""
    columns: dict[str, dict[str, int]] = {}
    expected: dict[str, Any] = {"left out": "(the paper, or the truth)"}
    for record in records:
        if method_of(record) != YARDSTICK:
            continue
        values = evidence_of(record)
        parts = constants(record, values.index.to_numpy())
        for size in range(len(parts) + 1):
            for names in combinations(parts, size):
                rest = values - sum(parts[name] for name in names)
                row = columns.setdefault(", ".join(names) or "nothing", {})
                row[record.task.corpus] = int(rest.idxmax())
        expected[record.task.corpus] = record.task.params.get("expected_topics")
    return pd.DataFrame([expected, *({"left out": names, **row} for names, row in columns.items())])


def fitted_table(records: list[Result], errors: pd.DataFrame) -> pd.DataFrame:
    """One row per corpus and T: the fitted alpha and eta, log m(T) there, and how far it is below the best."""
    rows = []
    for record in records:
        table = record.tables["evidence"].set_index("topics")
        table["standard_error"] = with_standard_errors(table["log_evidence"], errors, record, "m")["standard_error"]
        table["below_the_best"] = table["log_evidence"].max() - table["log_evidence"]
        rows.append(table.reset_index().assign(corpus=record.task.corpus))
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=["corpus"])


def bounds_table(records: list[Result]) -> pd.DataFrame:
    """One row per corpus: the bounds of log m at the true T and of T - 1 from below, the most that the last topic can
    gain, and what it loses without G(V eta)^T."""
    rows = []
    for record in records:
        params, estimates = record.task.params, record.tables["estimates"]
        topics, terms = params["expected_topics"], float(record.tables["size"]["terms"].iloc[0])
        logs = estimates.groupby(["side", "topics"])["log_estimate"]
        # P(log-estimate > log m + c) <= exp(-c) for each of the repeats, and so for the largest of them together
        margin = math.log(params["repeats"] / (1 - SURE))
        below, above = logs.max()["below"] - margin, logs.min()["above"] + margin
        gain, loss = float(above[topics] - below[topics - 1]), float(gammaln(terms * params["eta"]))
        rows.append(
            {
                "corpus": record.task.corpus,
                "topics": topics,
                "from_below": below[topics],
                "from_above": above[topics],
                "one_less_from_below": below[topics - 1],
                "gain_at_most": gain,
                "log_gamma": loss,
                "gain_without_it_at_most": gain - loss,
            }
        )
    return pd.DataFrame(rows)


def ladders_table(records: list[Result]) -> pd.DataFrame:
    return pd.concat([scatter(record) for record in records], ignore_index=True) if records else pd.DataFrame()


def lengths_table(records: list[Result]) -> pd.DataFrame:
    """One row per corpus size and path: the steps and seconds that an estimate needs to scatter by only 1 nat."""
    rows = []
    for (law, path), part in ladders_table(records).groupby(["law", "path"], sort=False) if records else ():
        steps, seconds, how = one_nat(part)
        keys = {"law": law, "tokens": part["tokens"].iloc[0], "path": path}
        rows.append(keys | {"steps": steps, "seconds": seconds, "how": how})
    return pd.DataFrame(rows)


def times_table(records: list[Result]) -> pd.DataFrame:
    """One row per piece of the paper's work: hours of one core, here and in the paper."""
    return hours(records)
