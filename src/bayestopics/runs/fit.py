"""`fit`: chains of one sampler on one corpus, with convergence diagnostics and the topics of the best chain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.cluster import current
from bayestopics.base.code import code_hash
from bayestopics.base.problems import InputError
from bayestopics.base.processes import in_processes, thread_limit
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import mcse
from bayestopics.errors.batch_means import SHORTEST_CHAIN
from bayestopics.errors.convergence import SHORTEST, bulk_effective_sample_size, rhat
from bayestopics.lda import sampler as sampler_by_name
from bayestopics.lda import sampler_entry
from bayestopics.lda.starts import start_of
from bayestopics.lda.state import Prior, from_assignments
from bayestopics.runs.chain import Chain, run_chain
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.draws import (
    KeptDraws,
    aligned,
    document_moments,
    documents_table,
    mean_term_topic,
    model_arrays,
    spread,
    terms_table,
    topic_moments,
    vocabulary_table,
)
from bayestopics.runs.reproducibility import doubts, of_topics, reproducibility
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task, describe
from bayestopics.runs.words import top_words, topic_shares

LARGEST_RHAT = 1.01  # Vehtari et al. 2021
FEWEST_DOCUMENTS, FEWEST_WORDS = 5, 10  # of a corpus, and of a topic; with fewer, no pattern can repeat itself
FEWEST_EFFECTIVE = 100  # draws of a chain, from the same paper: with fewer, its error is not known either


def task_of(
    corpus: Corpus,
    topics: int,
    prior: Prior,
    sampler: str,
    sweeps: int,
    burn_in: int,
    chains: int,
    seed: int,
    start: str = "random",
) -> Task:
    if min(sweeps, chains) < 1 or burn_in < 0:
        sizes = f"{sweeps} sweeps, a burn-in of {burn_in} and {chains} chains"
        raise InputError(f"at least 1 sweep and 1 chain are needed, and a burn-in of 0 or more, not {sizes}")
    module = sampler_by_name(sampler)
    start_of(start)
    prior.alpha_vector(topics)
    params = {"topics": topics, "alpha": prior.alpha, "eta": prior.eta, "sampler": sampler}
    params |= {"sweeps": sweeps, "burn_in": burn_in, "chains": chains}
    if start != "random":
        params["start"] = start
    return Task("fit", OWN, "fit", params, seed, **describe(corpus), code=code_hash(__name__, module.__name__))


def compute(
    task: Task, corpus: Corpus, checkpoint: Checkpoint, *, workers: int = 1, threads: int | None = None
) -> Result:
    """Run the chains, each with `threads` threads if its sampler is parallel.

    `topics`, `documents` and `shares` are those of the best chain, with the highest mean log joint: means over its kept
    draws. With several chains, `reproducibility` has how far the others have its topics too.
    """
    params = task.params
    chains = _chains(task, corpus, checkpoint, workers, threads)
    log_joint = np.array([chain.trace()["log_joint"].to_numpy()[params["burn_in"] :] for chain in chains])
    rhat, effective = convergence(log_joint)
    best = int(np.argmax(log_joint.mean(axis=1)))
    topics, tables, arrays = _topics(corpus, task, chains, best)
    traces = [chain.trace().assign(chain=number) for number, chain in enumerate(chains)]
    timings = [chain.timing().assign(chain=number) for number, chain in enumerate(chains)]
    metrics = {"log_joint_mean": float(log_joint.mean()), "log_joint_last": float(log_joint[best, -1])}
    known = {"rhat": rhat, "effective_sample_size": effective}
    seconds = float(sum(sum(chain.seconds) for chain in chains))
    sweeps = sum(len(chain.seconds) for chain in chains)
    said = _doubts(corpus, params["topics"], rhat, effective if len(chains) == 1 else None)
    if len(chains) > 1:
        said += doubts({one["topic"]: one for one in topics})
    return Result(
        task,
        metrics | {name: value for name, value in known.items() if value is not None},
        said,
        tables={
            "trace": pd.concat(traces, ignore_index=True),
            "timing": pd.concat(timings, ignore_index=True),
            **tables,
        },
        arrays={"assignments": _assignments(chains), **arrays},
        answer={
            "log_joint_mean": float(log_joint.mean()),
            "log_joint_error": _error_of_mean(log_joint),
            **known,
            "topics": topics,
            "topics_of": _topics_of(best, len(chains), len(_draws(chains[best]))),
            "best_chain": best,
        },
        volatile={
            "seconds": seconds,  # of sampling, summed over all chains
            "tokens_per_second": sweeps * corpus.token_count / seconds if seconds > 0 else None,
            "resumed": [chain.resumed for chain in chains],
        },
    )


def _topics(
    corpus: Corpus, task: Task, chains: list[Chain], best: int
) -> tuple[list[dict[str, Any]], dict[str, pd.DataFrame], dict[str, np.ndarray]]:
    """The topics of the best chain for people, and the tables and arrays that the record keeps of them."""
    number, prior = task.params["topics"], _prior(task)
    draws = [aligned(_draws(chain), number) for chain in chains]
    # first, because it is the largest, and needs room to be made
    documents = documents_table(corpus, document_moments(corpus, draws[best], prior.alpha_vector(number)))
    moments = [topic_moments(corpus, one, number, prior.eta) for one in draws]
    counts = mean_term_topic(corpus, draws[best], number)
    topics = top_words(corpus, counts)
    tables = {
        "topics": terms_table(corpus, moments[best], counts),
        "shares": topic_shares(counts),
        "documents": documents,
        "vocabulary": vocabulary_table(corpus),
    }
    if len(chains) > 1:
        means = [one.mean for one in moments]
        tables["reproducibility"] = reproducibility(corpus, draws, means, best, prior.eta)
        found = of_topics(tables["reproducibility"])
        topics = [{**one, **found[one["topic"]]} for one in topics]
    return topics, tables, model_arrays(corpus, draws[best], number)


def _assignments(chains: list[Chain]) -> np.ndarray:
    """Chains x tokens; those of a single chain are not copied."""
    every = [chain.state.assignments for chain in chains]
    return every[0][np.newaxis] if len(every) == 1 else np.array(every)


def _draws(chain: Chain) -> list[np.ndarray]:
    assert isinstance(chain.observer, KeptDraws)
    return chain.observer.draws


def _topics_of(best: int, chains: int, draws: int) -> str:
    which = f"chain {best} (highest mean log joint)" if chains > 1 else "the chain"
    return f"{which}, means over {draws} draws" if draws > 1 else f"{which}, last sweep"


# -- the chains, in this process or in several; the results are the same bits -------------------------


def _chains(task: Task, corpus: Corpus, checkpoint: Checkpoint, workers: int, threads: int | None) -> list[Chain]:
    """Run the chains, at most `workers` at a time."""
    parts = [replace(task, name=f"fit/chain-{number}") for number in range(task.params["chains"])]
    jobs = [(part, checkpoint.part(part.name), threads) for part in parts]
    workers = min(workers, len(jobs))
    spread_out = current() is not None and sampler_entry(task.params["sampler"]).over_machines
    if workers == 1 or spread_out:  # each chain then takes the whole cluster
        return [_without_counts(_chain(corpus, *job)) for job in jobs]
    finished = in_processes(_finished, corpus, jobs, sum(map(_sweeps, parts)), workers)
    return [_restored(task, corpus, *result) for result in finished]


def _chain(
    corpus: Corpus,
    part: Task,
    checkpoint: Checkpoint,
    threads: int | None,
    progress: Callable[[int], None] | None = None,
) -> Chain:
    with thread_limit(threads):
        return run_chain(
            corpus,
            part.params["topics"],
            _prior(part),
            sampler=part.params["sampler"],
            sweeps=_sweeps(part),
            rng=part.generator(),
            start=part.params.get("start", "random"),
            observer=KeptDraws(
                spread(part.params["burn_in"], part.params["sweeps"], corpus.token_count, part.params["topics"])
            ),
            checkpoint=checkpoint,
            description=part.name,
            progress=progress,
        )


def _without_counts(chain: Chain) -> Chain:
    """A finished chain without the counts of its last state, which are large; `draws` counts again."""
    none = np.empty((0, chain.state.topics), np.int32)
    chain.state = replace(chain.state, document_topic=none, term_topic=none)
    return chain


def _finished(
    corpus: Corpus, part: Task, checkpoint: Checkpoint, threads: int | None, progress: Callable[[int], None]
) -> tuple[Any, ...]:
    chain = _chain(corpus, part, checkpoint, threads, progress)
    return chain.state.assignments, chain.rows, chain.seconds, chain.resumed, chain.observer


def _restored(task: Task, corpus: Corpus, assignments: Any, *rest: Any) -> Chain:
    return Chain(from_assignments(corpus, task.params["topics"], _prior(task), assignments), *rest)


def _prior(task: Task) -> Prior:
    return Prior(task.params["alpha"], task.params["eta"])


def _sweeps(task: Task) -> int:
    return int(task.params["burn_in"] + task.params["sweeps"])


# -- diagnostics and warnings ------------------------------------------------------------------------


def _doubts(corpus: Corpus, topics: int, rhat: float | None, effective_of_one: float | None) -> list[str]:
    """`effective_of_one` is the effective sample size of a single chain, which has no R-hat."""
    said = [*small(corpus, topics), *empty_documents(corpus)]
    if rhat is not None and rhat > LARGEST_RHAT:
        said.append(disagreement(rhat))
    if effective_of_one is not None and effective_of_one < FEWEST_EFFECTIVE:
        said.append(
            "The single chain may not have left its start, so neither its topics nor their errors are known. Use "
            "several chains (--chains) and more sweeps (--sweeps): the single chain has an effective sample size of "
            f"{effective_of_one:.0f}, and at least {FEWEST_EFFECTIVE} are needed."
        )
    return said


def disagreement(rhat: float) -> str:
    return (
        "The chains disagree: they have not all found the same topics, so another seed may give other topics. Trust "
        "the topics that most chains have, or use more sweeps (--sweeps) and a longer burn-in (--burn-in): R-hat of "
        f"the log joint is {rhat:.3f}, but converged chains have at most {LARGEST_RHAT}."
    )


def small(corpus: Corpus, topics: int) -> list[str]:
    """A warning if there are so few texts that chains agree because the prior says nearly all."""
    documents = corpus.document_count - corpus.empty_documents
    if documents >= FEWEST_DOCUMENTS and corpus.token_count >= FEWEST_WORDS * topics:
        return []
    return [
        "The corpus is too small to say much about topics: what is shown comes mainly from the prior, and chains agree "
        f"about that. Use more texts: the documents with words are {documents}, and the words {corpus.token_count}."
    ]


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
    if log_joint.shape[1] < SHORTEST or np.any(np.ptp(log_joint, axis=1) == 0):  # a chain that does not move
        return None, None
    return rhat(log_joint) if len(log_joint) > 1 else None, bulk_effective_sample_size(log_joint)
