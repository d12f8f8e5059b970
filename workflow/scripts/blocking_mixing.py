"""Log posterior and perplexity of one corpus's chains."""

from pathlib import Path

from logs import logged

from bayestopics.figures.blocking import draw_mixing
from bayestopics.figures.style import save
from bayestopics.runs.record import read

with logged(snakemake.log[0]):
    records = [read(Path(folder)) for folder in snakemake.input.records]
    save(draw_mixing(records, snakemake.params.scale), snakemake.output[0])
