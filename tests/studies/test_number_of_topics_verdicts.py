"""Claims of `number_of_topics` just inside and just outside their thresholds, and its tables by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau
from test_number_of_topics import evidences, named, scores, walk

from bayestopics.studies.errors import found, table_of
from bayestopics.studies.number_of_topics import (
    claims,
    claims_simulated,
    claims_small,
    constants,
    ladders,
    reading,
    tables,
)
from bayestopics.studies.number_of_topics.errors import share_of
from made_up import errors_from, parts, record

WHALES, BIRDS = claims.REAL


# -- PMMH ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("away", "arrival"), [(0, 1), (3, 60), (10, 200)])
def test_arrival_is_the_first_step_from_which_the_mean_stays(away, arrival):
    """Guards the half, and steps counted from 0: after n steps the mean is 20 + 10 away / n."""
    assert reading.arrival_at(walk("x", away * [30] + 990 * [20]), 20) == arrival
    assert reading.arrival_at(walk("x", away * [10] + 990 * [20]), 20) == arrival  # from below
    assert reading.arrival_at(walk("x", 990 * [20] + 600 * [30]), 20) is None  # it left again


@pytest.mark.parametrize(("away", "soon"), [(199, True), (200, False)])
def test_t1_in_under_four_thousand_steps(away, soon):
    """Guards the number of steps: 3980, and 4000, which is not under it."""
    made = [walk("lda-20", n * [30] + (9000 - n) * [20], inner=m) for n, m in ((away, 50), (100, 75))]
    assert parts(claims_simulated, "T1", *made) == [True, soon, True]


@pytest.mark.parametrize(("late", "soon"), [(1, True), (3, False)])
def test_t1_the_median_chain_counts(late, soon):
    """Guards the mean, the fastest and the slowest of five chains; with one m in time, the other still counts."""
    aways = [100, 100, 100, 100, 100]
    aways[:late] = late * [300]
    made = [walk("lda-20", n * [30] + (9000 - n) * [20], chain=c) for c, n in enumerate(aways, 1)]
    made += [walk("lda-20", n * [30] + (9000 - n) * [20], inner=75, chain=c) for c, n in enumerate(5 * [10], 1)]
    assert parts(claims_simulated, "T1", *made) == [True, soon, True]


def test_t1_every_chain_has_to_stay():
    """Guards a verdict on the median alone."""
    made = [walk("lda-20", 10 * [30] + 8990 * [20], inner=m, chain=c) for m in (50, 75) for c in (1, 2, 3)]
    made.append(walk("lda-20", 9000 * [30], chain=4))
    assert parts(claims_simulated, "T1", *made) == [False, True, True]


@pytest.mark.parametrize(("second", "faster"), [(90, True), (100, True), (110, False)])
def test_t1_larger_m_is_no_slower(second, faster):
    """Guards the direction, and chains that are not in the order of m."""
    made = [walk("lda-20", n * [30] + (9000 - n) * [20], inner=m) for n, m in ((second, 100), (100, 50))]
    assert parts(claims_simulated, "T1", *made) == [True, True, faster]


@pytest.mark.parametrize(("length", "expected"), [(3999, "not comparable"), (4000, [False, False, False])])
def test_t1_shorter_chains_are_not_judged(length, expected):
    """Guards how long a chain has to be that did not arrive."""
    made = [walk("lda-20", length * [30], inner=50), walk("lda-20", 9000 * [20], inner=75)]
    assert parts(claims_simulated, "T1", *made) == expected


@pytest.mark.parametrize(("step", "soon"), [(99, True), (100, False)])
def test_t4_in_under_a_hundred_steps_and_stays(step, soon):
    """Guards the hundred, and a chain that leaves 2 again."""
    there = (step - 1) * [30] + 100 * [2]
    assert parts(claims_simulated, "T4", walk("lda-20", there, sampler="prior")) == [soon, True]
    assert parts(claims_simulated, "T4", walk("lda-20", [*there, 3], sampler="prior")) == [soon, False]


# -- evidence ----------------------------------------------------------------------------------------------

TOPICS = range(3, 23)


def harmonic(z, psi):
    values = {"harmonic-z": z, "harmonic-psi": psi, "reference": np.zeros(20)}
    return [evidences("lda-20", name, dict(zip(TOPICS, map(float, v), strict=True))) for name, v in values.items()]


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(("swaps", "rises"), [(9, True), (10, False)])
def test_t5_rank_correlation_above_nine_tenths(which, swaps, rises):
    """Guards the threshold: of 190 pairs 9 or 10 in the wrong order are .905 and .895; both means count."""
    values = np.arange(20.0)
    order = np.concatenate([[swaps], np.arange(swaps), np.arange(swaps + 1, 20)])  # one value comes too early
    wrong = values[order]
    assert (kendalltau(TOPICS, wrong).statistic > 0.9) == rises
    both = [values, values]
    both[which] = wrong
    assert parts(claims_simulated, "T5", *harmonic(*(1000 * one for one in both)))[0] == rises


@pytest.mark.parametrize(("apart", "equal"), [(1.89, True), (1.91, False), (-1.91, False)])
def test_t5_a_tenth_of_the_range(apart, equal):
    """Guards the tenth of the range of 19, and differences of either sign, at any one T."""
    psi = np.arange(20.0)
    psi[7] += apart
    assert parts(claims_simulated, "T5", *harmonic(np.arange(20.0), psi))[1] == equal


def chib(**changes):
    values = {17: 0.0, 18: 1500.0, 19: 420.0, 20: 400.0, 21: 410.0} | {int(k[1:]): v for k, v in changes.items()}
    truth = evidences("lda-20", "reference", dict.fromkeys(values, 0.0))
    return [evidences("lda-20", "chib", values), truth]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [True, True, True]),
        ({"T17": 1600.0}, [False, True, True]),
        ({"T18": 1401.0}, [True, True, True]),
        ({"T18": 1399.0}, [True, False, True]),
        ({"T17": 1600.0, "T18": 1399.0}, [False, False, True]),
        ({"T19": 399.0}, [True, True, False]),
        ({"T21": 399.0}, [True, True, False]),
    ],
)
def test_t6_three_parts(changes, expected):
    """Guards where Chib peaks, the thousand nats, and that T = 20 is below both neighbours; in either reading."""
    assert parts(claims_simulated, "T6", *chib(**changes)) == expected
    flat = dict.fromkeys(range(17, 22), 0.0)
    other = evidences("lda-20", "chib-independent", flat)
    assert parts(claims_simulated, "T6", *chib(**changes), other) == expected
    made = [evidences("lda-20", "chib", flat), chib(**changes)[1]]
    values = tables.evidence_of(chib(**changes)[0]).to_dict()
    assert parts(claims_simulated, "T6", *made, evidences("lda-20", "chib-independent", values)) == expected


@pytest.mark.parametrize(("steps", "holds"), [(51, True), (50, False)])
def test_t7_over_half_of_the_mass_at_the_papers_t(steps, holds):
    """Guards the half, in the second half of every chain, and each corpus with its own T."""

    def real(corpus, topics, there, start):
        return walk(corpus, 100 * [40] + there * [topics] + (100 - there) * [topics + 9], start=start)

    yardsticks = [evidences(corpus, "reference", {t: 0.0, 20: 9.0}) for corpus, t in ((WHALES, 5), (BIRDS, 7))]
    made = [real(WHALES, 5, steps, 5), real(WHALES, 5, 90, 30), real(BIRDS, 7, 90, 5)]
    assert parts(claims, "T7", *made, *yardsticks) == [holds, True]
    assert parts(claims, "T7", *made[1:], walk(BIRDS, 200 * [5], start=60), *yardsticks) == [True, False]


@pytest.mark.parametrize(
    ("away", "expected"), [((499, 299), [True, True]), ((501, 299), [False, True]), ((499, 301), [True, False])]
)
def test_t8_in_at_most_twice_the_papers_steps(away, expected):
    """Guards the factor of two of 5000 and of 3000: the mean arrives after 20 steps for each that is ten away."""
    made = [walk(c, n * [t + 10] + 19_000 * [t]) for c, t, n in zip(claims.REAL, (5, 7), away, strict=True)]
    assert parts(claims, "T8", *made) == expected


@pytest.mark.parametrize(("length", "expected"), [(4999, "not comparable"), (5000, [False, True])])
def test_t8_shorter_chains_are_not_judged(length, expected):
    """Guards how long a chain has to be that did not arrive."""
    assert parts(claims, "T8", walk(WHALES, length * [30]), walk(BIRDS, 10 * [7])) == expected


@pytest.mark.parametrize(("scatter", "large"), [(10.1, True), (9.9, False)])
def test_t11_scatter_of_more_than_ten_nats_in_the_median(scatter, large):
    """Guards the ten nats, and a mean over T in place of the median; the best T is the same in all repeats."""
    made = []
    for corpus in claims.REAL:
        one = evidences(corpus, "pseudo-marginal", {3: 0.0, 4: 0.0, 5: 1000.0})
        scatters = {3: scatter, 4: scatter, 5: 200.0 if scatter < 10 else 0.1}
        steps = {t: s * np.array([-1.0, 0.0, 1.0]) for t, s in scatters.items()}  # of standard deviation s
        rows = [{"topics": t, "repeat": r, "log_estimate": 1e3 * t + v[r]} for t, v in steps.items() for r in range(3)]
        one.tables["estimates"] = pd.DataFrame(rows)
        made.append(one)
    assert parts(claims, "T11", *made) == [large, large]


def test_t11_another_best_t_in_another_repeat():
    """Guards the other way in which a variance is seen, and that each corpus is asked."""
    steady, changing = (evidences(name, "pseudo-marginal", {3: 0.0, 4: 0.0}) for name in claims.REAL)
    keys = {"topics": [3, 3, 4, 4], "repeat": [0, 1, 0, 1]}
    steady.tables["estimates"] = pd.DataFrame({**keys, "log_estimate": [0.0, 0.1, 1.0, 1.1]})
    changing.tables["estimates"] = pd.DataFrame({**keys, "log_estimate": [0.0, 0.1, 0.1, 0.0]})
    assert parts(claims, "T11", steady, changing) == [False, True]


# -- small corpora -------------------------------------------------------------------------------------------


def diffuse(masses=(0.25, 0.5, 0.25), mode=6, level=(5, 6, 7, 6), away=20, concentrated=6):
    estimated = walk("lda-20", 100 * [mode + 14], start=12)
    estimated.task.params["kind"] = "empirical"
    estimated.metrics.update(alpha=0.1, eta=0.5)
    object.__setattr__(estimated.task, "name", "lda-20-empirical")
    yardstick = evidences("lda-6-few", "reference", {t: np.log(p) for t, p in zip((5, 6, 7), masses, strict=True)})
    moving = walk("lda-6-few", away * [12] + 400 * list(level))
    return [estimated, walk("lda-6", 100 * [concentrated], start=3), yardstick, moving]


def t14(*records):
    return parts(claims_small, "T14", *records)


@pytest.mark.parametrize(("mode", "near"), [(5, True), (7, True), (4, False), (8, False)])
def test_t14_mode_within_one(mode, near):
    """Guards the one, on either side."""
    assert t14(*diffuse(mode=mode)) == [near, True, True]


@pytest.mark.parametrize(
    ("masses", "judged"), [((0.05, 0.899, 0.051), True), ((0.05, 0.901, 0.049), False), ((0.901, 0.05, 0.049), False)]
)
def test_t14_a_diffuse_posterior_has_no_t_above_nine_tenths(masses, judged):
    """Guards the threshold."""
    assert (t14(*diffuse(masses)) != "not comparable") == judged


def test_t14_later_than_on_the_larger_corpus():
    """Guards the direction, the mean of the yardstick's posterior, and a chain that never comes there."""
    assert t14(*diffuse(away=20)) == [True, True, True]
    assert t14(*diffuse(away=0, level=(6, 5, 7, 6))) == [True, True, False]
    assert t14(*diffuse(level=(7, 7, 7, 7))) == [True, False, False]
    assert t14(*diffuse(masses=(1 / 6, 1 / 6, 2 / 3), level=(6, 6, 7, 6), away=1))[1]  # its mean is 6.5


