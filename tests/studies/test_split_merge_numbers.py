"""Claims, tables and figures of `split_merge` by hand: just inside and just outside, and every number in its place."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from bayestopics.studies.errors import table_of
from bayestopics.studies.split_merge import claims, errors, figures, tables
from made_up import bars, curves, errors_from, lines, parts, record, time_of

SETTING = {"gamma": 1.0, "concentration": 2.0, "eta": 0.2, "start": 1}
SAMPLERS = tuple(tables.LABELS)


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def synthetic(first, *, separated=None, accepted=None, sweeps=1000, name="one", start=1, late=10):
    """`first`: sampler -> the sweep of every seed from which K is 10 (5 before it); infinite: never. `accepted`:
    sampler -> (before, after) of every seed. `separated`: sampler -> how many of the first topics, of every seed."""
    chains, matches = [], []
    for sampler, sweeps_of in first.items():
        for seed, since in enumerate(sweeps_of):
            sweep = np.arange(1, sweeps + 1)
            there = sweep >= since
            rates = (accepted or {}).get(sampler, [(0.5, 0.5)] * len(sweeps_of))[seed]
            columns = {"sweep": sweep, "topics": np.where(there, late, 5), "log_joint": 1.0 * sweep}
            columns |= {"splits": 100, "splits_accepted": np.where(sweep <= since, *(100 * np.array(rates)))}
            chains.append(pd.DataFrame(columns).assign(merges=0, merges_accepted=0, sampler=sampler, seed=seed))
            yes = np.arange(10) < (separated or {}).get(sampler, [0] * len(sweeps_of))[seed]
            columns = {"true": np.arange(10), "separated": yes, "recall": 0.2 + 0.1 * seed, "ceiling": 0.5}
            matches.append(pd.DataFrame(columns).assign(sampler=sampler, seed=seed))
    params = {**SETTING, "start": start, "sweeps": sweeps, "seeds": len(next(iter(first.values())))}
    made = {"chains": pd.concat(chains, ignore_index=True), "matches": pd.concat(matches, ignore_index=True)}
    timing = pd.DataFrame([(s, n, 2.0 + n) for s in first for n in range(params["seeds"])])
    timing.columns = ["sampler", "seed", "seconds"]
    arrays = {"topics": np.eye(10), "groups": np.ones((4, 10))}
    return record("synthetic", name, params, corpus="overlapping-topics", arrays=arrays, **made, timing=timing)


NEVER = [np.inf] * 3
SOON = {"gibbs": NEVER, "exact": [10] * 3, "exact-words": [10] * 3, "paper": [10] * 3}


# -- claims ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exact", "gibbs", "holds"),
    [
        ([1, 25, 900], [1001, 1001, 1], True),
        ([1, 26, 900], [1001, 1001, 1], False),
        ([1, 25, 900], [1000, 1000, 1], False),
    ],
)
def test_s1_medians_at_25_and_at_1000_sweeps(exact, gibbs, holds):
    """Guards both numbers, and means in place of medians. In the second half 10 is the most frequent everywhere."""
    made = synthetic({**SOON, "exact": exact, "gibbs": gibbs}, sweeps=4000)
    assert parts(claims, "S1", made) == [holds, gibbs[0] > 1000]


@pytest.mark.parametrize(("sweeps", "seeds", "judged"), [(1000, 3, True), (999, 3, False), (1000, 2, False)])
def test_s1_shorter_or_fewer_chains_are_not_judged(sweeps, seeds, judged):
    """Guards the fewest sweeps and seeds."""
    made = synthetic({name: first[:seeds] for name, first in SOON.items()}, sweeps=sweeps)
    assert (parts(claims, "S1", made) != "not comparable") == judged


@pytest.mark.parametrize(("spread", "falls"), [(0.0850, True), (0.0880, False)])
def test_s2_falls_by_two_errors_of_the_mean_difference(spread, falls):
    """Guards two standard errors over chains: falls of .1 - s, .1, .1 + s, and s / sqrt(3) is the error."""
    rates = [(0.5, 0.4 + away) for away in (-spread, 0.0, spread)]
    first = {**SOON, "exact": [100] * 3, "paper": [100] * 3}
    made = synthetic(first, accepted={"exact": rates, "paper": [(0.5, 0.1)] * 3})
    table = tables.acceptance_around(made, "exact")
    assert table["before"].tolist() == pytest.approx([0.5] * 3)
    assert table["after"].tolist() == pytest.approx([after for _, after in rates])
    assert parts(claims, "S2", made) == [falls, True]


@pytest.mark.parametrize(
    ("gibbs", "exact", "holds"),
    [
        ([1, 1, 1], [4, 4, 4], True),
        ([1, 1, 2], [4, 4, 4], False),
        ([0, 1, 2], [3, 4, 5], True),
        ([1, 1, 1], [4, 4, 3], False),
        ([0, 0, 0], [5, 5, 1], False),
    ],
)
def test_s3_at_most_one_and_at_least_four_in_the_mean(gibbs, exact, holds):
    """Guards both numbers, and that only the first five topics count."""
    made = synthetic(SOON, separated={"gibbs": gibbs, "exact": exact, "paper": [9, 9, 9]})
    assert parts(claims, "S3", made) == [holds, np.mean(gibbs) <= 1]


@pytest.mark.parametrize(("spread", "sooner"), [(85, True), (88, False)])
def test_s3b_sooner_by_two_errors(spread, sooner):
    """Guards the direction and two standard errors over seeds: leads of 100 - s, 100, 100 + s."""
    words = [110 - spread, 110, 110 + spread]
    assert parts(claims, "S3b", synthetic({**SOON, "exact-words": words})) == [sooner]


def perplexity(leads, *, corpus="nips-abstracts", early=0.0, sweeps=4):
    """`leads`: of every seed at the end. In the middle split-merge is `early` away from Gibbs."""
    chains, timing = [], []
    for seed, lead in enumerate(leads):
        for sampler, (middle, end) in {"gibbs": (7.5, 7.0), "exact": (7.5 + early, 7.0 + lead)}.items():
            names = (sampler, "paper") if sampler == "exact" else (sampler,)
            for name in names:
                keys = {"sampler": name, "seed": seed, "sweep": [0, 2, 4]}
                chains.append(pd.DataFrame({**keys, "topics": 3, "log_perplexity": [8.0, middle, end]}))
                timing.append(pd.DataFrame({**keys, "seconds": [0.0, 2.0, 4.0]}))
    params = {**SETTING, "sweeps": sweeps, "seeds": len(leads)}
    made = {"chains": pd.concat(chains, ignore_index=True), "timing": pd.concat(timing, ignore_index=True)}
    return record("perplexity", "one", params, corpus=corpus, **made)


@pytest.mark.parametrize(("spread", "lower"), [(0.085, True), (0.088, False)])
def test_s4_lower_by_two_errors_at_the_end_and_in_the_mean(spread, lower):
    """Guards the direction and two standard errors: leads of -.1 - s, -.1, -.1 + s."""
    made = perplexity([-0.1 - spread, -0.1, -0.1 + spread])
    assert parts(claims, "S4", made) == [lower] * 4  # the mean is a quarter of the end, and so is its error
    assert parts(claims, "S4", perplexity([0.1, 0.1, 0.101])) == [False] * 4


def test_s4_the_end_and_the_mean_are_two_cases():
    """Guards one of the two that is taken for both."""
    assert parts(claims, "S4", perplexity([-0.1, -0.1, -0.101], early=0.5)) == [True, False] * 2
    assert parts(claims, "S4", perplexity([0.1, 0.1, 0.101], early=-0.5)) == [False, True] * 2


# -- tables ------------------------------------------------------------------------------------------------


def test_second_halves_and_the_posterior_of_k():
    """Guards the burn-in: K is 10 from sweep 7 of 12 on, that is in 6 of 6 sweeps, or from sweep 10 on, in 3 of 6."""
    made = synthetic({"gibbs": [7, 10], "exact": [1, 1]}, sweeps=12)
    assert sorted(tables.second_half(made)["sweep"].unique()) == [7, 8, 9, 10, 11, 12]
    shares = tables.posterior(made)
    assert shares.loc["gibbs"].to_dict() == {5: 0.25, 10: 0.75}
    assert shares.loc["exact"].to_dict() == {5: 0.0, 10: 1.0}


def test_sweeps_to_the_bulk_from_below_and_from_above():
    """Guards the median of both samplers, the direction, and a chain that never comes there."""
    made = synthetic({"exact": [3, 4], "exact-words": [5, np.inf]}, sweeps=12)
    found = tables.sweeps_to_bulk(made, ("exact", "exact-words"))
    assert found.loc["exact"].tolist() == [3, 4]
    assert found.loc["exact-words"].tolist() == [5, 13]
    down = synthetic({"exact": [3, 4], "exact-words": [5, 6]}, sweeps=12, start=20, late=2)
    assert tables.sweeps_to_bulk(down, ("exact", "exact-words")).to_numpy().ravel().tolist() == [3, 4, 5, 6]


def test_mean_and_error():
    """Guards the divisor n - 1, and the root of n."""
    assert tables.mean_and_error([1.0, 2.0, 6.0]) == pytest.approx((3.0, np.sqrt(7.0 / 3)))
    assert np.isnan(tables.mean_and_error([1.0])[1])


def test_samplers_table():
    """Guards means over the first half, medians, shares of all moves, and seconds."""
    made = synthetic({**SOON, "exact": [10, 30, np.inf]}, accepted={"exact": [(0.5, 0.1)] * 3}, sweeps=100)
    table = tables.samplers_table([made], errors_from("split_merge", made)).set_index("sampler")
    row = table.loc[tables.LABELS["exact"]]
    assert row["topics"] == pytest.approx((10 + 10 + 5) / 3)
    assert row["topics_error"] == pytest.approx(tables.mean_and_error([10, 10, 5])[1])
    assert (row["most_frequent"], row["chains_with_all_topics"], row["median_first_sweep_with_all"]) == (10, 2, 30)
    assert row["share_of_true_topics"] == pytest.approx(2 / 3)
    assert row["splits_accepted"] == pytest.approx((0.5 * (10 + 30 + 100) + 0.1 * (90 + 70)) / 300)
    assert row["seconds"] == 3.0
    assert row["tokens_recalled"] == pytest.approx(0.3)
    gibbs = table.loc[tables.LABELS["gibbs"]]
    assert np.isnan(gibbs["splits_accepted"])
    assert (gibbs["chains_with_all_topics"], gibbs["topics"]) == (0, 5)


def test_perplexity_table_is_at_equal_seconds():
    """Guards the last evaluation of a slow chain, and logs that are not exponentiated."""
    made = perplexity([-1.0, -1.0])
    timing = made.tables["timing"]
    timing.loc[timing["sampler"] == "exact", "seconds"] *= 2  # in the common time it comes half as far
    table = tables.perplexity_table([made]).set_index("sampler")
    assert table.loc[tables.LABELS["exact"], "perplexity_at_equal_seconds"] == pytest.approx(np.exp(7.5))
    assert table.loc[tables.LABELS["gibbs"], "perplexity_at_equal_seconds"] == pytest.approx(np.exp(7.0))
    assert table.loc[tables.LABELS["exact"], "log_ratio_to_gibbs_end"] == pytest.approx(0.5)
    assert table.loc[tables.LABELS["exact"], "seconds"] == 8.0


CHAINS = [("plain", 0), ("plain", 1), ("blocked", 0), ("blocked", 1)]


def blocks():
    timing = pd.DataFrame(CHAINS, columns=["sampler", "seed"]).assign(seconds=[1.0, 2.0, 4.0, 5.0])
    sweep = np.arange(1, 11)
    chains = [
        pd.DataFrame({"sweep": sweep, "log_joint": -1000.0 * (n + sweep), "topics": sweep}).assign(sampler=s, seed=d)
        for n, (s, d) in enumerate(CHAINS)
    ]
    made = {"timing": timing, "chains": pd.concat(chains, ignore_index=True)}
    return record("blocks", "one", {**SETTING, "sweeps": 10}, {"tokens_in_blocks": 0.25}, **made)


def times_of(made):
    """Errors with the autocorrelation times of K and of the log joint of every chain."""
    times = {"K": (8.0, 4.0, 2.0, 2.0), "log joint": (10.0, 20.0, 5.0, 4.0)}
    return table_of(
        time_of(made, f"{quantity}, {sampler} {seed}", time)
        for quantity, all_times in times.items()
        for (sampler, seed), time in reversed(list(zip(CHAINS, all_times, strict=True)))
    )


def test_blocks_table():
    """Guards draws a second upside down, seconds for milliseconds, and the time of the other quantity."""
    plain, blocked = tables.blocks_table([blocks()], times_of(blocks())).to_dict("records")
    assert (plain["autocorrelation_topics"], plain["autocorrelation_log_joint"]) == (6.0, 15.0)
    assert plain["milliseconds_a_sweep"] == pytest.approx(150.0)
    assert plain["draws_a_second"] == pytest.approx((1 / (10 * 0.1) + 1 / (20 * 0.2)) / 2)
    assert blocked["autocorrelation_log_joint_error"] == pytest.approx(0.5)


def test_errors_are_of_the_second_half_of_each_chain():
    """Guards the burn-in, chains that are put together, and one quantity under the name of the other."""
    table = errors.errors([blocks(), record("perplexity", "other")])
    assert len(table) == 2 * 4
    assert table["estimate"].tolist()[:4] == [8.0, -8000.0, 8.0, -9000.0]
    assert table["draws"].tolist() == [5] * 8


# -- figures -----------------------------------------------------------------------------------------------


def test_topics_draw_the_posterior_and_k_over_the_sweeps():
    """Guards bars of another sampler, a mean that is another statistic, and a band that is not the range."""
    made = synthetic({"gibbs": [9, 11], "exact": [2, 2]}, sweeps=12)
    left, right = figures.draw_topics([made], "smoke").axes[:2]
    heights = [[bar.get_height() for bar in group] for group in left.containers]
    assert heights == [tables.posterior(made).loc[name].tolist() for name in ("gibbs", "exact")]
    centres = [[bar.get_x() + bar.get_width() / 2 for bar in group] for group in left.containers]
    assert np.allclose(np.mean(centres, axis=0), [5, 10])
    gibbs, exact = lines(right)
    assert gibbs == [(s, 5.0 if s < 9 else 7.5 if s < 11 else 10.0) for s in range(1, 13)]
    assert exact == [(s, 5.0 if s < 2 else 10.0) for s in range(1, 13)]
    edges = right.collections[0].get_paths()[0].vertices
    assert {(x, y) for x, y in edges if x == 9} >= {(9.0, 5.0), (9.0, 10.0)}
    truth = [one.get_xdata()[0] for one in left.get_lines()]
    assert truth == [10]


def test_acceptance_is_a_share_with_its_binomial_error():
    """Guards proposed over accepted, and errors without the number of moves."""
    made = synthetic(SOON, accepted=dict.fromkeys(SAMPLERS, [(0.5, 0.2)] * 3), sweeps=200)
    (axis,) = figures.draw_acceptance([made], "smoke").axes[:1]
    drawn = curves(axis)
    assert list(drawn) == [tables.LABELS[name] for name in SAMPLERS[1:]]
    shares = [share for _, share in drawn[tables.LABELS["exact"]]]
    assert shares[0] == pytest.approx(0.5)
    assert shares[-1] == pytest.approx(0.2)
    (x, low, high) = bars(axis)[-1]
    edges = np.unique(np.round(np.geomspace(1, 201, figures.BINS + 1)).astype(int))
    moves = 3 * 100 * (edges[-1] - edges[-2])
    assert (high - low) / 2 == pytest.approx(np.sqrt(0.16 / moves))
    assert edges[-2] < x < edges[-1]


def test_perplexity_is_drawn_over_seconds_and_as_a_ratio():
    """Guards logs for perplexities, and the ratio upside down."""
    upper, lower = figures.draw_perplexity([perplexity([-0.5, -0.5])], "smoke").axes[:2]
    drawn = lines(upper)
    assert len(drawn) == 2 * 3
    assert np.allclose(drawn[0], [(0, np.exp(8)), (2, np.exp(7.5)), (4, np.exp(7))])
    exact = lines(lower)[0]
    assert exact[-1] == pytest.approx((1.0, np.exp(-0.5)))
    assert exact[0] == pytest.approx((0.0, 1.0))


def test_confusion_is_a_share_of_the_true_topics_tokens():
    """Guards a transposed matrix, and shares of the found topic."""
    made = synthetic({key: [1] for key in figures.CONFUSED}, sweeps=2)
    rows = [
        {"true": 0, "found": 0, "tokens": 3},
        {"true": 0, "found": 1, "tokens": 1},
        {"true": 1, "found": 1, "tokens": 4},
    ]
    confusion = [pd.DataFrame(rows).assign(sampler=s, seed=seed) for s in figures.CONFUSED for seed in (0, 1)]
    made.tables["confusion"] = pd.concat(confusion, ignore_index=True)
    axis = figures.draw_confusion([made], "smoke").axes[0]
    shown = axis.get_images()[0].get_array()
    assert shown.shape == (10, 2)
    assert shown[:2].tolist() == [[0.75, 0.25], [0.0, 1.0]]


def test_blocks_are_drawn_over_sweeps_and_seconds():
    """Guards seconds of a sweep of the other chain, and the times of K and of the log joint in each other's place."""
    first, second, in_sweeps, in_seconds = figures.draw_blocks([blocks()], "smoke", times_of(blocks())).axes[:4]
    assert lines(first)[2][:2] == [(1, -3.0), (2, -4.0)]
    assert np.allclose(lines(second)[2][:2], [(0.4, -3.0), (0.8, -4.0)])
    dots = [one for one in in_sweeps.get_lines() if one.get_marker() == "o"]
    assert [one.get_xdata().tolist() for one in dots] == [[10, 20], [8, 4], [5, 4], [2, 2]]
    assert [one.get_ydata()[0] for one in dots] == [0, 2.6, 1, 3.6]
    dots = [one for one in in_seconds.get_lines() if one.get_marker() == "o"]
    assert np.allclose([one.get_xdata() for one in dots], [[1, 4], [0.8, 0.8], [2, 2], [0.8, 1.0]])


