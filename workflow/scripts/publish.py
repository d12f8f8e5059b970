"""Publishes records to MLflow, below parent runs that hold the figures, tables and claims."""

import json
from pathlib import Path

from logs import logged

from bayestopics.runs.publish import publish_or_say

with logged(snakemake.log[0]):
    published = {}
    for parent, below in snakemake.params.parents.items():
        records, shown = ([Path(path) for path in below[part]] for part in ("records", "shown"))
        published[parent] = publish_or_say(records, Path("results"), parent, shown)
    Path(snakemake.output.published).write_text(json.dumps(published, indent=2) + "\n", encoding="utf-8")
