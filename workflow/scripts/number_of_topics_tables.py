"""All PMMH chains in numbers, and all methods beside the yardstick."""

from pathlib import Path

from logs import logged

from bayestopics.figures.style import html_table
from bayestopics.figures.topics import methods_table, walks_table
from bayestopics.runs.record import read

params, output = snakemake.params, snakemake.output
with logged(snakemake.log[0]):
    for key, make, title in [
        ("walks", walks_table, "PMMH chains over the number of topics"),
        ("evidence", methods_table, "Methods for the evidence, beside the yardstick"),
    ]:
        table = make([read(Path(folder)) for folder in snakemake.input[key]])
        table.to_csv(output[key], index=False)
        page = html_table(table, title, f"scale: {params.scale}")
        Path(output[f"{key}_page"]).write_text(page, encoding="utf-8")
        print(table)
