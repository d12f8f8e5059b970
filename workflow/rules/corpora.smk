# Gets the corpora: generated, or from the cache, the mirror or their official source.


rule corpus:
    input:
        own_files,
    output:
        corpora=["data/corpora/{name}.npz"],
    log:
        "results/logs/corpus-{name}.log",
    wildcard_constraints:
        name="|".join(REGISTRY.entries),
    params:
        entries=registry_entry,
        code=code_hash("bayestopics.corpus.registry"),
    message:
        "Getting corpus {wildcards.name}"
    script:
        "../scripts/corpus.py"


if TOGETHER:

    use rule corpus as corpora_together with:
        input:
            [REGISTRY.own_files(name) for name in WITHIN_REACH],
        output:
            corpora=[corpus_file(name) for name in WITHIN_REACH],
        log:
            f"{RESULTS}/logs/corpora.log",
        params:
            entries={name: REGISTRY[name].content() for name in WITHIN_REACH},
            code=code_hash("bayestopics.corpus.registry"),
        message:
            "Getting the corpora"
