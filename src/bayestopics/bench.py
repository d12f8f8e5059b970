"""`make bench`: speed as a ratio in one run - same corpus, same number of topics, one thread.

Peers that are not installed are left out, and named. A sweep's time is the median over sweeps after a warm-up.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import logging
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.registry import Registry
from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.files import replacing
from bayestopics.lda import SAMPLERS, sampler
from bayestopics.lda.state import Prior
from bayestopics.runs.chain import warm
from bayestopics.runs.record import cpu_model, versions

WARM_UP, TIMED = 5, 15  # sweeps
PRIOR = Prior(0.1, 0.01)
Sweep = Callable[[], object]


def ours(name: str, corpus: Corpus, topics: int) -> Sweep:
    warm(name)
    module, rng = sampler(name), np.random.default_rng(0)
    state = module.init(corpus, topics, PRIOR, rng)
    return lambda: module.sweep(state, rng)


def tomotopy(corpus: Corpus, topics: int) -> Sweep:
    """tomotopy's collapsed Gibbs; optimisation of the hyperparameters off."""
    import tomotopy

    model = tomotopy.LDAModel(k=topics, alpha=PRIOR.alpha, eta=PRIOR.eta, seed=1)
    model.optim_interval = 0
    offsets, vocabulary = corpus.document_offsets, corpus.vocabulary
    for d in range(corpus.document_count):
        model.add_doc([vocabulary[v] for v in corpus.terms[offsets[d] : offsets[d + 1]]])
    model.train(0)
    return lambda: model.train(1, workers=1)


def lda(corpus: Corpus, topics: int) -> Sweep:
    """The Cython package lda: its own sweep function, without the bookkeeping of its fit()."""
    from lda import LDA

    logging.getLogger("lda").setLevel(logging.WARNING)
    model = LDA(n_topics=topics, n_iter=1, alpha=PRIOR.alpha, eta=PRIOR.eta, random_state=1, refresh=10**9)
    matrix = corpus.counts.toarray()
    model._initialize(matrix)
    pool = np.random.default_rng(1).random(1024**2 // 8)
    return lambda: model._sample_topics(pool)


PEERS: dict[str, Callable[[Corpus, int], Sweep]] = {"tomotopy": tomotopy, "lda": lda}


def corpora() -> Iterator[Corpus]:
    """KOS where it is within reach, else Reuters; and a simulated corpus with few terms."""
    registry = Registry()
    name = "kos" if registry.where(["kos"])["kos"] else "reuters-395"
    yield registry.load(name)
    rng = np.random.default_rng(0)
    yield simulate_lda(documents=2000, length=100, terms=100, topics=20, alpha=0.1, eta=0.1, rng=rng).corpus


def nanoseconds_a_token(sweep: Sweep, tokens: int) -> float:
    seconds = []
    for i in range(WARM_UP + TIMED):
        start = time.perf_counter()
        sweep()
        if i >= WARM_UP:
            seconds.append(time.perf_counter() - start)
    return 1e9 * statistics.median(seconds) / tokens


def compare(topic_counts: list[int]) -> pd.DataFrame:
    rows = []
    for corpus in corpora():
        for topics in topic_counts:
            candidates = {name: lambda c, t, name=name: ours(name, c, t) for name in SAMPLERS} | PEERS
            for name, make in candidates.items():
                try:
                    sweep = make(corpus, topics)
                except ModuleNotFoundError as error:
                    print(f"left out: {name} ({error})")
                    continue
                cost = nanoseconds_a_token(sweep, corpus.token_count)
                rows.append({"corpus": corpus.name, "topics": topics, "program": name, "ns_a_token": cost})
    table = pd.DataFrame(rows)
    reference = table[table["program"] == "tomotopy"].set_index(["corpus", "topics"])["ns_a_token"]
    key = pd.MultiIndex.from_frame(table[["corpus", "topics"]])
    table["times_tomotopy"] = reference.reindex(key).to_numpy() / table["ns_a_token"]
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", default="20,100", help="numbers of topics")
    parser.add_argument("--out", default="results/bench", help="folder for bench.csv and bench.json")
    options = parser.parse_args()
    table = compare([int(count) for count in options.topics.split(",")])
    print(table.round(2).to_string(index=False))
    machine = {"cpu": cpu_model(), "versions": versions() | _peer_versions()}
    with replacing(Path(options.out)) as folder:
        folder.mkdir()
        table.to_csv(folder / "bench.csv", index=False)
        (folder / "bench.json").write_text(json.dumps(machine, indent=2) + "\n", encoding="utf-8")


def _peer_versions() -> dict[str, str]:
    found = {}
    for name in PEERS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


if __name__ == "__main__":
    main()
