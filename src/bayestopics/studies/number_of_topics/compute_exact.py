"""Study `number_of_topics`: does PMMH with a fixed m sample the exact posterior of T?"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayestopics.base.seeds import seed_from
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import mcse
from bayestopics.evidence.pmmh import Walk, pmmh
from bayestopics.evidence.pseudo_marginal import Inner
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task


def exact_posterior(corpus: Corpus, prior: Prior, topics: list[int]) -> np.ndarray:
    """The posterior of T, uniform on `topics` a priori, by summing p(w, z | T) over all z."""
    logs = []
    for count in topics:
        all_z = product(range(count), repeat=corpus.token_count)
        logs.append(logsumexp([log_joint(from_assignments(corpus, count, prior, np.array(z))) for z in all_z]))
    return np.exp(logs - logsumexp(logs))


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """One long PMMH chain for each m, with a uniform prior on T. The exact posterior sums all T^N assignments."""
    params = task.params
    prior, topics = Prior(params["alpha"], params["eta"]), list(range(1, params["most"] + 1))
    exact, rows = exact_posterior(corpus, prior, topics), []
    for inner in params["inner"]:
        found = pmmh(
            corpus,
            prior,
            Walk(TopicPrior(1, params["most"]), (1,), params["iterations"]),
            Inner(inner),
            seed=seed_from(task.generator(f"m{inner}")),
        )
        visits = found.trace["topics"].to_numpy()[:, None] == np.array(topics)
        for t, share, error, truth in zip(topics, visits.mean(axis=0), mcse(visits.astype(float)), exact, strict=True):
            rows.append({"inner": inner, "topics": t, "share": share, "error": error, "exact": truth})
    table = pd.DataFrame(rows)
    table["score"] = (table["share"] - table["exact"]) / table["error"]
    return Result(task, {"largest_score": float(table["score"].abs().max())}, tables={"law": table})
