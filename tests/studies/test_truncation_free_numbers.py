"""Claims, tables and figures of `truncation_free` by hand: just inside and just outside, and all numbers in place."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from bayestopics.corpus.registry import Entry
from bayestopics.studies.truncation_free import claims, figures, tables
from made_up import bars, errors_from, line, lines, parts, record

FREE, CUT = tables.METHODS
BATCHES = (1, 10, 100)
TOKENS = np.array([10, 10, 10])


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def stream(model, method, batch, *, score, components, corpus="x", apart=(-1.0, 0.0, 1.0), seconds=(1.0, 10.0), **more):
    """Three documents of ten words, `apart` nats from the score at the end; at the first check a nat a word below."""
    logs = 10 * score + np.array([np.zeros(3) - 10, np.zeros(3)]) + np.array(apart)
    trace = {"documents": [10, 1000], "per_word": [score - 1, score], "components": components, "error": [0.2, 0.1]}
    timing = {"documents": [10, 1000], "seconds": seconds}
    params = {"model": model, "method": method, "batch": batch, "truncation": 300, "particles": 8, "draws": 9}
    metrics = {"documents": 1000, "passes": 2.0, "per_word": score, "error": 0.1, "papers_per_word": score - 0.5}
    metrics |= {"papers_error": 0.3, "components": components[-1], "unigram_per_word": -9.5} | more
    arrays = {"log_likelihoods": logs, "tokens": TOKENS}
    name = f"{corpus}-{model}-{method}-{batch}"
    return record("stream", name, params, metrics, corpus=corpus, arrays=arrays, trace=trace, timing=timing)


def study(free=None, cut=None, corpora=("x", "y")):
    """`free` and `cut`: batch -> what is different there in the HDP on the first corpus."""
    made = []
    for model in tables.MODELS:
        for corpus in corpora:
            first = (model, corpus) == ("hdp", corpora[0])
            for place, batch in enumerate(BATCHES):
                ours = {"score": -7.0 + 0.01 * place, "components": (5, 60)}
                other = {"score": -7.5 + 0.1 * place, "components": (300, (2, 20, 50)[place])}
                ours |= {"apart": (0, 0, 0)} | (((free or {}).get(batch) or {}) if first else {})
                other |= {"apart": (0, 0, 0)} | (((cut or {}).get(batch) or {}) if first else {})
                made.append(stream(model, FREE, batch, corpus=corpus, **ours))
                made.append(stream(model, CUT, batch, corpus=corpus, **other))
    return made


# -- claims ------------------------------------------------------------------------------------------------


def toy(case_b=(0.0, 1.0), **changes):
    """Case A is decided for component 2 (-1), case B tied at one occurrence and decided for component 1 at two."""
    table = {"case": ["A", "A", "B", "B"], "occurrences": [1, 2, 1, 2], "exact": [-1.0, -1.0, *case_b]}
    table |= {"locally_collapsed": [-1.0, -1.0, 0.0, 1.0], "mean_field": [-1.0, -1.0, -1.0, -1.0]} | changes
    return record("toy", "toy", log_odds=table)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [True, True, True, True]),
        ({"locally_collapsed": [-1.0, 1.0, 0.0, 1.0]}, [False, True, True, True]),
        ({"locally_collapsed": [-1.0, -1.0, 0.0, -1.0]}, [False, True, True, True]),
        ({"mean_field": [-1.0, 1.0, -1.0, -1.0]}, [True, False, True, True]),
        ({"mean_field": [-1.0, -1.0, -1.0, 1.0]}, [True, True, False, True]),
        ({"case_b": (1e-8, 1.0), "locally_collapsed": [-1.0, -1.0, 1.0, 1.0]}, [True, True, True, False]),
        ({"case_b": (1e-10, 1.0)}, [True, True, True, True]),
    ],
)
def test_v1_its_four_parts(changes, expected):
    """Guards which case and which update each part looks at, and how near to 0 a tie is."""
    assert parts(claims, "V1", toy(**changes)) == expected


def holds(claim, model, part, records, entries=None):
    """Of a model: V2 has two parts for each, V3 four."""
    found = parts(claims, claim, *records, entries=entries)
    return found[{"V2": 2, "V3": 4}[claim] * tables.MODELS.index(model) + part - 1]


def test_v2_the_range_over_batch_sizes_is_smaller():
    """Guards the direction, and that every corpus has to show it: ranges of .2 against .19 and .21."""
    assert holds("V2", "hdp", 1, study(free={1: {"score": -7.17}}))
    assert not holds("V2", "hdp", 1, study(free={1: {"score": -7.19 - 0.04}}))
    assert holds("V2", "dp-mixture", 1, study(free={1: {"score": -9.0}}))


def test_v2_higher_in_more_than_half_of_the_cases():
    """Guards the half: of six cases four are more, three are not."""
    lower = {"score": -9.0}
    assert holds("V2", "hdp", 2, study(free=dict.fromkeys(BATCHES[:2], lower)))
    assert not holds("V2", "hdp", 2, study(free=dict.fromkeys(BATCHES, lower)))


@pytest.mark.parametrize(("spread", "higher"), [(4.30, True), (4.36, False)])
def test_v2_higher_by_two_errors_over_documents(spread, higher):
    """Guards two standard errors: .5 a word above, with differences of 5 - s, 5, 5 + s nats in ten words each."""
    error = spread / 10 / np.sqrt(3)
    assert tables.mean_and_error(np.array([5 - spread, 5, 5 + spread]), TOKENS) == pytest.approx((0.5, error))
    made = study(free={1: {"score": -7.0, "apart": (-spread, 0, spread)}}, corpora=("x",))
    two = [one for one in made if one.task.params["batch"] != 100]  # the other size is higher, which is one half
    assert holds("V2", "hdp", 2, two) == higher


def test_v3_more_components_in_more_than_half():
    """Guards the half, the direction, and numbers at equal seconds."""
    few = {"components": (1, 19)}
    assert holds("V3", "hdp", 1, study(free={10: few, 100: few}))  # 2 of 6 are fewer
    few_at_all = {key: {"components": (0, 1)} for key in BATCHES}
    assert not holds("V3", "hdp", 1, study(free=few_at_all))  # 3 of 6
    assert holds("V3", "dp-mixture", 1, study(free=few_at_all))


@pytest.mark.parametrize(("components", "grown"), [((5, 6), True), ((5, 5), False), ((6, 5), False)])
def test_v3_grown_from_the_first_check_to_the_end(components, grown):
    """Guards the direction, and one run that does not grow."""
    assert holds("V3", "hdp", 2, study(free={10: {"components": components}})) == grown


@pytest.mark.parametrize(("last", "shrunk"), [(299, True), (300, False)])
def test_v3_fewer_than_the_truncation_at_the_end(last, shrunk):
    """Guards the truncation, and one run that does not shrink."""
    assert holds("V3", "hdp", 3, study(cut={100: {"components": (200, last)}})) == shrunk


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({1: {"components": (300, 24)}}, True),
        ({1: {"components": (300, 25)}}, False),  # half of 50 is not less than half
        ({100: {"components": (300, 4)}, 10: {"components": (300, 5)}}, True),  # some other batch has more than twice
        ({1: {"score": -7.3}}, False),  # as good as the best
        ({1: {"score": -7.3, "apart": (-1, 0, 0)}}, False),  # within its errors
        ({10: {"score": -7.2}, 100: {"score": -7.5}}, True),  # the best of the others counts
    ],
)
def test_v3_small_batches_break_truncated(changes, broken):
    """Guards the half of the components, and the score more than two errors below the best."""
    assert holds("V3", "hdp", 4, study(cut=changes)) == broken


@pytest.mark.parametrize(("spread", "broken"), [(4.30, True), (4.36, False)])
def test_v3_broken_by_two_errors_over_documents(spread, broken):
    """Guards two standard errors of the difference to the best: .5 a word, as in V2."""
    apart = (-spread, 0, spread)
    made = study(cut={1: {"score": -7.5, "apart": apart}, 10: {"score": -7.0}, 100: {"score": -7.2}})
    assert holds("V3", "hdp", 4, made) == broken


def test_simulated_corpora_are_left_out():
    """Guards a verdict that rests on corpora of which the paper says nothing."""
    bad = [stream("hdp", FREE, b, corpus="made", score=-9.0 - b, components=(9, 1)) for b in (1, 10)]
    bad += [stream("hdp", CUT, b, corpus="made", score=-1.0, components=(9, 400)) for b in (1, 10)]
    entries = {"made": Entry("made", "", generator={"topics": 1}), "x": Entry("x", "")}
    assert parts(claims, "V3", *study(), *bad, entries=entries) == [True] * 8
    assert parts(claims, "V3", *study(), *bad) != [True] * 8


# -- tables ------------------------------------------------------------------------------------------------


def test_the_budget_is_where_the_first_run_ends():
    """Guards the longest run, or the first check, in place of the shortest run's end."""
    made = [
        stream("hdp", FREE, 1, score=-7.0, components=(5, 15), seconds=(1.0, 100.0)),
        stream("hdp", CUT, 1, score=-8.0, components=(300, 30), seconds=(0.1, 10.0)),
        stream("hdp", CUT, 10, score=-8.0, components=(300, 30), seconds=(11.0, 12.0)),
    ]
    assert tables.budget(made) == 10.0
    assert tables.too_late(made) == [made[2].task.name]
    now = tables.moment(made[0], 10.0)  # halfway in the log of seconds
    assert (now.per_word, now.components, now.documents) == pytest.approx((-7.5, 10.0, 505.0))
    table = tables.differences_table(made[:2])
    row = table.iloc[0]
    assert row[["seconds", "difference", "truncation_free_components"]].tolist() == pytest.approx([10.0, 0.5, 10.0])
    assert row["truncated_components"] == 30.0


