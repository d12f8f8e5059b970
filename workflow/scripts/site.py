"""Writes the results site: overview, claims, studies and corpora, from what the other rules have left."""

import json
from pathlib import Path

import pandas as pd
from logs import logged

from bayestopics.pages.site import read_study, write_site
from bayestopics.studies.claims import all_claims

params = snakemake.params
with logged(snakemake.log[0]):
    results = Path(snakemake.input.claims).parent
    runs = [json.loads(Path(path).read_text(encoding="utf-8")) for path in snakemake.input.published]
    published = {key: run for one in runs for key, run in one["runs"].items()}
    studies = {name: read_study(results, name, plan, published) for name, plan in params.plans.items()}
    claims = pd.read_csv(snakemake.input.claims, keep_default_na=False)
    write_site(results, params.scale, studies, claims, {one.id: one.study for one in all_claims()}, params.left_out)
