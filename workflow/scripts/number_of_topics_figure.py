"""A figure of the study of the number of topics: the function of bayestopics.figures.topics that `draw` names."""

from pathlib import Path

from logs import logged

from bayestopics.figures import topics
from bayestopics.figures.style import save
from bayestopics.runs.record import read

params = snakemake.params
with logged(snakemake.log[0]):
    records = [read(Path(folder)) for folder in snakemake.input.records]
    save(getattr(topics, params.draw)(records, params.scale), snakemake.output[0])
