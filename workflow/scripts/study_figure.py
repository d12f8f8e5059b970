"""A figure of a study: the function that `draw` names in a module of bayestopics.figures."""

from importlib import import_module
from pathlib import Path

from logs import logged

from bayestopics.base.plotting import save
from bayestopics.runs.record import read

params = snakemake.params
with logged(snakemake.log[0]):
    records = [read(Path(folder)) for folder in snakemake.input.records]
    draw = getattr(import_module(f"bayestopics.figures.{params.module}"), params.draw)
    save(draw(records, params.scale), snakemake.output[0])