def t15(modes=(6,), score=8, chib=9, z=9, psi=9, corpora=("lda-6",)):
    made = []
    for corpus in corpora:
        best = {"chib": chib, "harmonic-z": z, "harmonic-psi": psi}
        made += [evidences(corpus, name, {6: 0.0, t: 1.0}) for name, t in best.items()]
        made += [walk(corpus, 10 * [mode], start=n) for n, mode in enumerate(modes)]
        made.append(record("score", f"{corpus}-leave-one-out", {}, {"best_topics": score}, corpus=corpus))
    return made


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"modes": (6, 7)}, [True, True, True]),
        ({"modes": (6, 8), "score": 8}, [False, True, True]),
        ({"score": 9}, [True, True, True]),
        ({"score": 10}, [True, False, True]),
        ({"score": 3}, [True, True, True]),
        ({"score": 6, "modes": (7,)}, [True, False, True]),  # nearer than PMMH
        ({"chib": 7}, [True, True, False]),
        ({"z": 5}, [True, True, False]),
        ({"psi": 8}, [True, True, True]),
        ({"psi": 7}, [True, True, False]),
    ],
)
def test_t15_within_one_and_within_three(changes, expected):
    """Guards the one, the three, who may not be nearer than whom, and every rival."""
    assert parts(claims_small, "T15", *t15(**changes)) == expected


