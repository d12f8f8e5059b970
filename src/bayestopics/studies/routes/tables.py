"""Table of the study `routes`: the number of topics of every corpus by every route."""

from __future__ import annotations

import pandas as pd

from bayestopics.runs.result import Result


def routes_table(records: list[Result]) -> pd.DataFrame:
    """One row per corpus and route."""
    rows = []
    for record in records:
        for row in record.tables["answers"].to_dict("records"):
            remark = []
            if row["at_the_edge"]:
                remark.append("the best T is at an end of the range that was tried")
            if row["apart"]:
                remark.append("chains from different starts disagree")
            numbers = {key: row[key] for key in ("topics", "low", "high", "large_topics")}
            keys = {"corpus": record.task.params["corpus"], "true_topics": record.metrics["true_topics"]}
            rows.append(
                keys | {"route": row["route"], **numbers, "what_it_is": row["estimates"], "remark": "; ".join(remark)}
            )
    return pd.DataFrame(rows)
