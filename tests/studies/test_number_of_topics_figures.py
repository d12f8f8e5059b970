"""What the figures of `number_of_topics` draw: the numbers of made-up records, each in its place."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.collections import PolyCollection
from test_number_of_topics import evidences, walk

from bayestopics.studies.number_of_topics import figures, tables
from made_up import bars, curves, errors_from, legend_of, line, lines, record


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def evidence_axes(*made):
    return figures.draw_evidence(made, "smoke", errors_from("number_of_topics", *made)).axes


def across(axis):
    """Where lines cross the whole axis, (x or y)."""
    found = [line(one) for one in axis.get_lines() if one.get_transform() != axis.transData]
    return [points[0][0] if points[0][0] == points[1][0] else points[0][1] for points in found]


def chain(topics, estimates, **more):
    one = walk("whales", topics, **more)
    one.tables["trace"]["log_estimate"] = estimates
    one.task.params["expected_topics"] = 5
    return one


def test_walks_have_t_its_running_mean_and_the_log_estimate():
    """Guards a panel that draws another's column, steps from 0, and a chain in the wrong colour."""
    made = [chain([4, 2, 6], [-7.0, -8.0, -9.0]), chain([3, 3, 9], [-70.0, -60.0, -50.0], start=40)]
    axes = figures.draw_walks(made, "smoke", 3).axes
    assert list(lines(axes[0])) == [[(1, 4), (2, 2), (3, 6)], [(1, 3), (2, 3), (3, 9)]]
    assert lines(axes[1]) == [[(1, 4), (2, 3), (3, 4)], [(1, 3), (2, 3), (3, 5)]]
    assert lines(axes[2]) == [[(1, -7), (2, -8), (3, -9)], [(1, -70), (2, -60), (3, -50)]]
    colours = [[one.get_color() for one in axis.get_lines()[:2]] for axis in axes]
    assert colours[0] == colours[1] == colours[2]
    assert colours[0][0] != colours[0][1]
    assert [across(axis) for axis in axes] == [[5], [5], []]
    assert {axis.get_xscale() for axis in axes} == {"log"}


def test_walks_have_the_same_axes_and_the_best_t_of_the_yardstick():
    """Guards limits from the data, a T of the wrong end of the evidence, and a chain that is no chain."""
    made = [chain([4, 2, 6], -7.0), evidences("whales", "reference", {3: 1.0, 29: 9.0, 40: 2.0})]
    left, middle, right = figures.draw_walks(made, "smoke", 1000).axes
    assert left.get_xlim() == middle.get_xlim() == right.get_xlim() == pytest.approx((0.9, 1100))
    assert left.get_ylim() == middle.get_ylim() == pytest.approx((1.8, 110))
    assert across(left) == across(middle) == [5, 29]
    assert len(lines(left)) == 1


def test_the_legend_of_walks_goes_by_m_and_has_one_line_for_several_chains():
    """Guards the order of the names, in which 100 comes before 50, and a colour for every chain."""
    made = [chain([4, 2], -7.0, inner=m, chain=c) for m in (100, 50, 5000) for c in (1, 2)]
    figure = figures.draw_walks(made, "smoke", 3)
    told = [label.split(":")[0] for label in legend_of(figure)]
    assert told[:3] == ["from 30, m = 50 (2 chains)", "from 30, m = 100 (2 chains)", "from 30, m = 5000 (2 chains)"]
    assert len({one.get_color() for one in figure.axes[1].get_lines()[:6]}) == 3


def test_estimates_of_the_prior_are_not_drawn():
    """Guards the scale of the third panel."""
    made = [chain([4, 2], [-7.0, -8.0]), chain([3, 3], [-1e6, -1e6], sampler="prior")]
    axes = figures.draw_walks(made, "smoke", 3).axes
    assert [len(lines(axis)) for axis in axes] == [2, 2, 1]


def test_chains_that_differ_by_less_than_the_largest_variation_agree(monkeypatch):
    """Guards a total variation without its half, and a threshold from below."""
    first, second = chain([4, 4], -1.0), chain([4, 4], -1.0, start=9)
    first.tables["posterior"] = pd.DataFrame({"topics": [4, 5], "probability": [0.7, 0.3]})
    second.tables["posterior"] = pd.DataFrame({"topics": [4, 6], "probability": [0.8, 0.2]})
    # |.7 - .8| + .3 + .2 = .6, and half of it is .3
    for largest, agree in ((0.301, True), (0.299, False)):
        monkeypatch.setattr(figures, "LARGEST_VARIATION", largest)
        assert (figures.disagreement([first, second]) == "") == agree


