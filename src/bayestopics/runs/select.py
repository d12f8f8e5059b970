"""`select`: chooses T, alpha and eta together, with their uncertainty.

For each number of topics T, a chain that samples h = (alpha, eta) together with the topics finds the best h, and
annealing estimates the evidence log m(T, h) there. These estimates of m(T, h) are unbiased for every h. The step from
m(T, h) to p(w | T) is an approximation: p(w | T) is the integral of m(T, h) over the prior of h, which is taken as
uniform in log h between wide ends. The integral is computed by Laplace's method with the covariance of the sampled
log h; it changes the log evidence by a few nats, by different amounts for different T. At the best T, serial tempering
then gives h with its two regions, and one more chain gives the topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayestopics.base.code import code_hash
from bayestopics.base.problems import InputError
from bayestopics.base.progress import counted
from bayestopics.base.seeds import generator
from bayestopics.base.wording import explain_once
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.compute import evidence
from bayestopics.evidence.estimate import not_excluded
from bayestopics.hyper.full_bayes import FullBayes, full_bayes
from bayestopics.hyper.search import SHORTEST
from bayestopics.hyper.several import search_several
from bayestopics.hyper.urns import ENDS
from bayestopics.lda import SAMPLERS
from bayestopics.lda.state import Prior
from bayestopics.runs.chain import run_chain
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.fit import empty_documents
from bayestopics.runs.hyper import tables_of
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task, describe
from bayestopics.runs.words import top_words, topics_table

LOG_AREA = 2 * np.log(np.log(ENDS[1] / ENDS[0]))  # log of the area on which the prior of log h is uniform
SAMPLER = "single-site"
SHORTEST_TEMPERING = 1000  # sweeps


def task_of(corpus: Corpus, topics: Sequence[int], seed: int, **work: Any) -> Task:
    """`work`: sweeps of each chain that samples h, steps and repeats of annealing for each T, and tempering chains at
    the best T."""
    check(topics, work["sweeps"])
    params = {"topics": sorted(set(topics)), **work}
    return Task(
        "select", OWN, "select", params, seed, **describe(corpus), code=code_hash(__name__, SAMPLERS[SAMPLER].module)
    )


def check(topics: Sequence[int], sweeps: int) -> None:
    if not topics or min(topics) < 2:
        raise InputError(f"alpha has no meaning with one topic: use numbers of topics from 2 on, not {list(topics)}")
    if sweeps < SHORTEST:
        raise InputError(f"a chain that samples alpha and eta needs at least {SHORTEST} sweeps, not {sweeps}")


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, *, workers: int = 1) -> Result:
    """The table `evidence` has one row per T: alpha, eta, log_evidence at these values, its standard_error,
    log_marginal and posterior. The alpha and eta of the answer come from tempering at the best T."""
    params = task.params
    rows, doubts = _each_number(task, corpus, checkpoint, workers)
    table = pd.DataFrame(rows)
    logs = table["log_marginal"].to_numpy()
    table["posterior"] = np.exp(logs - logsumexp(logs))
    best = int(table["topics"][int(np.argmax(logs))])
    hyper = search_several(
        corpus,
        best,
        chains=params["chains"],
        workers=workers,
        seed=task.seed,
        sweeps=max(SHORTEST_TEMPERING, params["sweeps"]),
        checkpoint=checkpoint.part("tempering"),
    )
    found = hyper.summary()
    counts = _counts(task, corpus, best, Prior(found["alpha"], found["eta"]), checkpoint)
    answer = {
        "topics": best,
        **{name: found[name] for name in ("alpha", "eta")},
        "posterior": dict(zip(table["topics"].tolist(), table["posterior"].tolist(), strict=True)),
        **{name: found[name] for name in ("ellipse", "region", "agreement", "chains")},
        "top_words": top_words(corpus, counts),
    }
    return Result(
        task,
        {"topics": best, "alpha": found["alpha"], "eta": found["eta"], "probability": float(table["posterior"].max())},
        explain_once([*empty_documents(corpus), *doubts, *_doubts(table, best, params["repeats"]), *hyper.warnings]),
        tables={"evidence": table, "topics": topics_table(corpus, counts, found["eta"]), **tables_of(hyper)},
        answer=answer,
    )


def _each_number(
    task: Task, corpus: Corpus, checkpoint: Checkpoint, workers: int
) -> tuple[list[dict[str, float]], list[str]]:
    """The evidence of each T at its best h, and warnings. The run can be interrupted anywhere: the finished parts of
    each T are in the checkpoint."""
    params = task.params
    saved: tuple[list[dict[str, float]], list[str]] | None = checkpoint.load()
    rows, doubts = saved or ([], [])
    numbers = params["topics"]
    for number in counted(numbers[len(rows) :], "select", "T", total=len(numbers), done=len(rows)):
        rng, part = generator(task.seed, f"select/{number}"), checkpoint.part(f"hyperparameters/{number}")
        chain = full_bayes(corpus, number, sweeps=params["sweeps"], burn_in=params["sweeps"], rng=rng, checkpoint=part)
        alpha, eta = chain.mode.tolist()
        found = evidence(
            corpus,
            [number],
            Prior(alpha, eta),
            method="annealing",
            sweeps=params["steps"],
            passes=1,
            repeats=params["repeats"],
            seed=task.seed,
            workers=workers,
            checkpoint=checkpoint.part(f"evidence/{number}"),
            unit="steps",
        )
        value, error = found["log_evidence"][0], found["standard_error"][0]
        rows.append(
            {"topics": number, "alpha": alpha, "eta": eta, "log_evidence": value}
            | {"standard_error": np.nan if error is None else error, "log_marginal": value + log_volume(chain)}
        )
        doubts += found["warnings"]
        checkpoint.save((rows, doubts))
    return rows, doubts


def log_volume(chain: FullBayes) -> float:
    """log of the integral over log h of m(h) / m(mode) times the prior density, by Laplace's method."""
    covariance = np.cov(np.log(chain.draws).T)
    return float(np.log(2 * np.pi) + 0.5 * np.linalg.slogdet(covariance)[1] - LOG_AREA)


def _counts(task: Task, corpus: Corpus, topics: int, prior: Prior, checkpoint: Checkpoint) -> np.ndarray:
    """Counts (terms x topics) after the last sweep of one chain of the chosen model, the chain that `fit` would run."""
    sweeps = 2 * max(1, task.params["sweeps"] // 2)
    rng, part = generator(task.seed, "fit/fit/chain-0/"), checkpoint.part("fit")
    chain = run_chain(corpus, topics, prior, sampler=SAMPLER, sweeps=sweeps, rng=rng, checkpoint=part)
    return chain.state.term_topic


def _doubts(table: pd.DataFrame, best: int, repeats: int) -> list[str]:
    said = []
    if best in (table["topics"].iloc[0], table["topics"].iloc[-1]) and len(table) > 1:
        said.append(
            f"The best number of topics, {best}, is at the end of those that were tried, so a better one may lie "
            "beyond. Try more (--topics)."
        )
    near = table[not_excluded(table["log_marginal"].tolist(), table["standard_error"].tolist(), repeats)]
    if len(near) > 1:
        said.append(
            f"The errors are too large to decide between {', '.join(map(str, near['topics']))} topics. Use more "
            "annealing steps (--steps)."
        )
    return said