def test_scores_table_has_the_end_and_equal_seconds():
    """Guards one in place of the other, and the paper's own estimate."""
    made = [
        stream("hdp", FREE, 1, score=-7.0, components=(5, 15), seconds=(1.0, 100.0)),
        stream("hdp", CUT, 1, score=-8.0, components=(300, 30), seconds=(0.1, 10.0)),
    ]
    row = tables.scores_table(made, errors_from("truncation_free", *made)).iloc[0]
    assert row[["per_word", "per_word_at_equal_seconds", "papers_per_word"]].tolist() == pytest.approx([-7, -7.5, -7.5])
    assert row[["components", "components_at_equal_seconds"]].tolist() == [15, 10]
    assert row[["seconds", "equal_seconds"]].tolist() == [100.0, 10.0]
    assert row[["monte_carlo_error", "papers_error"]].tolist() == [0.1, 0.3]


def test_bars_are_of_the_distance_to_the_panels_mean():
    """Guards bars of the score itself, which hold what all runs share."""
    made = [
        stream("hdp", FREE, 1, score=-7.0, components=(5, 15), apart=(50.0, 0.0, -50.0)),
        stream("hdp", CUT, 1, score=-8.0, components=(300, 30), apart=(50.0, 0.0, -50.0)),
    ]
    assert tables.at_equal_seconds(made)["bar"].tolist() == pytest.approx([0.0, 0.0], abs=1e-12)
    made[0].arrays["log_likelihoods"] += np.array([2.0, 0.0, -2.0])
    expected = tables.mean_and_error(np.array([1.0, 0.0, -1.0]), TOKENS)[1]
    assert tables.at_equal_seconds(made)["bar"].tolist() == pytest.approx([expected, expected])