def test_evidence_has_its_bars_and_stands_beside_the_yardstick():
    """Guards bars of another size, a panel that is not less the yardstick's largest, and a lost method."""
    yardstick, other = evidences("x", "reference", {2: -10.0, 3: -4.0}), evidences("x", "chib", {2: -20.0, 3: -30.0})
    yardstick.tables["evidence"]["standard_error"] = [0.5, 2.0]
    other.tables["evidence"]["standard_error"] = [3.0, 0.25]
    for one in (yardstick, other):
        one.task.params["expected_topics"] = 3
    left, middle, right = evidence_axes(yardstick, other)
    assert list(curves(left).values())[-2:] == [[(2, -10), (3, -4)], [(2, -20), (3, -30)]]
    assert bars(left, 0) == [(2, -10.5, -9.5), (3, -6.0, -2.0)]
    assert bars(left, 1) == [(2, -23.0, -17.0), (3, -30.25, -29.75)]
    assert list(curves(middle).values())[-2:] == [[(2, -6), (3, 0)], [(2, -16), (3, -26)]]
    assert curves(right)[figures.NAMES["reference"]] == [(2, -6), (3, 0)]
    assert len(right.containers) == 1  # the top of the yardstick, and nothing else
    for axis in (middle, right):
        assert bars(axis, 0) == [(2, -6.5, -5.5), (3, -2.0, 2.0)]
    assert [across(axis)[-1] for axis in (left, middle, right)] == [3, 3, 3]
    assert right.get_xlim() == (1, 4)
    looks = [[c.lines[0].get_color() for c in axis.containers] for axis in (left, middle, right)]
    assert looks[0] == looks[1] == [figures.LOOK[name]["color"] for name in ("reference", "chib")]
    assert looks[2] == looks[0][:1]


def test_no_line_goes_through_t_that_were_not_tried():
    """Guards lines across a gap; there are marks at every T that was tried."""
    axis = evidence_axes(evidences("x", "chib", {2: 1.0, 3: 2.0, 9: 3.0}))[0]
    (joined,) = (one for one in axis.get_lines() if one.get_linestyle() != "None" and len(one.get_xdata()) > 2)
    assert [y for x, y in line(joined) if 3 < x < 9] == pytest.approx(5 * [np.nan], nan_ok=True)
    assert [(x, y) for x, y in line(joined) if not np.isnan(y)] == [(2, 1), (3, 2), (9, 3)]
    assert next(iter(curves(axis).values())) == [(2, 1), (3, 2), (9, 3)]


def test_every_method_has_its_own_name_in_the_legend():
    """Guards a label that belongs to another curve."""
    made = [evidences("x", name, {2: float(n), 3: float(-n)}) for n, name in enumerate(("reference", "chib", "smc"))]
    made[2].task.params.update(method="annealing", path="smc")
    figure = figures.draw_evidence(made, "smoke", errors_from("number_of_topics", *made))
    found = curves(figure.axes[0])
    for number, name in enumerate(("reference", "chib", "smc")):
        assert found[figures.NAMES[name]] == [(2, number), (3, -number)]
    assert set(legend_of(figure)) >= {figures.NAMES[name] for name in ("reference", "chib", "smc")}


def test_ladders_draw_scatter_against_seconds_of_the_smaller_corpus_first():
    """Guards swapped sides, a path that is lost, and the order of the panels."""
    made = []
    for name, documents in (("large", 50), ("small", 5)):
        rows = [
            {"path": path, "steps": steps, "corpus": 0, "repeat": r, "direction": "forward", "log_estimate": r * away}
            for path, steps, away in (("reference", 10, 2.0), ("reference", 40, 1.0), ("ais", 10, 8.0))
            for r in (0, 1)
        ]
        table = pd.DataFrame(rows)
        timing = table.drop(columns="log_estimate").assign(seconds=table["steps"] * documents)
        made.append(
            record("ladder", name, {"law": {"documents": documents, "length": 2}}, corpus=name, estimates=table)
        )
        made[-1].tables["timing"] = timing
    axes = figures.draw_ladders(made, "smoke").axes
    for axis, documents in zip(axes, (5, 50), strict=True):
        reference, ais = (np.array(points) for points in curves(axis).values())
        np.testing.assert_allclose(reference, [(10 * documents, np.sqrt(2)), (40 * documents, np.sqrt(0.5))])
        np.testing.assert_allclose(ais, [(10 * documents, 8 / np.sqrt(2))])
        assert across(axis) == [1.0]


