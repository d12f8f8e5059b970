"""Study `split_merge`, held-out perplexity against CPU seconds [Rana et al., section 4.2, figure 5].

A run that stops by the clock never gives the same result twice. So the number of sweeps is fixed, the CPU seconds of
each sweep are recorded separately, and samplers are compared at equal seconds by interpolation.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.left_to_right import given_beta, log_mean_of_products
from bayestopics.lda.uniforms import new_words
from bayestopics.nonparametric.hdp_state import HdpPrior, HdpState, random_start
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.split_merge.chain import advance, compile_sampler

COMPARED = ("gibbs", "exact", "paper")
HELD_OUT = 0.2  # share of the documents, as in the paper


def compute(task: Task, corpus: Corpus, checkpoint: Checkpoint) -> Result:
    """Each seed trains on its own random 80 % of the documents; all samplers start from the same state.

    Tables: `chains`, one row per evaluation, with the log perplexity of the held-out documents; `timing`, the CPU
    seconds of sweeps and moves up to this evaluation, without the evaluations themselves.
    """
    params = task.params
    jobs = [(sampler, seed) for seed in range(params["seeds"]) for sampler in COMPARED]
    done: list[list[dict[str, Any]]] = checkpoint.load() or []
    for sampler, seed in counted(jobs[len(done) :], task.name, "chain"):
        done.append(_chain(task, corpus, sampler, seed))
        if checkpoint.due():
            checkpoint.save(done)
    table = pd.DataFrame([row for rows in done for row in rows])
    keys = ["sampler", "seed", "sweep"]
    chains, timing = table.drop(columns="seconds"), table[[*keys, "seconds"]]
    last = np.exp(chains[chains["sweep"] == params["sweeps"]].groupby("sampler")["log_perplexity"].mean())
    metrics = {f"perplexity_{sampler}": float(value) for sampler, value in last.items()}
    return Result(task, metrics, tables={"chains": chains, "timing": timing})


def _chain(task: Task, corpus: Corpus, sampler: str, seed: int) -> list[dict[str, Any]]:
    params = task.params
    training, held_out = split(corpus, task.generator(f"split {seed}"))
    prior = HdpPrior(params["gamma"], params["concentration"], params["eta"])
    state = random_start(training, prior, params["start"], task.generator(f"start {seed}"))
    compile_sampler(state, sampler)
    due, seconds, rows = evaluated(params["sweeps"], params["evaluations"]), 0.0, []
    rng = task.generator(f"{sampler} {seed}")
    for sweep in range(params["sweeps"] + 1):
        if sweep > 0:
            begin = time.process_time()
            state = advance(state, sampler, rng)
            seconds += time.process_time() - begin
        if sweep in due:
            # all samplers use the same random numbers here, which are independent of the chains
            value = log_perplexity(state, held_out, params["particles"], task.generator(f"held out {seed} {sweep}"))
            row = {"sampler": sampler, "seed": seed, "sweep": sweep, "topics": state.topics, "log_perplexity": value}
            rows.append(row | {"seconds": seconds})
    return rows


def evaluated(sweeps: int, evaluations: int) -> list[int]:
    """The start, and sweeps spaced evenly in their logs, because a chain changes fastest at its beginning."""
    return [0, *np.unique(np.round(np.geomspace(1, sweeps, evaluations)).astype(int)).tolist()]


def split(corpus: Corpus, rng: np.random.Generator) -> tuple[Corpus, Corpus]:
    """(training, held out), a random split; the documents of the other part are empty in each."""
    count = max(1, round(HELD_OUT * corpus.document_count))
    held_out = np.zeros(corpus.document_count, bool)
    held_out[rng.permutation(corpus.document_count)[:count]] = True
    of_token = held_out[corpus.documents]
    return corpus.select_tokens(~of_token), corpus.select_tokens(of_token)


def log_perplexity(state: HdpState, held_out: Corpus, particles: int, rng: np.random.Generator) -> float:
    """-sum_d log p(w_d) / tokens by left-to-right, with the topics' term probabilities at their means.

    Topics that have not been seen yet are included, with their weight and the mean of their prior.
    """
    active, terms = state.active, len(state.term_topic)
    phi = (state.term_topic[:, active] + state.eta) / (state.topic_total[active] + state.total_eta)
    log_phi = np.log(np.column_stack((phi, np.full(terms, 1 / terms))))
    alpha, words = np.append(state.alpha[active], state.alpha_new), new_words(rng)
    offsets, total = held_out.document_offsets, 0.0
    for d in np.flatnonzero(held_out.document_lengths).tolist():
        document = rng.permutation(held_out.terms[offsets[d] : offsets[d + 1]])
        total += log_mean_of_products(given_beta(document, log_phi, alpha, particles, words))
    return -total / held_out.token_count
