"""The report of `bayestopics select`: a folder with a page, its figures, and the tables behind them."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bayestopics.base.files import replacing
from bayestopics.base.plain import without_nan
from bayestopics.base.plotting import COLOURS, save
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.estimates import surface
from bayestopics.lda.state import Prior
from bayestopics.runs.fit import fit
from bayestopics.runs.plots import ELLIPSE, REGION, contours, outline
from bayestopics.runs.select import Selection

FINE = 40  # points on a side of the surface

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
<p>log evidence: log p(w | T, alpha, eta) at the best alpha and eta of each T, by annealing, with its Monte Carlo
standard error. log marginal: alpha and eta integrated out, by Laplace; the posterior of T comes from it, uniform over
the T that were tried.</p>
{evidence}
<h2>Which alpha and eta?</h2>
<img src="surface.png" alt="contours of the marginal likelihood of alpha and eta">
<p>The ellipse is Monte Carlo error, from the scatter of independent chains, and shrinks as they grow. The region is the
uncertainty about alpha and eta themselves, and shrinks as the corpus grows.</p>
<h2>The topics</h2>
<p>Of one chain at this model, after its last sweep.</p>
{topics}
<p>The numbers: <a href="select.json">select.json</a>, <a href="evidence.csv">evidence.csv</a>,
<a href="topics.csv">topics.csv</a>.</p>
</body></html>
"""


def write_report(found: Selection, corpus: Corpus, folder: Path, *, sweeps: int, seed: int) -> None:
    """All of it, or nothing. The topics are from a fit at the chosen model with half of `sweeps` as burn-in."""
    summary = without_nan(found.summary())
    prior = Prior(summary["alpha"], summary["eta"])
    half = max(1, sweeps // 2)
    fitted = fit(corpus, topics=found.topics, prior=prior, sweeps=half, burn_in=half, seed=seed)
    topics = pd.DataFrame([{**row, "words": " ".join(row["words"])} for row in fitted["topics"]])
    evidence = found.table.assign(posterior=list(found.posterior.values()))
    with replacing(folder) as temporary:
        temporary.mkdir()
        save(draw_evidence(found, _name(corpus)), temporary / "evidence.png")
        save(draw_surface(found, _name(corpus)), temporary / "surface.png")
        evidence.to_csv(temporary / "evidence.csv", index=False)
        topics.to_csv(temporary / "topics.csv", index=False)
        (temporary / "index.html").write_text(page(found, corpus, evidence, topics), encoding="utf-8")
        (temporary / "select.json").write_text(json.dumps(summary, indent=1, allow_nan=False) + "\n")


def _name(corpus: Corpus) -> str:
    """Without the folder that it was read from."""
    return Path(corpus.name).name


def page(found: Selection, corpus: Corpus, evidence: pd.DataFrame, topics: pd.DataFrame) -> str:
    best, share = found.hyper.best, found.posterior[found.topics]
    sizes = f"{corpus.document_count:,} documents, {corpus.term_count:,} terms, {corpus.token_count:,} tokens"
    model = f"T = {found.topics} topics (posterior {share:.1%}), alpha = {best.alpha:.4g}, eta = {best.eta:.4g}"
    warnings = "\n".join(f'<p class="warning">{html.escape(one)}</p>' for one in found.warnings)
    return PAGE.format(
        title=html.escape(f"Which model for {_name(corpus)}?"),
        answer=f"<b>{model}</b>, for {sizes}.",
        warnings=warnings,
        evidence=_table(evidence, {"posterior": "{:.2%}", "log_evidence": "{:.2f}", "log_marginal": "{:.2f}"}),
        topics=_table(topics, {"share": "{:.1%}"}),
    )


def _table(table: pd.DataFrame, forms: dict[str, str]) -> str:
    named = table.rename(columns=lambda name: name.replace("_", " "))
    formatters = {name.replace("_", " "): form.format for name, form in forms.items()}
    return named.to_html(index=False, border=0, formatters=formatters, float_format="{:.4g}".format, na_rep="unknown")


# -- figures -------------------------------------------------------------------------------------------


def draw_evidence(found: Selection, name: str) -> Figure:
    """log evidence over T, each at its own best h, with two standard errors either side."""
    table = found.table
    figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
    errors = 2 * table["standard_error"].fillna(0.0)
    axis.errorbar(table["topics"], table["log_evidence"], errors, marker="o", markersize=5, capsize=3)
    best = table[table["topics"] == found.topics]
    chosen: dict[str, Any] = {
        "marker": "o",
        "s": 110,
        "facecolor": "none",
        "edgecolor": COLOURS[1],
        "linewidth": 1.6,
        "zorder": 5,
    }
    axis.scatter(best["topics"], best["log_evidence"], label=f"T = {found.topics}", **chosen)
    axis.set(title=f"{name}: log evidence, with 2 standard errors", xlabel="number of topics T")
    axis.set_ylabel("log p(w | T, alpha, eta) (nats)")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(loc="outside lower center")
    return figure


def draw_surface(found: Selection, name: str) -> Figure:
    """log M-hat over the grid of the first tempered chain; the best h of every chain and of all, with its Monte Carlo
    ellipse and the region of h."""
    chains, best = found.hyper.chains, found.hyper.best
    alphas, etas = (np.geomspace(*ends, FINE) for ends in chains[0].grid.ends)
    values, _ = surface(chains[0], alphas, etas)
    figure, axis = plt.subplots(figsize=(7, 5.4), layout="constrained")
    shown = contours(axis, alphas, etas, values.T, values.min())
    outline(axis, best.region, "95 % region for h itself", REGION)
    outline(axis, best.ellipse, "95 % Monte Carlo ellipse of the best h", ELLIPSE)
    tops = np.array([[one.best.alpha, one.best.eta] for one in found.hyper.found])
    if len(tops) > 1:
        axis.scatter(tops[:, 0], tops[:, 1], s=14, color=COLOURS[0], zorder=5, label="best h of single chains")
    axis.scatter(best.alpha, best.eta, s=26, color=COLOURS[1], zorder=5, label="the best h = (alpha, eta)")
    ends = [(*side, *own) for side, own in zip(chains[0].grid.ends, tops.T, strict=True)]
    axis.set(xlabel="alpha", ylabel="eta", xlim=(min(ends[0]), max(ends[0])), ylim=(min(ends[1]), max(ends[1])))
    axis.grid(False)
    axis.set_title(f"{name}, T = {found.topics}: log M-hat(h), chain 0")
    figure.colorbar(shown, ax=axis, label="less its largest (nats)")
    figure.legend(loc="outside lower center", ncol=2, fontsize=9)
    return figure