def test_t15_takes_the_three_corpora_that_have_everything():
    """Guards a fourth corpus among the three, and one whose scores are missing."""
    good, bad = t15(corpora=claims_small.SMALL), t15(modes=(9,), chib=6)
    assert parts(claims_small, "T15", *good, *bad) == [True, True, True]
    assert parts(claims_small, "T15", *good[:-1], *bad) == [True, True, True]  # two of the three
    without = [one for one in good if "leave-one-out" not in one.task.name]
    assert parts(claims_small, "T15", *without, *bad)[0] is False  # none of the three: the one that replaces them
    worse = t15(modes=(9,), corpora=claims_small.SMALL[2:])
    assert parts(claims_small, "T15", *good, *worse)[0] is False


@pytest.mark.parametrize(
    ("score", "verdict"),
    [(4.5, "not reproduced"), (4.51, "reproduced"), (-4.5, "not reproduced"), (-4.51, "reproduced")],
)
@pytest.mark.parametrize("place", range(4))
def test_t13_more_than_four_and_a_half_errors(score, verdict, place):
    """Guards the number of errors, of either sign, at any T and m, and errors of another T or m."""
    errors = np.where(np.arange(4) == place, 1 / 16, 1.0)  # a sixteenth, so that the score is exact
    share = 0.5 + np.where(np.arange(4) == place, score / 16, 0.4)
    law = pd.DataFrame({"inner": [1, 1, 5, 5], "topics": [1, 2, 1, 2], "exact": 0.5, "share": share})
    law = pd.concat([law.assign(refreshed=False), law.assign(refreshed=True, share=0.9)])
    names = [share_of(row.topics, row.inner, row.refreshed) for row in law.itertuples()]
    all_errors = [*errors, *np.full(4, 1e-6)]
    rows = [
        found("enumerable-exact", name, "batch means", 9, share, error)
        for name, share, error in zip(names, law["share"], all_errors, strict=True)
    ]
    known = table_of(reversed(rows))
    assert parts(claims_small, "T13", record("exact", "enumerable-exact", law=law), errors=known) == verdict


