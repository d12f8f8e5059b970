"""Traces, topics and a summary of the first look."""

from pathlib import Path

from logs import logged

from bayestopics.base.plotting import save
from bayestopics.runs.record import read
from bayestopics.studies.first_look.figures import draw_topics, draw_traces, summary

with logged(snakemake.log[0]):
    records = [read(Path(folder)) for folder in snakemake.input.records]
    save(draw_traces(records, snakemake.params.scale), snakemake.output.traces)
    save(draw_topics(records, snakemake.params.scale), snakemake.output.topics)
    summary(records).to_csv(snakemake.output.summary, index=False)
