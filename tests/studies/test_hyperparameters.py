"""The study of hyperparameters: figures, tables and verdicts from made-up records."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from bayestopics.base.html_table import html_table
from bayestopics.runs import result
from bayestopics.runs.task import Task
from bayestopics.studies.errors import errors_of_study
from bayestopics.studies.hyperparameters import claims, figures, tables
from bayestopics.studies.records import MissingRecords

TRUTHS = {
    "lda-8-low-low": (0.25, 0.25),
    "lda-8-high-low": (4.0, 0.25),
    "lda-8-low-high": (0.25, 4.0),
    "lda-8-high-high": (4.0, 4.0),
}
FUNCTIONALS = ("theta 7 and 8 within .07", "beta 1 and 2 distance", "beta distance over all pairs")


# -- made-up records --------------------------------------------------------------------------------


Result = partial(result.Result, versions={})  # to look them up takes time


def run(kind: str, corpus: str, name: str, **params) -> Task:
    params = {"kind": kind, "corpus": corpus, "topics": 4, "sweeps": 100, **params}
    return Task("hyperparameters", "smoke", f"{corpus}-{name}", params, 1, corpus, "-", "-")


def named(*records: result.Result) -> dict[str, result.Result]:
    return {one.task.name: one for one in records}


def _ellipse(name: str, h, deviation: float, radius_squared: float = 6.0) -> dict:
    """The standard deviations are those of log alpha and log eta."""
    row = {"name": name, "center_alpha": h[0], "center_eta": h[1], "log_variance_alpha": deviation**2}
    row |= {"log_covariance": 0.3 * deviation**2, "log_variance_eta": deviation**2}
    return row | {"radius_squared": radius_squared, "level": 0.95}


def surface(
    corpus: str = "x",
    h=(0.2, 0.8),
    *,
    replicate: int = 0,
    sampler: str = "single-site",
    error: float = 0.005,
    deviation: float = 0.1,
    mcse: float = 0.02,
    chains: int = 1,
    on_edge: bool = False,
    regions: bool = True,
    round_trips: int = 40,
    functional: pd.DataFrame | None = None,
    **params,
) -> result.Result:
    """`error` is the Monte Carlo error of log h, and `deviation` comes from the curvature."""
    h = np.array(h)
    alphas, etas = (side * np.exp(3 * deviation * np.linspace(-1, 1, 13)) for side in h)
    alpha, eta = (side.ravel() for side in np.meshgrid(alphas, etas))
    away = (np.log(alpha / h[0]) ** 2 + np.log(eta / h[1]) ** 2) / deviation**2
    table = {"alpha": alpha, "eta": eta, "log_m": -away / 2, "error": mcse * (1 + away), "error_paper": mcse}
    table |= {"log_m_tilde": -away / 3, "error_tilde": mcse * (2 + away), "tilde_finite": alpha > h[0]}
    rows = [_ellipse("ellipse", h, error), _ellipse("region", h, deviation)] if regions else []
    if regions and chains >= 4:
        rows.append(_ellipse("chains", h, error, 10.0))
    columns = list(_ellipse("", (0, 0), 0))
    ends = h * np.exp(error * np.random.default_rng(replicate).normal(size=(chains, 2)) * np.sqrt(chains))
    tables = {
        "surface": pd.DataFrame(table),
        "occupancy": pd.DataFrame({"alpha": alpha[::3], "eta": eta[::3], "share": np.linspace(0, 2, len(alpha[::3]))}),
        "ellipses": pd.DataFrame(rows, columns=columns),
        "chains": pd.DataFrame({"chain": range(chains), "alpha": ends[:, 0], "eta": ends[:, 1]}),
    }
    if functional is not None:
        tables["functional"] = functional
    metrics = {"alpha": h[0], "eta": h[1], "on_edge": float(on_edge), "batches_on_edge": 0.0, "uniformity": 0.8}
    metrics |= {"batch_correlation": 0.1, "round_trips": round_trips, "moved": 0.5, "tuning_rounds": 3}
    params = {"sampler": sampler, "moves": "all", "replicate": replicate, "chains": chains, **params}
    params = {"functionals": functional is not None, "truth": None, "paper": None, **params}
    one = run("surface", corpus, f"{sampler}-{replicate}-{params.get('topics', 4)}", **params)
    return Result(one, metrics, tables=tables, volatile={"cpu_seconds": 70.0})


def functional(seed: int = 0, *, slope: float = 1.0, hat: float = 0.005, tilde: float = 0.05) -> pd.DataFrame:
    """Functionals that go up and down with h; `hat` and `tilde` are the noise levels of the two estimates."""
    rng, parts = np.random.default_rng(seed), []
    alpha, eta = (side.ravel() for side in np.meshgrid(np.linspace(0.15, 1.1, 12), np.linspace(0.6, 1.1, 6)))
    for number, name in enumerate(FUNCTIONALS):
        truth = 0.3 + slope * (0.3 * alpha - 0.2 * number * (eta - 0.6))
        values = truth + hat * rng.normal(size=len(alpha))
        part = {"name": name, "alpha": alpha, "eta": eta, "hat": values, "lower": values - 0.02, "upper": values + 0.02}
        part |= {"tilde": truth + tilde * rng.normal(size=len(alpha)), "paper_half": 0.01}
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)


def rivals(
    corpus: str = "x",
    h=(0.2, 0.8),
    *,
    variational: float = 1.0,
    start: float = 0.5,
    gibbs: float = 0.1,
    averaged: float = 0.0,
    doubling: float = 0.1,
    starts: int = 5,
    **params,
) -> result.Result:
    """Results at these distances from h, in logs; the results of variational EM are `start` apart from each other."""
    rng, rows, h = np.random.default_rng(1), [], np.array(h)
    offs = {"gibbs-em": gibbs, "gibbs-em-minka": gibbs, "gibbs-em-doubling": doubling}
    offs |= {"gibbs-em-doubling-minka": doubling, "variational-em": variational}
    for method, off in offs.items():
        for number in range(starts):
            more = start * number / starts if method == "variational-em" else 0.01 * rng.normal()
            end, mean = h * np.exp((off + more) / np.sqrt(2)), h * np.exp(averaged / np.sqrt(2))
            row = {"method": method, "start": number, "start_alpha": 0.1 * 2**number, "start_eta": 1.0}
            row |= {"alpha": end[0], "eta": end[1], "averaged_alpha": mean[0], "averaged_eta": mean[1]}
            rows.append(row | {"converged": True, "warning": ""})
    ends = pd.DataFrame(rows)
    timing = ends[["method", "start"]].assign(seconds=np.where(ends["method"] == "variational-em", 0.2, 10.0))
    methods = {"gibbs-em-minka": {"sweeps": 100}, "gibbs-em-doubling-minka": {"longest": 64}}
    params = {"topics": 8 if "-8-" in corpus else 4, "truth": list(h), "methods": methods, **params}
    path = ends[["method", "start", "alpha", "eta"]].assign(step=0)
    metrics = {"rate": 0.95}
    return Result(
        run("rivals", corpus, "rivals", **params), metrics, tables={"ends": ends, "path": path, "timing": timing}
    )


def steps(
    count: int = 18, *, settled: int | None = None, on_edge: bool = False, corpus="lda-50-large"
) -> list[result.Result]:
    """The records of an iterative grid, settled from step `settled` on."""
    found, rows = [], []
    for number in range(count):
        half = np.log(2) * 0.9**number
        h = np.array([0.2, 0.8]) * np.exp(0.9**number * np.array([1.2, 0.3]))
        row = {"number": number, "documents": round(40 * 1.1**number), "alpha": h[0], "eta": h[1]}
        row |= {"alpha_low": h[0] * np.exp(-half), "alpha_high": h[0] * np.exp(half)}
        row |= {"eta_low": h[1] * np.exp(-half), "eta_high": h[1] * np.exp(half), "on_edge": number == 0 or on_edge}
        rows.append(row)
        params = {"topics": 50, "number": number, "shape": [10, 10], "truth": [0.2, 0.8]}
        one = run("step", corpus, f"step-{number}", **params)
        metrics = {"settled": float(settled is not None and number + 1 >= settled), "documents": row["documents"]}
        metrics |= {"alpha": h[0], "eta": h[1]}
        table = surface(h=h, deviation=half / 3).tables["surface"][["alpha", "eta", "log_m", "error"]]
        found.append(Result(one, metrics, tables={"steps": pd.DataFrame(rows), "surface": table}))
    return found


def score(corpus: str, topics: int = 3, error: float = 0.05, **logs: float) -> result.Result:
    """`logs`: log ratios to tempering, with _ for -."""
    choices = {"tempering": 0.0, "gibbs_em": -0.3, "variational_em": -0.8}
    choices |= {"griffiths_steyvers": -9.0, "asuncion": -5.0, "gensim": -2.0, **logs}
    rows = [
        {"choice": choice.replace("_", "-"), "alpha": 0.1, "eta": 0.1, "log_score": -500 + log, "standard_error": error}
        for choice, log in choices.items()
    ]
    table = pd.DataFrame(rows).assign(documents=10, of_documents=10)
    each = pd.concat(
        [
            pd.DataFrame({"choice": table["choice"], "document": d, "log_likelihood": table["log_score"]})
            for d in range(10)
        ]
    )
    return Result(run("score", corpus, "score", topics=topics), {}, tables={"scores": table, "documents": each})


def coverage(covered: int = 18, of: int = 20) -> result.Result:
    rows = [
        {"kind": kind, "number": n, "alpha": 0.2, "eta": 0.8, "covers": n < covered}
        for kind in ("batches", "chains")
        for n in range(of)
    ]
    metrics = {"coverage_batches": covered / of, "coverage_chains": covered / of, "truth_alpha": 0.2, "truth_eta": 0.8}
    return Result(run("coverage", "x", "coverage", chains=of), metrics, tables={"chains": pd.DataFrame(rows)})


def ask(claim: str, *records):
    return claims.CLAIMS[claim].answer(named(*records), errors_of_study("hyperparameters", records), {})


def verdict(claim: str, *records) -> str:
    return ask(claim, *records).verdict


# -- verdicts --------------------------------------------------------------------------------------------


def test_h1_settles_in_time():
    assert verdict("H1", *steps(20, settled=18)) == "reproduced"
    assert "after 18 steps" in ask("H1", *steps(20, settled=18)).ours  # the first that settled
    assert verdict("H1", *steps(8, settled=8)) == "partly"  # far sooner than the paper says
    assert verdict("H1", *steps(18, settled=18, on_edge=True)) == "partly"
    assert verdict("H1", *steps(30)) == "not reproduced"
    assert verdict("H1", *steps(10)) == "not comparable"


def test_h2_functionals_vary_beyond_the_band():
    def cats(**more):
        return surface("cats", sampler="augmented", **more)

    assert verdict("H2", cats(functional=functional())) == "reproduced"
    assert verdict("H2", cats(functional=functional(slope=0.0))) == "not reproduced"
    assert verdict("H2", cats(functional=functional(), round_trips=1)) == "not comparable"
    half = functional()
    flat = half["name"] == "beta 1 and 2 distance"
    half.loc[flat, ["lower", "hat", "upper"]] = [0.2, 0.3, 0.4]
    assert verdict("H2", cats(functional=half)) == "partly"
    one_flat = (cats(functional=functional()), cats(functional=functional(slope=0.0), replicate=1))
    assert verdict("H2", *one_flat) == "not reproduced"  # every chain must show it
    with pytest.raises(MissingRecords):
        ask("H2", cats())


@pytest.mark.parametrize(("tilde", "expected"), [(0.05, "reproduced"), (0.0075, "partly"), (0.002, "not reproduced")])
def test_h3_hat_is_steadier(tilde, expected):
    two = [surface("cats", sampler="augmented", replicate=n, functional=functional(n, tilde=tilde)) for n in (0, 1)]
    assert verdict("H3", *two) == expected


def test_h3_needs_chains_that_differ_by_their_seeds():
    two = [surface("cats", sampler=name, functional=functional()) for name in ("augmented", "grouped")]
    with pytest.raises(MissingRecords):
        ask("H3", *two)
    short = [surface("cats", replicate=n, functional=functional(n), round_trips=0) for n in (0, 1)]
    assert verdict("H3", *short) == "not comparable"


def test_h4_wants_the_truth_and_small_errors():
    def four(factor=1.1, **more):
        return [surface(name, factor * np.array(h), truth=list(h), topics=8, **more) for name, h in TRUTHS.items()]

    good = ask("H4", *four())
    assert good.verdict == "reproduced"
    assert good.details["factor_off"].tolist() == pytest.approx([1.1] * 4)
    assert good.details["paper_eta"][1] == 0.19
    assert verdict("H4", *four(1.6)) == "partly"
    assert verdict("H4", *four(mcse=0.5)) == "partly"
    assert verdict("H4", *four(1.6, mcse=0.5)) == "not reproduced"
    assert verdict("H4", *four(on_edge=True)) == "not comparable"
    flat = four()
    flat[3].metrics["on_edge"] = 1.0
    plateau = flat[3].tables["surface"]
    plateau["log_m"] = 1e-3 * plateau["alpha"] - np.square(np.log(plateau["eta"] / 4.4)) / 0.02
    plateau["error"] = 0.02
    unknown = ask("H4", *flat)
    assert "lda-8-high-high does not identify alpha" in unknown.ours
    assert unknown.verdict == "partly"  # it is on the edge, which is not the chain's fault
    with pytest.raises(MissingRecords) as missing:
        ask("H4", *four()[:2])
    assert missing.value.names == ["lda-8-low-high", "lda-8-high-high"]


def test_h4b_sharper_and_nearer():
    def grown(deviations, factors, **more):
        return [
            surface(name, (0.25 * factor, 0.25), deviation=deviation, truth=[0.25, 0.25], **more)
            for name, deviation, factor in zip(claims.GROWING, deviations, factors, strict=False)
        ]

    assert verdict("H4b", *grown((0.2, 0.1, 0.05), (1.2, 1.1, 1.05))) == "reproduced"
    assert verdict("H4b", *grown((0.2, 0.1), (1.2, 1.1))) == "reproduced"
    assert verdict("H4b", *grown((0.2, 0.1, 0.15), (1.2, 1.1, 1.05))) == "partly"
    assert verdict("H4b", *grown((0.2, 0.1, 0.15), (1.1, 1.1, 1.2))) == "not reproduced"
    assert verdict("H4b", *grown((0.2, 0.1), (1.2, 1.1), regions=False)) == "not comparable"
    with pytest.raises(MissingRecords):
        ask("H4b", *grown((0.2,), (1.2,)))


def six(*, rival=None, **more):
    """As in the paper: with more documents all rivals come nearer, but none enters the ellipse."""
    records = []
    for name in claims.SIX:
        documents = int(name.rpartition("-d")[2])
        away = {"gibbs": 5 / documents, "doubling": 4 / documents, "variational": 10 / documents + 0.5, "start": 0.4}
        records.append(surface(name, (0.2, 0.8), chains=10, topics=int(name[4]), truth=[0.2, 0.8], **more))
        records.append(rivals(name, (0.2, 0.8), **(away | (rival or {}))))
    return records


def test_h5_rivals_miss_the_ellipse():
    good = ask("H5", *six())
    assert good.verdict == "reproduced", good.ours
    assert "(6) yes" in good.ours
    right = ask("H5", *six(rival={"gibbs": 0.0}))
    assert right.verdict == "partly"
    assert "(4) no" in right.ours
    assert "(6) no" in ask("H5", *six(rival={"doubling": 0.0})).ours
    assert "(2) no" in ask("H5", *six(rival={"start": 0.0})).ours
    assert "(1) no" in ask("H5", *six(rival={"variational": 0.1})).ours
    perfect = six(rival={"gibbs": 0.01, "doubling": 0.0, "variational": 0.0, "start": 0.0}, error=0.05)
    assert verdict("H5", *perfect) == "not reproduced"
    assert verdict("H5", *six(regions=False)) == "not comparable"
    assert verdict("H5", *six(round_trips=2)) == "not comparable"
    with pytest.raises(MissingRecords):
        ask("H5", *six()[:4])


def test_h6_is_a_comparison():
    answer = ask("H6", *six())
    assert answer.verdict == "not comparable"
    said = "tempering / Gibbs-EM: six 0.7 (paper 7.5); Gibbs-EM / variational: six 50 (paper 56)"
    assert said in answer.ours  # ten chains took 70 seconds, one start of Gibbs-EM 10
    assert "nine" not in answer.ours
    both = ask("H6", *six(), surface("rec", topics=4), rivals("rec"))
    assert "tempering / Gibbs-EM: six 0.7 (paper 7.5), nine 7 (paper 52);" in both.ours
    assert answer.details["tempering_paper_minutes"][0] == 16.72


def nine(news=None, wiki=None):
    wikipedia = {"griffiths_steyvers": -20.0, "asuncion": -15.0, "gensim": -5.0}
    return [
        *(score(name, **(news or {})) for name in claims.NEWSGROUPS),
        *(score(name, **(wikipedia | (wiki or {}))) for name in claims.WIKIPEDIA),
    ]


def test_h8_scores():
    assert verdict("H8", *nine()) == "reproduced"
    assert verdict("H8", *nine(news={"gensim": 0.1})) == "partly"
    assert verdict("H8", *nine(news={"gibbs_em": 0.5})) == "partly"
    worst = {"griffiths_steyvers": 1.0, "gibbs_em": 0.5}
    assert verdict("H8", *nine(news=worst, wiki=worst)) == "not reproduced"
    assert verdict("H8", *nine(news={"error": np.nan})) == "not comparable"
    with pytest.raises(MissingRecords):
        ask("H8", *nine()[:5])


def test_h9_samplers_agree():
    def both(factor, **more):
        return [
            surface("cats", (0.2, 0.8), sampler="augmented", **more),
            surface("cats", (0.2 * factor, 0.8), sampler="grouped", **more),
            surface("cats", (0.2, 0.8), **more),
        ]

    assert verdict("H9", *both(1.005)) == "reproduced"
    assert verdict("H9", *both(1.05)) == "partly"  # near, but beyond Monte Carlo error
    assert verdict("H9", *both(1.3)) == "not reproduced"
    assert verdict("H9", *both(1.005, error=0.2)) == "not comparable"
    assert verdict("H9", *both(1.005, regions=False)) == "not comparable"
    assert set(ask("H9", *both(1.005)).details["sampler"]) == {"augmented", "grouped", "single-site"}
    with pytest.raises(MissingRecords):
        ask("H9", both(1)[0], both(1)[2])


def test_t17_the_papers_h():
    def two(whales=(0.11, 0.41), birds=(0.11, 0.25), **more):
        others = surface("birds-of-prey", (0.3, 0.3), topics=8)  # C-9, with another T
        return [others, surface("whales", whales, topics=5, **more), surface("birds-of-prey", birds, topics=7, **more)]

    assert verdict("T17", *two()) == "reproduced"
    assert verdict("T17", *two(birds=(0.11, 0.31))) == "partly"
    assert verdict("T17", *two((0.2, 0.41), (0.11, 0.31))) == "not reproduced"
    assert verdict("T17", *two(on_edge=True)) == "not comparable"
    assert np.isnan(ask("T17", *two(birds=(0.11, 0.5))).details["log_m_at_paper"][1])  # off the surface


# -- figures and tables ------------------------------------------------------------------------------------

CATS = [surface("cats", sampler="augmented", replicate=n, functional=functional(n)) for n in (0, 1)]
FULL = [
    surface("x", truth=[0.2, 0.7], paper=[0.21, 0.8]),
    surface("x", (0.201, 0.8), replicate=1),
    surface("x", (0.2, 0.81), sampler="augmented"),
]
MINIMAL = surface("x", regions=False, deviation=1e-3)


@pytest.mark.parametrize(
    ("draw", "records"),
    [
        (figures.draw_surface, FULL),
        (figures.draw_surface, [MINIMAL]),
        (figures.draw_functionals, CATS),
        (figures.draw_hat_tilde, CATS),
        (figures.draw_rivals, six()[:8]),  # the last row is not full
        (figures.draw_rivals, [MINIMAL, rivals("x")]),
        (figures.draw_rivals, [surface("tiny-lda", deviation=1.5), rivals("tiny-lda")]),  # a region that nears zero
        (figures.draw_grid, steps(18, settled=18)),
        (figures.draw_grid, steps(1)),
    ],
)
def test_figures(draw, records):
    figure = draw(records, "smoke")
    figure.canvas.draw()
    assert any(text.get_text() == "scale: smoke" for text in figure.texts)
    pyplot.close(figure)


def test_estimates_table():
    records = [*FULL, surface("y", regions=False)]
    table = tables.estimates_table(records, errors_of_study("hyperparameters", records))
    assert table.loc[0, ["truth_eta", "paper_alpha"]].tolist() == [0.7, 0.21]
    assert table.loc[0, "alpha_error"] == pytest.approx(0.005 * 0.2)
    assert table.loc[0, "eta_deviation"] == pytest.approx(0.1 * 0.8)
    assert np.isnan(table.loc[3, "alpha_error"])
    html_table(table, "title")


def test_scores_table_has_the_papers_ratios():
    records = [score("cats", gensim=-3.0), score("x")]
    table = tables.scores_table(records, errors_of_study("hyperparameters", records)).set_index("corpus")
    assert table.loc["cats", "gensim"] == pytest.approx(np.exp(-3))
    assert table.loc["cats", "gensim_paper"] == 7.31e-3
    assert table.loc["cats", "griffiths-steyvers_paper"] == 6.57e-8
    assert table.loc["cats", "gensim_log_error"] == pytest.approx(0.05 * np.sqrt(2))
    assert np.isnan(table.loc["x", "gensim_paper"])


def test_times_and_coverage_tables():
    times = tables.times_table(six()).set_index("corpus")
    assert times.loc["lda-8-d40", "gibbs-em_paper_minutes"] == 6.08
    assert times.loc["lda-8-d40", "tempering_to_gibbs-em"] == 0.7  # one of ten chains
    covers = tables.coverage_table([coverage(18, 20)])
    assert covers["covered"].tolist() == [0.9, 0.9]
    assert (covers["from"] < 0.9).all()
    assert (covers["to"] > 0.95).all()
    assert tables.coverage_table([coverage(20, 20)])["to"].tolist() == [1.0, 1.0]


def test_the_way_that_gibbs_em_leaves():
    """Guards the first step for the twentieth, a mean for the median, and the distance of alpha alone."""
    one, other = surface("x", (0.2, 0.8)), rivals("x", starts=3)
    rows = [
        {"method": "gibbs-em", "start": start, "step": step, "alpha": 0.2, "eta": 0.8 * np.exp(2 * left**step)}
        for start, left in enumerate((0.95, 0.9, 0.999))
        for step in range(25)
    ]
    other.tables["path"] = pd.DataFrame(rows)
    (row,) = tables.way_table([one, other]).to_dict("records")
    assert row["gibbs-em"] == pytest.approx(0.95**20)
    assert row["exact step"] == pytest.approx(0.95**20)
    assert np.isnan(row["gibbs-em-doubling"])


def test_the_error_of_a_score_knows_the_documents_that_were_drawn():
    """Guards a forgotten finite population, errors that are not paired, and errors of all documents."""
    record = score("cats", error=0.0)
    each, table = record.tables["documents"], record.tables["scores"]
    away = np.linspace(-1, 1, 10)
    common = 5 * np.sin(np.arange(10))  # hard documents are hard for every choice
    for choice in table["choice"]:
        each.loc[each["choice"] == choice, "log_likelihood"] += common + (away if choice == "gensim" else 0.0)
    errors = errors_of_study("hyperparameters", [record])
    assert tables.lead(record, errors, "tempering", "gensim") == (pytest.approx(2.0), 0.0)  # all ten documents
    table["of_documents"] = 40
    _, error = tables.lead(record, errors, "tempering", "gensim")
    assert error == pytest.approx(np.sqrt(0.75 * away.var(ddof=1) / 10))
    assert tables.lead(record, errors, "tempering", "gibbs-em")[1] == pytest.approx(0.0, abs=1e-7)
