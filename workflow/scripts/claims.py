"""The table of claims, computed from the records of all studies."""

from pathlib import Path

import yaml
from logs import logged

from bayestopics.base.plotting import html_table
from bayestopics.corpus.registry import Registry
from bayestopics.runs.record import read
from bayestopics.studies.claims import VERDICTS, markdown, summary, table

params, output = snakemake.params, snakemake.output
with logged(snakemake.log[0]):
    records = {
        study: {run: read(Path(params.results) / study / run) for run in runs} for study, runs in params.runs.items()
    }
    listed = yaml.safe_load(Path(snakemake.input.claims).read_text(encoding="utf-8"))
    claims = table(listed, records, Registry().entries, params.scale, params.left_out)
    claims.to_csv(output.csv, index=False)
    Path(output.markdown).write_text(markdown(claims, params.scale, params.left_out), encoding="utf-8")
    note = "; ".join(f"{count} {verdict}" for verdict, count in summary(claims).items())
    if params.left_out:
        note += ". Corpora that were not available: " + ", ".join(params.left_out)
    answered_first = claims.sort_values("verdict", key=lambda v: ~v.isin(VERDICTS), kind="stable")
    title = f"Claims of the papers, at scale {params.scale}"
    Path(output.html).write_text(html_table(answered_first, title, note), encoding="utf-8")
