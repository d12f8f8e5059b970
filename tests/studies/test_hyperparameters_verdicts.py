"""Claims of `hyperparameters` just inside and just outside their thresholds, and its tables by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from test_hyperparameters import TRUTHS, ask, coverage, functional, nine, rivals, six, steps, surface

from bayestopics.hyper.search import FLAT, TOO_FEW_TRIPS
from bayestopics.studies.hyperparameters import claims, tables
from made_up import parts

ROOT = np.sqrt(2)


# -- H1 ----------------------------------------------------------------------------------------------------


def grid(count, documents=200, settled=True, **more):
    made = steps(count, settled=count if settled else None, **more)
    for record in made:
        record.tables["steps"]["documents"] = documents
    return made


@pytest.mark.parametrize(("count", "in_time"), [(11, False), (12, True), (27, True), (28, False)])
def test_h1_within_a_factor_of_one_and_a_half(count, in_time):
    """Guards both ends of the number of steps."""
    assert parts(claims, "H1", *grid(count)) == [in_time, True]


@pytest.mark.parametrize(("documents", "few"), [(400, True), (401, False)])
def test_h1_at_most_twice_the_documents(documents, few):
    """Guards the number of documents, which is that of the last step."""
    made = grid(18, documents)
    made[-1].tables["steps"].loc[:16, "documents"] = 10_000 if few else 1
    assert parts(claims, "H1", *made) == [True, few]


@pytest.mark.parametrize(("count", "expected"), [(26, "not comparable"), (27, [False, True])])
def test_h1_stopped_too_early_to_know(count, expected):
    """Guards when a scheme that has not settled is judged."""
    assert parts(claims, "H1", *grid(count, settled=False)) == expected


# -- H2 and H3 ---------------------------------------------------------------------------------------------


def lines(values, half=0.001, tilde=None):
    """Both functionals of the paper have these I-hat over alpha, and half a band of so much."""
    values = np.asarray(values, dtype=float)
    columns = {"alpha": np.arange(1.0, len(values) + 1), "eta": 1.0, "hat": values}
    columns |= {"lower": values - half, "upper": values + half, "tilde": values if tilde is None else tilde}
    columns["paper_half"] = half
    return pd.concat([pd.DataFrame(columns).assign(name=name) for name in claims.PAPERS], ignore_index=True)


@pytest.mark.parametrize(
    ("values", "half", "varies"),
    [((1, 1.2501), 0.001, True), ((1, 1.2499), 0.001, False), ((1, 2), 0.49, True), ((1, 2), 0.51, False)],
)
def test_h2_varies_by_a_quarter_and_beyond_the_band(values, half, varies):
    """Guards the factor of 1.25, and the band against a constant."""
    assert parts(claims, "H2", surface("cats", functional=lines(values, half))) == [varies, varies]


@pytest.mark.parametrize(
    ("hats", "expected"),
    [
        ((0, 0.49), [True, True]),
        ((0, 0.51), [True, False]),
        ((0, 0.99), [True, False]),
        ((0, 1.01), [False, False]),
        ((0, 0.4, -0.3), [True, False]),
        ((0, 0.4, 0.3), [True, True]),
    ],  # the pair that differs most decides
)
def test_h3_half_of_the_difference(hats, expected):
    """Guards both factors, and the largest ratio of all pairs."""
    # root mean square differences of any two of these are 1
    tildes = ([0.0, 0.0], [1.0, 1.0], [0.5 - np.sqrt(0.75), 0.5 + np.sqrt(0.75)])
    chains = [
        surface("cats", replicate=n, functional=lines([5.0 + hat, 6.0 + hat], tilde=tilde))
        for n, (hat, tilde) in enumerate(zip(hats, tildes, strict=False))
    ]
    assert parts(claims, "H3", *chains) == expected


@pytest.mark.parametrize(("trips", "judged"), [(TOO_FEW_TRIPS, True), (TOO_FEW_TRIPS - 1, False)])
def test_too_few_round_trips(trips, judged):
    """Guards the number of round trips below which nothing is known, and that the worst chain counts."""
    made = [surface("cats", functional=lines((1, 2))), surface("cats", replicate=1, functional=lines((1, 2)))]
    made[1].metrics["round_trips"] = trips
    assert (parts(claims, "H2", *made) != "not comparable") == judged


# -- H4 ----------------------------------------------------------------------------------------------------


def four(factors=(1.0, 1.0), error=0.05, of=3):
    """The last one (or another) is off by these factors of alpha and eta; the error over M-hat's largest value."""
    made = []
    for number, (name, truth) in enumerate(TRUTHS.items()):
        h = np.array(truth) * (factors if number == of else (1.0, 1.0))
        record = surface(name, h, truth=list(truth), topics=8)
        table = record.tables["surface"]
        table["error"] = (error if number == of else 0.01) * np.exp(-table["log_m"])
        made.append(record)
    return made


