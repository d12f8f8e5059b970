"""The table of claims, computed from the records of all studies."""

from pathlib import Path

from logs import logged

from bayestopics.claims import markdown, table
from bayestopics.corpus.registry import Registry
from bayestopics.figures.style import html_table
from bayestopics.runs.record import read

params, output = snakemake.params, snakemake.output
with logged(snakemake.log[0]):
    studies = {
        study: {Path(folder).name: read(Path(folder)) for folder in folders}
        for study, folders in params.records.items()
    }
    claims = table(params.claims, studies, Registry().entries, params.scale, params.left_out)
    claims.to_csv(output.csv, index=False)
    Path(output.markdown).write_text(markdown(claims, params.scale, params.left_out), encoding="utf-8")
    note = "Corpora that were not available: " + ", ".join(params.left_out) if params.left_out else ""
    title = f"Claims of the papers, at scale {params.scale}"
    Path(output.html).write_text(html_table(claims, title, note), encoding="utf-8")
