"""Table of the study `first_look`, and functions with which its figures read its records."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayestopics.runs.fit import convergence
from bayestopics.runs.result import Result
from bayestopics.studies.errors import errors_of
from bayestopics.studies.records import by


def second_halves(records: list[Result]) -> np.ndarray:
    """The log joint in the second half of each chain, as an array of chains x draws."""
    return np.array([record.trace["log_joint"].to_numpy()[len(record.trace) // 2 :] for record in records])


def summary_table(records: list[Result], errors: pd.DataFrame) -> pd.DataFrame:
    """One row per chain: metrics, R-hat over the corpus's chains, speed."""
    rows = []
    for corpus, chains in by("corpus", records).items():
        rhat, _ = convergence(second_halves(chains))
        for record in chains:
            row = {"corpus": corpus, "run": record.task.name, "topics": record.task.params["topics"], **record.metrics}
            of_joint = errors_of(errors, record).loc["log joint"]
            row |= {"log_joint_error": of_joint["standard_error"]}
            row |= {"log_joint_effective_draws": of_joint["effective_draws"]}
            row |= {"rhat": rhat, "tokens_per_second": record.volatile["tokens_per_second"]}
            rows.append(row | {"warnings": "; ".join(record.warnings)})
    return pd.DataFrame(rows)
