"""Runs of the study of hyperparameters: what their records hold."""

import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bayestopics.corpus.synthetic import simulate_lda
from bayestopics.hyper.estimates import expectation, surface
from bayestopics.hyper.level_set import DEEP, Profile
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import read, write
from bayestopics.runs.task import Task
from bayestopics.studies.hyperparameters import compute_methods as hyper_methods
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


def test_answers_of_methods_come_with_their_ellipses(tmp_path: Path) -> None:
    """Guards an answer or an ellipse under the name of another method, and a method that is run again after a kill."""
    params = {"kind": "methods", "topics": 2, "chains": 2, "methods": {"score": 100, "full-bayes": 100}}
    task = Task("hyperparameters", "smoke", "x-methods", params, 1, "x", "-", "-")
    checkpoint = Checkpoint(tmp_path, task)
    record = hyper_methods.compute(task, CORPUS, checkpoint)
    answers = record.tables["answers"].set_index("method")
    assert list(answers.index) == ["score", "full-bayes"]
    ellipses = record.tables["ellipses"].set_index("name")
    for method in answers.index:
        if f"{method} ellipse" in ellipses.index:
            assert ellipses.loc[f"{method} ellipse", "center_alpha"] == answers.loc[method, "alpha"]
    assert "score region" in ellipses.index
    again = hyper_methods.compute(task, CORPUS, checkpoint)
    assert again.tables["timing"].equals(record.tables["timing"])


def test_the_level_set_has_the_width_of_its_parabola(monkeypatch) -> None:
    """log m falls from the ridge by across x^2 / 2; at its top there are DEEP nats to fall."""
    points = np.log([[1.0, 2.0], [2.0, 2.0], [4.0, 2.0]])
    ridge = Profile(0, points, np.array([-4.0, 0.0, -1.0]), np.zeros(3), np.array([2.0, 2.0, 8.0]), (True, False))
    found = SimpleNamespace(profile=ridge, summary=lambda: {"alpha": 2.0, "eta": 2.0, "region": ridge})
    monkeypatch.setattr(hyper_methods, "score", lambda *_, **__: found)
    answer = hyper_methods._answer(CORPUS, 2, "score", 100, 2, 1, None)
    half = np.sqrt([0.0, 2 * DEEP / 2, 2 * (DEEP - 1) / 8])
    np.testing.assert_allclose(answer["ridge"]["high"], 2 * np.exp(half))
    np.testing.assert_allclose(answer["ridge"]["low"], 2 * np.exp(-half))
    assert answer["region"] is None
    assert set(answer["ridge"]["side"]) == {"alpha"}
