"""What the figures of `blocking` draw: the numbers of made-up records, each in its place."""

import numpy as np
import pytest
from matplotlib import pyplot
from test_blocking_verdicts import times

from bayestopics.studies.blocking import figures
from bayestopics.studies.blocking.compute_chain import STATISTICS
from bayestopics.studies.errors import table_of
from made_up import curves, line, lines, record, time_of


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def chain(sampler, number, *, level, seconds, joint=0.0):
    """40 sweeps; the perplexity has a value in each tenth sweep."""
    sweep = np.arange(40)
    perplexity = np.where(sweep % 10 == 9, level + sweep, np.nan)
    trace = {"sweep": sweep, "log_joint": -100.0 * level + sweep, "perplexity": perplexity}
    metrics = {"log_joint": joint, "log_joint_spread": 1.0, "perplexity": 1.0}
    params = {"sampler": sampler, "topics": 3, "sweeps": 40}
    volatile = {"seconds_a_sweep": seconds}
    timing = {"sweep": sweep, "seconds": np.full(40, seconds)}
    return record("chain", f"{sampler}-{number}", params, metrics, volatile=volatile, trace=trace, timing=timing)


def known(*made):
    """(chain, its autocorrelation times) -> errors."""
    rows = [
        time_of(one, name.replace("_", " "), time)
        for one, times_of in made
        for name, time in zip(STATISTICS, times_of, strict=True)
    ]
    return table_of(rows)


def test_mixing_draws_every_run_and_their_median_over_sweeps_and_seconds():
    """Guards the mean for the median, sweeps counted from 0, seconds that are not added up, and swapped rows."""
    made = [chain("grouped", n, level=level, seconds=s) for n, (level, s) in enumerate([(1, 1.0), (2, 2.0), (9, 9.0)])]
    figure = figures.draw_mixing(made, "smoke")
    upper, upper_seconds, lower, lower_seconds = figure.axes
    assert len(lines(upper)) == 4
    assert lines(upper)[-1] == [(s + 1, -200.0 + s) for s in range(40)]
    assert lines(upper)[2] == [(s + 1, -900.0 + s) for s in range(40)]
    assert lines(upper_seconds)[-1] == [(2.0 * (s + 1), -200.0 + s) for s in range(40)]
    assert lines(lower)[-1] == [(s + 1, 2.0 + s) for s in (9, 19, 29, 39)]
    assert lines(lower_seconds)[0] == [(s + 1.0, 1.0 + s) for s in (9, 19, 29, 39)]
    assert upper_seconds.get_xscale() == "log"
    assert upper.get_xscale() == "linear"


def test_autocorrelation_in_sweeps_left_and_in_seconds_right_without_trapped_runs():
    """Guards statistics in each other's row, seconds of another run, and dots of trapped runs."""
    made = [chain("grouped", n, level=1, seconds=s) for n, s in enumerate((1.0, 2.0, 30.0))]
    trapped = chain("grouped", 3, level=1, seconds=1.0, joint=-100.0)
    errors = known(*((one, (2.0, 3.0, 4.0)) for one in made), (trapped, (900.0, 900.0, 900.0)))
    left, right = figures.draw_autocorrelation([*made, trapped], "smoke", errors).axes
    for row, time in enumerate((2.0, 3.0, 4.0)):
        dots, middle = left.get_lines()[2 * row : 2 * row + 2]
        assert line(dots) == [(time, row)] * 3
        assert line(middle) == [(time, row)]
        dots, middle = right.get_lines()[2 * row : 2 * row + 2]
        assert line(dots) == [(time, row), (2 * time, row), (30 * time, row)]
        assert line(middle) == [(2 * time, row)]
    low, high = left.get_ylim()
    assert low > high  # the first statistic is on top, as its label


def test_samplers_of_a_corpus_stand_beside_each_other():
    """Guards colours and offsets that are mixed up."""
    made = [chain(name, 0, level=1, seconds=1.0) for name in ("grouped", "sparse")]
    errors = known((made[0], (5.0, 5.0, 5.0)), (made[1], (7.0, 7.0, 7.0)))
    axis = figures.draw_autocorrelation(made, "smoke", errors).axes[0]
    first, second = axis.get_lines()[0], axis.get_lines()[6]
    assert (first.get_xdata()[0], second.get_xdata()[0]) == (5, 7)
    assert first.get_ydata()[0] == -second.get_ydata()[0] < 0
    assert first.get_color() == figures.LOOK["grouped"]["color"] != second.get_color()


def test_times_and_their_ratio_to_single_site():
    """Guards the ratio upside down, another reference, and one thread taken for several."""
    seconds = {("single-site", 1): {8: [1.0], 64: [2.0]}, ("sparse", 1): {8: [4.0], 64: [1.0]}}
    seconds["sparse", 2] = {8: [3.0], 64: [0.5]}
    upper, lower = figures.draw_times([times("kos", seconds)], "smoke").axes
    drawn = curves(upper)
    assert drawn["single-site"] == [(8, 1.0), (64, 2.0)]
    assert drawn["sparse"] == [(8, 4.0), (64, 1.0)]
    assert list(drawn.values())[2] == [(8, 3.0), (64, 0.5)]
    ratios = curves(lower)
    assert ratios["single-site"] == [(8, 1.0), (64, 1.0)]
    assert ratios["sparse"] == [(8, 4.0), (64, 0.5)]
    assert list(ratios.values())[2] == [(8, 3.0), (64, 0.25)]
    styles = [one.get_linestyle() for one in upper.get_lines()[:3]]
    assert styles == ["-", "-", ":"]
    assert (upper.get_yscale(), lower.get_yscale()) == ("log", "log")