def test_t9_best_among_all_and_within_two_errors_of_a_difference():
    """Guards the sum of the two errors' squares: the loss of 9.9 is below 2 * 5."""
    birds = scores(BIRDS, {7: (0.0, 1.0)})
    for loss, near in ((9.9, True), (10.1, False)):
        whales = scores(WHALES, {5: (-loss, 3.0), 12: (0.0, 4.0)})
        assert parts(claims, "T9", *named(whales, birds).values()) == [near, True]


# -- tables ------------------------------------------------------------------------------------------------


def test_posteriors_are_normalised_within_a_repeat():
    """Guards a sum over repeats, and estimates that are not exponentiated."""
    logs = [np.log(1.0), np.log(3.0), np.log(2.0), np.log(2.0)]
    table = tables.posteriors(pd.DataFrame({"topics": [2, 3, 2, 3], "repeat": [0, 0, 1, 1], "log_estimate": logs}))
    assert table.to_numpy().ravel().tolist() == pytest.approx([0.25, 0.75, 0.5, 0.5])


def test_running_mean_and_first_step():
    """Guards a moving mean, and steps counted from 0."""
    trace = pd.DataFrame({"topics": [4, 2, 3, 3]})
    assert tables.running_mean(trace).tolist() == [4, 3, 3, 3]
    assert [tables.first_step(trace, t) for t in (4, 3, 7)] == [1, 3, None]


