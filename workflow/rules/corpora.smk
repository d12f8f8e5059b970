# Study `corpora`: fetch or generate every corpus, measure it, and put it beside the papers' numbers.


GENERATED = [name for name, entry in REGISTRY.entries.items() if entry.generator]
PUBLISHED = [name for name in REGISTRY.entries if name not in GENERATED]
REGISTRY_CODE = code_hash("bayestopics.corpus.registry")


rule published_corpus:
    input:
        own_files,
    output:
        corpus="data/corpora/{name}.npz",
    log:
        "results/logs/corpus-{name}.log",
    wildcard_constraints:
        name="|".join(PUBLISHED),
    params:
        entry=registry_entry,
        code=REGISTRY_CODE,
    message:
        "Getting corpus {wildcards.name}"
    script:
        "../scripts/published_corpus.py"


rule generated_corpus:
    output:
        corpus="data/corpora/{name}.npz",
        truth="data/corpora/{name}.truth.npz",
    log:
        "results/logs/corpus-{name}.log",
    wildcard_constraints:
        name="|".join(GENERATED),
    params:
        entry=registry_entry,
        code=REGISTRY_CODE,
    message:
        "Generating corpus {wildcards.name}"
    script:
        "../scripts/generated_corpus.py"


if "corpora" in config["studies"]:
    RUNS["corpora"] = {
        name: {
            "splits": STUDY["corpora"]["splits"],
            "heldout_documents": STUDY["corpora"]["heldout_documents"].get(name),
        }
        for name in available("corpora")
    }
    OUTPUTS["corpora"] = [
        f"{RESULTS}/corpora/table.csv",
        f"{RESULTS}/corpora/corpora.png",
    ]

    rule corpora:
        input:
            targets("corpora"),

    rule corpora_records:
        input:
            corpora=[corpus_file(name) for name in available("corpora")],
        output:
            records=[directory(folder) for folder in record_folders("corpora")],
        log:
            f"{RESULTS}/logs/corpora-records.log",
        params:
            runs=RUNS["corpora"],
            seed=config["seed"],
            scale=SCALE,
            code=code_hash("bayestopics.studies.corpora.compute_sizes"),
        message:
            "Measuring the corpora"
        script:
            "../scripts/corpora_records.py"

    rule corpora_table:
        input:
            records=record_folders("corpora"),
            registry="config/corpora.yaml",
        output:
            csv=f"{RESULTS}/corpora/table.csv",
            html=report(
                f"{RESULTS}/corpora/table.html",
                caption="../report/corpora_table.rst",
                category="Corpora",
                labels={"what": "sizes beside the papers' numbers"},
            ),
            figure=report(
                f"{RESULTS}/corpora/corpora.png",
                caption="../report/corpora.rst",
                category="Corpora",
                labels={"what": "sizes of all corpora"},
            ),
        log:
            f"{RESULTS}/logs/corpora-table.log",
        params:
            names=AT_SCALE["corpora"]["corpora"],
            scale=SCALE,
            code=code_hash("bayestopics.studies.corpora.compute_sizes", "bayestopics.studies.corpora.figures"),
        message:
            "Putting the corpora beside the papers' numbers"
        script:
            "../scripts/corpora_table.py"
