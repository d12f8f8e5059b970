"""One chain of the study of blocking, resumable."""

from pathlib import Path

import numba
from logs import logged

from bayestopics.corpus import read_corpus
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import write
from bayestopics.runs.task import Task, describe
from bayestopics.studies.blocking.compute_chain import compute

params = snakemake.params
with logged(snakemake.log[0]):
    corpus = read_corpus(snakemake.input.corpus)
    numba.set_num_threads(snakemake.threads)  # jobs run side by side
    name = snakemake.wildcards.run
    run = Task("blocking", params.scale, name, params.run, params.seed, **describe(corpus), code=params.code)
    checkpoint = Checkpoint(Path(params.checkpoints), run)
    record = compute(run, corpus, checkpoint)
    record.volatile |= checkpoint.seconds()  # with those before it was killed
    write(record, Path(snakemake.output.record))
    checkpoint.remove()
    print(record.metrics)
