# Study `split_merge`: its runs and their parameters, from config/studies/split_merge.yaml.

if "split_merge" in config["studies"]:
    SPLIT_MERGE = AT_SCALE["split_merge"]
    for part in ("synthetic", "perplexity", "blocks"):
        for entry in SPLIT_MERGE[part]:
            for name in entry["corpora"]:
                insist(
                    name in SPLIT_MERGE["corpora"],
                    f"config/studies/split_merge.yaml: {part}: {name!r} is not among the scale's corpora",
                )
                insist(
                    part != "synthetic" or REGISTRY[name].generator,
                    f"config/studies/split_merge.yaml: synthetic: {name!r} is not a simulated corpus",
                )

    def split_merge_runs():
        for part in ("synthetic", "perplexity", "blocks"):
            for entry in SPLIT_MERGE[part]:
                rest = {key: value for key, value in entry.items() if key not in ("corpora", "settings")}
                for corpus in entry["corpora"]:
                    for values in entry["settings"]:
                        words = [f"{key}{values[key]:g}" for key in ("gamma", "concentration", "eta", "start")]
                        name = "-".join([corpus, part, *words])
                        yield name, {"kind": f"split_merge_{part}", "corpus": corpus, **rest, **values}

    RUNS["split_merge"] = {
        "law": {"kind": "split_merge_law", **SPLIT_MERGE["law"]},
        **{name: run for name, run in split_merge_runs() if PLACES[run["corpus"]]},
    }

    def split_merge_corpus(wildcards):
        """The cases of `law` are in its parameters."""
        run = RUNS["split_merge"][wildcards.run]
        return corpus_file(run["corpus"]) if "corpus" in run else []

    def split_merge_records(kind, corpus=None):
        """The folders of the records of a kind, of all corpora or of one."""
        return [
            f"{RESULTS}/split_merge/{name}"
            for name, run in RUNS["split_merge"].items()
            if run["kind"] == f"split_merge_{kind}" and corpus in (None, run.get("corpus"))
        ]

    def split_merge_code(wildcards):
        return code_hash(f"bayestopics.studies.{RUNS['split_merge'][wildcards.run]['kind']}")

    # name -> the function that draws it, and its records
    SPLIT_MERGE_FIGURES = {"law": ("draw_law", split_merge_records("law"))}
    for corpus in available("split_merge"):
        if found := split_merge_records("synthetic", corpus):
            for figure in ("data", "topics", "acceptance", "confusion"):
                SPLIT_MERGE_FIGURES[f"{figure}-{corpus}"] = (f"draw_{figure}", found)
        if found := split_merge_records("perplexity", corpus):
            SPLIT_MERGE_FIGURES[f"perplexity-{corpus}"] = ("draw_perplexity", found)
    if found := split_merge_records("blocks"):
        SPLIT_MERGE_FIGURES["blocks"] = ("draw_blocks", found)
    SPLIT_MERGE_TABLES = {  # name -> kind of the records, title
        "samplers": (
            "synthetic",
            "What Gibbs and split-merge find, in each setting",
        ),
        "perplexity": (
            "perplexity",
            "Held-out perplexity of Gibbs and split-merge at equal CPU seconds",
        ),
        "blocks": (
            "blocks",
            "Blocked Gibbs beside plain Gibbs: mixing a sweep and a second",
        ),
        "law": (
            "law",
            "How far the law of each sampler is from the enumerated posterior",
        ),
    }
    OUTPUTS["split_merge"] = [
        *(f"{RESULTS}/split_merge/{name}.png" for name in SPLIT_MERGE_FIGURES),
        *(
            f"{RESULTS}/split_merge/{name}.csv"
            for name, (kind, _) in SPLIT_MERGE_TABLES.items()
            if split_merge_records(kind)
        ),
    ]