@pytest.mark.parametrize(
    ("factors", "near"), [((1.34, 1), True), ((1.36, 1), False), ((1, 1 / 1.34), True), ((1, 1 / 1.36), False)]
)
def test_h4_within_a_factor_of_the_truth(factors, near):
    """Guards the factor of 1.35, of alpha and of eta, upwards and downwards, on any of the corpora."""
    for of in range(4):
        assert parts(claims, "H4", *four(factors, of=of)) == [near, True]


@pytest.mark.parametrize(("error", "small"), [(0.0999, True), (0.1001, False)])
def test_h4_error_of_m_hat_below_a_tenth(error, small):
    """Guards the threshold, and that a relative error counts with M-hat itself."""
    assert parts(claims, "H4", *four(error=error, of=1)) == [True, small]


@pytest.mark.parametrize(("uniformity", "believed"), [(0.051, True), (0.049, False)])
def test_h4_does_not_believe_a_chain_that_missed_a_point(uniformity, believed):
    made = four()
    made[3].metrics["uniformity"] = uniformity
    assert (ask("H4", *made).verdict != "not comparable") == believed


@pytest.mark.parametrize(("range_of_log_m", "known"), [(1.01 * FLAT, True), (0.99 * FLAT, False)])
@pytest.mark.parametrize("side", ["alpha", "eta"])
def test_h4_a_flat_side_is_not_identified(side, range_of_log_m, known):
    """Guards the threshold, and the largest over the other side."""
    made = four()
    table = made[0].tables["surface"]
    other = {"alpha": "eta", "eta": "alpha"}[side]
    along = (table[side] - table[side].min()) / np.ptp(table[side])
    # away from the top of the other side it falls along this one: means over the other side would tell it apart
    table["log_m"] = range_of_log_m * (along - 1) - 30 * (1 + along) * (table[other] != table[other].max())
    table["error"] = 0.01
    assert parts(claims, "H4", *made) == [known, True]
    assert ask("H4", *made).details["not_identified"].tolist() == ["" if known else side, "", "", ""]


# -- H5 ----------------------------------------------------------------------------------------------------


def holds(number, records):
    return parts(claims, "H5", *records)[number - 1]


@pytest.mark.parametrize(
    ("number", "rival", "expected"),
    [
        (1, {"variational": 1.01 * ROOT * np.log(1.25)}, True),
        (1, {"variational": 0.99 * ROOT * np.log(1.25)}, False),
        (2, {"start": 1.01 * ROOT * np.log(1.1) * 5 / 4}, True),
        (2, {"start": 0.99 * ROOT * np.log(1.1) * 5 / 4}, False),
        (3, {"gibbs": 0.45, "variational": 0.5, "start": 0.0}, True),
        (3, {"gibbs": 0.55, "variational": 0.5, "start": 0.0}, False),
        (6, {"gibbs": 0.8, "doubling": 0.44}, True),
        (6, {"gibbs": 0.8, "doubling": 0.36}, False),
    ],
)
def test_h5_thresholds_of_its_parts(number, rival, expected):
    """Guards the factors of 1.25, 1.1 and a half, and who has to be nearer than whom."""
    assert holds(number, six(rival=rival)) == expected


