# Corpora: generated, or from the cache, the mirror or their official source.


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
