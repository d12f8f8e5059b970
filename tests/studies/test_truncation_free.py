"""The study of truncation-free inference: its runs on tiny corpora, and figures and verdicts from made-up records."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from scipy.sparse import csr_array

from bayestopics.base.html_table import html_table
from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric.learners import LEARNERS
from bayestopics.runs import result
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import same_bits
from bayestopics.runs.task import Task
from bayestopics.studies.errors import errors_of_study, table_of
from bayestopics.studies.records import MissingRecords
from bayestopics.studies.truncation_free import (
    claims,
    compute_endless,
    compute_gibbs,
    compute_stream,
    compute_toy,
    figures,
    tables,
)
from killing import Killed as KilledAtSave
from killing import Killing

Result = partial(result.Result, versions={})  # to look them up takes time
BATCHES = (1, 10, 100)


def a_run(kind: str, name: str, **params) -> Task:
    return Task("truncation_free", "smoke", name, {"kind": kind, **params}, 1, "x", "-", "-")


def toy(**changes) -> result.Result:
    made = compute_toy.compute(a_run("toy", "toy", most=20), None, None)
    for column, factor in changes.items():
        made.tables["log_odds"][column] *= factor
    return made


def stream(
    model: str, method: str, batch: int, *, score=-7.0, components=(5, 20), seconds=(0.1, 1.0, 10.0), corpus="x"
) -> result.Result:
    """A made-up run that starts half a nat below its final `score`; 40 documents of about 50 words."""
    rng = np.random.default_rng(0)
    tokens = rng.integers(30, 70, 40)
    own = rng.normal(scale=0.2, size=40)  # shared by all runs: some documents are harder
    noise = np.random.default_rng(batch + 1000 * (method == "truncated")).normal(scale=0.01, size=40)
    per_word = score + np.linspace(-0.5, 0.0, len(seconds))
    logs = (per_word[:, None] + own + noise) * tokens
    trace = {"documents": np.geomspace(10, 1000, len(seconds)).astype(int), "per_word": logs.sum(axis=1) / tokens.sum()}
    trace |= {
        "components": np.linspace(*components, len(seconds)).astype(int),
        "error": 0.01 if model == "hdp" else 0.0,
    }
    table = pd.DataFrame(trace)
    timing = pd.DataFrame({"documents": table["documents"], "seconds": seconds})
    last = {name: float(table[name].iloc[-1]) for name in trace} | {"passes": 1.0, "papers_per_word": score}
    last["unigram_per_word"] = -7.6
    last |= {"papers_error": 0.5} if model == "hdp" else {}
    params = {"corpus": corpus, "model": model, "method": method, "batch": batch, "particles": 5, "draws": 9}
    params |= {"truncation": 300} if method == "truncated" else {}
    task = a_run("stream", f"{corpus}-{model}-{method}-{batch}", **params)
    arrays = {"log_likelihoods": logs, "tokens": tokens}
    return Result(task, last, tables={"trace": table, "timing": timing}, arrays=arrays)


def study(ours=None, other=None, models=tables.MODELS, corpora=("x", "y")):
    """As in the paper: truncated is worse and has fewer components, above all with small batches."""
    made = []
    for model in models:
        for corpus in corpora:
            for place, batch in enumerate(BATCHES):
                free_run = {"score": -7.0 + 0.01 * place, "components": (5, 60)} | (ours or {})
                truncated = {"score": -7.5 + 0.1 * place, "components": (300, (2, 20, 50)[place])} | (other or {})
                made.append(stream(model, "truncation-free", batch, corpus=corpus, **free_run))
                made.append(stream(model, "truncated", batch, corpus=corpus, **truncated))
    return made


def ask(claim: str, *records):
    named = {one.task.name: one for one in records}
    return claims.CLAIMS[claim].answer(named, table_of([]), {})


def verdict(claim: str, *records) -> str:
    return ask(claim, *records).verdict


# -- verdicts --------------------------------------------------------------------------------------------


def test_v1_the_toy():
    good = ask("V1", toy())
    assert good.verdict == "reproduced", good.ours
    assert "locally collapsed: right in 39 of 39" in good.ours
    assert verdict("V1", toy(mean_field=-1.0)) == "partly"
    assert verdict("V1", toy(locally_collapsed=-1.0)) == "partly"


def test_v2_robust_and_higher():
    assert verdict("V2", *study()) == "reproduced", ask("V2", *study()).ours
    lower = ask("V2", *study(ours={"score": -8.0}))  # robust, never higher
    assert lower.verdict == "partly"
    assert "higher in 0 of 6 cases" in lower.ours
    assert (lower.details["difference"] < -2 * lower.details["error"]).all()
    assert verdict("V2", *study(ours={"score": -7.0}, other={"score": -7.0})) != "reproduced"  # within the errors
    steady = [one for one in study(other={"score": -6.0}) if one.task.params["method"] == "truncated"]
    shaky = [
        stream(model, "truncation-free", batch, corpus=corpus, score=-7.0 - place)
        for model in tables.MODELS
        for corpus in ("x", "y")
        for place, batch in enumerate(BATCHES)
    ]
    assert verdict("V2", *steady, *shaky) == "not reproduced"


def test_v3_components():
    good = ask("V3", *study())
    assert good.verdict == "reproduced", good.ours
    assert "(2) 6 of 6" in good.ours
    assert (good.details["components_at_end"] != good.details["components_at_first_check"]).all()
    kept = ask("V3", *study(ours={"components": (20, 5)}, other={"components": (300, 300), "score": -7.0}))
    assert kept.verdict == "not reproduced", kept.ours
    assert "(4) 0 of 2" in kept.ours
    assert verdict("V3", *study(ours={"components": (1, 4)})) == "partly"


@pytest.mark.parametrize("claim", ["V2", "V3"])
def test_what_cannot_be_compared(claim):
    late = [*study()[:-1], stream("hdp", "truncated", 100, corpus="y", seconds=(20.0, 50.0, 90.0))]
    answer = ask(claim, *late)
    assert answer.verdict == "not comparable"
    assert "y-hdp-truncated-100" in answer.ours
    with pytest.raises(MissingRecords) as missing:
        ask(claim, *study(models=("hdp",)))
    assert missing.value.names == ["dp-mixture"]
    with pytest.raises(MissingRecords):
        ask(claim, *(one for one in study() if one.task.params["method"] == "truncated"))


def test_moments_are_interpolated_in_log_seconds():
    one = stream("dp-mixture", "truncated", 1, components=(300, 100))
    ends = [tables.moment(one, seconds) for seconds in (0.1, 1.0, 10.0)]
    between = tables.moment(one, np.sqrt(0.1))
    assert between.per_word == pytest.approx((ends[0].per_word + ends[1].per_word) / 2)
    assert [end.components for end in ends] == [300, 200, 100]
    assert tables.moment(one, 0.05) is None
    assert tables.moment(one, 99.0).per_word == ends[2].per_word


def test_errors_leave_out_what_documents_share():
    table = tables.at_equal_seconds(tables.panels(study())["hdp", "x"])
    logs, tokens = study()[0].arrays["log_likelihoods"][-1], study()[0].arrays["tokens"]
    assert table["bar"].max() < 0.2 * tables.mean_and_error(logs, tokens)[1]


# -- runs --------------------------------------------------------------------------------------------------

TINY = Corpus.from_sparse(csr_array(np.random.default_rng(3).poisson(0.5, (40, 12))), name="tiny")


class Killed(Exception):
    pass


def settings(model: str, method: str, order: str = "shuffled", batch: int = 7):
    params = {"corpus": "tiny", "model": model, "method": method, "batch": batch, "order": order, "documents": 100}
    params |= {"checks": 4, "held_out": {"every": 5, "most": 6}}
    params |= {"truncation": 20} if method == "truncated" else {}
    return params | ({"particles": 2, "draws": 10} if model == "hdp" else {})


@pytest.mark.parametrize(("model", "method"), LEARNERS)
def test_a_killed_stream_goes_on_with_the_same_bits(model, method, tmp_path, monkeypatch):
    task = a_run("stream", "one", **settings(model, method))
    whole = compute_stream.compute(task, TINY, Checkpoint(tmp_path / "whole", task))
    assert len(whole.trace) == len(whole.tables["timing"]) == 4
    assert whole.metrics["documents"] >= 100
    assert whole.arrays["log_likelihoods"].shape == (4, 6)
    assert np.isfinite(list(whole.metrics.values())).all()
    at_the_end = whole.arrays["log_likelihoods"][-1].sum() / whole.arrays["tokens"].sum()
    assert whole.metrics["per_word"] == pytest.approx(at_the_end)

    checkpoint = Checkpoint(tmp_path / "killed", task, every_seconds=0.0)
    tmp_path.joinpath("killed").mkdir()
    check = compute_stream._check
    monkeypatch.setattr(compute_stream, "_check", lambda *args: _until(2, check, *args))
    with pytest.raises(Killed):
        compute_stream.compute(task, TINY, checkpoint)
    monkeypatch.undo()
    assert same_bits(compute_stream.compute(task, TINY, checkpoint), whole)


def test_our_variants_and_the_lines_to_compare_with(tmp_path):
    """Births from the data, a truncated method without rest, unigram frequencies, and a sampler that is resumed."""
    found = {}
    for method in ("truncation-free-data", "truncated-restless"):
        params = settings("hdp", method) | ({"truncation": 20} if method.startswith("truncated") else {})
        task = a_run("stream", method, **params)
        found[method] = compute_stream.compute(task, TINY, Checkpoint(tmp_path / method, task)).metrics
    assert found["truncation-free-data"]["per_word"] != found["truncated-restless"]["per_word"]
    assert compute_stream.unigram(csr_array([[2, 0], [1, 0]]), csr_array([[1, 1]])) == pytest.approx(
        (np.log(3.01 / 3.02) + np.log(0.01 / 3.02)) / 2
    )
    task = a_run("gibbs", "g", **settings("hdp", "gibbs"), start=5, sweeps=6, states=2)
    whole = compute_gibbs.compute(task, TINY, Checkpoint(tmp_path / "whole", task))
    for _ in range(2):
        with pytest.raises(KilledAtSave):
            compute_gibbs.compute(task, TINY, Killing(tmp_path / "killed", task, every_seconds=0))
    assert same_bits(compute_gibbs.compute(task, TINY, Checkpoint(tmp_path / "killed", task)), whole)


def _until(last, check, *args):
    if args[3] == last:
        raise Killed
    return check(*args)


def test_nothing_held_out_is_learnt_from():
    for order in ("stored", "shuffled"):
        task = a_run("stream", "one", **settings("dp-mixture", "truncated", order))
        stream = compute_stream.Stream.of(TINY, task)
        seen, batches = 0, []
        while seen < len(stream):
            batches.append(stream.counts[stream.after(seen)].toarray())
            seen += len(batches[-1])
        learnt = np.concatenate(batches)
        held = compute_stream.held_out_documents(TINY.document_count, 5, 6)
        kept = np.delete(TINY.counts.toarray(), held, axis=0)
        assert len(learnt) == len(kept) == 34  # a pass ends with a smaller batch
        assert (order == "stored") == np.array_equal(learnt, kept)
        assert sorted(map(tuple, learnt)) == sorted(map(tuple, kept))


def test_held_out_documents_are_spread():
    held = compute_stream.held_out_documents(35_754, 50, 500)
    assert len(np.unique(held)) == 500
    assert held[0] < 72
    assert held[-1] > 35_754 - 72
    assert len(compute_stream.held_out_documents(8447, 50, 500)) == 168
    assert compute_stream.checks_of(100, 4).tolist() == [1, 5, 22, 100]


# -- without end -------------------------------------------------------------------------------------------


def endless(model: str, method: str, **changes) -> Task:
    params = {"model": model, "method": method, "terms": 30, "topics": 4, "length": 15, "batch": 20, "checks": 5}
    params |= {"documents": 230} | ({"truncation": 20} if method == "truncated" else {})
    return a_run("endless", f"endless-{model}-{method}", **params | changes)


@pytest.mark.parametrize(("model", "method"), LEARNERS)
def test_a_killed_stream_without_end_goes_on_with_the_same_bits(model, method, tmp_path):
    task = endless(model, method)
    whole, lives = compute_endless.compute(task, None, Checkpoint(tmp_path / "whole", task)), 0
    assert whole.trace["documents"].tolist() == [0, 60, 100, 140, 200, 230]  # of batches of 20, the last of 10
    assert whole.tables["timing"]["documents"].tolist() == whole.trace["documents"].tolist()
    assert whole.tables["timing"]["peak_mb"].is_monotonic_increasing
    assert whole.tables["timing"]["peak_mb"].iloc[0] > 10
    assert whole.metrics["components"] >= 1
    tmp_path.joinpath("killed").mkdir()
    resumed = None
    while resumed is None:
        lives += 1
        try:
            resumed = compute_endless.compute(task, None, Killing(tmp_path / "killed", task, every_seconds=0.0))
        except KilledAtSave:
            assert lives < 20
    assert lives == 13
    assert same_bits(resumed, whole)


@pytest.mark.parametrize(("model", "fewest", "most"), [("dp-mixture", 1.0, 1.0), ("hdp", 1.3, 3.0)])
def test_documents_without_end_are_made_of_the_topics(model, fewest, most):
    """No two topics share a word, so one sees how many topics a document has. A batch can be made again."""
    task = endless(model, "truncation-free", documents=10_000, batch=500)
    assert compute_endless.Source.of(task).cumulative.shape == (4 * 30,)
    apart = np.repeat(np.eye(4), [7, 8, 7, 8], axis=1)
    apart /= apart.sum(axis=1, keepdims=True)
    source = compute_endless.Source(task, (np.cumsum(apart, axis=1) + np.arange(4)[:, None]).ravel())
    first, second = source.batch(0), source.batch(1)
    assert first.shape == (500, 30)
    assert (np.asarray(first.sum(axis=1)) == 15).all()
    assert np.array_equal(first.toarray(), source.batch(0).toarray())
    assert not np.array_equal(first.toarray(), second.toarray())
    assert fewest <= np.count_nonzero(first @ (apart > 0).T, axis=1).mean() <= most
    shares = (first + second).sum(axis=0) / 15_000
    assert np.abs(shares - apart.sum(axis=0) / 4).max() < 0.02


# -- figures and tables ------------------------------------------------------------------------------------


def made_up_endless(model: str, method: str) -> result.Result:
    trace = pd.DataFrame({"documents": [0, 100, 200, 300], "components": [0, 9, 12, 11]})
    timing = trace[["documents"]].assign(seconds=[0.0, 1.0, 2.0, 3.0], peak_mb=[200.0, 210.0, 210.5, 211.0])
    metrics = {"documents": 300.0, "components": 11.0, "most_components": 12.0}
    return Result(endless(model, method), metrics, tables={"trace": trace, "timing": timing})


@pytest.mark.parametrize(
    ("draw", "records"),
    [
        (figures.draw_toy, [toy()]),
        (figures.draw_held_out, study()),
        (figures.draw_held_out, study(corpora=("x",))[:2]),
        (figures.draw_held_out, [*study(corpora=("x",)), *study(models=("hdp",), corpora=("y",))]),  # a panel is empty
        (figures.draw_held_out_over_time, study()),
        (figures.draw_components, study()),
        (figures.draw_components_over_time, study(models=("hdp",))),
        (figures.draw_endless, [made_up_endless(*learner) for learner in LEARNERS]),
    ],
)
def test_figures(draw, records):
    figure = draw(records, "smoke")
    figure.canvas.draw()
    assert any(text.get_text() == "scale: smoke" for text in figure.texts)
    pyplot.close(figure)


def test_tables():
    scores = tables.scores_table(study(), errors_of_study("truncation_free", study()))
    assert dict(scores.groupby("model")["monte_carlo_error"].unique()) == {"dp-mixture": [0.0], "hdp": [0.01]}
    assert dict(scores.groupby("model")["papers_error"].count()) == {"dp-mixture": 0, "hdp": len(scores) / 2}
    assert len(scores) == 2 * 2 * 2 * len(BATCHES)
    assert (scores["equal_seconds"] == 10.0).all()
    html_table(scores, "scores")
    differences = tables.differences_table(study())
    assert len(differences) == 2 * 2 * len(BATCHES)
    assert (differences["difference"] > 2 * differences["error"]).all()
    without_end = tables.endless_table([*study(), *(made_up_endless(*one) for one in LEARNERS)])
    assert list(zip(without_end["model"], without_end["method"], strict=True)) == list(LEARNERS)
    columns = ["peak_mb_at_start", "early_documents", "peak_mb_early", "peak_mb_at_end"]
    assert without_end.loc[0, columns].tolist() == [200.0, 100, 210.0, 211.0]
