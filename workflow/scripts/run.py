"""Computes runs of a study one after the other. Each can be resumed, and a finished record is not computed again."""

import json
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
from logs import logged

from bayestopics.base.files import replacing
from bayestopics.base.problems import InputError
from bayestopics.corpus import read_corpus
from bayestopics.runs.driver import run
from bayestopics.runs.record import read
from bayestopics.runs.result import Result, key, versions
from bayestopics.runs.task import Task, describe


def result_of(name: str, definition: dict[str, Any], study: str, params: Any) -> Result:
    """Compute one run; the entry `before` names the records that it builds on."""
    corpus = read_corpus(definition["corpus"]) if definition["corpus"] else None
    before = [read(Path(one)) for one in definition["before"]]
    settings = dict(definition["params"])
    compute = import_module(f"bayestopics.studies.{study}.compute_{settings['kind']}").compute
    if before:
        settings["before"] = [record.task.identity for record in before]
        compute = partial(compute, before=before)
    task = Task(study, params.scale, name, settings, params.seed, **describe(corpus), code=definition["code"])
    out, checkpoints = Path(definition["record"]), Path(params.checkpoints)
    return run(task, compute, corpus, out=out, overwrite=not is_finished(out, task), checkpoints=checkpoints)


def is_finished(folder: Path, task: Task) -> bool:
    """Whether the record of exactly this task exists; a record of another task or an older format is replaced."""
    try:
        return read(folder).key == key(task, versions())
    except InputError:
        return False


if __name__ == "__main__":  # worker processes import this file
    with logged(snakemake.log[0]):
        numba.set_num_threads(min(snakemake.threads, numba.config.NUMBA_NUM_THREADS))  # other jobs run at the same time
        keys = {}
        for name, definition in snakemake.params.runs.items():
            result = result_of(name, definition, snakemake.wildcards.study, snakemake.params)
            keys[name] = result.key
            print(name, result.metrics, *result.warnings, sep="\n", flush=True)
        with replacing(Path(snakemake.output.done)) as temporary:
            temporary.write_text(json.dumps(keys, indent=2) + "\n", encoding="utf-8")
