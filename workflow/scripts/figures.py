"""Draws the figures of a study with the functions of its figures.py."""

from importlib import import_module
from pathlib import Path

from logs import logged

from bayestopics.base.plotting import save, use_style
from bayestopics.runs.record import read
from bayestopics.studies.errors import read_errors, with_errors

params, study = snakemake.params, snakemake.wildcards.study
with logged(snakemake.log[0]):
    use_style()
    folder = Path(snakemake.output.folder)
    folder.mkdir(parents=True, exist_ok=True)
    errors = read_errors(snakemake.input.errors)
    for name, planned in params.figures.items():
        draw = with_errors(getattr(import_module(f"bayestopics.studies.{study}.figures"), planned["draw"]), errors)
        records = [read(Path(params.records[run])) for run in planned["runs"]]
        save(draw(records, params.scale, **planned["arguments"]), folder / f"{name}.png")
        print(name)
