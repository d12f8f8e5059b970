"""What the figures of results draw: the numbers of made-up tables, each in its place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayestopics.runs import plots
from made_up import bars, curves, legend_of, line, lines, marks


def test_chains_have_a_line_each_and_the_burn_in_is_shaded() -> None:
    """Guards another column, chains as one line, sweeps counted from 0, and a burn-in of another length."""
    trace = pd.DataFrame({"chain": [0, 0, 0, 1, 1, 1], "sweep": [0, 1, 2] * 2, "x": [1.0, 2, 3, 6, 5, 4], "y": 0.0})
    figure = plots.draw_chains(trace, "x", 2, "title", "label")
    (axis,) = figure.axes
    assert lines(axis) == [[(1, 1), (2, 2), (3, 3)], [(1, 6), (2, 5), (3, 4)]]
    (shade,) = axis.patches
    assert (shade.get_x(), shade.get_x() + shade.get_width()) == (0, 2)
    assert not plots.draw_chains(trace, "x", 0, "title", "label").axes[0].patches


def test_evidence_has_two_standard_errors_and_rings_the_chosen_t() -> None:
    """Guards one error for two, another column, and a ring around another T."""
    table = pd.DataFrame(
        {"topics": [2, 3, 5], "log_evidence": [-9.0, -7.0, -8.0], "standard_error": [0.5, 1.0, np.nan]}
    )
    table = table.assign(log_marginal=[-20.0, -30.0, -40.0], alpha=0.1, eta=0.2, posterior=[0.1, 0.2, 0.7])
    (axis,) = plots.draw_evidence(table, 5, "title", "label").axes
    assert line(axis.containers[0].lines[0]) == [(2, -9), (3, -7), (5, -8)]
    assert bars(axis) == [(2, -10.0, -8.0), (3, -9.0, -5.0), (5, -8.0, -8.0)]
    assert marks(axis) == [[(5, -8)]]


def test_posterior_is_a_bar_for_each_number_of_topics() -> None:
    """Guards heights and places that are swapped."""
    (axis,) = plots.draw_posterior({3: 0.25, 7: 0.75}, "title").axes
    assert [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in axis.patches] == [(3, 0.25), (7, 0.75)]


def test_posterior_has_two_errors_to_either_side() -> None:
    """A T without an error has none."""
    (axis,) = plots.draw_posterior({3: 0.25, 7: 0.75}, "title", {3: 0.01, 7: None}).axes
    assert bars(axis) == [(3, pytest.approx(0.23), pytest.approx(0.27)), (7, 0.75, 0.75)]


def test_posterior_has_its_intervals() -> None:
    """Guards ends that are swapped, or read as errors."""
    (axis,) = plots.draw_posterior({3: 0.25, 7: 0.75}, "title", intervals={3: (0.0, 0.5), 7: (0.75, 1.0)}).axes
    assert bars(axis) == [(3, 0.0, 0.5), (7, 0.75, 1.0)]


def test_path_draws_alpha_and_eta_under_their_names() -> None:
    """Guards one side under the name of the other, and a scale that is not of logs."""
    path = pd.DataFrame({"step": [0, 1], "alpha": [0.5, 0.2], "eta": [0.4, 3.0]})
    (axis,) = plots.draw_path(path, "title").axes
    assert curves(axis) == {"alpha": [(0, 0.5), (1, 0.2)], "eta": [(0, 0.4), (1, 3.0)]}
    assert axis.get_yscale() == "log"


def test_documents_are_drawn_a_word() -> None:
    """Guards the log likelihood of a whole document, and empty documents."""
    documents = pd.DataFrame({"tokens": [10, 0, 4], "log_likelihood": [-30.0, 0.0, -20.0]})
    (axis,) = plots.draw_documents(documents, "title").axes
    assert marks(axis) == [[(10, -3.0), (4, -5.0)]]
    assert axis.get_xscale() == "log"


def summary(center: tuple[float, float], variances: tuple[float, float]) -> dict[str, object]:
    rows = [[variances[0], 0.0], [0.0, variances[1]]]
    return {"center": list(center), "log_covariance": rows, "radius_squared": 4.0, "level": 0.95}


def test_surface_marks_the_best_h_of_all_and_of_each_chain() -> None:
    """Guards alpha and eta that are swapped, the region for the ellipse, and a transposed surface."""
    alphas, etas = np.geomspace(0.1, 1.0, 12), np.geomspace(2.0, 20.0, 10)
    alpha, eta = (side.ravel() for side in np.meshgrid(alphas, etas))
    table = pd.DataFrame({"alpha": alpha, "eta": eta, "log_m": -4 * np.log(alpha / 0.3) ** 2})
    answer = {"alpha": 0.3, "eta": 6.0, "chains": [{"alpha": 0.25, "eta": 5.0}, {"alpha": 0.35, "eta": 30.0}]}
    answer |= {"ellipse": summary((0.3, 6.0), (0.01, 0.04)), "region": summary((0.3, 6.0), (0.09, 0.16))}
    axis = plots.draw_surface(table, answer, "title").axes[0]
    assert marks(axis) == [[(0.25, 5.0), (0.35, 30.0)], [(0.3, 6.0)]]
    region, ellipse = (np.log(points) for points in lines(axis))
    np.testing.assert_allclose(np.ptp(region, axis=0) / 2, [2 * 0.3, 2 * 0.4], rtol=1e-3)  # radius 2
    np.testing.assert_allclose(np.ptp(ellipse, axis=0) / 2, [2 * 0.1, 2 * 0.2], rtol=1e-3)
    styles = [one.get_linestyle() for one in axis.get_lines()]
    assert styles == [plots.REGION["linestyle"], "-"]
    assert axis.get_xlim() == pytest.approx((0.1, 1.0))
    assert axis.get_ylim() == pytest.approx((2.0, 30.0))  # a chain that is off the grid is in the picture
    filled = next(one for one in axis.collections if getattr(one, "filled", False))
    pieces = [path.vertices for path in filled.get_paths()[1:] if len(path.vertices)]
    assert all(np.ptp(piece[:, 1]) == pytest.approx(18.0) for piece in pieces)  # flat along eta
    one = plots.draw_surface(table, answer | {"chains": answer["chains"][:1]}, "title")
    assert marks(one.axes[0]) == [[(0.3, 6.0)]]
    assert len(legend_of(one)) == 3


@pytest.mark.parametrize(("lowest", "first"), [(-1000.0, -300.0), (-50.0, -100.0), (-4.5, -4.5), (-0.1, -0.5)])
def test_levels_that_are_not_reached_are_left_out(lowest: float, first: float) -> None:
    """Guards contours that begin a level too high or too low."""
    from matplotlib.figure import Figure

    axis = Figure().subplots()
    values = np.array([[lowest, 0.0], [lowest / 2, 0.0]])
    assert plots.contours(axis, np.arange(2.0), np.arange(2.0), values, lowest).levels[0] == first
