"""Every method's number of topics, side by side: the table and the figure, from made-up records."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from bayestopics.runs.result import Result
from bayestopics.runs.task import Task
from bayestopics.studies.number_of_topics.errors import errors
from bayestopics.studies.number_of_topics.figures import ANSWERS, STILL_RISING, draw_answers
from bayestopics.studies.number_of_topics.tables import answers_table


def record(kind, tables, corpus="mine", **params):
    params = {"kind": kind, "expected_topics": 5, **params}
    task = Task("number_of_topics", "smoke", f"{corpus}-{kind}-{params}", params, 1, corpus, "f", "c")
    return Result(task, {}, tables={name: pd.DataFrame(table) for name, table in tables.items()})


def evidence(log_evidence, errors, repeats, **way):
    table = {"topics": [2, 4, 8, 16], "log_evidence": log_evidence, "standard_error": errors}
    return record("evidence", {"evidence": table}, repeats=repeats, **way)


def errors_of(records):
    return errors([one for one in records if one.task.params["kind"] == "evidence"])


YARDSTICK = {"method": "annealing", "path": "reference"}


def row_of(one):
    (row,) = answers_table([one], errors_of([one])).to_dict("records")
    return row["low"], row["topics"], row["high"], row["at_the_edge"]


def test_evidence_leaves_open_what_its_errors_do_not_exclude():
    """With 3 repeats Student's quantile is 4.303: a difference of hypot(4.303 * .1, 4.303 * .1) = .609 is the limit."""
    assert row_of(evidence([-9.0, -0.6, 0.0, -0.62], [0.1] * 4, 3, **YARDSTICK)) == (4, 8, 8, False)
    assert row_of(evidence([-9.0, -0.62, 0.0, -0.6], [0.1] * 4, 3, **YARDSTICK)) == (8, 8, 16, False)


def test_an_unknown_error_has_no_range():
    assert row_of(evidence([-9.0, 0.0, -0.1, -0.2], [np.nan] * 4, 1, method="chib")) == (4, 4, 4, False)


def test_the_largest_number_that_was_tried_is_an_edge_and_the_smallest_is_none():
    assert row_of(evidence([-9.0, -8.0, -7.0, 0.0], [0.1] * 4, 3, **YARDSTICK))[-1]
    assert not row_of(evidence([0.0, -8.0, -7.0, -9.0], [0.1] * 4, 3, **YARDSTICK))[-1]


def test_pmmh_is_the_second_half_of_a_chain():
    """The first half, at 40, is burn-in; of the second 95 % lie at 20 and 21."""
    trace = {"topics": [40] * 100 + [20] * 60 + [21] * 38 + [30] * 2}
    assert row_of(record("pmmh", {"trace": trace}, start=40)) == (20, 20, 21, False)


def test_the_score_takes_its_best():
    assert row_of(record("score", {"scores": {"topics": [2, 3, 4], "log_score": [-3.0, -1.0, -2.0]}})) == (
        3,
        3,
        3,
        False,
    )


def test_the_figure_shows_the_table():
    walks = [
        record("pmmh", {"trace": {"topics": [9] * 4}}, start=3),
        record("pmmh", {"trace": {"topics": [7] * 4}}, start=9),
    ]
    rising = evidence([-9.0, -8.0, -7.0, 0.0], [np.nan] * 4, 1, method="chib")
    figure = draw_answers([*walks, rising], "smoke", {"mine": "My corpus"}, ["mine"], errors_of([rising]))
    (axis,) = figure.axes
    marks = [line for line in axis.lines if line.get_marker() in ("o", STILL_RISING)]
    shown = {
        float(np.ravel(line.get_xdata())[0]): (line.get_marker(), float(np.ravel(line.get_ydata())[0]))
        for line in marks
    }
    drawn = [method for method in ANSWERS if method in ("pmmh", "chib")]  # a method without a run has no line
    place = {method: len(drawn) - 1 - number for number, method in enumerate(drawn)}
    assert {topics: mark for topics, (mark, _) in shown.items()} == {9.0: "o", 7.0: "o", 16.0: STILL_RISING}
    assert shown[16.0][1] == pytest.approx(place["chib"])
    assert shown[9.0][1] > place["pmmh"] > shown[7.0][1]  # one below the other
    texts = [text.get_text() for text in axis.texts]
    assert "truth: 5" in texts
    assert "9, 7" in texts
    plt.close(figure)
    other = draw_answers([rising], "smoke", {"mine": "My corpus"}, [], errors_of([rising]))
    assert "the paper: 5" in [text.get_text() for text in other.axes[0].texts]
    plt.close(other)


def test_corpora_without_records_and_without_a_known_number_are_no_fault():
    walk = record("pmmh", {"trace": {"topics": [9] * 4}}, start=3, expected_topics=None)
    figure = draw_answers([walk], "smoke", {"mine": "My corpus", "other": "Not run"}, [], errors_of([]))
    (axis,) = figure.axes
    assert [text.get_text() for text in axis.texts if ":" in text.get_text()] == []
    plt.close(figure)