# -- figures -----------------------------------------------------------------------------------------------


def panel():
    made = [stream("hdp", FREE, b, score=-7.0 - n, components=(5, 15 + n)) for n, b in enumerate((1, 10))]
    made += [stream("hdp", CUT, b, score=-8.0 - n, components=(300, 30 + n)) for n, b in enumerate((1, 10))]
    made[0].arrays["log_likelihoods"] += np.array([4.0, 0.0, -4.0])
    return made


def test_held_out_has_bars_of_two_errors():
    """Guards bars of one error, another column, and methods under each other's name."""
    figure = figures.draw_held_out(panel(), "smoke")
    (axis,) = figure.axes
    table = tables.at_equal_seconds(panel())
    order = sorted(tables.METHODS)  # as they are drawn
    for number, method in enumerate(order):
        part = table[table["method"] == method]
        assert line(axis.containers[number].lines[0]) == list(zip(part["batch"], part["per_word"], strict=True))
        spread = [(high - low) / 2 for _, low, high in bars(axis, number)]
        assert spread == pytest.approx((2 * part["bar"]).tolist())
        assert axis.containers[number].lines[0].get_color() == figures.STYLES[method]["color"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [*tables.METHODS, "unigram"]
    colours = [handle.lines[0].get_color() for handle in (axis.containers[order.index(m)] for m in tables.METHODS)]
    assert colours == [figures.STYLES[method]["color"] for method in tables.METHODS]


def test_components_are_drawn_and_not_scores():
    """Guards the column, and a scale that is not of logs."""
    (axis,) = figures.draw_components(panel(), "smoke").axes
    drawn = [line(one.lines[0]) for one in axis.containers]
    assert sorted(drawn) == [[(1, 15), (10, 16)], [(1, 30), (10, 31)]]
    assert axis.get_yscale() == axis.get_xscale() == "log"


def test_over_time_x_is_seconds_above_and_documents_below():
    """Guards the same x in both panels, and scores for components."""
    above, below = figures.draw_components_over_time(panel(), "smoke").axes
    assert lines(above)[0] == [(1.0, 5), (10.0, 15)]
    assert lines(below)[0] == [(10, 5), (1000, 15)]
    (axis,) = figures.draw_held_out_over_time(panel(), "smoke").axes
    assert lines(axis)[2] == [(1.0, -9.0), (10.0, -8.0)]
    across = [one.get_data() for one in axis.get_lines() if one.get_transform() != axis.transData]
    assert (across[0][1][0], across[1][0][0]) == (-9.5, 10.0)  # the unigram line, and where runs are compared


def test_a_gibbs_line_is_that_of_its_panel():
    """Guards lines of another corpus, and a sampler among the streams."""
    params = {"model": "hdp", "corpus": "x"}
    made = [*panel(), record("gibbs", "x-gibbs", params, {"per_word": -6.5}, corpus="x")]
    made += [record("gibbs", "y-gibbs", params | {"corpus": "y"}, {"per_word": -1.0}, corpus="y")]
    assert tables.reference_lines(made, "hdp", "x") == {"unigram": -9.5, "Gibbs": -6.5}
    figure = figures.draw_held_out(made, "smoke")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [*tables.METHODS, "unigram", "Gibbs"]


def test_toy_draws_every_update_under_its_name():
    """Guards two updates in each other's place, and case B in the panel of case A."""
    made = toy(exact=[1.0, 2.0, 3.0, 4.0], locally_collapsed=[5.0, 6.0, 7.0, 8.0], mean_field=[9.0, 10.0, 11.0, 12.0])
    made.tables["log_odds"]["exact"] = [1.0, 2.0, 3.0, 4.0]
    for axis, first in zip(figures.draw_toy([made], "smoke").axes, (0, 2), strict=True):
        drawn = {handle.get_color() + str(handle.get_marker()): line(handle) for handle in lines_with_labels(axis)}
        assert drawn[figures.RED + "s"] == [(1, 9.0 + first), (2, 10.0 + first)]
        assert drawn[figures.BLACK + "None"] == [(1, 1.0 + first), (2, 2.0 + first)]
        assert drawn[figures.BLUE + "o"] == [(1, 5.0 + first), (2, 6.0 + first)]


def lines_with_labels(axis):
    return axis.get_legend_handles_labels()[0]


def test_endless_draws_memory_left_and_components_right():
    """Guards two columns in each other's panel, and documents that are not thousands."""
    trace = pd.DataFrame({"documents": [0, 3000], "components": [0, 9]})
    timing = pd.DataFrame({"documents": [0, 3000], "seconds": [0.0, 5.0], "peak_mb": [200.0, 210.0]})
    params = {"model": "hdp", "method": FREE}
    left, right = figures.draw_endless([record("endless", "e", params, trace=trace, timing=timing)], "smoke").axes
    assert lines(left) == [[(0, 200), (3, 210)]]
    assert lines(right) == [[(0, 0), (3, 9)]]
