"""`topics --method jump`: the posterior of the number of topics, by a chain over T and the assignments together."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.code import code_hash
from bayestopics.base.problems import InputError
from bayestopics.base.wording import rhat_told
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors.convergence import most_effective
from bayestopics.evidence.jump import Chain, run_chains
from bayestopics.evidence.jump_tables import batches_table, moves_table, trace_table
from bayestopics.evidence.pmmh import Walk
from bayestopics.evidence.topic_law import LARGEST_RHAT, TopicLaw, doubts, hyper_law, law, rhat_of
from bayestopics.lda.state import Prior, count
from bayestopics.lda.urns import ENDS
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task, describe
from bayestopics.runs.words import top_words

HYPER = ("fixed", "sampled")


def task_of(corpus: Corpus, prior: Prior, walk: Walk, seed: int, hyper: str = "fixed") -> Task:
    """`hyper`: "fixed", alpha and eta are those of the prior; "sampled", they start there and are sampled as well."""
    if hyper not in HYPER:
        raise InputError(f"unknown hyper {hyper!r}; choose from {', '.join(HYPER)}")
    params = {
        "topics": asdict(walk.topics),
        "alpha": prior.alpha,
        "eta": prior.eta,
        "starts": list(walk.starts),
        "iterations": walk.iterations,
        "burn_in": walk.burn_in,
        "hyper": hyper,
    }
    return Task("topics", OWN, "jump", params, seed, **describe(corpus), code=code_hash(__name__))


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, *, walk: Walk, workers: int = 1) -> Result:
    """Run the chains. Tables: `trace`, one row per iteration and chain, with the burn-in; `moves`, one row per proposed
    split or merge; `batches`, the weight of every T in each batch; `posterior`, every T with its error.
    Array: `assignments`, of each chain one draw from the posterior; the topics shown are those of the chain with the
    largest share of the mode."""
    prior = Prior(task.params["alpha"], task.params["eta"])
    sampled = task.params.get("hyper") == "sampled"  # runs of studies do not always say
    work: Any = {"seed": task.seed, "workers": workers, "checkpoint": checkpoint}
    chains = run_chains(corpus, prior, walk, hyper=ENDS if sampled else None, **work)
    trace, moves, batches = trace_table(chains), moves_table(chains), batches_table(chains)
    found = law(batches)
    kept = trace[trace["step"] >= walk.burn_in]
    numbers = numbers_of(found, chains, kept, moves[moves["iteration"] >= walk.burn_in])
    hyper = hyper_numbers(kept) if sampled else {}
    best = max(chains, key=lambda chain: found.by_chain[chain.number].get(found.mode, 0.0))
    drawn = np.array([chain.drawn for chain in chains])
    counts = count(corpus, int(drawn[best.number].max()) + 1, drawn[best.number])[1]
    return Result(
        task,
        {key: value for key, value in {**numbers, **_flat(hyper)}.items() if isinstance(value, int | float)},
        [*doubts(found, walk.topics, walk.starts), *joint_doubts(numbers), *hyper_doubts(hyper)],
        tables={"trace": trace, "moves": moves, "batches": batches, "posterior": posterior_table(found)},
        arrays={"assignments": drawn},
        answer={**numbers, **hyper, "top_words": top_words(corpus, counts[:, counts.sum(axis=0) > 0])},
    )


def posterior_table(found: TopicLaw) -> pd.DataFrame:
    columns = {"probability": found.posterior, "standard_error": found.standard_error}
    values = {name: list(column.values()) for name, column in columns.items()}
    return pd.DataFrame({"topics": list(found.posterior), **values})


def numbers_of(found: TopicLaw, chains: list[Chain], kept: pd.DataFrame, moves: pd.DataFrame) -> dict[str, Any]:
    topics, log_joint = (columns(kept, name) for name in ("topics", "log_joint"))
    rhat_log_joint, effective = rhat_of(log_joint, weights_of(kept)), found.effective_sample_size
    return {
        "mode": found.mode,
        "mean": found.mean,
        "mean_error": found.mean_error,
        "chains": [_chain(chain, found, topics[number], moves) for number, chain in enumerate(chains)],
        "rhat": finite(found.rhat),
        "rhat_log_joint": finite(rhat_log_joint),
        "effective_sample_size": None if effective is None else min(effective, most_effective(len(kept))),
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


def columns(kept: pd.DataFrame, name: str) -> np.ndarray:
    """A column of the trace, chains x iterations."""
    return np.array([chain[name].to_numpy() for _, chain in kept.groupby("chain")])


def weights_of(kept: pd.DataFrame) -> np.ndarray:
    """The weights of the draws, chains x iterations; the largest of each chain is 1."""
    logs = columns(kept, "log_weight")
    return np.exp(logs - logs.max(axis=1, keepdims=True))


def hyper_numbers(kept: pd.DataFrame) -> dict[str, Any]:
    """The posterior of alpha and of eta, and whether the chains agree about them."""
    weights = weights_of(kept)
    logs = {name: np.log(columns(kept, name)) for name in ("alpha", "eta")}
    found = {name: hyper_law(one, weights) for name, one in logs.items()}
    return {**found, **{f"rhat_log_{name}": finite(rhat_of(one, weights)) for name, one in logs.items()}}


def joint_doubts(numbers: dict[str, Any]) -> list[str]:
    """Chains can have the same T and yet different topics. If they disagree about T, that is said already."""
    of_topics, of_joint = numbers["rhat"], numbers["rhat_log_joint"]
    if of_topics is None or of_joint is None or of_topics > LARGEST_RHAT or of_joint <= LARGEST_RHAT:
        return []
    return [
        f"The chains agree about the number of topics, but not about the topics (R-hat of the log joint is "
        f"{of_joint:.2f}, but converged chains have at most {LARGEST_RHAT}), so they may have missed other numbers "
        "as well. Use more iterations (--iterations) and a longer burn-in (--burn-in)."
    ]


def hyper_doubts(numbers: dict[str, Any]) -> list[str]:
    values = {name: numbers.get(f"rhat_log_{name}") for name in ("alpha", "eta")}
    far = {name: value for name, value in values.items() if value is not None and value > LARGEST_RHAT}
    if not far:
        return []
    told = " and ".join(f"{rhat_told(value)} for log {name}" for name, value in far.items())
    both, it = " and ".join(far), "them" if len(far) > 1 else "it"
    return [
        f"The chains disagree about {both}, so the ranges given for {it} may be wrong. Use more iterations "
        f"(--iterations): R-hat is {told}, but converged chains have at most {LARGEST_RHAT}."
    ]


def _flat(hyper: dict[str, Any]) -> dict[str, Any]:
    """The mean, median and ends of alpha and eta by names of their own, for metrics."""
    nested = {f"{name}_{key}": value for name in ("alpha", "eta") for key, value in hyper.get(name, {}).items()}
    return {**nested, **hyper}


def finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None
