"""Study `truncation_free`, the toy example: does a document of one word belong to a component that has seen words or to
one that has seen none? [Wang & Blei, figure 2]"""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayestopics.nonparametric.local_collapse_toy import CASES, toy_figure2
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task


def compute(task: Task, corpus: None, checkpoint: Checkpoint) -> Result:
    """`log_odds` has one row per case and number of occurrences."""
    parts = []
    for case in CASES:
        curves = toy_figure2(case, task.params["most"])
        columns = {"exact": curves.exact, "locally_collapsed": curves.locally_collapsed}
        columns["mean_field"] = curves.mean_field
        parts.append(pd.DataFrame({"case": case, "occurrences": curves.occurrences, **columns}))
    table = pd.concat(parts, ignore_index=True)
    furthest = float(np.abs(table["locally_collapsed"] - table["exact"]).max())
    return Result(task, {"furthest": furthest}, tables={"log_odds": table})
