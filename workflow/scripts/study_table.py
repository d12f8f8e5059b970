"""A table of a study: the function that `make` names in a module of bayestopics.figures."""

from importlib import import_module
from pathlib import Path

from logs import logged

from bayestopics.base.plotting import html_table
from bayestopics.runs.record import read

params, output = snakemake.params, snakemake.output
with logged(snakemake.log[0]):
    make = getattr(import_module(f"bayestopics.figures.{params.module}"), params.make)
    table = make([read(Path(folder)) for folder in snakemake.input.records])
    table.to_csv(output.csv, index=False)
    Path(output.html).write_text(html_table(table, params.title, f"scale: {params.scale}"), encoding="utf-8")
    print(table)
