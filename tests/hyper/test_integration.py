"""Thermodynamic integration of the score: exact on a tiny corpus, and it tells when a surface is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bayestopics import api
from bayestopics.base.problems import InputError
from bayestopics.hyper.grid import Grid
from bayestopics.hyper.integration import RUNGS, beside, doubts, integrate, line
from bayestopics.hyper.tempering import temper
from bayestopics.lda.state import Prior
from dying import resumed
from oracle import enumerate_all, tiny_corpus

TINY = tiny_corpus([[0, 1, 1, 2], [0, 0, 1], [2, 1]], 3)
H, ENDS = np.array([0.4, 0.7]), ((0.1, 2.0), (0.1, 3.0))
HOW = {"sweeps": 400, "chains": 6, "seed": 1}


def test_exact_along_both_lines_from_both_ends() -> None:
    """Within five errors, and what the trapezoids of nine points miss; a constant log m would be seen."""
    table = integrate(TINY, 2, H, ENDS, **HOW)
    assert len(table) == 2 * 2 * RUNGS
    for (side, _), rows in table.groupby(["side", "start"]):
        points = rows[["alpha", "eta"]].to_numpy()
        np.testing.assert_allclose(points, line(H, ENDS, ("alpha", "eta").index(str(side))))
        exact = np.array([enumerate_all(TINY, 2, Prior(*h.tolist())).log_evidence for h in points])
        here = int(np.flatnonzero(rows["log_m"] == 0)[0])
        allowed = 5 * rows["error"].to_numpy() + 0.02
        assert np.all(np.abs(rows["log_m"] - (exact - exact[here])) < allowed)
        if side == "eta":
            assert np.any(np.abs(exact - exact[here]) > allowed)


@pytest.mark.usefixtures("workers_here")
def test_same_bits_for_any_number_of_workers_and_after_a_death() -> None:
    short = {"sweeps": 20, "chains": 4, "seed": 2}
    alone = integrate(TINY, 2, H, ENDS, **short)
    pd.testing.assert_frame_equal(integrate(TINY, 2, H, ENDS, workers=2, **short), alone)
    for one in resumed(lambda checkpoint: integrate(TINY, 2, H, ENDS, checkpoint=checkpoint, **short), at=(0, 0.6)):
        pd.testing.assert_frame_equal(one, alone)
    with pytest.raises(InputError, match="at least 4 chains"):
        integrate(TINY, 2, H, ENDS, sweeps=20, chains=3)


def test_a_wrong_surface_is_told() -> None:
    """M-hat of a right chain agrees. If its rows are wrong, it is told; and so are starts that differ."""
    chain = temper(TINY, 2, Grid.spanning(*ENDS, (3, 3)), sweeps=3000, rng=np.random.default_rng(1))
    table = beside(integrate(TINY, 2, H, ENDS, **HOW), chain, H)
    assert doubts(table) == []
    wrong = replace(chain, of_eta=chain.of_eta * 8)
    assert "wrong along eta" in "".join(doubts(beside(table, wrong, H)))
    apart = table.assign(log_m=table["log_m"] + 5 * ((table["start"] == "above") & (table["log_m"] != 0)))
    assert "depend on their start" in doubts(apart)[0]


def test_the_command_keeps_and_draws_it() -> None:
    found = api.hyper(TINY, 2, sweeps=100, chains=2, integrate=True, alpha_range=(0.1, 2.0), eta_range=(0.1, 3.0))
    assert set(found.tables["integration"]["start"]) == {"below", "above"}
    figure = found.plot()
    assert [axis.get_xlabel() for axis in figure.axes][:3] == ["alpha", "alpha", "eta"]
    drawn = api.hyper(TINY, 2, sweeps=100, chains=2, method="score").plot()
    assert drawn.axes[0].get_xlabel() == "alpha"
