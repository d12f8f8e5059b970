"""Claims of `blocking` just inside and just outside their thresholds, and its tables and errors by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

from bayestopics.studies.blocking import claims, errors, tables
from bayestopics.studies.blocking.compute_chain import STATISTICS
from bayestopics.studies.errors import table_of
from made_up import parts, record, time_of

TRAPPED = {"single-site": 5, "blocked-nested": 5, "grouped": 10}


def chain(sampler, number, corpus="bars", *, joint=0.0, spread=1.0, perplexity=1.0, seconds=1.0, trace=None):
    metrics = {"log_joint": joint, "log_joint_spread": spread, "perplexity": perplexity}
    params = {"sampler": sampler, "run": number, "topics": 3, "sweeps": 40}
    given = {"trace": {"log_joint": trace}} if trace is not None else {}
    name = f"{corpus}-{sampler}-run{number}"
    return record("chain", name, params, metrics, corpus=corpus, volatile={"seconds_a_sweep": seconds}, **given)


def with_times(made):
    """(chain, its autocorrelation time of the log joint) -> the chains, and errors with their times. Those of the
    second and of the third statistic are 100 and 200 sweeps longer."""
    rows = [
        time_of(one, name.replace("_", " "), 100.0 * number + time)
        for one, time in made
        for number, name in enumerate(STATISTICS)
    ]
    return [one for one, _ in made], table_of(rows)


def times(corpus, seconds):
    """{(sampler, threads): {topics: [a number a round]}}"""
    rows = [
        {"sampler": sampler, "threads": threads, "topics": topics, "round": number, "seconds": value}
        for (sampler, threads), by_topics in seconds.items()
        for topics, rounds in by_topics.items()
        for number, value in enumerate(rounds)
    ]
    return record("times", f"{corpus}-times", corpus=corpus, timing=pd.DataFrame(rows))


# -- B1 --------------------------------------------------------------------------------------------------


def bars(trapped=None, perplexities=None):
    """Thirty runs of each sampler; of a group of perplexities all but the first are above the one before."""
    trapped = TRAPPED | (trapped or {})
    made = []
    for sampler, low in ({"single-site": 1.0, "blocked-nested": 1.0, "grouped": 2.0} | (perplexities or {})).items():
        for number in range(30):
            joint = -100.0 if number < trapped[sampler] else 0.0
            made.append(chain(sampler, number, joint=joint, perplexity=low + 1e-3 * number))
    return made


def test_b1_the_share_of_trapped_runs_is_tested_at_five_percent():
    """Guards the level of Fisher's test, and that every sampler has to agree."""
    pvalues = {k: fisher_exact([[k, 30 - k], [5, 25]]).pvalue for k in range(5, 30)}
    first = min(k for k, p in pvalues.items() if p <= 0.05)
    assert pvalues[first - 1] > 0.05
    for sampler in ("single-site", "blocked-nested"):
        assert parts(claims, "B1", *bars({sampler: first - 1}))[0]
        assert not parts(claims, "B1", *bars({sampler: first}))[0]


def test_b1_both_collapsed_samplers_have_to_be_lower():
    """Guards against one of two that is enough, and against the other direction."""
    assert parts(claims, "B1", *bars())[1]
    assert not parts(claims, "B1", *bars(perplexities={"single-site": 3.0}))[1]
    assert not parts(claims, "B1", *bars(perplexities={"blocked-nested": 3.0}))[1]


# -- rank tests ------------------------------------------------------------------------------------------


def ranked(corpus, metric, blocked, single):
    groups = {"blocked-nested": blocked, "single-site": single}
    trace = np.zeros(10)
    return [
        chain(sampler, number, corpus, **{metric: value, "trace": trace})
        for sampler, values in groups.items()
        for number, value in enumerate(values)
    ]


# of four and four, p is 2/70 = .029 with one pair in the wrong order, and 4/70 = .057 with two
ONE_WRONG, TWO_WRONG = ([1.0, 2, 3, 5], [4.0, 6, 7, 8]), ([1.0, 2, 3, 6], [4.0, 5, 7, 8])


@pytest.mark.parametrize(("values", "lower"), [(ONE_WRONG, True), (TWO_WRONG, False)])
def test_b3_perplexity_is_lower_at_five_percent(values, lower):
    """Guards the level and the direction of the rank test."""
    assert parts(claims, "B3", *ranked("kos", "perplexity", *values))[1] == lower
    assert not parts(claims, "B3", *ranked("kos", "perplexity", *reversed(values)))[1]


