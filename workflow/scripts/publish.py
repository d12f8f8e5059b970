"""The records of a study to MLflow, with its figures and tables; or what belongs to no study, as the claims."""

import json
from pathlib import Path

from logs import logged

from bayestopics.runs.publish import publish

params = snakemake.params
with logged(snakemake.log[0]):
    folders = [Path(params.records) / run for run in params.runs]
    shown = [Path(path) for path in snakemake.input.shown]
    published = publish(folders, Path("results"), parent=f"{params.title}, {params.scale}", shown=shown)
    Path(snakemake.output[0]).write_text(json.dumps(published, indent=2) + "\n", encoding="utf-8")
