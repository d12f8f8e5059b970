"""One published corpus, from the cache, the mirror or its official source, checked."""

from logs import logged

from bayestopics.corpus.registry import Registry

with logged(snakemake.log[0]):
    corpus = Registry().fetch(snakemake.wildcards.name)
    print(corpus.summary())
