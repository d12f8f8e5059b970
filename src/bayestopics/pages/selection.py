"""The report of `bayestopics select`: a page with figures and tables, in the folder of the record."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pandas as pd

from bayestopics.base.files import clear_scratch, replacing
from bayestopics.base.plain import without_nan
from bayestopics.base.plotting import save
from bayestopics.base.wording import in_cell, visible
from bayestopics.corpus.corpus import Corpus
from bayestopics.runs.kinds import SelectResult

FIRST = """The first answer, after a few seconds and without an error, was {topics} topics, alpha {alpha:.3g} and eta
{eta:.3g}; one of the chains started from it."""
SHARES = ("probability", "low", "high")  # of the table of the posterior
FIGURES = {
    "posterior": SelectResult.plot,
    "chains": SelectResult.plot_chains,
    "hyper": SelectResult.plot_hyper,
}
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; color: #222; }}
table {{ border-collapse: collapse; }} th, td {{ padding: .3em .7em; text-align: left; vertical-align: top; }}
th {{ background: #f3f3f3; }} tr:nth-child(even) {{ background: #fafafa; }} img {{ max-width: 100%; }}
.warning {{ color: #a33; }}
</style></head><body><h1>{title}</h1>
<p>{answer}</p>
{warnings}
<p>{first}</p>
<h2>How many topics?</h2>
<img src="posterior.png" alt="posterior probability of each number of topics, with error bars">
<p>The posterior of the number of topics T, with alpha and eta integrated out. The prior of T is {prior}; that of log
alpha and log eta is uniform. The probability is between low and high: two Monte Carlo standard errors on either side,
which also see what the chains disagree about, and wider where the chains are too short to tell.</p>
{posterior}
<img src="chains.png" alt="the number of topics along the chains">
<p>Chains from different starts should reach the same T. Dots are draws that count; on its way from one topic to
another a chain also visits states of little weight. The burn-in is not used.</p>
{chains}
<h2>Which alpha and eta?</h2>
<img src="hyper.png" alt="draws of alpha and eta">
<p>{hyper}</p>
<h2>The topics</h2>
<p>These are the topics of one draw from the posterior with T = {number}.</p>
{topics}
<p>All numbers are in <a href="select.json">select.json</a>, <a href="posterior.csv">posterior.csv</a>
and <a href="topics.csv">topics.csv</a>.</p>
</body></html>
"""


def write_report(result: SelectResult, corpus: Corpus, folder: Path) -> None:
    """Write the page last, so that everything it shows exists when it does."""
    clear_scratch(folder)
    topics = topics_table(result)
    for name, figure in FIGURES.items():
        save(figure(result), folder / f"{name}.png")
    _write(folder / "posterior.csv", result.tables["posterior"].to_csv(index=False))
    _write(folder / "topics.csv", topics.assign(words=topics["words"].map(in_cell)).to_csv(index=False))
    _write(folder / "select.json", json.dumps(without_nan(result.summary()), indent=1, allow_nan=False) + "\n")
    _write(folder / "index.html", page(result, corpus, topics))


def topics_table(result: SelectResult) -> pd.DataFrame:
    """One row per topic, with its words as they can be shown."""
    return pd.DataFrame([{**row, "words": " ".join(map(visible, row["words"]))} for row in result.answer["top_words"]])


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page(result: SelectResult, corpus: Corpus, topics: pd.DataFrame) -> str:
    answer = result.answer
    sizes = f"{corpus.document_count:,} documents, {corpus.term_count:,} terms, {corpus.token_count:,} tokens"
    posterior = result.tables["posterior"]
    likely = posterior.loc[posterior["topics"].isin(result.posterior), ["topics", *SHARES]]
    chains = pd.DataFrame(answer["chains"])[["start", "mean", "mode"]]
    return PAGE.format(
        title=html.escape(f"Which model for {visible(result.name)}?"),
        answer=f"<b>{result.headline}</b>, for {sizes}.",
        warnings="\n".join(f'<p class="warning">{html.escape(visible(one))}</p>' for one in result.warnings),
        first=FIRST.format(**answer["first_answer"]),
        prior=_prior(result.task.params["topics"]),
        posterior=_table(likely, dict.fromkeys(SHARES, "{:.1%}")),
        chains=_table(chains, {"mean": "{:.2f}"}),
        hyper="; ".join(_hyper(name, law) for name, law in answer["hyper"].items() if law is not None),
        number=answer["topics"],
        topics=_table(topics, {"share": "{:.1%}"}),
    )


def _prior(prior: dict[str, Any]) -> str:
    about = prior["kind"] if prior["parameter"] is None else f"{prior['kind']} ({prior['parameter']:g})"
    return f"{about} from {prior['low']}" + (" on" if prior["high"] is None else f" to {prior['high']}")


def _hyper(name: str, law: dict[str, float]) -> str:
    ends = f"with probability 95 % between {law['low']:.3g} and {law['high']:.3g}"
    return f"{name} is about {law['median']:.4g}, {ends}"


def _table(table: pd.DataFrame, forms: dict[str, str]) -> str:
    named = table.rename(columns=lambda name: name.replace("_", " "))
    formatters = {name.replace("_", " "): form.format for name, form in forms.items()}
    return named.to_html(index=False, border=0, formatters=formatters, float_format="{:.4g}".format, na_rep="unknown")
