"""Runs of the study of hyperparameters: what their records hold."""

import time
from pathlib import Path

import numpy as np

from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import Run
from bayestopics.studies import hyper_rivals

CORPUS = simulate_lda(
    documents=12, length=20, terms=8, topics=2, alpha=0.5, eta=0.5, rng=np.random.default_rng(1)
).corpus


def test_seconds_of_rivals_are_cpu_seconds_as_those_of_tempering_are(tmp_path: Path, monkeypatch) -> None:
    """A rival that waits takes none; and none go to the compiler."""
    calls = []

    def wait(*arguments):
        calls.append("fit")
        time.sleep(0.3)
        return np.array([[0.5, 0.5], [0.4, 0.6]]), True, []

    monkeypatch.setattr(hyper_rivals, "_fit", wait)
    monkeypatch.setattr(hyper_rivals, "warm", lambda: calls.append("warm"))
    params = {"kind": "hyper_rivals", "topics": 2, "starts": 2, "methods": {"gibbs-em": {}}}
    run = Run("hyperparameters", "smoke", "x-rivals", params, 1, "x", "-", "-")
    timing = hyper_rivals.compute(run, CORPUS, Checkpoint(tmp_path, run)).tables["timing"]
    assert timing["seconds"].max() < 0.1
    assert calls == ["warm", "fit", "fit"]
