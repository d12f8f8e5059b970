"""All samplers in numbers, and their autocorrelation times."""

from pathlib import Path

from logs import logged

from bayestopics.base.plotting import html_table, save
from bayestopics.runs.record import read
from bayestopics.studies.blocking.figures import draw_autocorrelation, summary

params, output = snakemake.params, snakemake.output
with logged(snakemake.log[0]):
    records = [read(Path(folder)) for folder in snakemake.input.records]
    table = summary(records)
    table.to_csv(output.csv, index=False)
    page = html_table(table, "Samplers side by side", f"scale: {params.scale}")
    Path(output.html).write_text(page, encoding="utf-8")
    save(draw_autocorrelation(records, params.scale), output.figure)
    print(table)
