"""`fit`: chains of one sampler on one corpus, with convergence diagnostics."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.code import code_hash
from bayestopics.base.problems import InputError
from bayestopics.base.processes import in_processes
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import mcse
from bayestopics.errors.batch_means import SHORTEST_CHAIN
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.runs.chain import Chain, LargestShares, run_chain
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task, describe
from bayestopics.runs.words import top_words, topic_shares, topics_table

TOPICS_OF = "chain 0, last sweep"
LARGEST_RHAT = 1.01  # Vehtari et al. 2021


def task_of(
    corpus: Corpus, topics: int, prior: Prior, sampler: str, sweeps: int, burn_in: int, chains: int, seed: int
) -> Task:
    if min(sweeps, chains) < 1 or burn_in < 0:
        sizes = f"{sweeps} sweeps, a burn-in of {burn_in} and {chains} chains"
        raise InputError(f"at least 1 sweep and 1 chain are needed, and a burn-in of 0 or more, not {sizes}")
    module = sampler_by_name(sampler)
    prior.alpha_vector(topics)
    params = {"topics": topics, "alpha": prior.alpha, "eta": prior.eta, "sampler": sampler}
    params |= {"sweeps": sweeps, "burn_in": burn_in, "chains": chains}
    return Task("fit", OWN, "fit", params, seed, **describe(corpus), code=code_hash(__name__, module.__name__))


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, *, workers: int = 1) -> Result:
    """Run the chains. Topic labels differ between chains and may change between sweeps, so the topics are not averaged:
    `topics` are those of chain 0 after its last sweep."""
    params = task.params
    chains = _chains(task, corpus, checkpoint, workers)
    log_joint = np.array([chain.trace()["log_joint"].to_numpy()[params["burn_in"] :] for chain in chains])
    rhat, effective = convergence(log_joint)
    traces = [chain.trace().assign(chain=number) for number, chain in enumerate(chains)]
    timings = [chain.timing().assign(chain=number) for number, chain in enumerate(chains)]
    metrics = {"log_joint_mean": float(log_joint.mean()), "log_joint_last": float(log_joint[0, -1])}
    known = {"rhat": rhat, "effective_sample_size": effective}
    seconds = float(sum(sum(chain.seconds) for chain in chains))
    sweeps = sum(len(chain.seconds) for chain in chains)
    return Result(
        task,
        metrics | {name: value for name, value in known.items() if value is not None},
        _doubts(corpus, rhat),
        tables={
            "trace": pd.concat(traces, ignore_index=True),
            "timing": pd.concat(timings, ignore_index=True),
            "topics": topics_table(corpus, chains[0].state.term_topic, params["eta"]),
            "shares": topic_shares(chains[0].state.term_topic),
        },
        arrays={"assignments": np.array([chain.state.assignments for chain in chains])},
        answer={
            "log_joint_mean": float(log_joint.mean()),
            "log_joint_error": _error_of_mean(log_joint),
            **known,
            "topics": top_words(corpus, chains[0].state.term_topic),
            "topics_of": TOPICS_OF,
        },
        volatile={
            "seconds": seconds,  # of sampling, summed over all chains
            "tokens_per_second": sweeps * corpus.token_count / seconds if seconds > 0 else None,
            "resumed": [chain.resumed for chain in chains],
        },
    )


# -- the chains, in this process or in several; the results are the same bits -------------------------


def _chains(task: Task, corpus: Corpus, checkpoint: Checkpoint, workers: int) -> list[Chain]:
    """Run the chains, at most `workers` at a time."""
    parts = [replace(task, name=f"fit/chain-{number}") for number in range(task.params["chains"])]
    jobs = [(part, checkpoint.part(part.name)) for part in parts]
    workers = min(workers, len(jobs))
    if workers == 1:
        return [_chain(corpus, *job) for job in jobs]
    finished = in_processes(_finished, corpus, jobs, sum(map(_sweeps, parts)), workers)
    return [_restored(task, corpus, *result) for result in finished]


def _chain(corpus: Corpus, part: Task, checkpoint: Checkpoint, progress: Callable[[int], None] | None = None) -> Chain:
    return run_chain(
        corpus,
        part.params["topics"],
        _prior(part),
        sampler=part.params["sampler"],
        sweeps=_sweeps(part),
        rng=part.generator(),
        observer=LargestShares(),
        checkpoint=checkpoint,
        description=part.name,
        progress=progress,
    )


def _finished(corpus: Corpus, part: Task, checkpoint: Checkpoint, progress: Callable[[int], None]) -> tuple[Any, ...]:
    chain = _chain(corpus, part, checkpoint, progress)
    return chain.state.assignments, chain.rows, chain.seconds, chain.resumed


def _restored(task: Task, corpus: Corpus, assignments: Any, rows: Any, seconds: Any, resumed: int) -> Chain:
    state = from_assignments(corpus, task.params["topics"], _prior(task), assignments)
    return Chain(state, rows, seconds, resumed)


def _prior(task: Task) -> Prior:
    return Prior(task.params["alpha"], task.params["eta"])


def _sweeps(task: Task) -> int:
    return int(task.params["burn_in"] + task.params["sweeps"])


# -- diagnostics and warnings ------------------------------------------------------------------------


def _doubts(corpus: Corpus, rhat: float | None) -> list[str]:
    said = empty_documents(corpus)
    if rhat is not None and rhat > LARGEST_RHAT:
        said.append(disagreement(rhat))
    return said


def disagreement(rhat: float) -> str:
    return (
        f"The chains disagree: R-hat of the log joint is {rhat:.3f}, but converged chains have at most {LARGEST_RHAT}. "
        "Use more sweeps (--sweeps) and a longer burn-in (--burn-in); until they agree, trust none of them."
    )


def empty_documents(corpus: Corpus) -> list[str]:
    count = corpus.empty_documents
    said = f"{count} documents are empty" if count > 1 else "1 document is empty"
    return [f"{said}: empty documents are kept, but they say nothing about the topics."] if count else []


def _error_of_mean(log_joint: np.ndarray) -> float | None:
    """Monte Carlo standard error of the mean over all chains, from batch means within each chain."""
    if log_joint.shape[1] < SHORTEST_CHAIN:
        return None
    return float(np.sqrt(np.sum(mcse(log_joint.T) ** 2)) / len(log_joint))


def convergence(log_joint: np.ndarray) -> tuple[float | None, float | None]:
    """(R-hat, bulk effective sample size) of a label-invariant quantity, chains x draws."""
    if log_joint.shape[1] < 4 or np.any(np.ptp(log_joint, axis=1) == 0):  # a chain that does not move
        return None, None
    with warnings.catch_warnings():  # ArviZ announces its next major version at every import
        warnings.simplefilter("ignore", FutureWarning)
        import arviz
    rhat = float(arviz.rhat(log_joint)) if len(log_joint) > 1 else None
    return rhat, float(arviz.ess(log_joint))
