"""What the figures of `hyperparameters` draw: the numbers of made-up records, each in its place."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from test_hyperparameters import Result, _ellipse, functional, rivals, run, steps, surface

from bayestopics.studies.hyperparameters import figures
from made_up import line, lines, marks


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def near(points, expected):
    return np.shape(points) == np.shape(expected) and np.allclose(points, expected, rtol=1e-12, atol=0)


def has(axis, point):
    """Whether a scatter of the axis has this point alone."""
    return any(near(one, [point]) for one in marks(axis))


def test_surface_marks_best_truth_and_paper_at_alpha_and_eta():
    """Guards swapped sides, a chain that is lost, and one panel without a mark."""
    made = [
        surface("x", (0.2, 0.8), truth=[0.25, 0.7], paper=[0.21, 0.9], error=0.03),
        surface("x", (0.22, 0.81), sampler="augmented"),
    ]
    left, middle, right = figures.draw_surface(made, "smoke").axes[:3]
    for axis in (left, middle):
        for point in ((0.2, 0.8), (0.22, 0.81), (0.25, 0.7), (0.21, 0.9)):
            assert has(axis, point)
        ellipse, region = lines(axis)[1], lines(axis)[0]  # the smaller is Monte Carlo error
        assert np.ptp(ellipse, axis=0)[0] == pytest.approx(0.2 * 2 * np.sinh(0.03 * np.sqrt(6)), rel=1e-3)
        assert np.ptp(region, axis=0)[0] == pytest.approx(0.2 * 2 * np.sinh(0.1 * np.sqrt(6)), rel=1e-3)
    table = made[0].tables["surface"]
    assert left.get_xlim() == right.get_xlim()
    assert left.get_ylim() == right.get_ylim()
    assert left.get_xlim()[0] < table["alpha"].min() < table["alpha"].max() < left.get_xlim()[1]
    assert middle.get_xlim()[1] < left.get_xlim()[1]
    assert not marks(right)


def test_truth_and_paper_are_always_inside_the_frame():
    """Guards frames that end with the grid, or near the ellipse."""
    far = {"truth": [0.05, 0.3], "paper": [0.9, 3.0]}
    axes = figures.draw_surface([surface("x", (0.2, 0.8), **far)], "smoke").axes[:6]
    axes += figures.draw_rivals([surface("x", (0.2, 0.8), chains=4, **far), rivals("x")], "smoke").axes[:2]
    axes += figures.draw_methods([methods(**far)], "smoke").axes[:2]
    for axis in axes:
        for side, limits in enumerate((axis.get_xlim(), axis.get_ylim())):
            assert limits[0] < far["truth"][side] < far["paper"][side] < limits[1]


def test_below_m_hat_are_m_tilde_its_error_and_the_visits():
    """Guards a panel of the wrong column, and points of the grid that are lost."""
    one = surface("x", (0.2, 0.8))
    axes = figures.draw_surface([one], "smoke").axes[:6]
    assert [axis.get_title() for axis in axes[3:]] == [
        "log M-tilde(h)",
        "relative Monte Carlo error of M-tilde",
        "visits of the grid",
    ]
    occupancy = one.tables["occupancy"]
    (visits,) = axes[5].collections
    assert near(visits.get_offsets(), occupancy[["alpha", "eta"]])
    assert near(visits.get_array(), np.maximum(occupancy["share"], 0.1))
    hatched = [one for one in axes[3].collections if getattr(one, "hatches", [None]) == ["//"]]
    assert len(hatched) == 1  # where alpha is below that of h, as `surface` says


def methods(flat=False, **params):
    """Answers of two methods; the level set is along eta."""
    answers = pd.DataFrame({"method": ["score", "tempering"], "alpha": [0.2, 0.21], "eta": [0.8, 0.82], "warning": ""})
    rows = [_ellipse(f"{name} {what}", (0.2, 0.8), size) for name in ("score", "tempering") for what, size in SIZES]
    ridge = {
        "alpha": [0.2, 0.2, 0.2],
        "eta": [0.5, 0.8, 1.5],
        "log_m": [-4.0, 0.0, -1.0],
        "error": 0.1,
        "method": "score",
    }
    ridge |= {"low": [0.2, 0.1, 0.15], "high": [0.2, 0.4, 0.3], "side": "eta"}
    tables = {"answers": answers, "ellipses": pd.DataFrame(rows[2 * flat :])}
    tables["level_set"] = pd.DataFrame(ridge)[: 3 * flat]
    return Result(run("methods", "x", "methods", **params), {}, tables=tables)


SIZES = (("ellipse", 0.01), ("region", 0.2))


def test_methods_have_an_ellipse_and_a_region_each():
    """Guards ellipses of another method, and one colour for two methods."""
    left, right = figures.draw_methods([methods(truth=[0.25, 0.7])], "smoke").axes[:2]
    assert len(lines(left)) == 4
    assert len(lines(right)) == 2
    assert len({one.get_color() for one in left.get_lines()}) == 2
    for axis in (left, right):
        for point in ((0.2, 0.8), (0.21, 0.82), (0.25, 0.7)):
            assert has(axis, point)


def test_a_level_set_is_drawn_around_its_ridge():
    """Guards a level set along the other side, and rungs beyond it."""
    left, right = figures.draw_methods([methods(flat=True, truth=[0.25, 0.7])], "smoke").axes[:2]
    filled = next(one for one in left.collections if "level set" in one.get_label())
    edges = filled.get_paths()[0].vertices
    assert (edges[:, 0].min(), edges[:, 0].max()) == (0.1, 0.4)
    assert (edges[:, 1].min(), edges[:, 1].max()) == (0.8, 1.5)  # log m = -4 is outside
    assert right.get_xlabel() == "eta"
    assert [line(one)[0][0] for one in right.get_lines() if one.get_transform() != right.transData][-1] == 0.7


def test_surface_shows_m_hat_left_and_its_error_right():
    """Guards one column in both panels, and a transposed grid."""
    one = surface("x", (0.2, 0.8))
    table = one.tables["surface"]
    table["log_m"], table["error"] = -np.square(np.log(table["eta"] / 0.8)), 0.01 + 0.3 * (table["alpha"] > 0.2)
    left, _, right = figures.draw_surface([one], "smoke").axes[:3]

    def spans(axis, side):
        """How much of the axis the pieces of the inner levels take, along a side."""
        (drawn,) = [c for c in axis.collections if hasattr(c, "levels") and c.filled]
        paths = [path.vertices for path in drawn.get_paths()[1:] if len(path.vertices)]
        whole = np.ptp(np.vstack(paths)[:, side])
        return [np.ptp(path[:, side]) / whole for path in paths]

    assert min(spans(left, 0)) == pytest.approx(1.0)  # along alpha log m is flat
    assert min(spans(right, 1)) == pytest.approx(1.0)  # along eta the error is
    assert min(spans(right, 0)) < 0.9


def test_functionals_draw_hat_with_its_band_along_both_sides():
    """Guards I-tilde for I-hat, slices at the wrong place, and bands of the other side."""
    table = functional(0)
    figure = figures.draw_functionals([surface("cats", functional=table)], "smoke")
    panels = [axis for axis in figure.axes if axis.get_lines()]
    assert len(panels) == 2 * 3
    for row, name in enumerate(dict.fromkeys(table["name"])):
        part = table[table["name"] == name]
        for axis, along, across in zip(panels[2 * row : 2 * row + 2], ("alpha", "eta"), ("eta", "alpha"), strict=True):
            values = np.sort(part[across].unique())
            middle = values[np.abs(values - (values[0] + values[-1]) / 2).argmin()]
            assert len({one.get_color() for one in axis.get_lines()}) == 3
            drawn_lines = zip(lines(axis), axis.get_lines(), axis.collections, strict=True)
            for (drawn, drawn_as, band), place in zip(drawn_lines, (values[0], middle, values[-1]), strict=True):
                expected = part[part[across] == place].sort_values(along)
                assert near(drawn, expected[[along, "hat"]])
                colours = to_rgb(band.get_facecolor()[0][:3]), to_rgb(band.get_edgecolor()[0][:3])
                assert colours == (to_rgb(drawn_as.get_color()),) * 2
                edges = band.get_paths()[0].vertices
                assert edges[:, 1].min() == expected["lower"].min()
                assert edges[:, 1].max() == expected["upper"].max()


def test_hat_and_tilde_stand_in_their_own_panels():
    """Guards the same estimate in all four panels, and two chains that are one."""
    made = [surface("cats", replicate=n, functional=functional(n)) for n in (0, 1)]
    axes = figures.draw_hat_tilde(made, "smoke").axes
    surfaces = [axis.get_title() for axis in axes[:4]]
    assert surfaces == ["I-hat, seed 1", "I-hat, seed 2", "I-tilde, seed 1", "I-tilde, seed 2"]
    axes = [axis for axis in axes if axis.get_lines()]
    table = made[0].tables["functional"]
    places = np.sort(table["eta"].unique())
    name = table["name"].iloc[0]
    for axis, kind, share in zip(axes[:4], ("hat", "hat", "tilde", "tilde"), (0.2, 0.8, 0.2, 0.8), strict=True):
        wanted = places[0] + share * (places[-1] - places[0])
        place = places[np.abs(places - wanted).argmin()]
        for drawn, record in zip(lines(axis), made, strict=True):
            part = record.tables["functional"]
            part = part[(part["name"] == name) & (part["eta"] == place)].sort_values("alpha")
            assert near(drawn, part[["alpha", kind]])


def test_rivals_are_drawn_where_they_ended():
    """Guards a method that is lost or has another's look, swapped sides, and averages that are last steps."""
    one, other = surface("x", chains=4, truth=[0.3, 0.6]), rivals("x", averaged=0.3)
    figure = figures.draw_rivals([one, other], "smoke")
    whole, zoomed = figure.axes[:2]
    ends = other.tables["ends"]
    for axis in (whole, zoomed):
        drawn = {label: handle for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
        for method, look in figures.RIVALS.items():
            part = ends.loc[ends["method"] == method, ["alpha", "eta"]]
            assert near(drawn[look["label"]].get_offsets(), part)
        averaged = ends.loc[ends["method"] == "gibbs-em", ["averaged_alpha", "averaged_eta"]]
        assert near(drawn[figures.AVERAGED["label"]].get_offsets(), averaged)
        assert any(near(points, one.tables["chains"][["alpha", "eta"]]) for points in marks(axis))
        assert has(axis, (0.3, 0.6))
    assert whole.get_xscale() == whole.get_yscale() == "log"
    assert zoomed.get_xscale() == "linear"
    low, high = whole.get_xlim()
    assert low < ends["alpha"].min() < ends["alpha"].max() < high
    assert sorted({text.get_text() for text in figure.legends[0].get_texts()}) == sorted(drawn)


def test_the_iterative_grid_has_its_documents_grids_and_truth():
    """Guards steps counted from 0, a band of the other side, and a truth that is swapped."""
    made = steps(5, settled=5)
    figure = figures.draw_grid(made, "smoke")
    left, right = figure.axes[:2]
    table = made[-1].tables["steps"]
    assert lines(left) == [list(zip(range(1, 6), table["documents"], strict=True))]
    for drawn, name in zip(lines(right), ("alpha", "eta"), strict=True):
        assert near(drawn, np.column_stack([range(1, 6), table[name]]))
    across = [one for one in right.get_lines() if one.get_transform() != right.transData]
    assert [line(one)[0][1] for one in across] == [0.2, 0.8]
    for band, name in zip(right.collections[:2], ("alpha", "eta"), strict=True):
        edges = band.get_paths()[0].vertices[:, 1]
        assert (edges.min(), edges.max()) == (table[f"{name}_low"].min(), table[f"{name}_high"].max())
    assert right.get_yscale() == "log"
    assert marks(right)[-2:] == [[(1.0, table["alpha"][0])], [(1.0, table["eta"][0])]]
    panels = [axis for axis in figure.axes[2:] if marks(axis)]
    shown = [n for n in range(1, 6) if n in figures.STEPS or n == 5]
    for axis, number in zip(panels, shown, strict=True):
        assert has(axis, (made[number - 1].metrics["alpha"], made[number - 1].metrics["eta"]))
