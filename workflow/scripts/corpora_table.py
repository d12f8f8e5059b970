"""The table and the figure of all corpora beside the papers' numbers."""

from pathlib import Path

from logs import logged

from bayestopics.base.plotting import html_table, save
from bayestopics.corpus.registry import Registry
from bayestopics.runs.record import read
from bayestopics.studies.corpora.compute_sizes import table
from bayestopics.studies.corpora.figures import draw

params, output = snakemake.params, snakemake.output
with logged(snakemake.log[0]):
    records = {Path(folder).name: read(Path(folder)) for folder in snakemake.input.records}
    sizes = table(records, Registry().entries, params.names)
    sizes.to_csv(output.csv, index=False)
    Path(output.html).write_text(
        html_table(sizes.drop(columns="title"), f"Corpora at scale {params.scale}"), encoding="utf-8"
    )
    save(draw(sizes, params.scale), output.figure)
columns = ["corpus", "source", "documents", "terms", "tokens", "paper", "agrees"]
print(sizes[columns].to_string(index=False, na_rep=""))
