"""Study `number_of_topics`, calibration: does the posterior of T mean what it says?

T is drawn from its prior, and a small corpus from the model with T topics. If the posterior of T given this corpus is
right, the rank of the true T in it is uniform between 0 and 1: P(smaller T | w) plus a uniform share of P(true T | w)
(Talts et al. 2018). A posterior that is too narrow gives too many ranks near 0 and 1, one that is too wide too few.
This is repeated for chains with alpha and eta fixed at their true values, and for chains that sample them; then they
are drawn from their prior as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kstest

from bayestopics.base.checkpoint import NoCheckpoint
from bayestopics.base.progress import counted
from bayestopics.base.seeds import seed_from
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.evidence.jump import run_chain
from bayestopics.evidence.jump_tables import batches_table
from bayestopics.evidence.pmmh import Walk
from bayestopics.evidence.topic_law import law
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.state import Prior
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task

LAWS = ("fixed", "sampled")  # alpha and eta
START = 2  # topics
ENDS = (0.05, 5.0)  # of the prior of alpha and eta: beyond, single chains on such small corpora are too slow to trust


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """`corpus` only names the prior. `ranks` has one row per law of (alpha, eta) and simulated corpus."""
    params = task.params
    jobs = [(hyper, number) for hyper in LAWS for number in range(params["corpora"])]
    rows: list[dict[str, Any]] = checkpoint.load() or []
    for hyper, number in counted(jobs[len(rows) :], task.name, "corpus", total=len(jobs), done=len(rows)):
        rows.append({"hyper": hyper, "corpus": number, **one(params, hyper, task.generator(f"{hyper} {number}"))})
        if checkpoint.due():
            checkpoint.save(rows)
    table = pd.DataFrame(rows)
    metrics = {f"p_{name}": float(kstest(part["rank"], "uniform").pvalue) for name, part in table.groupby("hyper")}
    return Result(task, metrics, tables={"ranks": table})


def one(params: Mapping[str, Any], hyper: str, rng: np.random.Generator) -> dict[str, Any]:
    """Draw T (and h), a corpus, and the rank of the true T in the posterior that a chain finds."""
    topics, alpha, eta = int(rng.integers(1, params["most"] + 1)), params["alpha"], params["eta"]
    begin, ends = Prior(alpha, eta), None
    if hyper == "sampled":
        ends = ENDS
        alpha, eta = np.exp(rng.uniform(np.log(ENDS[0]), np.log(ENDS[1]), size=2)).tolist()
    size = {name: params[name] for name in ("documents", "length", "terms")}
    corpus = simulate_lda(**size, topics=topics, alpha=alpha, eta=eta, rng=rng).corpus
    walk = Walk(TopicPrior(1, params["most"]), (START,), params["iterations"], params["burn_in"])
    chain = run_chain(corpus, begin, walk, 0, seed_from(rng), NoCheckpoint(), ends)
    found = law(batches_table([chain]))
    return {
        "topics": topics,
        "rank": rank(found.posterior, topics, rng.random()),
        "probability": found.posterior.get(topics, 0.0),
        "mean": found.mean,
        "mean_error": found.mean_error,
    }


def rank(posterior: dict[int, float], truth: int, uniform: float) -> float:
    """P(T < truth | w) + uniform P(T = truth | w)"""
    below = sum(share for topics, share in posterior.items() if topics < truth)
    return below + uniform * posterior.get(truth, 0.0)
