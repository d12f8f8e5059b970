"""A table of the study of the number of topics: the function of bayestopics.figures.topics that `make` names."""

from pathlib import Path

from logs import logged

from bayestopics.figures import topics
from bayestopics.figures.style import html_table
from bayestopics.runs.record import read

params, output = snakemake.params, snakemake.output
with logged(snakemake.log[0]):
    table = getattr(topics, params.make)([read(Path(folder)) for folder in snakemake.input.records])
    table.to_csv(output.csv, index=False)
    Path(output.html).write_text(html_table(table, params.title, f"scale: {params.scale}"), encoding="utf-8")
    print(table)