def test_law_has_the_exact_posterior_and_the_range_of_every_sampler():
    """Guards bars of another sampler or case, and error bars that are not the range over seeds."""
    exact = pd.DataFrame({"case": 0, "topics": [1, 2], "probability": [0.4, 0.6]})
    rows = [
        {"case": case, "sampler": s, "seed": seed, "topics": k, "probability": p}
        for case in (0, 1)
        for n, s in enumerate(tables.LABELS)
        for seed in (0, 1)
        for k, p in ((1, 0.1 * (n + 1) + 0.02 * seed + 0.4 * case), (2, 0.9 - 0.1 * (n + 1) - 0.02 * seed))
    ]
    case = {"documents": [[0, 1]], "gamma": 1.0, "concentration": 1.0, "eta": 1.0}
    made = record("law", "law", {"cases": [case]}, exact=exact, shares=pd.DataFrame(rows))
    axis = figures.draw_law([made], "smoke").axes[0]
    groups = [one for one in axis.containers if hasattr(one, "patches")]
    heights = [[bar.get_height() for bar in group] for group in groups]
    assert heights[0] == [0.4, 0.6]
    for number, group in enumerate(groups[1:]):
        low = 0.1 * (number + 1)
        assert heights[number + 1] == pytest.approx([low + 0.01, 0.89 - low])
        segments = group.errorbar.lines[2][0].get_segments()
        assert next(one[:, 1].tolist() for one in segments) == pytest.approx([low, low + 0.02])


def test_the_first_sweep_with_all_topics_may_have_more():
    """Guards a chain that goes through 10 at once and is said never to have found all."""
    found = tables.first_sweeps(synthetic({"exact": [7, np.inf]}, sweeps=12, late=13))
    assert found.loc["exact"].tolist() == [7, np.inf]
