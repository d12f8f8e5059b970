"""Study `number_of_topics`: does PMMH with a fixed m sample the exact posterior of T? And does a chain that makes the
estimate of its current T anew at every step [Chen & Doss, remark 1]?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count, product

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayestopics.base.seeds import generator, seed_from
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import mcse
from bayestopics.evidence.pmmh import Walk, log_proposal, pmmh, propose
from bayestopics.evidence.pseudo_marginal import Estimates, Inner
from bayestopics.evidence.topic_prior import TopicPrior
from bayestopics.lda.density import log_joint
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task


def exact_posterior(corpus: Corpus, prior: Prior, topics: list[int]) -> np.ndarray:
    """The posterior of T, uniform on `topics` a priori, by summing p(w, z | T) over all z."""
    logs = []
    for many in topics:
        all_z = product(range(many), repeat=corpus.token_count)
        logs.append(logsumexp([log_joint(from_assignments(corpus, many, prior, np.array(z))) for z in all_z]))
    return np.exp(logs - logsumexp(logs))


def refreshed(corpus: Corpus, prior: Prior, topics: TopicPrior, inner: Inner, iterations: int, seed: int) -> np.ndarray:
    """T along a chain of Monte Carlo within Metropolis-Hastings [remark 1]: both estimates are made anew at every step,
    so that T alone is the state of the chain. It does not sample the posterior."""
    estimates = Estimates(corpus, prior, inner, seed)
    streams: dict[int, Iterator[float]] = {}
    uniforms = generator(seed, "refreshed").random((iterations, 2))
    current, visits = topics.low, np.empty(iterations, int)
    for step in range(iterations):
        proposed = propose(topics, current, uniforms[step, 0])
        for t in (current, proposed):
            streams.setdefault(t, _log_estimates(estimates, t))
        log_ratio = (  # (4.5), with a new estimate of the current T
            next(streams[proposed])
            + topics.log_density(proposed)
            + log_proposal(topics, proposed)
            - next(streams[current])
            - topics.log_density(current)
            - log_proposal(topics, current)
        )
        if math.log1p(-uniforms[step, 1]) < log_ratio:
            current = proposed
        visits[step] = current
    return visits


def _log_estimates(estimates: Estimates, topics: int) -> Iterator[float]:
    """Independent log-estimates for one T, made several at once."""
    together = estimates.inner.together
    for first in count(step=together):
        keys = [(topics, number, "refreshed") for number in range(first, first + together)]
        yield from (made.log_estimate for made in estimates.make_all(keys))


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Two long chains for each m, with a uniform prior on T: PMMH, and one that refreshes its estimates. The exact
    posterior sums all T^N assignments."""
    params = task.params
    prior, topics = Prior(params["alpha"], params["eta"]), list(range(1, params["most"] + 1))
    exact, rows, over = exact_posterior(corpus, prior, topics), [], TopicPrior(1, params["most"])
    for inner in params["inner"]:
        seed, steps = seed_from(task.generator(f"m{inner}")), params["iterations"]
        kept = pmmh(corpus, prior, Walk(over, (1,), steps), Inner(inner), seed=seed).trace["topics"].to_numpy()
        anew = refreshed(corpus, prior, over, Inner(inner), steps, seed)
        for is_refreshed, chain in ((False, kept), (True, anew)):
            visits = (chain[:, None] == np.array(topics)).astype(float)
            for t, share, error, truth in zip(topics, visits.mean(axis=0), mcse(visits), exact, strict=True):
                row = {"inner": inner, "refreshed": is_refreshed, "topics": t, "share": share, "error": error}
                rows.append(row | {"exact": truth})
    table = pd.DataFrame(rows)
    table["score"] = (table["share"] - table["exact"]) / table["error"]
    largest = table["score"].abs().groupby(table["refreshed"]).max()
    metrics = {"largest_score": float(largest[False]), "largest_score_refreshed": float(largest[True])}
    return Result(task, metrics, tables={"law": table})