@pytest.mark.parametrize(("values", "higher"), [(ONE_WRONG, True), (TWO_WRONG, False)])
def test_b3_log_posterior_is_not_higher_at_five_percent(values, higher):
    """Guards the direction: the first part fails only where blocked is higher."""
    assert parts(claims, "B3", *ranked("kos", "joint", *reversed(values)))[0] == (not higher)
    assert parts(claims, "B3", *ranked("kos", "joint", *values))[0]


@pytest.mark.parametrize(("runs", "judged"), [(3, False), (4, True)])
def test_b3_four_runs_are_enough(runs, judged):
    """Guards the fewest runs that are judged."""
    found = parts(claims, "B3", *ranked("kos", "perplexity", range(runs), range(10, 10 + runs)))
    assert (found != "not comparable") == judged


@pytest.mark.parametrize(("values", "lower"), [(ONE_WRONG, True), (TWO_WRONG, False)])
def test_b4_perplexity_is_lower_at_five_percent(values, lower):
    """Guards the level and the direction of the rank test."""
    assert parts(claims, "B4", *ranked("nips", "perplexity", *values))[1] == lower


@pytest.mark.parametrize(("sooner", "holds"), [(199, False), (200, True), (-200, False)])
def test_b4_two_hundred_sweeps_sooner(sooner, holds):
    """Guards the number of sweeps, and that the level is the lower one of the two ends."""
    at = {"single-site": 500, "blocked-nested": 500 - sooner}
    ends = {"single-site": 0.0, "blocked-nested": 7.0}
    made = [
        chain(
            sampler, n, "nips", joint=ends[sampler], trace=np.where(np.arange(1000) >= at[sampler], ends[sampler], -9)
        )
        for sampler in at
        for n in range(4)
    ]
    assert parts(claims, "B4", *made)[0] == holds


# -- B5 and T12 ------------------------------------------------------------------------------------------


def clocks(kos=(2.5, 2.5, 2.5), nips=(1.25, 1.25, 1.25), nested=((0.9, 0.9, 0.9), (0.9, 0.9, 0.9))):
    """Ratios to single-site at T = 8, 64 and 1024."""
    made = []
    for corpus, backward, of_nested in zip(("kos", "nips"), (kos, nips), nested, strict=True):
        topics = (8, 64, 1024)
        seconds = {("single-site", 1): {key: [3.0] for key in topics}, ("sparse", 1): {key: [1.0] for key in topics}}
        seconds["blocked-backward", 1] = {t: [3.0 * r] for t, r in zip(topics, backward, strict=True)}
        seconds["blocked-nested", 1] = {t: [3.0 * r] for t, r in zip(topics, of_nested, strict=True)}
        seconds["blocked-nested", 2] = {key: [90.0] for key in topics}  # of another number of threads
        made.append(times(corpus, seconds))
    return made


@pytest.mark.parametrize(
    ("ratios", "holds"), [((2.01, 3, 3), True), ((2.0, 3, 3), False), ((9, 1.9, 9), False), ((9, 9, 1.9), False)]
)
def test_b5_backward_over_twice_as_slow_at_every_t(ratios, holds):
    """Guards the factor of two, and the least ratio: one T below it is enough."""
    assert parts(claims, "B5", *clocks(kos=ratios)) == [holds, True, True]


@pytest.mark.parametrize(
    ("ratios", "holds"),
    [
        ((1.0, 1.0, 1.0), True),
        ((1.5, 1.5, 1.5), True),
        ((1.52, 1.52, 1.52), False),
        ((0.98, 0.98, 0.98), False),
        ((1.2, 1.3, 9.0), True),
        ((1.2, 1.6, 1.7), False),
    ],
)
def test_b5_backward_a_quarter_slower_in_the_median(ratios, holds):
    """Guards both ends of 1.25 +- .25, and the median against the mean."""
    assert parts(claims, "B5", *clocks(nips=ratios)) == [True, holds, True]


@pytest.mark.parametrize(
    ("kos", "nips", "holds"),
    [
        ((2.0, 2.0, 0.99), (2.0, 2.0, 0.99), True),
        ((0.5, 0.5, 1.0), (0.5, 0.5, 0.5), False),
        ((0.5, 0.5, 0.5), (0.5, 0.5, 1.0), False),
    ],
)
def test_b5_nested_saves_at_the_largest_t_on_both(kos, nips, holds):
    """Guards which T counts, and that both corpora have to show it."""
    assert parts(claims, "B5", *clocks(nested=(kos, nips))) == [True, True, holds]


