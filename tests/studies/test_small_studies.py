"""The studies `corpora`, `first_look` and `routes` by hand: thresholds, tables, errors and what their figures draw."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from bayestopics.corpus.registry import Entry
from bayestopics.studies.corpora import claims as corpora_claims
from bayestopics.studies.corpora import figures as corpora_figures
from bayestopics.studies.corpora import tables as corpora_tables
from bayestopics.studies.errors import found, table_of
from bayestopics.studies.first_look import errors as first_errors
from bayestopics.studies.first_look import figures as first_figures
from bayestopics.studies.first_look import tables as first_tables
from bayestopics.studies.routes import figures as routes_figures
from bayestopics.studies.routes import tables as routes_tables
from bayestopics.studies.routes.compute_routes import ESTIMATES
from made_up import line, lines, record


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


# -- corpora -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("away", "deviation", "verdict"),
    [
        (0.049, 0.0, "reproduced"),
        (0.051, 0.0, "not reproduced"),
        (-0.051, 0.0, "not reproduced"),
        (0.249, 0.001, "reproduced"),
        (0.251, 0.001, "not reproduced"),
    ],
)
def test_b2_within_the_rounding_and_two_deviations(away, deviation, verdict):
    """Guards the rounding, the two deviations, and shares for points: .05 + 2 * .1 points."""
    metrics = {"training_words_once_share": (62.9 + away) / 100, "training_words_once_sd": deviation}
    kos = record("sizes", "kos", {}, metrics | {"words_once_share": 0.1})
    assert corpora_claims.CLAIMS["B2"].answer({"kos": kos}, table_of([]), {}).verdict == verdict


ENTRIES = {
    "same": Entry("same", "Same", papers=[{"id": "P-1", "documents": 3, "terms": 5, "tokens": 7}]),
    "other": Entry("other", "Other", papers=[{"id": "P-2", "documents": 3, "terms": 6, "tokens": 70}]),
    "gone": Entry("gone", "Gone", papers=[{"id": "P-3", "documents": 2, "terms": 2, "tokens": 2}]),
    "new": Entry("new", "New"),
}


@pytest.fixture
def sizes(monkeypatch):
    monkeypatch.setattr(corpora_tables, "Registry", lambda: type("R", (), {"entries": ENTRIES})())
    metrics = {"documents": 3, "terms": 5, "tokens": 7, "words_once_share": 0.5, "empty_documents": 1}
    return [record("sizes", name, {}, metrics, corpus=name) for name in ("same", "other", "new")]


def test_agreement_of_sizes(sizes):
    """Guards which sizes are said to differ, and corpora that are not there."""
    table = corpora_tables.sizes_table(sizes, list(ENTRIES)).set_index("corpus")
    said = {name: [size for size in corpora_tables.SIZES if size in text] for name, text in table["agrees"].items()}
    assert said == {"same": [], "other": ["terms", "tokens"], "gone": [], "new": []}
    assert len(set(table["agrees"])) == 4
    assert table.loc["other", ["terms", "paper_terms", "tokens", "paper_tokens"]].tolist() == [5, 6, 7, 70]
    assert pd.isna(table.loc["gone", "documents"])


def test_sizes_are_dots_and_the_papers_are_rings(sizes):
    """Guards a panel with another size, rows in the wrong place, and a difference that is not joined."""
    axes = corpora_figures.draw_sizes(sizes, "smoke", list(ENTRIES)).axes
    rows = {text.get_text().split(" ")[0]: tick for tick, text in enumerate(axes[0].get_yticklabels())}
    for axis, size, paper in zip(axes, ("documents", "terms", "tokens"), (3, 6, 70), strict=True):
        drawn = axis.get_lines()
        filled = [line(one)[0] for one in drawn if len(one.get_xdata()) == 1 and one.get_markerfacecolor() != "none"]
        rings = [line(one)[0] for one in drawn if len(one.get_xdata()) == 1 and one.get_markerfacecolor() == "none"]
        ours = sizes[0].metrics[size]
        assert sorted(filled) == sorted((ours, rows[name]) for name in ("same", "other", "new"))
        assert sorted(rings) == sorted([(ours, rows["same"]), (paper, rows["other"]), (2, rows["gone"])])
        joined = [[(ours, rows["other"]), (paper, rows["other"])]] if paper != ours else []
        assert lines(axis) == joined


# -- first_look --------------------------------------------------------------------------------------------


def chain(number, values, perplexity, corpus="x"):
    trace = {"sweep": range(len(values)), "log_joint": values, "perplexity": perplexity}
    topics = pd.DataFrame({"topic": [0, 0, 1, 1], "term": ["a", "b", "c", "d"], "probability": [0.9, 0.1, 0.6, 0.4]})
    shares = {"topic": [0, 1], "share": [0.2, 0.8]}
    name = f"{corpus}-{number}"
    metrics, volatile = {"training_tokens": 10.0, "log_joint": float(number)}, {"tokens_per_second": 5.0 + number}
    params = {"topics": 2}
    return record(
        "chain", name, params, metrics, corpus=corpus, volatile=volatile, trace=trace, topics=topics, shares=shares
    )


NAN = np.nan


def test_traces_are_a_token_and_the_middle_panel_has_second_halves():
    """Guards the log joint of all tokens, the first halves, and sweeps counted from 0."""
    made = [
        chain(0, [-90.0, -80, -70, -60], [NAN, 5.0, NAN, 4.0]),
        chain(1, [-50.0, -40, -30, -20], [NAN, 7.0, NAN, 6]),
    ]
    whole, half, right = first_figures.draw_traces(made, "smoke").axes
    assert lines(whole) == [[(1, -9), (2, -8), (3, -7), (4, -6)], [(1, -5), (2, -4), (3, -3), (4, -2)]]
    assert lines(half) == [[(3, -7), (4, -6)], [(3, -3), (4, -2)]]
    assert lines(right) == [[(2, 5), (4, 4)], [(2, 7), (4, 6)]]


def test_topics_are_bars_of_their_shares_with_their_own_words():
    """Guards words of another topic, and the smallest topic first."""
    axis = first_figures.draw_topics([chain(0, [0.0, 1.0], NAN)], "smoke").axes[0]
    assert [bar.get_width() for bar in axis.patches] == [0.8, 0.2]
    tops = [bar.get_y() + bar.get_height() / 2 for bar in axis.patches]
    assert tops[0] > tops[1]
    assert [text.get_text() for text in axis.texts] == ["c d", "a b"]


def test_summary_has_the_r_hat_of_the_second_halves(monkeypatch):
    """Guards burn-in in R-hat, R-hat over the chains of another corpus, and the errors of another chain."""
    given = []
    monkeypatch.setattr(first_tables, "convergence", lambda draws: (given.append(draws.tolist()), (1.5, 9.0))[1])
    made = [chain(0, [9.0, 9, 1, 2], NAN), chain(1, [9.0, 9, 3, 4], NAN), chain(0, [9.0, 9, 5, 6], NAN, "y")]
    rows = [found(one.task.name, "log joint", "batch means", 2, 0.0, 0.1 * n) for n, one in enumerate(made)]
    known = table_of(row | {"effective_draws": 10.0 + n} for n, row in enumerate(rows))
    table = first_tables.summary_table(made, known.iloc[::-1])
    assert given == [[[1, 2], [3, 4]], [[5, 6]]]
    assert table["rhat"].tolist() == [1.5] * 3
    assert table["log_joint"].tolist() == [0.0, 1.0, 0.0]
    assert table["tokens_per_second"].tolist() == [5.0, 6.0, 5.0]
    assert table["log_joint_error"].tolist() == [0.0, 0.1, 0.2]
    assert table["log_joint_effective_draws"].tolist() == [10.0, 11.0, 12.0]


def test_errors_of_the_first_look_leave_the_burn_in_out():
    """Guards an error of the whole chain."""
    table = first_errors.errors([chain(0, [9.0] * 50 + [1.0, 2.0] * 25, NAN)])
    assert table["estimate"].tolist() == [1.5]
    assert table["draws"].tolist() == [50]


# -- routes ------------------------------------------------------------------------------------------------


def answered(truth=4.0):
    routes = list(ESTIMATES)
    table = pd.DataFrame(
        {
            "route": routes,
            "topics": [3.0, 4, 5, 6, 7, 8],
            "low": [2.0, 3, 4, 5, 6, 7],
            "high": [9.0, 10, 11, 12, 13, 14],
        }
        | {"large_topics": [NAN, NAN, NAN, 2.0, 3.0, 4.0], "apart": [False, True, False, False, False, False]}
        | {"at_the_edge": [True, False, False, False, False, False], "estimates": "something"}
    )
    params = {"alpha": 0.1, "eta": 0.1, "gamma": 1.0, "concentration": 1.0}
    return record("routes", "x", params, {"true_topics": truth}, answers=table)


def test_routes_draw_number_and_interval_of_every_route():
    """Guards swapped ends, a route in another's row, and the marks of an edge and of disagreement."""
    axis = routes_figures.draw_routes([answered()], "smoke").axes[0]
    intervals = [one for one in axis.get_lines() if len(one.get_xdata()) == 2 and one.get_transform() == axis.transData]
    places = [routes_figures.PLACE[route] for route in ESTIMATES]
    assert places == sorted(places, reverse=True)
    for number, (one, place) in enumerate(zip(intervals, places, strict=True)):
        assert line(one) == [(2.0 + number, place), (9.0 + number, place)]
        assert one.get_linestyle() == ("--" if number == 1 else "-")
    points = [one for one in axis.get_lines() if len(one.get_xdata()) == 1]
    filled = [one for one in points if one.get_markerfacecolor() != "white"]
    hollow = [one for one in points if one.get_markerfacecolor() == "white"]
    assert [line(one) for one in filled] == [[(3.0 + n, place)] for n, place in enumerate(places)]
    assert [one.get_marker() for one in filled] == ["D", *["o"] * 5]
    assert [line(one)[0][0] for one in hollow] == [2.0, 3.0, 4.0]
    assert [round(line(one)[0][1]) for one in hollow] == places[3:]
    assert [one.get_xdata()[0] for one in axis.get_lines() if one.get_transform() != axis.transData] == [4.0]
    assert axis.get_xscale() == "log"


def test_routes_table_says_where_to_doubt():
    """Guards remarks of another route, and ends that are swapped."""
    table = routes_tables.routes_table([answered()])
    assert table["route"].tolist() == list(ESTIMATES)
    assert [bool(remark) for remark in table["remark"]] == [True, True, False, False, False, False]
    assert table["remark"][0] != table["remark"][1]
    assert table.loc[2, ["topics", "low", "high", "true_topics"]].tolist() == [5.0, 4.0, 11.0, 4.0]
