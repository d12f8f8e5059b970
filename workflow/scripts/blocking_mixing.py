"""Log posterior and perplexity of one corpus's chains."""

from pathlib import Path

from logs import logged

from bayestopics.base.plotting import save
from bayestopics.runs.record import read
from bayestopics.studies.blocking.figures import draw_mixing

with logged(snakemake.log[0]):
    records = [read(Path(folder)) for folder in snakemake.input.records]
    save(draw_mixing(records, snakemake.params.scale), snakemake.output[0])
