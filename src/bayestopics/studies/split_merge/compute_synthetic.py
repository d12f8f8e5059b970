"""Study `split_merge`, overlapping topics: what do Gibbs and split-merge find? [Rana et al., section 4.1, figs. 2-4]"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from bayestopics.base.problems import InputError
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.registry import Registry
from bayestopics.nonparametric.hdp_chain import HdpChain, hdp_gibbs
from bayestopics.nonparametric.hdp_state import HdpPrior, HdpState, random_start
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.split_merge.chain import MOVES_OF, compile_sampler


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Run every sampler from the same start for each seed.

    Tables: `chains`, one row per sweep; `confusion`, tokens by true and found topic after the last sweep, where a found
    topic has the number of the true topic that matches it; `matches`, one row per true topic; `timing`.
    """
    params = task.params
    truth = _truth(params["corpus"], corpus)
    prior = HdpPrior(params["gamma"], params["concentration"], params["eta"])
    jobs = [(sampler, seed) for seed in range(params["seeds"]) for sampler in MOVES_OF]
    done: list[dict[str, Any]] = checkpoint.load() or []
    for sampler, seed in counted(jobs[len(done) :], task.name, "chain"):
        start = random_start(corpus, prior, params["start"], task.generator(f"start {seed}"))
        compile_sampler(start, sampler)
        rng = task.generator(f"{sampler} {seed}")
        chain = hdp_gibbs(corpus, sweeps=params["sweeps"], start=start, rng=rng, **MOVES_OF[sampler])
        keys = {"sampler": sampler, "seed": seed}
        confusion, matches = compare(chain.last, truth)
        timing = pd.DataFrame({"seconds": [chain.seconds]})
        parts = {"chains": _sweeps(chain), "confusion": confusion, "matches": matches, "timing": timing}
        done.append({name: table.assign(**keys) for name, table in parts.items()})
        if checkpoint.due():
            checkpoint.save(done)
    tables = {name: pd.concat([job[name] for job in done], ignore_index=True) for name in done[0]}
    second_half = tables["chains"][tables["chains"]["sweep"] > params["sweeps"] // 2]
    metrics = {f"topics_{name}": float(k) for name, k in second_half.groupby("sampler")["topics"].mean().items()}
    arrays = {"topics": truth["beta"], "groups": corpus.counts.toarray()}
    return Result(task, metrics, tables=tables, arrays=arrays)


def _truth(name: str, corpus: Corpus) -> dict[str, np.ndarray]:
    simulated = Registry().simulate(name)
    if simulated.corpus.fingerprint != corpus.fingerprint:
        raise InputError(f"{name}: this corpus is not the one that its entry simulates; delete its file and run again")
    return simulated.truth


def _sweeps(chain: HdpChain) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sweep": np.arange(1, len(chain.topics) + 1),
            "topics": chain.topics,
            "log_joint": chain.log_joint,
            "splits": chain.splits[:, 0],
            "splits_accepted": chain.splits[:, 1],
            "merges": chain.merges[:, 0],
            "merges_accepted": chain.merges[:, 1],
        }
    )


def compare(state: HdpState, truth: dict[str, np.ndarray]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The confusion matrix and the matches.

    Found topics are matched one to one with true topics so that the sum of the total variation distances of their terms
    is smallest. A true topic is `separated` if its match is nearer than half the distance to the nearest other true
    topic. `recall` is the share of its tokens in its match. `ceiling` is the recall of a draw of z that knows the true
    topics and each document's weights; even it cannot tell words of overlapping topics apart.
    """
    active, beta, true = state.active, truth["beta"], truth["assignments"]
    found_beta = ((state.term_topic[:, active] + state.eta) / (state.topic_total[active] + state.total_eta)).T
    rows, columns = linear_sum_assignment(_distances(beta, found_beta))
    order = np.concatenate((columns[np.argsort(rows)], np.setdiff1d(np.arange(len(active)), columns)))
    number_of = np.full(state.labels, -1)  # k if matched with true topic k; the others come after the true topics
    number_of[active[order]] = np.concatenate((np.sort(rows), len(beta) + np.arange(len(active) - len(rows))))
    counts = np.zeros((len(beta), int(number_of.max()) + 1), np.int64)
    np.add.at(counts, (true, number_of[state.assignments]), 1)
    true_rows, found_columns = np.nonzero(counts)
    confusion = pd.DataFrame({"true": true_rows, "found": found_columns, "tokens": counts[true_rows, found_columns]})
    distance = np.full(len(beta), np.nan)
    distance[rows] = _distances(beta, found_beta)[rows, columns]
    apart = _distances(beta, beta) + np.where(np.eye(len(beta)) > 0, np.inf, 0.0)
    tokens = np.bincount(true, minlength=len(beta))
    own = np.array([counts[k, k] if k in rows else 0 for k in range(len(beta))])
    matches = pd.DataFrame(
        {
            "true": np.arange(len(beta)),
            "distance": distance,
            "separated": distance < apart.min(axis=1) / 2,  # false where there is no match
            "recall": own / np.maximum(tokens, 1),
            "ceiling": _ceiling(state, beta, true) / np.maximum(tokens, 1),
        }
    )
    return confusion, matches


def _distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The total variation distance between every row of one and every row of the other."""
    return np.array([np.abs(second - row).sum(axis=1) / 2 for row in first])


def _ceiling(state: HdpState, beta: np.ndarray, true: np.ndarray) -> np.ndarray:
    """The expected number of tokens of each true topic that a draw of z with the true beta and weights gets right."""
    weights = np.zeros((len(state.document_topic), len(beta)))
    np.add.at(weights, (state.documents, true), 1.0)
    probabilities = weights[state.documents] * beta[:, state.terms].T
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return np.bincount(true, weights=probabilities[np.arange(len(true)), true], minlength=len(beta))