def test_scores_have_their_errors_and_each_corpus_its_panel():
    """Guards another column, doubled bars, and the mark of another corpus."""
    made = []
    for number, corpus in enumerate(("whales", "birds-of-prey")):
        table = pd.DataFrame({"topics": [2, 5], "log_score": [-9.0 - number, -7.0], "standard_error": [0.5, 1.5]})
        params = {"expected_topics": 5 + 2 * number, "sweeps": 9}
        made.append(record("score", corpus, params, corpus=corpus, scores=table, documents={"document": [0, 1, 1]}))
    axes = figures.draw_scores(made, "smoke", errors_from("number_of_topics", *made)).axes
    for number, axis in enumerate(axes):
        assert line(axis.containers[0].lines[0]) == [(2, -9.0 - number), (5, -7.0)]
        assert bars(axis) == [(2, -9.5 - number, -8.5 - number), (5, -8.5, -5.5)]
        assert across(axis) == [5 + 2 * number]


def test_scores_have_a_band_between_their_bounds_also_where_these_cross():
    table = pd.DataFrame({"topics": [2, 5], "log_score": [-9.0, -7.0], "standard_error": [0.5, 1.5]})
    table = table.assign(lower=[-11.0, -6.5], upper=[-8.0, -7.5])
    one = record("score", "whales", {"sweeps": 9}, corpus="whales", scores=table, documents={"document": [0]})
    axis = figures.draw_scores([one], "smoke", errors_from("number_of_topics", one)).axes[0]
    band = next(shape for shape in axis.collections if isinstance(shape, PolyCollection)).get_paths()[0].vertices
    assert {tuple(point) for point in band} == {(2, -11), (2, -8), (5, -7.5), (5, -6.5)}


def test_evidence_is_drawn_in_the_order_of_t():
    """Guards lines that go back and forth."""
    one = evidences("x", "reference", {4: 4.0, 2: 2.0, 3: 3.0})
    assert tables.evidence_of(one).index.tolist() == [2, 3, 4]
    assert next(iter(curves(evidence_axes(one)[0]).values())) == [(2, 2), (3, 3), (4, 4)]


def jump(**shares):
    """A record of chains over (T, z) from 1 and 30; `shares` are the probabilities of T and their errors."""
    trace = pd.DataFrame({"chain": [0, 0, 1, 1], "step": [0, 1, 0, 1], "topics": [1, 3, 30, 3]})
    topics = [int(name[1:]) for name in shares]
    posterior = pd.DataFrame(shares.values(), columns=["probability", "standard_error"]).assign(topics=topics)
    params = {"starts": [1, 30], "burn_in": 1, "iterations": 1}
    return record("jump", "jump", params, study="number_of_topics", trace=trace, posterior=posterior)


def test_the_posterior_of_two_methods_stands_side_by_side_with_errors():
    """Guards bars on top of each other, errors of the other method, and one standard error for two."""
    chains = jump(T2=(0.25, 0.05), T3=(0.75, 0.1), T4=(1e-4, 1e-4))
    yardstick = evidences("x", "reference", {2: np.log(0.5), 3: np.log(0.5)})
    estimates = {"repeat": [0, 0, 1, 1], "topics": [2, 3, 2, 3], "log_estimate": np.log([0.2, 0.8, 0.4, 0.6])}
    yardstick.tables["estimates"] = pd.DataFrame(estimates)
    top, bottom = figures.draw_jump(
        [chains, yardstick], "smoke", errors_from("number_of_topics", chains, yardstick)
    ).axes
    places = [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in top.patches]
    assert places == [pytest.approx(one) for one in [(1.8, 0.25), (2.8, 0.75), (2.2, 0.3), (3.2, 0.7)]]
    ends = [segment[:, 1].tolist() for one in top.collections for segment in one.get_segments()]
    assert ends == [pytest.approx(one) for one in [(0.15, 0.35), (0.55, 0.95), (0.1, 0.5), (0.5, 0.9)]]
    assert [text.get_text() for text in top.get_legend().get_texts()] == ["chains over (T, z)", "annealed evidence"]
    assert curves(bottom)["from 30"] == [(0, 30), (1, 3)]
