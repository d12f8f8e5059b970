"""`hdp`: chains of a sampler, or streams of a variational method, summarised and kept as a record.

A stream is one run of a variational method. Samplers give the posterior of K, the number of topics in use. A
variational method gives one number per stream: the components in use at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.code import code_hash
from bayestopics.base.problems import InputError
from bayestopics.base.processes import in_processes
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors import mcse
from bayestopics.errors.convergence import rhat
from bayestopics.nonparametric.compute import (
    STARTS,
    HdpSettings,
    Outcome,
    compile_method,
    learn,
    sample,
    split,
)
from bayestopics.nonparametric.hdp_held_out import EstimatedHeldOut
from bayestopics.nonparametric.hdp_state import HdpState, from_arrays
from bayestopics.nonparametric.learners import LEARNERS, learner_of
from bayestopics.nonparametric.stream import Learner
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.fit import LARGEST_RHAT, convergence, disagreement, empty_documents
from bayestopics.runs.record import read
from bayestopics.runs.result import Result
from bayestopics.runs.task import OWN, Task, describe
from bayestopics.runs.words import top_words, topic_shares, topics_table

SHORTEST_HALF = 16  # fewer sweeps give no meaningful standard error
DRIFT = 3.0  # standard errors between the halves of a chain; a larger difference is a drift
FEW = 0.5  # if the largest estimate makes up more than this share of a document's mean, the mean is not reliable


def task_of(corpus: Corpus, settings: HdpSettings, chains: int, seed: int) -> Task:
    if chains < 1:
        raise InputError(f"at least 1 chain is needed, not {chains} chains")
    params = {**asdict(settings), "sweeps": settings.work, "moves": settings.moves_a_sweep, "chains": chains}
    name = f"{settings.model}/{settings.method}"
    return Task("hdp", OWN, name, params, seed, **describe(corpus), code=code_hash(__name__))


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint, *, settings: HdpSettings, workers: int = 1) -> Result:
    """Compute the chains or streams.

    Tables: `posterior` has one row per chain and K, with the share of K; `topics` and `shares` describe the end of the
    best chain. `arrays` holds the last state of every chain (see `last_state`).
    """
    training, held_out = split(corpus, settings.heldout)
    parts = [replace(task, name=f"{task.name}/chain-{number}") for number in range(task.params["chains"])]
    finished = _run_all(corpus, settings, parts, checkpoint, workers)
    answer = _summary(corpus, training, held_out, settings, finished)
    shown = finished[answer["best_chain"]].counts
    said = answer.pop("warnings")
    traces = [pd.DataFrame(one.rows).assign(chain=number) for number, one in enumerate(finished)]
    timings = [pd.DataFrame({"seconds": one.seconds, "chain": number}) for number, one in enumerate(finished)]
    posterior = [
        {"chain": number, "topics": topics, "probability": share}
        for number, chain in enumerate(answer["chains"])
        for topics, share in chain["topics"].items()
    ]
    return Result(
        task,
        _metrics(answer),
        said,
        tables={
            "trace": pd.concat(traces, ignore_index=True),
            "timing": pd.concat(timings, ignore_index=True),
            "posterior": pd.DataFrame(posterior),
            "topics": topics_table(training, shown, settings.eta),
            "shares": topic_shares(shown),
        },
        arrays={f"{name}_{number}": array for number, one in enumerate(finished) for name, array in one.arrays.items()},
        answer=answer,
        volatile={
            "seconds": float(sum(sum(one.seconds) for one in finished)),
            "resumed": [one.resumed for one in finished],
        },
    )


def _metrics(answer: dict[str, Any]) -> dict[str, float]:
    names = ("mode", "acceptance_rate", "rhat_topics", "rhat_log_joint", "heldout_per_word", "heldout_standard_error")
    mean = sum(topics * share for topics, share in answer["topics"].items())
    drawn = {f"{name}_mean": one["mean"] for name, one in (answer["concentrations"] or {}).items()}
    return {"topics_mean": mean, **drawn, **{name: answer[name] for name in names if answer[name] is not None}}


# -- running -------------------------------------------------------------------------------------------


def _run_all(
    corpus: Corpus, settings: HdpSettings, parts: Sequence[Task], checkpoint: Checkpoint, workers: int
) -> list[Outcome]:
    jobs = [(settings, number, part, checkpoint.part(part.name)) for number, part in enumerate(parts)]
    workers = min(workers, len(jobs))
    if workers == 1:
        return [_job(corpus, *job) for job in jobs]
    batches = -(-split(corpus, settings.heldout)[0].document_count // settings.batch_size)
    steps = settings.burn_in + settings.work if settings.sampled else settings.work * batches
    return in_processes(_job, corpus, jobs, steps * len(jobs), workers, "sweep" if settings.sampled else "update")


def _job(
    corpus: Corpus,
    settings: HdpSettings,
    number: int,
    task: Task,
    checkpoint: Checkpoint,
    progress: Callable[[int], None] | None = None,
) -> Outcome:
    compile_method(settings)
    return (sample if settings.sampled else learn)(corpus, settings, number, task.generator, checkpoint, progress)


# -- summary and warnings ------------------------------------------------------------------------------


def _summary(
    corpus: Corpus, training: Corpus, held_out: Corpus | None, settings: HdpSettings, finished: list[Outcome]
) -> dict[str, Any]:
    kept = [pd.DataFrame(one.rows)[settings.burn_in if settings.sampled else -1 :] for one in finished]
    topics = np.array([rows["topics"] for rows in kept])
    rhats, doubts = _agreement(topics, kept) if settings.sampled else ((None, None), _streams_agree(topics, settings))
    numbers, counts = np.unique(topics, return_counts=True)
    if settings.sampled:
        moves = pd.concat(kept)[["splits", "merges", "splits_accepted", "merges_accepted"]].sum()
        proposed, accepted = moves.iloc[:2].sum(), moves.iloc[2:].sum()
    else:
        proposed = accepted = 0
    per_word, error, more = _held_out(held_out, settings, finished)
    best = _best_chain(kept) if settings.sampled else 0  # streams have no log joint
    return {
        "topics": shares_of(topics),
        "mode": int(numbers[np.argmax(counts)]),
        "acceptance_rate": float(accepted / proposed) if proposed else None,
        "concentrations": _concentrations(kept) if settings.resample else None,
        "rhat_topics": rhats[0],
        "rhat_log_joint": rhats[1],
        "chains": [
            {"start": STARTS[number % len(STARTS)] if settings.sampled else None, "topics": shares_of(one)}
            for number, one in enumerate(topics)
        ],
        "heldout_per_word": per_word,
        "heldout_standard_error": error,
        "top_words": top_words(training, finished[best].counts),
        "best_chain": best,
        "warnings": _doubts_of_input(corpus, settings) + doubts + more,
    }


def _best_chain(kept: list[pd.DataFrame]) -> int:
    """The chain with the highest mean log joint."""
    return int(np.argmax([rows["log_joint"].mean() for rows in kept]))


def _concentrations(kept: list[pd.DataFrame]) -> dict[str, dict[str, float]]:
    drawn = pd.concat(kept)[["gamma", "concentration"]]
    mean, deviation = drawn.mean(), drawn.std(ddof=0)
    return {name: {"mean": float(mean[name]), "standard_deviation": float(deviation[name])} for name in drawn}


def shares_of(topics: np.ndarray) -> dict[int, float]:
    numbers, counts = np.unique(topics, return_counts=True)
    return dict(zip(numbers.tolist(), (counts / topics.size).tolist(), strict=True))


def _agreement(topics: np.ndarray, kept: list[pd.DataFrame]) -> tuple[tuple[float | None, float | None], list[str]]:
    """(R-hat of K, R-hat of the log joint), and warnings; `topics` is chains x kept sweeps."""
    doubts = []
    for number, one in enumerate(topics):
        doubts += [f"Chain {number}: {text}" if len(topics) > 1 else text for text in drift(one)]
    if len(topics) == 1:
        return (None, None), doubts
    of_topics = rhat_of_topics(topics)
    of_joint, _ = convergence(np.array([rows["log_joint"] for rows in kept]))
    if of_topics is not None and not of_topics <= LARGEST_RHAT:
        means = ", ".join(f"{one.mean():.1f}" for one in topics)
        value = f"R-hat is {of_topics:.3f}" if np.isfinite(of_topics) else "no chain moves"
        doubts.append(
            f"The chains disagree about the number of topics (means {means}; {value}), so trust none of them yet. "
            "Use more sweeps (--sweeps) and a longer burn-in (--burn-in)."
        )
    if of_joint is not None and of_joint > LARGEST_RHAT:
        doubts.append(disagreement(of_joint))
    return (of_topics, of_joint), doubts


def rhat_of_topics(topics: np.ndarray) -> float | None:
    """Split R-hat of K, without ranks because K has few values. It is 1 if K is the same everywhere, and infinite if K
    is constant in each half of each chain but not the same in all."""
    if topics.shape[1] < 4:
        return None
    half = topics.shape[1] // 2
    if np.ptp(topics) == 0:
        return 1.0
    if all(np.ptp(part) == 0 for one in topics for part in (one[:half], one[-half:])):
        return np.inf
    return rhat(topics, ranks=False)


def drift(topics: np.ndarray) -> list[str]:
    """A warning if K still drifts: if its means over the first and second half of the kept sweeps differ."""
    half = len(topics) // 2
    if half < SHORTEST_HALF:
        return [
            f"{len(topics)} kept sweeps are too few to tell whether the number of topics has settled. Use more sweeps "
            "(--sweeps)."
        ]
    first, second = topics[:half], topics[half:]
    apart, error = abs(second.mean() - first.mean()), float(np.hypot(mcse(first), mcse(second)))
    if apart <= DRIFT * error:
        return []
    means = f"from {first.mean():.1f} in the first half of the kept sweeps to {second.mean():.1f} in the second"
    return [f"The number of topics still drifts, {means}. Use a longer burn-in (--burn-in)."]


def _streams_agree(topics: np.ndarray, settings: HdpSettings) -> list[str]:
    if len(topics) == 1:
        return [
            f"The result of the method {settings.method} depends on its start: another seed may give another number of "
            "topics. Run it from several starts (--chains)."
        ]
    if np.ptp(topics) == 0:
        return []
    return [
        f"The result of the method {settings.method} depends on its start: its runs end with {topics.min()} to "
        f"{topics.max()} topics."
    ]


def _held_out(
    held_out: Corpus | None, settings: HdpSettings, finished: list[Outcome]
) -> tuple[float | None, float | None, list[str]]:
    """heldout_per_word, its standard error, and warnings."""
    if held_out is None:
        return None, None, []
    parts = [np.hstack(one.held_out) for one in finished]
    if settings.sampled:  # one posterior
        parts = [np.hstack(parts)]
    found = [EstimatedHeldOut(part, held_out.token_count) for part in parts]
    per_word, repeats = float(np.mean([one.per_word for one in found])), parts[0].shape[1]
    if settings.model == "dp-mixture":
        return per_word, 0.0, []
    if repeats == 1:  # a single estimate per document gives no error
        return per_word, float("nan"), []
    share = max(one.share_of_the_largest for one in found)
    text = (
        f"For a held-out document, one estimate makes up {share:.0%} of the mean, so the log probability per held-out "
        "word (heldout_per_word) is too low."
    )
    error = np.sqrt(np.sum([one.standard_error**2 for one in found])) / len(found)
    return per_word, float(error), [text] if share > FEW else []


def _doubts_of_input(corpus: Corpus, settings: HdpSettings) -> list[str]:
    said = empty_documents(corpus)
    if settings.model == "dp-mixture" and settings.concentration != HdpSettings.concentration:
        said.append("A dp-mixture has no document level: it uses gamma and ignores the concentration.")
    if settings.variant == "paper":
        said.append(
            "The paper's acceptance ratio leaves out some factors, so the chain's distribution is not the posterior. "
            "Use the variant exact."
        )
    return said


def last_state(record: Result | Path | str, corpus: Corpus, chain: int = 0) -> HdpState | Learner:
    """The last state of a chain or stream of a record.

    `corpus` is the corpus that was given to `hdp`; the state contains only the documents that were not held out.
    """
    record = record if isinstance(record, Result) else read(Path(record))
    task = record.task
    if task.study != "hdp":
        raise InputError(f"{task.study}/{task.name}: this is not a record of `hdp`")
    task.insist(corpus)
    if not 0 <= chain < task.params["chains"]:
        raise InputError(f"there is no chain {chain}: the record has chains 0 to {task.params['chains'] - 1}")
    ending = f"_{chain}"
    arrays = {name.removesuffix(ending): array for name, array in record.arrays.items() if name.endswith(ending)}
    if (task.params["model"], task.params["method"]) in LEARNERS:
        kind = learner_of(task.params["model"], task.params["method"], task.params["births"])
        return kind.from_state_dict(arrays)
    return from_arrays(split(corpus, task.params["heldout"])[0], arrays)
