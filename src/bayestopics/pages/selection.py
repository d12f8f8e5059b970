"""The report of `bayestopics select`: a page with figures and tables, in the folder of the record."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pandas as pd

from bayestopics.base.files import clear_scratch, replacing
from bayestopics.base.plain import without_nan
from bayestopics.base.plotting import save
from bayestopics.corpus.corpus import Corpus
from bayestopics.runs.kinds import SelectResult

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; color: #222; }}
table {{ border-collapse: collapse; }} th, td {{ padding: .3em .7em; text-align: left; vertical-align: top; }}
th {{ background: #f3f3f3; }} tr:nth-child(even) {{ background: #fafafa; }} img {{ max-width: 100%; }}
.warning {{ color: #a33; }}
</style></head><body><h1>{title}</h1>
<p>{answer}</p>
{warnings}
<h2>How many topics?</h2>
<img src="evidence.png" alt="log evidence over the number of topics, with error bars">
<p>The log evidence is log p(w | T, alpha, eta) at the best alpha and eta of each T, estimated by annealing, with its
Monte Carlo standard error. A difference of 1 (one nat) is a factor of 2.7 in probability. In the log marginal, alpha
and eta are integrated out by the Laplace approximation. The posterior of T comes from it, with a uniform prior over the
T that were tried.</p>
{evidence}
<h2>Which alpha and eta?</h2>
<img src="surface.png" alt="contours of the marginal likelihood of alpha and eta">
<p>The ellipse shows the Monte Carlo error, from the scatter of independent chains; it shrinks as the chains grow. The
region shows the uncertainty about alpha and eta themselves; it shrinks as the corpus grows.</p>
<h2>The topics</h2>
<p>These are the topics of one chain of this model, after its last sweep.</p>
{topics}
<p>All numbers are in <a href="select.json">select.json</a>, <a href="evidence.csv">evidence.csv</a> and
<a href="topics.csv">topics.csv</a>.</p>
</body></html>
"""


def write_report(result: SelectResult, corpus: Corpus, folder: Path) -> None:
    """Write the page last, so that everything it shows exists when it does."""
    clear_scratch(folder)
    topics = pd.DataFrame([{**row, "words": " ".join(row["words"])} for row in result.answer["top_words"]])
    save(result.plot(), folder / "evidence.png")
    save(result.plot_surface(), folder / "surface.png")
    _write(folder / "evidence.csv", result.tables["evidence"].to_csv(index=False))
    _write(folder / "topics.csv", topics.to_csv(index=False))
    _write(folder / "select.json", json.dumps(without_nan(result.summary()), indent=1, allow_nan=False) + "\n")
    _write(folder / "index.html", page(result, corpus, topics))


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page(result: SelectResult, corpus: Corpus, topics: pd.DataFrame) -> str:
    answer = result.answer
    sizes = f"{corpus.document_count:,} documents, {corpus.term_count:,} terms, {corpus.token_count:,} tokens"
    share = result.posterior[answer["topics"]]
    model = f"T = {answer['topics']} topics (posterior {share:.1%})"
    model += f", alpha = {answer['alpha']:.4g}, eta = {answer['eta']:.4g}"
    forms = {"posterior": "{:.2%}", "log_evidence": "{:.2f}", "log_marginal": "{:.2f}"}
    return PAGE.format(
        title=html.escape(f"Which model for {result.name}?"),
        answer=f"<b>{model}</b>, for {sizes}.",
        warnings="\n".join(f'<p class="warning">{html.escape(one)}</p>' for one in result.warnings),
        evidence=_table(result.tables["evidence"], forms),
        topics=_table(topics, {"share": "{:.1%}"}),
    )


def _table(table: pd.DataFrame, forms: dict[str, str]) -> str:
    named = table.rename(columns=lambda name: name.replace("_", " "))
    formatters = {name.replace("_", " "): form.format for name, form in forms.items()}
    return named.to_html(index=False, border=0, formatters=formatters, float_format="{:.4g}".format, na_rep="unknown")
