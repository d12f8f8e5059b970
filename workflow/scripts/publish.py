"""The records of a study to MLflow, with its figures and tables; or what belongs to no study, as the claims."""

import json
from pathlib import Path

from logs import logged

from bayestopics.runs.publish import publish_or_say

params = snakemake.params
with logged(snakemake.log[0]):
    folders = [Path(folder) for folder in params.records.values()]
    shown = [Path(path) for path in snakemake.input.shown]
    published = publish_or_say(folders, Path("results"), parent=f"{params.title}, {params.scale}", shown=shown)
    Path(snakemake.output.published).write_text(json.dumps(published, indent=2) + "\n", encoding="utf-8")
