"""The MLflow store and its experiment, made once."""

from pathlib import Path

from logs import logged

from bayestopics.runs.publish import create_store

with logged(snakemake.log[0]):
    print("experiment", create_store(Path("results")))
