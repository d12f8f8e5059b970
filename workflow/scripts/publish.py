"""Publishes records to MLflow, below parent runs that hold the figures, tables and claims.

A store that is out of reach is no failure: what was to be published is left in a list, for `make publish`.
"""

from pathlib import Path

from logs import logged

from bayestopics.runs.publish import publish_list

with logged(snakemake.log[0]):
    print(publish_list(Path(snakemake.output.published), snakemake.params.parents) or "published")
