"""Computes the Monte Carlo errors of a study's estimates with the function `errors` of its errors.py."""

from importlib import import_module
from pathlib import Path

from logs import logged

from bayestopics.runs.record import read

params, output = snakemake.params, snakemake.output
with logged(snakemake.log[0]):
    records = (read(Path(folder)) for folder in params.records.values())
    table = import_module(f"bayestopics.studies.{snakemake.wildcards.study}.errors").errors(records)
    table.to_parquet(output.parquet, index=False)
    table.to_csv(output.csv, index=False)
    print(table)
