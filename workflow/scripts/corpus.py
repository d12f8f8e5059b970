"""One corpus: generated, or from the cache, the mirror or its official source, checked."""

from logs import logged

from bayestopics.corpus import write_corpus
from bayestopics.corpus.registry import Registry

with logged(snakemake.log[0]):
    corpus = Registry().load(snakemake.wildcards.name)
    write_corpus(corpus, snakemake.output.corpus)
    print(corpus.summary())
