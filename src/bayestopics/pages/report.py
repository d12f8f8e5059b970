"""The report of `select` and of `fit`: one HTML file that needs nothing else and no network.

The page is made by a template of jinja2, which escapes everything that comes from a corpus. The charts are drawn by
plotly.js, which comes inside the Python package plotly, and by a small script of our own (templates/report.js). The
same result and corpus give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayestopics.base.files import replacing
from bayestopics.base.plain import without_nan
from bayestopics.base.problems import InputError
from bayestopics.base.wording import visible
from bayestopics.corpus.corpus import Corpus
from bayestopics.pages import answers, charts
from bayestopics.pages.prevalence import prevalence_data
from bayestopics.pages.rendering import plotly, render, template
from bayestopics.pages.topics import (
    LAMBDAS,
    LONGEST,
    SHOWN_TERMS,
    USUAL_LAMBDA,
    Topics,
    distances,
    document_data,
    layout,
    names,
    nearest,
    rounded,
    short,
    term_data,
    topics_of,
)
from bayestopics.runs.fit_result import FitResult
from bayestopics.runs.kinds import DIAGNOSTICS, JUMP, labelled
from bayestopics.runs.record import read
from bayestopics.runs.result import Result
from bayestopics.runs.select_result import SelectResult

REPORT = "report.html"  # in the folder of a record
NUMBERS = ("log_joint_mean", "log_joint_error", "rhat", "effective_sample_size")  # the diagnostics of `fit`


def write_report(record: Result | Path | str, corpus: Corpus, path: Path | str) -> None:
    """Write a report of `select` or `fit` as one HTML file, to open in a browser and to show around.

    The file holds the terms of the topics and the beginnings of at most 2,000 documents, where the corpus knows them.
    It says what it leaves out.

    Parameters
    ----------
    record : Result, path or str
        The result of `select` or `fit`, or the folder of its record.
    corpus : Corpus
        The corpus of the result. Any other corpus is refused.
    path : path or str
        The file to write, such as ``report.html``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from bayestopics import fit, simulate, write_report
    >>> corpus = simulate(documents=30, length=40, terms=20, topics=3, seed=1)
    >>> file = Path(mkdtemp()) / "report.html"
    >>> write_report(fit(corpus, topics=3, sweeps=10, burn_in=10), corpus, file)
    >>> file.read_text().splitlines()[0]
    '<!doctype html>'
    """
    result = record if isinstance(record, Result) else read(Path(record))
    result.task.insist(corpus)
    text = page(result, corpus)
    with replacing(Path(path)) as temporary:
        temporary.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Own:
    """What differs between the reports of `fit` and of `select`."""

    title: str
    topics: Topics
    listed: list[dict[str, Any]]  # the topics with the words that the command prints
    charts: list[charts.Chart]
    diagnostics: list[tuple[str, str]]
    answer: Callable[[list[str]], answers.Answer]  # from the names of the topics


def _own(result: Result, corpus: Corpus) -> Own:
    if isinstance(result, FitResult):
        topics = topics_of(result)
        return Own(
            f"Topics of {visible(result.name)}",
            topics,
            result.listed,
            [charts.fit_chains(result)],
            labelled({name: result.answer[name] for name in NUMBERS}),
            lambda names: answers.of_fit(result, topics, names, corpus),
        )
    if isinstance(result, SelectResult):
        topics = topics_of(result)
        return Own(
            f"Which model for {visible(result.name)}?",
            topics,
            result.listed,
            [charts.posterior(result), charts.hyper(result), charts.topic_chains(result)],
            labelled({name: result.answer[name] for name in DIAGNOSTICS if result.answer[name] is not None}, JUMP),
            lambda names: answers.of_selection(result, topics, names, corpus),
        )
    raise InputError(f"there is no report of the result of `{result.task.study}`, only of select and fit")


def page(result: Result, corpus: Corpus) -> str:
    own = _own(result, corpus)
    topics, terms, documents = own.topics, term_data(own.topics, corpus), document_data(own.topics, corpus)
    columns, others = prevalence_data(topics.theta, corpus)
    called, between = names(terms), distances(topics.beta)
    places, map_share = layout(between)
    data = {
        "names": called,
        "order": topics.by_size,
        "share": rounded(topics.share),
        "trust": [_trust(topics, t) for t in range(len(topics))],
        "map": rounded(places),
        "nearest": nearest(between),
        "terms": terms,
        "documents": documents,
        "columns": columns,
        "charts": {one.name: one.plot for one in own.charts},
        "shown_terms": SHOWN_TERMS,
    }
    return render(
        "report.html",
        title=own.title,
        kind=result.task.study,
        answer=own.answer(called),
        topics=topics,
        rows=_rows(own, called),
        chains=result.task.params["chains"],
        map_share=map_share,
        charts={one.name: one for one in own.charts},
        diagnostics=own.diagnostics,
        warnings=[visible(one) for one in result.warnings],
        reproduced=_reproduced(own, result.task.params["chains"]),
        settings=_settings(result),
        versions=result.versions,
        notes=[visible(one) for one in corpus.notes],
        contents=_contents(result.task.study, terms, documents, others, corpus),
        columns=[one["column"] for one in columns],
        slider={"value": USUAL_LAMBDA, "step": round(float(LAMBDAS[1]), 4)},
        data=without_nan(data),
        scripts=[plotly(), template("report.js")],
    )


# -- parts of the page -----------------------------------------------------------------------------------


def _trust(topics: Topics, topic: int) -> dict[str, Any] | None:
    one = topics.trust.get(topic)
    return None if one is None else {name: one[name] for name in ("chains", "similarity", "stable")}


def _rows(own: Own, called: list[str]) -> list[dict[str, Any]]:
    """The table of all topics, large to small."""
    words = {one["topic"]: " ".join(short(word) for word in one["words"]) for one in own.listed}
    shares, trust = own.topics.share, own.topics.trust
    return [
        {"topic": t, "name": called[t], "share": shares[t], "words": words[t], "trust": trust.get(t)}
        for t in own.topics.by_size
    ]


def _reproduced(own: Own, chains: int) -> list[list[str]]:
    """One row per topic: in how many chains it is, and how similar it is there."""
    return [
        [
            f"topic {one['topic']}",
            f"{one['chains']} of {chains}",
            f"{one['similarity']:.2f} ({one['similarity_interval'][0]:.2f} to {one['similarity_interval'][1]:.2f})",
            "yes" if one["stable"] else "no",
        ]
        for one in own.listed
        if "chains" in one
    ]


def _settings(result: Result) -> list[tuple[str, str]]:
    task = result.task
    rows = [("command", task.study), ("corpus", visible(Path(task.corpus).name))]
    rows += [("fingerprint of the corpus", task.fingerprint), ("seed", str(task.seed))]
    rows += [(name.replace("_", " "), _setting(value)) for name, value in task.params.items()]
    return [*rows, ("code", task.code)]


def _setting(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_setting(one)}" for key, one in value.items() if one is not None)
    return short(value if isinstance(value, str) else json.dumps(without_nan(value)), LONGEST)


def _contents(
    command: str, terms: dict[str, Any], documents: dict[str, Any], others: list[str], corpus: Corpus
) -> list[str]:
    """What the file holds, and what was left out so that it stays small."""
    listed = len(documents["titles"])
    texts = "beginnings of the texts" if documents["texts"] is not None else "numbers of words, but no texts"
    held = f"The file holds the titles and {texts} of {listed:,} documents: mind this before you pass it on."
    said = [held]
    if documents["left_out"]:
        said.append(
            f"Examples and search leave out {documents['left_out']:,} of the {corpus.document_count:,} documents; "
            f"topics and shares do not. `{command} --out` writes all documents to documents.csv."
        )
    if (missing := corpus.term_count - len(terms["names"])) > 0:
        said.append(f"The search does not know the {missing:,} rarest of the {corpus.term_count:,} terms.")
    if others:
        said.append(f"These columns make no groups to compare, or are too many: {', '.join(others)}.")
    return said