def test_evidence_beside_the_yardstick():
    """Guards a difference upside down, means for medians, and seconds that are not of one estimate."""
    yardstick, other = (
        evidences("x", "reference", {2: 0.0, 3: 5.0, 4: 9.0}),
        evidences("x", "chib", {2: 9, 3: 7, 4: 99}),
    )
    for one in (yardstick, other):
        one.task.params.update(sweeps=10, repeats=3)
        one.volatile["sampling_seconds"] = 18.0
    row = tables.evidence_table([other, yardstick]).iloc[0]
    assert (row["best_topics"], row["best_topics_of_yardstick"]) == (4, 4)
    assert row["median_difference"] == 9.0  # of 9, 2, 90
    assert row["rank_correlation"] == pytest.approx(1 / 3)
    assert row["seconds_an_estimate"] == 2.0
    assert row["scatter"] == 20.0


def test_likeliest_topics_come_first():
    """Guards the order, and how many a table shows."""
    one = walk("x", 10 * [4])
    one.tables["posterior"] = pd.DataFrame({"topics": range(2, 9), "probability": np.arange(1, 8) / 28})
    shown = tables.walks_table([one])["posterior"][0].split(", ")
    assert [part.split(":")[0] for part in shown] == ["8", "7", "6", "5", "4"]
    assert float(shown[0].split(": ")[1].rstrip("%")) == 25.0


def estimates_of(path, steps, logs, seconds, backward=()):
    rows = [
        {"path": path, "steps": steps, "corpus": c, "repeat": r, "direction": d, "log_estimate": v}
        for d, groups in (("forward", logs), ("backward", backward))
        for c, values in enumerate(groups)
        for r, v in enumerate(values)
    ]
    return pd.DataFrame(rows).assign(seconds=lambda t: np.where(t["direction"] == "forward", seconds, 99.0))


def test_scatter_is_within_a_corpus_and_of_forward_estimates():
    """Guards a deviation over corpora, backward estimates among forward ones, and the sign of the gap."""
    table = estimates_of("ais", 10, [[0.0, 2.0], [100.0, 104.0]], 3.0, [[5.0], [106.0]])
    keys = ["path", "steps", "corpus", "repeat", "direction"]
    law = {"law": {"documents": 7, "length": 11}}
    one = record("ladder", "l", law, estimates=table.drop(columns="seconds"), timing=table[[*keys, "seconds"]])
    (row,) = ladders.scatter(one).to_dict("records")
    assert row["scatter"] == pytest.approx(np.sqrt((2 + 8) / 2))
    assert (row["seconds"], row["tokens"]) == (3.0, 77)
    assert row["gap"] == pytest.approx(((5 - 1) + (106 - 102)) / 2)


