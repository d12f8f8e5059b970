"""Study `number_of_topics`, distances: how far apart are the topics? L1 distances within a draw [Chen & Doss 5.3]."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist

from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import mcse
from bayestopics.lda import sampler
from bayestopics.lda.parameters import draw_parameters
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """The mean distance over all pairs of topics, for draws of beta along one chain; labels do not matter to it."""
    params, rng = task.params, task.generator()
    module = sampler(params["sampler"])
    state = module.init(corpus, params["topics"], Prior(params["alpha"], params["eta"]), rng)
    means = []
    for sweep in counted(range(params["burn_in"] + params["sweeps"]), task.name, "sweep"):
        module.sweep(state, rng)
        if sweep >= params["burn_in"]:
            beta = np.exp(draw_parameters(state, rng).log_beta)
            means.append(float(pdist(beta.T, "cityblock").mean()))
    distances = np.array(means)
    metrics = {"distance": float(distances.mean()), "distance_error": float(mcse(distances))}
    trace = pd.DataFrame({"sweep": np.arange(len(distances)), "distance": distances})
    return Result(task, metrics, tables={"trace": trace})
