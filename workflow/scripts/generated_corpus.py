"""One simulated corpus, and the parameters and assignments that made it."""

from pathlib import Path

from logs import logged

from bayestopics.corpus import write_corpus
from bayestopics.corpus.registry import Registry

with logged(snakemake.log[0]):
    simulated = Registry().simulate(snakemake.wildcards.name)
    simulated.save_truth(Path(snakemake.output.truth))
    write_corpus(simulated.corpus, snakemake.output.corpus)
    print(simulated.corpus.summary())