@pytest.mark.parametrize(("number", "method"), [(4, "gibbs-em-minka"), (6, "gibbs-em-doubling-minka")])
@pytest.mark.parametrize(("inside", "expected"), [(1, True), (2, False)])
def test_h5_at_most_a_tenth_in_the_ellipse(number, method, inside, expected):
    """Guards the share of the ends in the ellipse: two of ten, on one corpus, are too many."""
    made = six(rival={"starts": 10, "gibbs": 0.2, "doubling": 0.2})
    ends = made[-1].tables["ends"]
    rows = ends.index[ends["method"] == method][:inside]
    ends.loc[rows, ["alpha", "eta"]] = [0.2, 0.8]
    assert holds(number, made) == expected


@pytest.mark.parametrize("name", ["gibbs", "variational"])
@pytest.mark.parametrize("topics", [4, 8])
def test_h5_both_have_to_improve_for_both_t(name, topics):
    """Guards against one rival, or one T, that is enough."""
    assert holds(5, six())
    made = six()
    for place, record in enumerate(made):
        if record.task.name == f"lda-{topics}-d100-rivals":
            made[place] = rivals(f"lda-{topics}-d100", **{"gibbs": 0.05, "variational": 0.6, name: 2.0})
    assert not holds(5, made)


# -- H8, H9, T17 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gensim", "beaten"), [(-0.95, True), (-0.93, False)])
def test_h8_beats_by_two_errors_of_the_difference(gensim, beaten):
    """Guards the two errors, of .05 each: 2 * .0707 below -.8, that of the worst estimate."""
    assert parts(claims, "H8", *nine(news={"gensim": gensim}))[0] == beaten


@pytest.mark.parametrize(("log", "better"), [(-0.048, True), (-0.046, False)])
@pytest.mark.parametrize("choice", ["gibbs_em", "variational_em"])
def test_h8_tempering_best_by_two_errors_of_the_mean(choice, log, better):
    """Guards the error of a mean of nine log ratios, .0707 / 3, and that both estimates count."""
    logs = {choice: log}
    assert parts(claims, "H8", *nine(news=logs, wiki=logs))[1] == better


@pytest.mark.parametrize("choice", ["gensim", "asuncion", "griffiths_steyvers"])
def test_h8_every_choice_loses_more_on_wikipedia(choice):
    """Guards the direction, and that each of the three choices counts."""
    news = {"griffiths_steyvers": -9.0, "asuncion": -5.0, "gensim": -2.0}[choice]
    assert parts(claims, "H8", *nine(wiki={choice: news - 0.01}))[2]
    assert not parts(claims, "H8", *nine(wiki={choice: news + 0.01}))[2]


@pytest.mark.parametrize(
    ("factors", "error", "expected"),
    [
        ((1.09, 1.0), 0.05, [True, True]),
        ((1.0, 1 / 1.09), 0.05, [True, True]),
        ((1.11, 1.0), 0.05, [True, False]),
        ((1.0, 1.11), 0.05, [True, False]),
        ((1.05, 1.0), 0.099, [True, True]),
        ((1.05, 1.0), 0.101, "not comparable"),
    ],
)
def test_h9_within_a_tenth(factors, error, expected):
    """Guards the tenth, of alpha and of eta, and the largest Monte Carlo error."""
    both = [surface("cats", (0.2, 0.8), sampler="augmented", error=error)]
    both.append(surface("cats", (0.2 * factors[0], 0.8 * factors[1]), sampler="grouped", error=error))
    assert parts(claims, "H9", *both) == expected


@pytest.mark.parametrize(("share", "within"), [(0.99, True), (1.01, False)])
def test_h9_joint_error_is_that_of_both(share, within):
    """Guards the sum of the covariances, and the radius: d' C^-1 d <= 6 with C = twice e^2 [[1, .3], [.3, 1]]."""
    error = 0.01
    away = share * np.sqrt(6 * 2 * (1 - 0.09)) * error  # along alpha alone, (C^-1)_11 = 1 / (2 e^2 (1 - .09))
    both = [surface("cats", (0.2, 0.8), sampler="augmented", error=error)]
    both.append(surface("cats", (0.2 * np.exp(away), 0.8), sampler="grouped", error=error))
    assert parts(claims, "H9", *both) == [within, True]


