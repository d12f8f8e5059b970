"""The report of `fit` and `select`: its numbers, hostile texts, its limits, and the page in a browser."""

from __future__ import annotations

import dataclasses
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayestopics import Corpus, evidence, fit, select, simulate, write_report
from bayestopics.base.problems import InputError
from bayestopics.base.wording import visible
from bayestopics.cli.main import main
from bayestopics.corpus import write_corpus
from bayestopics.pages import answers, charts, prevalence, topics
from bayestopics.pages.charts import counts_by_weight
from bayestopics.pages.prevalence import Groups, group, groups_of, shares
from bayestopics.pages.report import page as page_of
from bayestopics.pages.topics import distances, examples, layout, nearest, relevant
from bayestopics.runs.draws import Moments
from bayestopics.runs.fit_result import FitResult
from bayestopics.runs.select_result import SelectResult
from chromium import Page, needs_chromium

HOSTILE = [
    "<script>window.bad=1</script>",
    "</script><img src=x onerror=window.bad=1>",
    "$x^$",
    "'\"`${bad}",
    "\x1b[2J",
    "&lt;b&gt;",
    "<a href='javascript:window.bad=1'>a</a>",
    "%{x} {{ bad }}",
    "\u2028\u202e",
    "__proto__",
]


def hostile(documents: int = 30) -> Corpus:
    """Terms, labels, titles, columns and texts that would do something if they were not escaped."""
    drawn = simulate(documents=documents, length=40, terms=len(HOSTILE), topics=2, alpha=0.1, eta=0.3, seed=1)
    days = pd.date_range("2020-01-01", periods=documents, freq="D").strftime("%Y-%m-%d")
    number = range(documents)
    table = {"title": [f"{HOSTILE[n % 10]} {n}" for n in number], "date": days}
    table |= {"<b>party</b>": [HOSTILE[n % 3] for n in number]}
    return dataclasses.replace(
        drawn,
        vocabulary=tuple(HOSTILE),
        labels=tuple(HOSTILE[n % 2] for n in number),
        metadata=pd.DataFrame(table),
        excerpts=tuple(f"{HOSTILE[n % 10]} text {n}" for n in number),
        notes=("</ul><script>window.bad=1</script>",),
        name="/home/me/</title><script>window.bad=1</script>.csv",
    )


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return hostile()


@pytest.fixture(scope="module")
def fitted(corpus: Corpus) -> FitResult:
    return fit(corpus, topics=2, sweeps=60, burn_in=60, chains=3, seed=1)


@pytest.fixture(scope="module")
def selected(corpus: Corpus) -> SelectResult:
    return select(corpus, range(1, 5), chains=2, iterations=60, seed=1)


