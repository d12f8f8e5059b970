"""One run of a study, resumable; `kind` names the module that computes it. `before` are the records it builds on."""

from importlib import import_module
from pathlib import Path

import numba
from logs import logged

from bayestopics.corpus import read_corpus
from bayestopics.runs.checkpoint import Checkpoint
from bayestopics.runs.record import read, write
from bayestopics.runs.task import Task, describe

if __name__ == "__main__":  # worker processes import this file
    params = snakemake.params
    with logged(snakemake.log[0]):
        corpus = read_corpus(snakemake.input.corpus) if snakemake.input.corpus else None
        numba.set_num_threads(min(snakemake.threads, numba.config.NUMBA_NUM_THREADS))  # jobs run side by side
        before = [read(Path(folder)) for folder in snakemake.input.get("before", [])]
        settings = dict(params.run, before=[record.task.identity for record in before]) if before else params.run
        name = snakemake.wildcards.run
        identity = describe(corpus) if corpus else {"corpus": "none", "fingerprint": "none"}
        run = Task(params.study, params.scale, name, settings, params.seed, **identity, code=params.code)
        checkpoint = Checkpoint(Path(params.checkpoints), run)
        compute = import_module(f"bayestopics.studies.{params.run['kind']}").compute
        record = compute(run, corpus, checkpoint, before) if before else compute(run, corpus, checkpoint)
        record.volatile |= checkpoint.seconds()  # with those before it was killed
        write(record, Path(snakemake.output.record))
        checkpoint.remove()
        print(record.metrics, *record.warnings, sep="\n")
