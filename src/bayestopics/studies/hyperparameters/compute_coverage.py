"""Study `hyperparameters`, coverage: how often does a 95 % Monte Carlo ellipse cover the maximum of m(h)?

The maximum comes from a very long run. Ellipses are made from the batches of one chain and from ten independent chains.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.progress import counted
from bayestopics.base.seeds import seed_from
from bayestopics.base.stages import Stages
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.best import best, best_of_chains
from bayestopics.hyper.search import Runner, find
from bayestopics.hyper.tempering import TemperedChain
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

TOGETHER = 10  # independent chains per ellipse


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """`chains` has one row per ellipse."""
    params = task.params
    seed = seed_from(task.generator("truth"))
    long = find(corpus, params["topics"], sweeps=params["long"], seed=seed, checkpoint=checkpoint.part("truth"))
    truth = np.array([long.best.alpha, long.best.eta])
    grid, log_zeta = long.chains[0].grid, long.chains[0].log_zeta
    runner = Runner(corpus, params["topics"], "single-site", "all", ())
    stages = Stages(task.generator("chains"), checkpoint.part("chains"))
    numbers = counted(range(params["chains"]), task.name, "chain")
    chains = [runner.fresh(grid, log_zeta, params["burn_in"], params["sweeps"], stages) for _ in numbers]
    rows = [_row("batches", number, [chain], truth) for number, chain in enumerate(chains)]
    groups = [chains[first : first + TOGETHER] for first in range(0, len(chains) - TOGETHER + 1, TOGETHER)]
    rows += [_row("chains", number, group, truth) for number, group in enumerate(groups)]
    table = pd.DataFrame(rows)
    shares = table.groupby("kind")["covers"].mean()
    metrics = {f"coverage_{kind}": float(share) for kind, share in shares.items()}
    metrics |= {"truth_alpha": float(truth[0]), "truth_eta": float(truth[1])}
    return Result(task, metrics, long.warnings, tables={"chains": table})


def _row(kind: str, number: int, chains: list[TemperedChain], truth: np.ndarray) -> dict[str, Any]:
    found = best(chains[0]) if kind == "batches" else best_of_chains(chains)
    covers = found.ellipse is not None and found.ellipse.covers(truth)
    correlation = found.batch_correlation if kind == "batches" else np.nan
    h = {"alpha": found.alpha, "eta": found.eta}
    return {"kind": kind, "number": number, **h, "covers": covers, "batch_correlation": correlation}