@pytest.mark.parametrize(
    ("whales", "near"),
    [
        ((0.1259, 0.41), True),
        ((0.1261, 0.41), False),
        ((0.0941, 0.41), True),
        ((0.0939, 0.41), False),
        ((0.11, 0.4559), True),
        ((0.11, 0.4561), False),
    ],
)
def test_t17_a_tenth_and_the_rounding(whales, near):
    """Guards 10 % + .005 of each number: .016 of alpha, .046 of eta."""
    made = [surface("whales", whales, topics=5), surface("birds-of-prey", (0.11, 0.25), topics=7)]
    assert parts(claims, "T17", *made) == [near, True]


# -- tables ------------------------------------------------------------------------------------------------


def test_times_are_medians_over_starts():
    """Guards a mean for the median, and ratios upside down."""
    made = [surface("x", chains=4), rivals("x")]
    timing = made[1].tables["timing"]
    timing["seconds"] = np.where(timing["method"] == "variational-em", 0.5, 10.0)
    timing.loc[timing["start"] == 4, "seconds"] = 1000.0
    (row,) = tables.times_table(made).to_dict("records")
    assert (row["tempering"], row["gibbs-em"], row["variational-em"]) == (70.0, 10.0, 0.5)
    assert (row["tempering_to_gibbs-em"], row["gibbs-em_to_variational-em"]) == (1.75, 20.0)  # one of four chains


def test_coverage_has_the_interval_of_clopper_and_pearson():
    """Guards the ends of an exact 95 % interval, also at none and at all."""
    for covered in (0, 18, 20):
        row = tables.coverage_table([coverage(covered, 20)]).iloc[0]
        low = beta.ppf(0.025, covered, 21 - covered) if covered else 0.0
        high = beta.ppf(0.975, covered + 1, 20 - covered) if covered < 20 else 1.0
        assert row[["covered", "from", "to"]].tolist() == pytest.approx([covered / 20, low, high])


def test_differences_between_seeds_are_root_mean_squares_at_equal_h():
    """Guards means of signed differences, and rows that stand in another order."""
    one, other = functional(0), functional(0)
    other["hat"] += np.where(np.arange(len(other)) % 2, 0.3, -0.3)
    other["tilde"] += 0.7
    other = other.sample(frac=1.0, random_state=1)
    table = tables.between_seeds(surface("x", functional=one), surface("x", replicate=1, functional=other))
    assert table["hat"].tolist() == pytest.approx([0.3] * 3)
    assert table["tilde"].tolist() == pytest.approx([0.7] * 3)


def test_the_grid_is_eta_by_alpha():
    """Guards a transposed surface."""
    table = pd.DataFrame({"alpha": [1.0, 2, 3, 1, 2, 3], "eta": [5.0, 5, 5, 4, 4, 4], "v": [1.0, 2, 3, 4, 5, 6]})
    alphas, etas, values = tables.grid_of(table, "v")
    assert (alphas.tolist(), etas.tolist()) == ([1, 2, 3], [4, 5])
    assert values.tolist() == [[4, 5, 6], [1, 2, 3]]


def test_of_several_ellipses_the_first_name_is_taken():
    """Guards the order of names, and variances under the name of the other side."""
    record = surface("x", chains=4, error=0.02, deviation=0.3)
    table = record.tables["ellipses"]
    table.loc[table["name"] == "chains", ["log_variance_alpha", "log_covariance", "log_variance_eta"]] = [4, 1, 9]
    assert tables.ellipse_of(record, "chains", "ellipse").log_covariance == ((4, 1), (1, 9))
    assert tables.ellipse_of(record, "ellipse", "chains").log_covariance[0][0] == pytest.approx(0.02**2)
    assert tables.ellipse_of(record, "nothing") is None
