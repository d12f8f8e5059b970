"""A chain on a cluster that is threads of this process; `make test-cluster` has real ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import oracle
from bayestopics.base import cluster
from bayestopics.base.problems import InputError
from bayestopics.base.processes import pool
from bayestopics.lda import over_machines, partially_collapsed
from bayestopics.lda.state import Prior, random_start


def add(shared: int, more: int) -> int:
    return shared + more


def test_a_chain_on_a_cluster_has_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra [cluster] is not installed")
    corpus = oracle.random_corpus(np.random.default_rng(1), 300, 20, 30)
    alone, spread = (random_start(corpus, 4, Prior(0.3, 0.1), np.random.default_rng(2)) for _ in range(2))
    place = {"processes": False, "dashboard_address": None, "n_workers": 2, "threads_per_worker": 1}
    with distributed.LocalCluster(**place) as local, distributed.Client(local) as client:
        here = cluster.Cluster(client, threads=1)
        generators = [np.random.default_rng(3) for _ in range(2)]
        for _ in range(over_machines.ROOTED + 2):
            partially_collapsed.sweep(alone, generators[0])
            over_machines.sweep(spread, generators[1], here)
        monkeypatch.setattr(cluster, "_current", here)
        with pool(2, 40) as submit:
            assert submit(add, 2).result() == 42
    for one, other in zip(alone.arrays()[4:], spread.arrays()[4:], strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("address", ["local:0", "local:many", "local:"])
def test_a_local_cluster_needs_its_number_of_workers(address: str) -> None:
    with pytest.raises(InputError, match="as in local:2"), cluster.using_cluster(address):
        pass
