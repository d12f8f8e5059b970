"""`select` by hand: the evidence and the volume of h add up to p(w | T), and the best T is taken from that."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import oracle
from bayestopics.hyper.full_bayes import FullBayes
from bayestopics.hyper.urns import ENDS
from bayestopics.runs import select
from bayestopics.runs.checkpoint import Checkpoint

CORPUS = oracle.random_corpus(np.random.default_rng(1), tokens=60, documents=6, terms=8)
WORK = {"sweeps": 200, "steps": 30, "repeats": 3, "chains": 5}
EVIDENCE = {2: -100.0, 3: -101.0, 4: -103.0}
ERRORS = {2: 0.1, 3: 0.2, 4: None}
WIDTHS = {2: 0.1, 3: 0.8, 4: 0.2}  # of log alpha and log eta: that of T = 3 is far wider


def draws(width: float) -> np.ndarray:
    """Five draws: the logs are (-w, -w), (-w, w), (w, -w), (w, w) and the mode, around log .2 and log 3."""
    steps = np.array([(-1, -1), (-1, 1), (1, -1), (1, 1), (0, 0)])
    return np.exp(np.log([0.2, 3.0]) + width * steps)


def volume(width: float) -> float:
    """Their covariance is w^2 times one."""
    return float(np.log(2 * np.pi * width**2) - 2 * np.log(np.log(ENDS[1] / ENDS[0])))


@dataclass
class Hyper:
    """What serial tempering finds."""

    warnings: list[str]

    def summary(self) -> dict[str, Any]:
        return {"alpha": 0.7, "eta": 0.9, "ellipse": 1, "region": 2, "agreement": 0.5, "chains": []}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """What `select` asks of the other methods, which answer at once."""
    asked: dict[str, list[Any]] = {"full_bayes": [], "evidence": [], "search": [], "counts": []}

    def full_bayes(corpus: Any, topics: int, **how: Any) -> FullBayes:
        asked["full_bayes"].append((topics, how["sweeps"], how["burn_in"]))
        return FullBayes(draws(WIDTHS[topics]), None)  # type: ignore[arg-type]

    def evidence(corpus: Any, topics: list[int], prior: Any, **how: Any) -> dict[str, Any]:
        asked["evidence"].append((topics, prior.alpha, prior.eta, how["sweeps"], how["repeats"]))
        (number,) = topics
        return {"log_evidence": [EVIDENCE[number]], "standard_error": [ERRORS[number]], "warnings": [f"T{number}"]}

    def search(corpus: Any, topics: int, **how: Any) -> Hyper:
        asked["search"].append((topics, how["chains"], how["sweeps"]))
        return Hyper(["of tempering"])

    def counts(task: Any, corpus: Any, topics: int, prior: Any, checkpoint: Any) -> np.ndarray:
        asked["counts"].append((topics, prior.alpha, prior.eta))
        return np.arange(16).reshape(8, 2)

    monkeypatch.setattr(select, "full_bayes", full_bayes)
    monkeypatch.setattr(select, "evidence", evidence)
    monkeypatch.setattr(select, "search_several", search)
    monkeypatch.setattr(select, "_counts", counts)
    monkeypatch.setattr(select, "tables_of", lambda found: {})
    return asked


def compute(tmp_path: Path, topics: tuple[int, ...] = (2, 3, 4)) -> Any:
    task = select.task_of(CORPUS, topics, 7, **WORK)
    return select.compute(task, CORPUS, Checkpoint(tmp_path, task))


def test_log_marginal_is_the_evidence_plus_the_volume(calls: dict[str, list[Any]], tmp_path: Path) -> None:
    """Guards a volume that is subtracted or forgotten, the determinant's half, and the prior's density."""
    table = compute(tmp_path).tables["evidence"].set_index("topics")
    assert table["log_evidence"].to_dict() == EVIDENCE
    assert_allclose(table["log_marginal"], [EVIDENCE[t] + volume(WIDTHS[t]) for t in (2, 3, 4)], rtol=1e-12)
    assert table["standard_error"].tolist()[:2] == [0.1, 0.2]
    assert np.isnan(table["standard_error"][4])


def test_the_best_t_has_the_largest_marginal_and_not_the_largest_evidence(
    calls: dict[str, list[Any]], tmp_path: Path
) -> None:
    """Guards a posterior that comes from the evidence at the best h, and one that does not add up to 1."""
    found = compute(tmp_path)
    logs = np.array([EVIDENCE[t] + volume(WIDTHS[t]) for t in (2, 3, 4)])
    expected = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    assert list(found.answer["posterior"]) == [2, 3, 4]
    assert_allclose(list(found.answer["posterior"].values()), expected, rtol=1e-12)
    assert found.answer["topics"] == found.metrics["topics"] == 3
    assert found.metrics["probability"] == pytest.approx(expected[1], rel=1e-12)
    assert calls["search"] == [(3, 5, select.SHORTEST_TEMPERING)]
    assert calls["counts"] == [(3, 0.7, 0.9)]
    assert (found.answer["alpha"], found.answer["eta"]) == (0.7, 0.9)


def test_every_number_is_asked_with_its_own_h(calls: dict[str, list[Any]], tmp_path: Path) -> None:
    """Guards steps for sweeps, a burn-in that is forgotten, and the evidence at another h than the mode."""
    found = compute(tmp_path)
    assert calls["full_bayes"] == [(t, 200, 200) for t in (2, 3, 4)]
    for (topics, alpha, eta, sweeps, repeats), number in zip(calls["evidence"], (2, 3, 4), strict=True):
        mode = FullBayes(draws(WIDTHS[number]), None).mode  # type: ignore[arg-type]
        assert (topics, sweeps, repeats) == ([number], 30, 3)
        assert_allclose([alpha, eta], mode)
    table = found.tables["evidence"]
    assert table[["alpha", "eta"]].to_numpy().tolist() == [[one[1], one[2]] for one in calls["evidence"]]
    assert [warning for warning in found.warnings if warning in ("T2", "T3", "T4", "of tempering")] == [
        "T2",
        "T3",
        "T4",
        "of tempering",
    ]


def test_log_volume_is_that_of_the_covariance_of_the_logs() -> None:
    """Guards a covariance of h itself, of the other divisor, or without its correlation."""
    logs = np.array([[0.0, 0.0], [2.0, 1.0], [1.0, 3.0], [3.0, 2.0]])
    covariance = np.cov(logs.T)
    expected = np.log(2 * np.pi) + 0.5 * np.log(np.linalg.det(covariance)) - 2 * np.log(np.log(1e8))
    assert select.log_volume(FullBayes(np.exp(logs), None)) == pytest.approx(expected, rel=1e-12)  # type: ignore[arg-type]


def table(**columns: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"topics": [2, 3, 4], "log_marginal": [0.0, 5.0, 4.9], "standard_error": [0.01] * 3} | columns)


def test_doubts_name_the_ends_and_what_errors_do_not_tell_apart() -> None:
    """Guards a warning at the wrong end, and one that is never said."""
    assert select._doubts(table(), 3, 3) == []
    assert len(select._doubts(table(), 2, 3)) == len(select._doubts(table(), 4, 3)) == 1
    assert len(select._doubts(table()[:1], 2, 3)) == 0  # one T alone
    (doubt,) = select._doubts(table(standard_error=[0.01, 0.1, 0.1]), 3, 3)
    assert "3" in doubt
    assert "4" in doubt
    assert "2" not in doubt


def test_a_run_that_was_killed_goes_on_with_the_next_number(
    calls: dict[str, list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards a resume that starts again, or that loses the warnings of before."""
    whole = compute(tmp_path / "whole")
    monkeypatch.setitem(EVIDENCE, 4, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        compute(tmp_path / "pieces")
    monkeypatch.setitem(EVIDENCE, 4, -103.0)
    calls["full_bayes"].clear()
    found = compute(tmp_path / "pieces")
    assert [topics for topics, *_ in calls["full_bayes"]] == [4]
    pd.testing.assert_frame_equal(found.tables["evidence"], whole.tables["evidence"])
    assert found.warnings == whole.warnings
