"""Computes the table of claims from the records and errors of all studies."""

from pathlib import Path

from logs import logged

from bayestopics.corpus.registry import Registry
from bayestopics.runs.record import read
from bayestopics.studies import claims
from bayestopics.studies.errors import read_errors

params = snakemake.params
with logged(snakemake.log[0]):
    records = {
        study: {run: read(Path(folder)) for run, folder in found.items()} for study, found in params.records.items()
    }
    errors = {study: read_errors(paths) for study, paths in params.errors.items()}
    answers = claims.answers(records, errors, Registry().entries, params.left_out)
    table = claims.table_of(answers, params.scale)
    claims.write(Path(snakemake.output.csv).parent, table, answers, params.scale, params.left_out)
    Path(snakemake.output.html).write_text(claims.page(table, params.scale, params.left_out), encoding="utf-8")
