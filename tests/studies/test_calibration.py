"""The rank of the true T in its posterior: uniform if the posterior is right, and not if it is too narrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

import oracle
from bayestopics.evidence.topic_law import law
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.number_of_topics import compute_calibration as module
from bayestopics.studies.number_of_topics.compute_calibration import compute, one, rank
from bayestopics.studies.number_of_topics.figures import draw_calibration
from bayestopics.studies.number_of_topics.tables import calibration_table

CORPUS = oracle.tiny_corpus([[0, 1]], 2)
SMALL = {"documents": 6, "length": 8, "terms": 6, "most": 4, "alpha": 0.5, "eta": 0.5}
FALSE_ALARM = 1e-4


def ranks(hyper: str, corpora: int = 60) -> np.ndarray:
    params = {**SMALL, "iterations": 60, "burn_in": 30}
    return np.array([one(params, hyper, np.random.default_rng([number, 8]))["rank"] for number in range(corpora)])


@pytest.mark.parametrize("hyper", module.LAWS)
def test_ranks_are_uniform(hyper: str) -> None:
    assert kstest(ranks(hyper), "uniform").pvalue > FALSE_ALARM


def test_a_posterior_that_is_too_narrow_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of the posterior at its mode: the same test refuses it."""

    def narrow(batches: pd.DataFrame) -> Any:
        found = law(batches)
        found.posterior.update({topics: float(topics == found.mode) for topics in found.posterior})
        return found

    monkeypatch.setattr(module, "law", narrow)
    assert kstest(ranks("fixed"), "uniform").pvalue < FALSE_ALARM


def test_the_rank_by_hand() -> None:
    """Guards the share of larger T, and a tie that is not broken at random."""
    posterior = {2: 0.5, 3: 0.3, 7: 0.2}
    assert rank(posterior, 3, 0.5) == pytest.approx(0.65)
    assert rank(posterior, 2, 0.1) == pytest.approx(0.05)
    assert rank(posterior, 5, 0.9) == pytest.approx(0.8)
    assert rank(posterior, 1, 0.9) == 0


def record(tmp_path: Path) -> Result:
    params = {"kind": "calibration", **SMALL, "corpora": 6, "iterations": 4, "burn_in": 2}
    task = Task("number_of_topics", "smoke", "calibration", params, 1, "enumerable", "f00d", "c0de")
    return compute(task, CORPUS, Checkpoint(tmp_path, task))


def test_the_run_its_table_and_its_figure(tmp_path: Path) -> None:
    found = record(tmp_path)
    table = found.tables["ranks"]
    assert table.groupby("hyper", sort=False)["corpus"].count().to_dict() == {"fixed": 6, "sampled": 6}
    assert table["topics"].between(1, 4).all()
    assert set(found.metrics) == {"p_fixed", "p_sampled"}
    shown = calibration_table([found]).set_index("alpha and eta")
    fixed = table.loc[table["hyper"] == "fixed", "rank"]
    assert shown.loc["fixed", "mean rank"] == pytest.approx(fixed.mean())
    assert shown.loc["sampled", "p-value"] == found.metrics["p_sampled"]
    figure = draw_calibration([found], "smoke")
    for axis in figure.axes:
        assert sum(bar.get_height() for bar in axis.patches[:5]) == 6
