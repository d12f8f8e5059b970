"""Runs of the study of hyperparameters: what their records hold."""

import time
from pathlib import Path

import numpy as np
import pytest

from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.hyper.estimates import expectation, surface
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import read, write
from bayestopics.runs.task import Task
from bayestopics.studies.hyperparameters import compute_rivals as hyper_rivals
from bayestopics.studies.hyperparameters.compute_surface import FUNCTIONALS, chain_of, compute

CORPUS = simulate_lda(
    documents=12, length=20, terms=8, topics=2, alpha=0.5, eta=0.5, rng=np.random.default_rng(1)
).corpus


@pytest.mark.parametrize(("sampler", "functionals"), [("single-site", False), ("augmented", True)])
def test_a_record_has_all_that_estimates_at_any_h_need(tmp_path: Path, sampler: str, functionals: bool) -> None:
    params = {"kind": "surface", "topics": 2, "sampler": sampler, "moves": "all", "sweeps": 200, "chains": 1}
    params |= {"replicate": 0, "functionals": functionals, "fine": 5}
    task = Task("hyperparameters", "smoke", "x-tempering", params, 1, "x", "-", "-")
    write(compute(task, CORPUS, Checkpoint(tmp_path, task)), tmp_path / "x")
    record = read(tmp_path / "x")
    chain = chain_of(record, CORPUS)
    alphas, etas = (np.linspace(*ends, 5) for ends in chain.ends)
    table = record.tables["surface"]
    np.testing.assert_allclose(surface(chain, alphas, etas)[0].ravel(), table["log_m"], atol=1e-9)
    assert (record.metrics["occupancy_min"], record.metrics["occupancy_max"]) == pytest.approx(
        (chain.occupancy.min(), chain.occupancy.max())
    )
    assert chain.uniformity == pytest.approx(record.metrics["uniformity"])
    for number, name in enumerate(FUNCTIONALS if functionals else ()):
        table = record.tables["functional"]
        part = table[table["name"] == name]
        np.testing.assert_allclose(expectation(chain, part[["alpha", "eta"]].to_numpy(), number), part["hat"])


def test_seconds_of_rivals_are_cpu_seconds_as_those_of_tempering_are(tmp_path: Path, monkeypatch) -> None:
    """A rival that only waits takes no CPU seconds, and compilation is not counted."""
    calls = []

    def wait(*arguments):
        calls.append("fit")
        time.sleep(0.3)
        return np.array([[0.5, 0.5], [0.4, 0.6]]), True, []

    monkeypatch.setattr(hyper_rivals, "_fit", wait)
    monkeypatch.setattr(hyper_rivals, "compile_rivals", lambda: calls.append("warm"))
    params = {"kind": "rivals", "topics": 2, "starts": 2, "methods": {"gibbs-em": {}}}
    task = Task("hyperparameters", "smoke", "x-rivals", params, 1, "x", "-", "-")
    timing = hyper_rivals.compute(task, CORPUS, Checkpoint(tmp_path, task)).tables["timing"]
    assert timing["seconds"].max() < 0.1
    assert calls == ["warm", "fit", "fit"]
