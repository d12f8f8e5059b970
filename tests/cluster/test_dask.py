"""Commands on a Dask cluster of two processes: the same bits, also if one of them is killed in the middle.

`make test-cluster` runs this; the cluster alone takes seconds to start.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from bayestopics import Prior, TopicPrior, evidence, fit, score, topic_posterior
from bayestopics.base.cluster import Cluster, current, using_cluster
from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.lda import over_machines
from bayestopics.lda.state import random_start
from bayestopics.runs.result import Result

PRIOR = Prior(0.3, 0.1)
CALLS = {
    "fit, spread out": lambda corpus, workers: fit(
        corpus, 5, PRIOR, sampler="partially-collapsed", sweeps=7, burn_in=2, chains=2, workers=workers
    ),
    "fit, chains": lambda corpus, workers: fit(corpus, 3, PRIOR, sweeps=5, burn_in=0, chains=3, workers=workers),
    "evidence": lambda corpus, workers: evidence(corpus, [2, 3], PRIOR, sweeps=20, repeats=2, workers=workers),
    "pmmh": lambda corpus, workers: topic_posterior(
        corpus, PRIOR, method="pmmh", topic_prior=TopicPrior(1, 4), iterations=10, burn_in=0, inner=2, workers=workers
    ),
    "leave-one-out": lambda corpus, workers: score(
        corpus, 3, PRIOR, method="leave-one-out", sweeps=20, burn_in=5, documents=[0, 1, 2], workers=workers
    ),
}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    rng = np.random.default_rng(1)
    return simulate_lda(documents=40, length=30, terms=50, topics=4, alpha=0.3, eta=0.3, rng=rng).corpus


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with using_cluster("local:2"):
        found = current()
        assert found is not None
        yield found


def same(first: Result, second: Result) -> bool:
    tables = all(first.tables[name].equals(table) for name, table in second.tables.items() if name != "timing")
    return tables and first.tables.keys() == second.tables.keys() and first.metrics == second.metrics


@pytest.mark.parametrize("name", CALLS)
def test_a_cluster_changes_no_bit(name: str, corpus: Corpus, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    there = CALLS[name](corpus, 2)
    monkeypatch.setattr("bayestopics.base.cluster._current", None)
    assert same(there, CALLS[name](corpus, 1))


def test_a_worker_that_is_killed_in_a_sweep_is_replaced(cluster: Cluster) -> None:
    """Large enough for a sweep to take longer than the killing."""
    rng = np.random.default_rng(2)
    corpus = simulate_lda(documents=3000, length=100, terms=2000, topics=9, alpha=0.3, eta=0.3, rng=rng).corpus

    def run(kill: bool) -> np.ndarray:
        rng = np.random.default_rng(3)
        state = random_start(corpus, 50, PRIOR, rng)
        for number in range(4):
            if kill and number == 2:
                pid = next(iter(cluster.client.run(os.getpid).values()))
                threading.Timer(0.05, os.kill, (pid, signal.SIGKILL)).start()
            over_machines.sweep(state, rng, cluster)
        return state.assignments

    whole = run(kill=False)
    pids = set(cluster.client.run(os.getpid).values())
    assert np.array_equal(run(kill=True), whole)
    cluster.client.wait_for_workers(2, timeout=300)  # a busy machine starts one in minutes
    assert set(cluster.client.run(os.getpid).values()) != pids
