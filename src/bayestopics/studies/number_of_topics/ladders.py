"""Study `number_of_topics`, the yardstick: how much its estimates scatter, and how long its ladder must be."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from bayestopics.runs.result import Result


def spread(log_estimates: pd.Series) -> float:
    """The standard deviation of the log-estimates; infinite if one of them is not finite."""
    return float(log_estimates.std()) if np.isfinite(log_estimates).all() else math.inf


def scatter(record: Result) -> pd.DataFrame:
    """One row per path and number of steps: the standard deviation of the log-estimates of one corpus, the seconds, and
    the gap between the bounds."""
    table = record.tables["estimates"].merge(record.tables["timing"])
    rows = []
    for (path, steps), part in table.groupby(["path", "steps"], sort=False):
        forward = part[part["direction"] == "forward"]
        ends = part.groupby(["corpus", "direction"])["log_estimate"].mean().unstack()
        deviations = forward.groupby("corpus")["log_estimate"].agg(spread)
        row = {
            "law": record.task.corpus,
            "tokens": record.task.params["law"]["documents"] * record.task.params["law"]["length"],
        }
        row |= {"path": path, "steps": steps, "scatter": float(np.sqrt((deviations**2).mean()))}
        row |= {"seconds": float(forward["seconds"].mean())}
        if "backward" in ends:
            row["gap"] = float((ends["backward"] - ends["forward"]).mean())
        rows.append(row)
    return pd.DataFrame(rows)


def one_nat(part: pd.DataFrame) -> tuple[float, float, str]:
    """The steps and seconds that an estimate needs to scatter by only 1 nat, its standard error, and how we know them.

    `part` has the scatter of one path, one row per number of steps. Between two lengths that were run, the answer is
    interpolated in logs ("measured"). If the longest run still scatters more, the scatter is assumed to fall as
    1 / sqrt(steps) from there ("extrapolated"). If the shortest run already scatters less, it is enough ("at most").
    """
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
    return float(np.exp(at[0])), float(np.exp(at[1])), how
