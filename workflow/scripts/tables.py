"""Makes the tables of a study with the functions of its tables.py, and the table of its errors: as CSV and as pages."""

from importlib import import_module
from pathlib import Path

import pandas as pd
from logs import logged

from bayestopics.base.html_table import html_table
from bayestopics.runs.record import read
from bayestopics.studies.errors import TITLE, read_errors, with_errors


def write(table: pd.DataFrame, name: str, title: str) -> None:
    folder = Path(snakemake.output.folder)
    table.to_csv(folder / f"{name}.csv", index=False)
    page = html_table(table, title, f"scale: {snakemake.params.scale}")
    (folder / f"{name}.html").write_text(page, encoding="utf-8")
    print(name, table, sep="\n")


params, study = snakemake.params, snakemake.wildcards.study
with logged(snakemake.log[0]):
    Path(snakemake.output.folder).mkdir(parents=True, exist_ok=True)
    errors = read_errors(snakemake.input.errors)
    for name, planned in params.tables.items():
        make = with_errors(getattr(import_module(f"bayestopics.studies.{study}.tables"), planned["make"]), errors)
        records = [read(Path(params.records[run])) for run in planned["runs"]]
        write(make(records, **planned["arguments"]), name, planned["title"])
    if snakemake.input.errors:
        write(errors, "errors", TITLE)