@pytest.mark.parametrize(("ratio", "holds"), [(1.0, False), (1.01, True), (3.0, True), (3.01, False)])
def test_t12_mixes_more_slowly_but_not_by_much(ratio, holds):
    """Guards both ends, and medians that leave out a trapped run."""
    made = [(chain("single-site", n, "whales"), t) for n, t in enumerate((1.0, 2.0, 90.0))]
    made += [(chain("grouped", n, "whales"), ratio * t) for n, t in enumerate((1.0, 2.0, 90.0))]
    chains, known = with_times([*made, (chain("grouped", 3, "whales", joint=-100.0), 1e6)])
    clock = times("kos", {("grouped", 1): {8: [1.5]}, ("grouped", 2): {8: [1.0]}})
    assert parts(claims, "T12", *chains, clock, errors=known) == [holds, True]


@pytest.mark.parametrize(("seconds", "threads", "holds"), [(1.5, 2, True), (1.49, 2, False), (1.5, 1, False)])
def test_t12_parallelises(seconds, threads, holds):
    """Guards the speed-up, its median over T, and that one thread is no parallel run."""
    both = (("single-site", 1.0), ("grouped", 2.0))
    chains, known = with_times([(chain(sampler, n, "whales"), t) for sampler, t in both for n in range(2)])
    by_threads = {("grouped", 1): {8: [seconds], 16: [seconds], 32: [90.0]}}
    if threads > 1:
        by_threads["grouped", threads] = {key: [1.0] for key in (8, 16, 32)}
    assert parts(claims, "T12", *chains, times("kos", by_threads), errors=known)[1] == holds


# -- tables ------------------------------------------------------------------------------------------------


def test_trapped_is_more_than_ten_of_the_median_deviation():
    """Guards the threshold, and a mean of the deviations in place of their median."""
    made = [chain("a", n, joint=j, spread=s) for n, (j, s) in enumerate([(0, 1), (-10, 1), (-10.5, 50)])]
    assert list(tables.trapped(made).values()) == [False, False, True]


def test_summary_has_medians_and_leaves_trapped_runs_out_of_times():
    """Guards means for medians, quartiles, and times of trapped runs."""
    numbers = [(0, 1, 2, 1), (-1, 2, 4, 2), (-2, 9, 12, 9), (-99, 30, 1000, 50)]
    made = [(chain("a", n, joint=j, perplexity=p, seconds=s), t) for n, (j, p, t, s) in enumerate(numbers)]
    (row,) = tables.summary_table(*with_times(made)).to_dict("records")
    assert (row["runs"], row["trapped"]) == (4, 1)
    assert (row["log_joint"], row["perplexity"], row["seconds_a_sweep"]) == (-1.5, 5.5, 5.5)
    assert [row[f"autocorrelation_{name}"] for name in STATISTICS] == [4, 104, 204]
    assert row["perplexity_quartiles"].split(" to ") == ["1.75", "14.25"]


def test_seconds_are_medians_of_rounds():
    """Guards the mean over rounds, and a mix of numbers of threads."""
    made = times("kos", {("a", 1): {8: [1.0, 2.0, 9.0]}, ("a", 4): {8: [0.5, 0.7, 0.6]}})
    found = tables.seconds_a_sweep(made)
    assert found.loc[8, ("a", 1)] == 2.0
    assert found.loc[8, ("a", 4)] == 0.6
    (one, four) = tables.times_table([made]).to_dict("records")
    assert [one[key] for key in ("threads", "median", "min", "max")] == [1, 2.0, 1.0, 9.0]
    assert [four[key] for key in ("threads", "median", "min", "max")] == [4, 0.6, 0.5, 0.7]


def test_errors_are_of_the_second_half_of_every_statistic():
    """Guards the burn-in, and a statistic under the name of another."""
    trace = {name: np.repeat([900.0, number], 50) for number, name in enumerate(STATISTICS)}
    table = errors.errors([record("chain", trace=trace), record("times", "other")])
    assert table["estimate"].tolist() == [0.0, 1.0, 2.0]
    assert table["draws"].tolist() == [50, 50, 50]
