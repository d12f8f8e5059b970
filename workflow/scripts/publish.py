"""The records of one study to MLflow."""

import json
from pathlib import Path

from logs import logged

from bayestopics.runs.publish import publish

with logged(snakemake.log[0]):
    published = publish([Path(folder) for folder in snakemake.input.records], Path("results"))
    Path(snakemake.output[0]).write_text(json.dumps(published, indent=2) + "\n", encoding="utf-8")
