"""`topics --method jump`: the posterior of the number of topics, by a chain over T and the assignments together."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.code import code_hash
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.jump import Chain, batches_table, moves_table, run_chains, trace_table
from bayestopics.evidence.pmmh import Walk
from bayestopics.evidence.topic_law import TopicLaw, doubts, law, rhat_of
from bayestopics.lda.state import Prior, count
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task, describe
from bayestopics.runs.words import top_words


def task_of(corpus: Corpus, prior: Prior, walk: Walk, seed: int) -> Task:
    params = {
        "topics": asdict(walk.topics),
        "alpha": prior.alpha,
        "eta": prior.eta,
        "starts": list(walk.starts),
        "iterations": walk.iterations,
        "burn_in": walk.burn_in,
    }
    return Task("topics", OWN, "jump", params, seed, **describe(corpus), code=code_hash(__name__))


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, *, walk: Walk, workers: int = 1) -> Result:
    """Run the chains. Tables: `trace`, one row per iteration and chain, with the burn-in; `moves`, one row per proposed
    split or merge; `batches`, the weight of every T in each batch; `posterior`, every T with its error.
    Array: `assignments`, of each chain one draw from the posterior; the topics shown are those of the chain with the
    largest share of the mode."""
    prior = Prior(task.params["alpha"], task.params["eta"])
    chains = run_chains(corpus, prior, walk, seed=task.seed, workers=workers, checkpoint=checkpoint)
    trace, moves, batches = trace_table(chains), moves_table(chains), batches_table(chains)
    found = law(batches)
    kept = trace[trace["step"] >= walk.burn_in]
    posterior = pd.DataFrame(
        {
            "topics": list(found.posterior),
            "probability": list(found.posterior.values()),
            "standard_error": list(found.standard_error.values()),
        }
    )
    numbers = _numbers(found, chains, kept, moves[moves["iteration"] >= walk.burn_in])
    best = max(chains, key=lambda chain: found.by_chain[chain.number].get(found.mode, 0.0))
    drawn = np.array([chain.drawn for chain in chains])
    counts = count(corpus, int(drawn[best.number].max()) + 1, drawn[best.number])[1]
    return Result(
        task,
        {key: value for key, value in numbers.items() if isinstance(value, int | float)},
        doubts(found, walk.topics, walk.starts),
        tables={"trace": trace, "moves": moves, "batches": batches, "posterior": posterior},
        arrays={"assignments": drawn},
        answer={**numbers, "top_words": top_words(corpus, counts[:, counts.sum(axis=0) > 0])},
    )


def _numbers(found: TopicLaw, chains: list[Chain], kept: pd.DataFrame, moves: pd.DataFrame) -> dict[str, Any]:
    topics, log_joint, weights = (
        np.array([chain[name].to_numpy() for _, chain in kept.groupby("chain")])
        for name in ("topics", "log_joint", "log_weight")
    )
    rhat_log_joint = rhat_of(log_joint, np.exp(weights - weights.max(axis=1, keepdims=True)))
    return {
        "mode": found.mode,
        "mean": found.mean,
        "mean_error": found.mean_error,
        "chains": [_chain(chain, found, topics[number], moves) for number, chain in enumerate(chains)],
        "rhat": _finite(found.rhat),
        "rhat_log_joint": _finite(rhat_log_joint),
        "effective_sample_size": found.effective_sample_size,
        "total_variation": found.total_variation,
        "acceptance_rate": float(moves["accepted"].mean()) if len(moves) else None,
    }


def _chain(chain: Chain, found: TopicLaw, topics: np.ndarray, moves: pd.DataFrame) -> dict[str, Any]:
    """One chain: its own answer, how often T changed, and the mean log work of splits (forward) and merges (backward);
    for a reversible path in equilibrium the first is the smaller one."""
    share = found.by_chain[chain.number]
    own = moves[moves["chain"] == chain.number]
    work = {split: own.loc[own["split"] == split, "log_work"] for split in (True, False)}
    return {
        "start": chain.start,
        "mean": sum(t * one for t, one in share.items()),
        "mode": max(share, key=share.__getitem__),
        "changes": int(np.count_nonzero(np.diff(topics))),
        "proposed": len(own),
        "accepted": int(own["accepted"].sum()),
        "split_work": float(work[True].mean()) if len(work[True]) else None,
        "merge_work": float(work[False].mean()) if len(work[False]) else None,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None
