"""Study `split_merge`: how far the distribution of every sampler is from the posterior, where we can enumerate it.

For a few tokens, p(K, z | w) is a sum over their set partitions and over the tables of the Chinese restaurant
franchise. The paper's rule of acceptance leaves factors out, so its chains have another distribution. The exact
samplers are run beside it: their distance from the posterior comes from the finite length of the chains alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric.hdp_state import HdpPrior, random_start
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.split_merge.chain import MOVES_OF, advance, compile_sampler

Partition = tuple[int, ...]  # the topic of each token, numbered by first appearance


def compute(task: Task, corpus: None, checkpoint: Checkpoint) -> Result:
    """Tables: `exact`, p(K) in each case; `chains`, one row per case, sampler and seed, with the total variation
    distances from the posterior (for K and for the partition of the tokens) and the mean of K; `shares`, the share of
    sweeps with each K."""
    params = task.params
    exact = [posterior(corpus_of(case), prior_of(case)) for case in params["cases"]]
    jobs = [
        (number, sampler, seed)
        for number in range(len(exact))
        for sampler in MOVES_OF
        for seed in range(params["seeds"])
    ]
    done: list[tuple[dict[str, Any], pd.Series]] = checkpoint.load() or []
    for number, sampler, seed in counted(jobs[len(done) :], task.name, "chain"):
        keys = {"case": number, "sampler": sampler, "seed": seed}
        rng = task.generator(f"{number} {sampler} {seed}")
        visits = _visits(params["cases"][number], sampler, params["sweeps"], rng)
        done.append((keys | _distances(visits, exact[number]), topics_of(visits)))
        if checkpoint.due():
            checkpoint.save(done)
    names = ("case", "sampler", "seed")
    shares = [table_of(share).assign(**{name: row[name] for name in names}) for row, share in done]
    tables = {
        "exact": pd.concat([table_of(topics_of(one)).assign(case=number) for number, one in enumerate(exact)]),
        "chains": pd.DataFrame([row for row, _ in done]),
        "shares": pd.concat(shares),
    }
    worst = tables["chains"].groupby(["sampler", "case"])["distance_topics"].mean().groupby("sampler").max()
    metrics = {f"distance_topics_{sampler}": float(value) for sampler, value in worst.items()}
    tables = {name: table.reset_index(drop=True) for name, table in tables.items()}
    return Result(task, metrics, tables=tables)


def corpus_of(case: dict[str, Any]) -> Corpus:
    documents = np.repeat(np.arange(len(case["documents"])), [len(words) for words in case["documents"]])
    terms = np.array([v for words in case["documents"] for v in words])
    sizes = {"document_count": len(case["documents"]), "term_count": case["terms"]}
    return Corpus.from_counts(documents, terms, np.ones(len(terms), int), **sizes)


def prior_of(case: dict[str, Any]) -> HdpPrior:
    return HdpPrior(case["gamma"], case["concentration"], case["eta"])


# -- the chains ----------------------------------------------------------------------------------------


def _visits(case: dict[str, Any], sampler: str, sweeps: int, rng: np.random.Generator) -> dict[Partition, float]:
    """The share of sweeps with each partition, after a burn-in of a tenth as many sweeps."""
    state = random_start(corpus_of(case), prior_of(case), 2, rng)
    compile_sampler(state, sampler)
    counts: dict[Partition, int] = {}
    for sweep in range(-(sweeps // 10), sweeps):
        state = advance(state, sampler, rng)
        if sweep >= 0:
            found = numbered(state.assignments.tolist())
            counts[found] = counts.get(found, 0) + 1
    return {partition: count / sweeps for partition, count in counts.items()}


def numbered(labels: list[int]) -> Partition:
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(label, len(numbers)) for label in labels)


def topics_of(law: dict[Partition, float]) -> pd.Series:
    """p(K)."""
    topics = [max(partition) + 1 for partition in law]
    return pd.Series(list(law.values()), index=pd.Index(topics, name="topics")).groupby("topics").sum()


def table_of(topics: pd.Series) -> pd.DataFrame:
    return topics.rename("probability").reset_index()


def _distances(visits: dict[Partition, float], exact: dict[Partition, float]) -> dict[str, float]:
    found, true = topics_of(visits), topics_of(exact)
    of_partitions = sum(abs(visits.get(partition, 0.0) - p) for partition, p in exact.items()) / 2
    return {
        "distance_topics": float(found.sub(true, fill_value=0.0).abs().sum() / 2),
        "distance_partitions": of_partitions,
        "mean_topics": float(found @ found.index),
        "exact_mean_topics": float(true @ true.index),
    }


# -- the posterior -------------------------------------------------------------------------------------


def posterior(corpus: Corpus, prior: HdpPrior) -> dict[Partition, float]:
    weights = {partition: _weight(corpus, prior, partition) for partition in partitions(corpus.token_count)}
    total = math.fsum(weights.values())
    return {partition: weight / total for partition, weight in weights.items()}


def partitions(tokens: int) -> Iterator[Partition]:
    """All set partitions: each token joins an existing topic or opens the next one."""
    if tokens == 0:
        yield ()
        return
    for before in partitions(tokens - 1):
        for topic in range(max(before, default=-1) + 2):
            yield (*before, topic)


def _weight(corpus: Corpus, prior: HdpPrior, partition: Partition) -> float:
    """p(w, z) up to a constant: gamma^K / (gamma)_m prod_k Gamma(m_k) prod_d |s(n_dk, m_dk)| a^m_dk, summed over the
    tables m_dk, times the probability of the words. Each polynomial has one coefficient per number of tables."""
    z, topics = np.array(partition), max(partition) + 1
    tables = np.ones(1)
    for k in range(topics):
        of_topic = np.ones(1)
        for count in np.bincount(corpus.documents[z == k]):
            of_topic = np.convolve(of_topic, _restaurant(int(count), prior.concentration))
        of_topic[1:] *= [math.gamma(m) for m in range(1, len(of_topic))]  # there is at least one table
        tables = np.convolve(tables, of_topic)
    rising = [math.gamma(prior.gamma + m) / math.gamma(prior.gamma) for m in range(len(tables))]
    return float(prior.gamma**topics * np.sum(tables / rising)) * _words(corpus, prior.eta, z)


def _restaurant(customers: int, concentration: float) -> np.ndarray:
    """a^m |s(n, m)|, m = 0 .. n: the coefficients of a x (a x + 1) ... (a x + n - 1)."""
    result = np.ones(1)
    for i in range(customers):
        result = np.convolve(result, [float(i), concentration])
    return result


def _words(corpus: Corpus, eta: float, z: np.ndarray) -> float:
    """p(w | z), token by token."""
    counts, totals, result = np.zeros((max(z) + 1, corpus.term_count)), np.zeros(max(z) + 1), 1.0
    for k, v in zip(z, corpus.terms, strict=True):
        result *= (counts[k, v] + eta) / (totals[k] + corpus.term_count * eta)
        counts[k, v] += 1
        totals[k] += 1
    return result
