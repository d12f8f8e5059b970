"""Compile every kernel into the cache before jobs run side by side."""

from logs import logged

from bayestopics.lda import SAMPLERS
from bayestopics.runs.chain import warm

with logged(snakemake.log[0]):
    for sampler in SAMPLERS:
        warm(sampler)
