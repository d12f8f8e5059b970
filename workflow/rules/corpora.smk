# Corpora: generated, or from the cache, the mirror or their official source.


def registry_entry(wildcards):
    """What decides a corpus: a change of it makes the corpus anew."""
    return REGISTRY[wildcards.name].content()


def own_files(wildcards):
    """A corpus of the user's own is read again when its files change."""
    return REGISTRY.own_files(wildcards.name)


rule corpus:
    input:
        own_files,
    output:
        corpus="data/corpora/{name}.npz",
    log:
        "results/logs/corpus-{name}.log",
    wildcard_constraints:
        name="|".join(REGISTRY.entries),
    params:
        entry=registry_entry,
        code=code_hash("bayestopics.corpus.registry"),
    message:
        "Getting corpus {wildcards.name}"
    script:
        "../scripts/corpus.py"
