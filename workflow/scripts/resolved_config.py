"""Writes the settings of this run as they were used."""

from pathlib import Path

import yaml
from logs import logged

with logged(snakemake.log[0]):
    text = yaml.safe_dump(snakemake.params.settings, sort_keys=False)
    Path(snakemake.output.settings).write_text(text, encoding="utf-8")
