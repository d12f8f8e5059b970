"""Seconds a sweep of every sampler on one corpus."""

from pathlib import Path

from logs import logged

from bayestopics.corpus import read_corpus
from bayestopics.runs.record import write
from bayestopics.runs.task import Task, describe
from bayestopics.studies.blocking.compute_times import compute, seconds_a_sweep

params = snakemake.params
with logged(snakemake.log[0]):
    corpus = read_corpus(snakemake.input.corpus)
    name = snakemake.wildcards.run
    run = Task("blocking", params.scale, name, params.run, params.seed, **describe(corpus), code=params.code)
    record = compute(run, corpus)
    write(record, Path(snakemake.output.record))
    print(seconds_a_sweep(record))
