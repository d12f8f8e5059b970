"""Seconds a sweep against the number of topics."""

from pathlib import Path

from logs import logged

from bayestopics.base.plotting import save
from bayestopics.runs.record import read
from bayestopics.studies.blocking.figures import draw_times, times_table

with logged(snakemake.log[0]):
    records = [read(Path(folder)) for folder in snakemake.input.records]
    save(draw_times(records, snakemake.params.scale), snakemake.output.figure)
    times_table(records).to_csv(snakemake.output.csv, index=False)
