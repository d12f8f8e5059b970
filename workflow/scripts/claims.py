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
    claims = table(params.claims, studies, Registry().entries, params.scale)
    claims.to_csv(output.csv, index=False)
    left_out = [f"{name}: {how}" for name, how in params.left_out.items()]
    Path(output.markdown).write_text(markdown(claims, params.scale, left_out), encoding="utf-8")
    note = "Not available: " + "; ".join(left_out) if left_out else ""
    title = f"Claims of the papers, at scale {params.scale}"
    Path(output.html).write_text(html_table(claims, title, note), encoding="utf-8")