class Read(HTMLParser):
    """The tags of a page, the texts between them, and the data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def data(self) -> dict[str, Any]:
        found = [text for text in self.texts if text.startswith('{"charts"')]
        return json.loads(found[0])


@pytest.mark.parametrize("kind", ["fitted", "selected"])
def test_hostile_texts_are_texts(kind: str, corpus: Corpus, request: pytest.FixtureRequest) -> None:
    text = page_of(request.getfixturevalue(kind), corpus)
    read = Read(text)
    assert read.tags.count("script") == 3  # the data, plotly and ours
    assert not {"img", "b"} & set(read.tags)
    assert len(set(read.ids)) == len(read.ids)
    assert not set("\x1b\u2028\u202e") & set(text.partition("plotly.js v")[0])
    assert "/home/me" not in text
    data = read.data
    assert sorted(data["terms"]["names"]) == sorted(map(visible, HOSTILE))
    assert data["documents"]["texts"][3] == f"{HOSTILE[3]} text 3"
    assert [one["column"] for one in data["columns"]] == ["date", "label", "<b>party</b>"]


def test_the_same_result_gives_the_same_bytes_also_from_its_record(
    fitted: FitResult, corpus: Corpus, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "record")
    write_report(fitted, corpus, tmp_path / "a.html")
    write_report(tmp_path / "record", corpus, tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_other_corpora_and_other_commands_are_refused(fitted: FitResult, corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not the corpus of this record"):
        write_report(fitted, simulate(documents=3, length=4, terms=5, topics=2), tmp_path / "a.html")
    tiny = simulate(documents=3, length=4, terms=5, topics=2)
    with pytest.raises(InputError, match="there is no report of the result of `evidence`"):
        write_report(evidence(tiny, [1], sweeps=2, repeats=1, passes=1), tiny, tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


def test_the_numbers_are_those_of_the_result(fitted: FitResult, selected: SelectResult, corpus: Corpus) -> None:
    data = Read(page_of(fitted, corpus)).data
    assert data["share"] == pytest.approx(fitted.tables["shares"]["share"].tolist(), abs=1e-4)
    assert data["order"] == [one["topic"] for one in fitted.answer["topics"]]
    assert [data["trust"][one["topic"]]["chains"] for one in fitted.answer["topics"]] == [
        one["chains"] for one in fitted.answer["topics"]
    ]
    assert data["documents"]["best_shares"][0][0] == pytest.approx(fitted.theta[0].max(), abs=1e-4)
    # p(topic | term) by Bayes' rule from the counts of the topic
    joint = fitted.beta() * fitted.tables["shares"]["share"].to_numpy()[:, None]
    term = data["terms"]["names"].index(HOSTILE[0])
    assert data["terms"]["best_shares"][term][0] == pytest.approx(joint[:, 0].max() / joint[:, 0].sum(), abs=1e-4)
    text, found = page_of(selected, corpus), Read(page_of(selected, corpus)).data
    assert selected.headline in text
    assert found["charts"]["posterior"]["traces"][0]["x"] == sorted(selected.posterior)
    assert found["share"] == pytest.approx(
        [one["share"] for one in sorted(selected.answer["top_words"], key=_topic)], abs=1e-4
    )
    for one in selected.answer["top_words"]:
        assert found["trust"][one["topic"]]["chains"] == one["chains"]
        assert f"<td>{one['chains']} of 2 chains" in text


def test_chains_that_disagree_have_no_probabilities(selected: SelectResult) -> None:
    """Guards a chart that calls the mean of chains a probability, although each is sure of another T."""
    every = sorted(selected.posterior)
    rows = [(c, b, t, float(t == every[-c])) for c in range(2) for b in range(2) for t in every]
    batches = pd.DataFrame(rows, columns=["chain", "batch", "topics", "weight"])
    apart = dataclasses.replace(selected, tables=selected.tables | {"batches": batches})
    assert "not yet the probabilities" in charts.posterior(apart).note
    apart = dataclasses.replace(selected, answer=selected.answer | {"agree": False})
    assert "the chains disagree" in charts.hyper(apart).note
    apart = dataclasses.replace(selected, answer=selected.answer | {"agree": True})
    assert "the chains disagree" not in charts.hyper(apart).note


def test_topics_that_only_some_chains_have_are_counted_if_there_are_any() -> None:
    class Found(dict):
        trust = property(dict)

    def words(*found: int) -> str:
        return answers._found(Found({n: {"chains": c, "stable": c > 1} for n, c in enumerate(found)}), 3)[0]  # type: ignore[arg-type]

    assert words(3, 3, 1).startswith("2 of the 3 topics were found by all 3 chains. ")
    assert words(3, 2, 1).startswith("1 of the 3 topics was found by all 3 chains, and 1 more by most of them. ")


def _topic(one: dict[str, Any]) -> int:
    return int(one["topic"])


def test_large_corpora_are_cut_and_the_page_says_so(
    fitted: FitResult, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "DOCUMENTS", 20)
    monkeypatch.setattr(topics, "EXAMPLES", 3)
    monkeypatch.setattr(topics, "FOUND_TERMS", 1)
    monkeypatch.setattr(topics, "SHOWN_TERMS", 2)
    text = page_of(fitted, corpus)
    data = Read(text).data
    assert len(data["documents"]["titles"]) == 20
    assert "leave out 10 of the 30 documents" in text
    assert f"does not know the {10 - len(data['terms']['names'])} rarest of the 10 terms" in text


# -- topics ----------------------------------------------------------------------------------------------


def test_terms_are_the_most_relevant_ones_for_every_lambda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "SHOWN_TERMS", 3)
    rng = np.random.default_rng(1)
    frequency = rng.integers(1, 100, 40)
    beta = rng.dirichlet(np.full(40, 0.3))
    shown = relevant(beta, frequency, np.where(beta > 0.001, 1.0, 0.0))
    there = beta > 0.001
    for weight in topics.LAMBDAS:
        relevance = weight * np.log(beta) + (1 - weight) * np.log(beta / (frequency / frequency.sum()))
        best = sorted(np.flatnonzero(there), key=lambda v, found=relevance: -found[v])[:3]
        assert set(best) <= set(shown)
    assert set(shown) <= set(np.flatnonzero(there))


def test_the_map_keeps_distances() -> None:
    beta = np.random.default_rng(1).dirichlet(np.full(6, 0.5), size=3)
    found = distances(beta)
    assert found[0, 1] == pytest.approx(np.linalg.norm(np.sqrt(beta[0]) - np.sqrt(beta[1])) / np.sqrt(2))
    places, shown = layout(found)  # three points are in a plane
    assert np.linalg.norm(places[0] - places[1]) == pytest.approx(found[0, 1])
    assert np.linalg.norm(places[1] - places[2]) == pytest.approx(found[1, 2])
    assert shown == pytest.approx(1)
    assert nearest(found)[0][0] == [int(np.argmin([9, *found[0, 1:]])), pytest.approx(found[0, 1:].min(), abs=1e-4)]
    assert layout(distances(beta[:1]))[0].tolist() == [[0, 0]]


def test_draws_are_shown_by_their_weights() -> None:
    """Draws of the second half have nine times the weight, and count nine times as often."""
    times = counts_by_weight(np.repeat([30.0, 30.0 + np.log(9.0)], 2500), 300)
    assert times.sum() == 300
    assert times[:2500].sum() == pytest.approx(30, abs=1)
    assert counts_by_weight(np.log([1.0, 2.0, 1.0]) - 700, 4).tolist() == [1, 2, 1]


def test_a_document_of_two_words_is_no_example() -> None:
    corpus = Corpus.from_sparse([[2, 0], [30, 8], [0, 40], [0, 0]])
    theta = Moments(np.array([[0.8, 0.2], [0.75, 0.25], [0.1, 0.9], [1.0, 0.0]]), np.full((4, 2), 0.05))
    theta.deviation[0] = 0.3
    given = topics.Topics(np.full((2, 2), 0.5), np.array([0.5, 0.5]), theta, {}, "")
    assert examples(given, corpus)[0] == [1, 0, 2]


# -- groups of documents -----------------------------------------------------------------------------------


def test_the_interval_of_a_share_is_that_of_a_mean() -> None:
    rng = np.random.default_rng(2)
    mean, deviation = rng.uniform(size=(2, 9, 3)) * [[[1.0]], [[0.1]]]
    groups = Groups("x", "words", ["a", "b", "none", "one"], np.array([0, 0, 0, 1, 1, 1, 1, 3, -1]))
    number, share, half = shares(Moments(mean, np.zeros_like(mean)), groups)
    assert number.tolist() == [3, 4, 0, 1]
    for one, own in enumerate((mean[:3], mean[3:7])):
        low, high = stats.t.interval(0.95, len(own) - 1, own.mean(axis=0), stats.sem(own))
        assert share[one] == pytest.approx((low + high) / 2)
        assert half[one] == pytest.approx((high - low) / 2)
    assert np.isnan(share[2]).all()
    assert np.isnan(half[3]).all()
    wider = shares(Moments(mean, deviation), groups)[2]
    extra = stats.t.ppf(0.975, 2) ** 2 * np.square(deviation[:3]).mean(axis=0) / 3
    assert np.square(wider[0]) == pytest.approx(np.square(half[0]) + extra)


@pytest.mark.parametrize(
    ("name", "values", "kind", "labels"),
    [
        ("date", ["2020-01-05", "2020-01-06", "", "2020-01-08"], "dates", ["2020-01-05", "2020-01-06", "2020-01-07"]),
        ("publish_date", ["2017/2/7", "2017/5/30"], "dates", ["2017-02", "2017-03", "2017-04"]),
        ("year", ["1990", "1993"], "dates", ["1990", "1991", "1992", "1993"]),
        ("year", [1800, 2020], "dates", ["1800", "1810", "1820"]),
        ("when", [pd.Timestamp("2001-02-03"), pd.NaT, pd.Timestamp("2004-02-03")], "dates", ["2001", "2002", "2003"]),
        ("party", ["x", "y", None, "x"], "words", ["x", "y"]),
        ("number", [1, 2, 1, 2], "words", ["1", "2"]),
        ("weight", [n / 10 for n in range(64)], "words", ["-0.001 to 0.788"]),
    ],
)
def test_columns_are_dates_words_or_numbers(name: str, values: list[Any], kind: str, labels: list[str]) -> None:
    found = group(name, pd.Series(6 * values))
    assert found is not None
    assert (found.kind, found.labels[: len(labels)]) == (kind, labels)
    assert len(found.group) == 6 * len(values)
    assert sum(found.group < 0) == 6 * sum(value in ("", None) or value is pd.NaT for value in values)
    assert found.group.max() < len(found.labels) <= prevalence.MOST_PERIODS


@pytest.mark.parametrize("values", [["a"] * 50, [f"name {n}" for n in range(100)], list(range(100)), [None, None]])
def test_names_of_documents_and_constants_make_no_groups(values: list[Any]) -> None:
    assert group("id", pd.Series(values)) is None
    assert groups_of(dataclasses.replace(hostile(30), metadata=None, labels=None)) == ([], [])


# -- commands ----------------------------------------------------------------------------------------------


def test_fit_writes_a_report(corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out, alone = tmp_path / "my.npz", tmp_path / "out", tmp_path / "alone.html"
    write_corpus(corpus, path)
    words = ["fit", str(path), "--topics", "2", "--sweeps", "10", "--burn-in", "5", "--chains", "2"]
    assert main([*words, "--out", str(out), "--report", str(alone)]) == 0
    assert (out / "report.html").read_bytes() == alone.read_bytes()
    assert {"documents.csv", "topics.csv"} <= {one.name for one in out.iterdir()}
    capsys.readouterr()


# -- in the browser ----------------------------------------------------------------------------------------

TERMS = "[...document.querySelectorAll('#table-terms tbody th')].map(cell => cell.innerText)"


@needs_chromium
def test_the_page_works_in_a_browser(
    fitted: FitResult, selected: SelectResult, corpus: Corpus, page: Page, tmp_path: Path
) -> None:
    write_report(fitted, corpus, tmp_path / "fit.html")
    page.open((tmp_path / "fit.html").as_uri() + "#topics")
    page.wait("document.querySelectorAll('#chart-map .point').length === 2")
    # the slider
    page.evaluate("document.querySelector('#table-terms').closest('details').open = true")
    before = page.wait(TERMS)
    data = Read((tmp_path / "fit.html").read_text()).data
    assert before[0] == data["terms"]["names"][data["terms"]["topics"][data["order"][0]][0]]
    page.evaluate("(s => { s.value = 0; s.dispatchEvent(new Event('input')) })(document.getElementById('lambda'))")
    assert sorted(page.wait(TERMS)) == sorted(before)
    assert page.evaluate("document.getElementById('lambda-value').value") == "λ = 0.00"
    # hovering over a bar
    page.evaluate("document.getElementById('chart-terms').scrollIntoView()")
    box = page.evaluate(
        "(b => [b.x + 2, b.y + b.height / 2])(document.querySelector('#chart-terms .point').getBoundingClientRect())"
    )
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
    assert "times in this topic" in page.wait("document.querySelector('#chart-terms .hovertext')?.textContent")
    # a topic by keyboard, a group, and the search
    page.evaluate("document.getElementById('next').click()")
    page.wait(f"document.getElementById('topic').value === '{data['order'][1]}'")
    page.evaluate("(s => { s.value = 2; s.dispatchEvent(new Event('change')) })(document.getElementById('column'))")
    page.wait("document.querySelectorAll('#table-prevalence tbody tr').length === 3")
    page.evaluate("location.hash = '#search'")
    page.wait("!document.getElementById('search').hidden")
    page.evaluate("document.getElementById('query').focus()")
    page.call("Input.insertText", text="<SCRIPT")
    assert page.wait("document.querySelector('#found-words tbody th')?.innerText") == HOSTILE[0]
    assert page.evaluate("document.querySelectorAll('#found-documents li').length") > 0
    page.evaluate("document.getElementById('tab-search').focus()")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
    page.wait("document.querySelectorAll('#diagnostics .chart .scatterlayer .trace').length === 3")
    # everything is printed, and nothing came from elsewhere or was run
    page.call("Page.printToPDF")
    write_report(selected, corpus, tmp_path / "select.html")
    page.open((tmp_path / "select.html").as_uri())
    page.wait("document.querySelectorAll('#chart-posterior .point').length > 0")
    page.wait("document.querySelectorAll('#chart-hyper .point').length > 0")
    assert page.evaluate("window.bad") is None
    assert page.errors() == []
    addresses = [event["request"]["url"] for event in page.heard("Network.requestWillBeSent")]
    assert {address.split(":")[0] for address in addresses} <= {"file", "data"}
