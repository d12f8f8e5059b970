"""One run of the study of the number of topics, resumable; `kind` names the module that computes it."""

from importlib import import_module
from pathlib import Path

import numba
from logs import logged

from bayestopics.corpus import read_corpus
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import Run, describe, write

params = snakemake.params
with logged(snakemake.log[0]):
    corpus = read_corpus(snakemake.input.corpus)
    numba.set_num_threads(snakemake.threads)  # jobs run side by side
    name = snakemake.wildcards.run
    run = Run("number_of_topics", params.scale, name, params.run, params.seed, **describe(corpus), code=params.code)
    checkpoint = Checkpoint(Path(params.checkpoints), run)
    record = import_module(f"bayestopics.studies.{params.run['kind']}").compute(run, corpus, checkpoint)
    write(record, Path(snakemake.output.record))
    checkpoint.remove()
    print(record.metrics, *record.warnings, sep="\n")
