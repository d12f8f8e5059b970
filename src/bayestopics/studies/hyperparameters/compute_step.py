"""Study `hyperparameters`, one step of the iterative grid; each builds on the last [George & Doss, figures 2 and 3]."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bayestopics.base.seeds import generator, seed_from
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.iterative_grid import Step, one_step, settled
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.hyperparameters.compute_surface import surface_table


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, before: Sequence[Result] = ()) -> Result:
    """`before` has the record of the previous step, except at the first step; the table `steps` has all steps so far.

    Steps continue after the grid has settled, to show that it stays.
    """
    params = task.params
    steps = _steps(before[-1].tables["steps"]) if before else []
    shape = (params["shape"][0], params["shape"][1])
    seed = seed_from(generator(task.seed, f"{task.study}/{task.corpus}/iterative grid"))  # the same for all steps
    work = {"sweeps": params["sweeps"], "seed": seed}
    step, chain = one_step(corpus, params["topics"], steps, shape=shape, checkpoint=checkpoint, **work)
    steps.append(step)
    table = pd.DataFrame([one.row() for one in steps])
    metrics = {
        "alpha": step.alpha,
        "eta": step.eta,
        "documents": step.documents,
        "settled": float(settled(steps, shape)),
    }
    tables = {"steps": table, "surface": surface_table([chain], params["fine"])}
    return Result(task, metrics, tables=tables)


def _steps(table: pd.DataFrame) -> list[Step]:
    return [Step(**row) for row in table.to_dict("records")]
