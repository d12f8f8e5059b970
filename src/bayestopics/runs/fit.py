"""`fit`: chains of one sampler on one corpus, with convergence diagnostics and a record."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.code import code_hash
from bayestopics.base.jit import CACHE
from bayestopics.base.problems import InputError
from bayestopics.base.stopwatch import Stopwatch
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import mcse
from bayestopics.errors.batch_means import SHORTEST_CHAIN
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.state import Prior
from bayestopics.runs.chain import Chain
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import write
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task, describe
from bayestopics.runs.topics_tables import top_words, topic_shares, topics_table
from bayestopics.runs.workers import run_chains

TOPICS_OF = "chain 0, last sweep"
LARGEST_RHAT = 1.01  # Vehtari et al. 2021


def fit(
    corpus: Corpus,
    *,
    topics: int,
    prior: Prior,
    sampler: str = "single-site",
    sweeps: int = 500,
    burn_in: int = 500,
    chains: int = 1,
    seed: int = 0,
    out: Path | str | None = None,
    workers: int = 1,
    checkpoint_seconds: float = 30.0,
) -> dict[str, Any]:
    """Run the chains, and say how they went; with `out`, keep a run record there.

    With `workers` > 1 chains run in so many processes at once, with the same results; a script then needs the usual
    `if __name__ == "__main__":`, because each process imports it. Topics have no labels in common between chains, nor
    is there a mean over sweeps: `topics` of the result, and of the record, are those of chain 0 after its last sweep.
    """
    if min(sweeps, chains, workers) < 1 or burn_in < 0:
        sizes = f"{sweeps} sweeps, {burn_in} of burn-in, {chains} chains and {workers} workers"
        raise InputError(f"nothing to do with {sizes}")
    module = sampler_by_name(sampler)
    prior.alpha_vector(topics)
    params = {"topics": topics, "alpha": prior.alpha, "eta": prior.eta, "sampler": sampler}
    params |= {"sweeps": sweeps, "burn_in": burn_in, "chains": chains}
    task = Task("fit", "own", "fit", params, seed, **describe(corpus), code=code_hash(__name__, module.__name__))
    watch = Stopwatch()
    parts = [replace(task, name=f"fit/chain-{number}") for number in range(chains)]
    checkpoints = [Checkpoint(CACHE / "checkpoints", part, checkpoint_seconds) for part in parts]
    finished = run_chains(corpus, parts, checkpoints, workers)
    result = _summary(corpus, finished, burn_in)
    if out is not None:
        write(_record(task, corpus, finished, result, watch), Path(out))
    for checkpoint in checkpoints:
        checkpoint.remove()
    return result


def _summary(corpus: Corpus, chains: list[Chain], burn_in: int) -> dict[str, Any]:
    log_joint = np.array([chain.trace()["log_joint"].to_numpy()[burn_in:] for chain in chains])
    seconds = float(sum(sum(chain.seconds) for chain in chains))
    sweeps = sum(len(chain.seconds) for chain in chains)
    rhat, effective = convergence(log_joint)
    doubts = []
    if corpus.empty_documents:
        doubts.append(f"{corpus.empty_documents} documents are empty: they are kept, and say nothing")
    if rhat is not None and rhat > LARGEST_RHAT:
        doubts.append(f"the chains disagree: R-hat of the log joint is {rhat:.3f}; run longer, or trust none of them")
    return {
        "log_joint": log_joint[0].tolist() if len(chains) == 1 else log_joint.tolist(),
        "log_joint_mean": float(log_joint.mean()),
        "log_joint_error": _error_of_mean(log_joint),
        "seconds": seconds,  # of sampling, all chains added up
        "tokens_per_second": sweeps * corpus.token_count / seconds if seconds > 0 else None,
        "rhat": rhat,
        "effective_sample_size": effective,
        "topics": top_words(corpus, chains[0].state.term_topic),
        "topics_of": TOPICS_OF,
        "warnings": doubts,
    }


def _error_of_mean(log_joint: np.ndarray) -> float | None:
    """Monte Carlo standard error of the mean over all chains, by batch means within each."""
    if log_joint.shape[1] < SHORTEST_CHAIN:
        return None
    return float(np.sqrt(np.sum(mcse(log_joint.T) ** 2)) / len(log_joint))


def convergence(log_joint: np.ndarray) -> tuple[float | None, float | None]:
    """(R-hat, bulk effective sample size) of a label-invariant quantity, chains x draws."""
    if log_joint.shape[1] < 4 or np.any(np.ptp(log_joint, axis=1) == 0):  # a chain that does not move tells nothing
        return None, None
    with warnings.catch_warnings():  # ArviZ announces its next major version at every import
        warnings.simplefilter("ignore", FutureWarning)
        import arviz
    rhat = float(arviz.rhat(log_joint)) if len(log_joint) > 1 else None
    return rhat, float(arviz.ess(log_joint))


def _record(task: Task, corpus: Corpus, chains: list[Chain], result: dict[str, Any], watch: Stopwatch) -> Result:
    traces = [chain.trace().assign(chain=number) for number, chain in enumerate(chains)]
    timings = [chain.timing().assign(chain=number) for number, chain in enumerate(chains)]
    log_joint = np.atleast_2d(result["log_joint"])
    metrics = {
        "log_joint_mean": float(log_joint.mean()),
        "log_joint_last": float(log_joint[0, -1]),
    }
    metrics |= {key: result[key] for key in ("rhat", "effective_sample_size") if result[key] is not None}
    return Result(
        task=task,
        metrics=metrics,
        warnings=result["warnings"],
        tables={
            "trace": pd.concat(traces, ignore_index=True),
            "timing": pd.concat(timings, ignore_index=True),
            "topics": topics_table(corpus, chains[0].state.term_topic, task.params["eta"]),
            "shares": topic_shares(chains[0].state.term_topic),
        },
        arrays={"assignments": np.array([chain.state.assignments for chain in chains])},
        volatile=watch.volatile(
            seconds=result["seconds"],
            tokens_per_second=result["tokens_per_second"],
            resumed=[chain.resumed for chain in chains],
        ),
    )