@pytest.mark.parametrize(
    ("scatters", "steps", "seconds"),
    [
        ((4.0, 0.25), 20.0, 2 * np.sqrt(10)),  # halfway in logs
        ((8.0, 2.0), 40 * 4.0, 20 * 4.0),  # as 1 / sqrt(steps)
        ((0.9, 0.5), 10.0, 2.0),
    ],
)
def test_one_nat(scatters, steps, seconds):
    """Guards the interpolation in logs, the extrapolation, and the shortest that is enough."""
    part = pd.DataFrame({"steps": [10, 40], "seconds": [2.0, 20.0], "scatter": scatters})
    assert ladders.one_nat(part.iloc[::-1])[:2] == pytest.approx((steps, seconds))


def test_a_constant_that_is_left_out_moves_the_best_t():
    """Guards the sign of what is left out: the smallest of the rest is not the largest."""
    one = evidences("x", "reference", {2: 0.0, 3: 1.0, 4: 2.0})
    slip = constants.constants(one, np.array([2, 3, 4]))[constants.SLIP]
    table = tables.constants_table([one]).set_index("left out")["x"]
    assert table["nothing"] == 4
    assert table[constants.SLIP] == 2 + int(np.argmax(np.arange(3.0) - slip))
    assert int(np.argmax(np.arange(3.0) - slip)) != int(np.argmax(np.arange(3.0) + slip))


def bounds(below19=(-90.0, -80.0), below20=(-70.0, -75.0), above20=(-50.0, -40.0), eta=0.5, terms=20):
    sides = (("below", 19, below19), ("below", 20, below20), ("above", 20, above20))
    rows = [
        {"side": s, "topics": t, "repeat": r, "log_estimate": v} for s, t, values in sides for r, v in enumerate(values)
    ]
    params = {"expected_topics": 20, "repeats": 2, "eta": eta}
    size = pd.DataFrame([{"documents": 3, "terms": terms}])
    return record("bounds", "wide-bounds", params, corpus="wide", estimates=pd.DataFrame(rows), size=size)


def test_bounds_take_the_best_of_each_side_and_pay_for_it():
    """Guards the worst for the best, the margin of ln 200 (two repeats, 99 %), and the constant."""
    row = tables.bounds_table([bounds()]).iloc[0]
    margin = np.log(200)
    assert row["from_below"] == pytest.approx(-70 - margin)
    assert row["from_above"] == pytest.approx(-50 + margin)
    assert row["gain_at_most"] == pytest.approx(30 + 2 * margin)
    assert row["log_gamma"] == pytest.approx(np.log(362880.0))  # G(10)
    assert row["gain_without_it_at_most"] == pytest.approx(30 + 2 * margin - np.log(362880.0))


@pytest.mark.parametrize(("terms", "told"), [(20, False), (2000, True)])
def test_t7_tells_where_the_constant_contradicts_the_paper(terms, told):
    """Guards a bound that says nothing, told as if it did; and fitted h."""
    made = [walk(WHALES, 10 * [5]), walk(BIRDS, 10 * [7])]
    made += [evidences(corpus, "reference", {t: 0.0, 20: 9.0}) for corpus, t in ((WHALES, 5), (BIRDS, 7))]
    fitted = evidences(WHALES, "reference", {5: 0.0, 20: 9.0, 30: 7.0})
    fitted.task.params.update(kind="fitted")
    object.__setattr__(fitted.task, "name", "whales-fitted")
    made += [fitted, bounds(terms=terms)]
    errors = errors_from("number_of_topics", *made)
    answer = claims.CLAIMS["T7"].answer({one.task.name: one for one in made}, errors, {})
    rows = answer.details.set_index("by")
    assert rows.loc["yardstick at fitted alpha, eta", "topics"] == 20
    assert (f"bounds without {constants.SLIP}" in rows.index) == told
    if told:
        assert rows.loc[f"bounds without {constants.SLIP}", "topics"] == 19
