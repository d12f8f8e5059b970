"""A run record for each corpus: its sizes."""

from pathlib import Path

from logs import logged

from bayestopics.corpus import read_corpus
from bayestopics.runs.record import write
from bayestopics.runs.task import Task, describe
from bayestopics.studies.corpora.compute_sizes import measure

params = snakemake.params
with logged(snakemake.log[0]):
    for file, folder in zip(snakemake.input.corpora, snakemake.output.records, strict=True):
        corpus, name = read_corpus(file), Path(folder).name
        run = Task("corpora", params.scale, name, params.runs[name], params.seed, **describe(corpus), code=params.code)
        write(measure(run, corpus), Path(folder))
