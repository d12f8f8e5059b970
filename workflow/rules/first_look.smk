# Study `first_look`: plain single-site Gibbs on a few corpora, end to end.

if "first_look" in config["studies"]:
    FIRST_LOOK = AT_SCALE["first_look"]
    insist(STUDY["first_look"]["sampler"] in SAMPLERS, f"config/studies/first_look.yaml: samplers are {list(SAMPLERS)}")
    for name in FIRST_LOOK["corpora"]:
        insist(name in STUDY["first_look"]["models"], f"config/studies/first_look.yaml: no model for {name!r}")
    RUNS["first_look"] = {
        f"{name}-chain{chain}": {
            "corpus": name,
            "chain": chain,
            "sampler": STUDY["first_look"]["sampler"],
            "sweeps": FIRST_LOOK["sweeps"],
            **STUDY["first_look"]["models"][name],
        }
        for name in available("first_look")
        for chain in range(FIRST_LOOK["chains"])
    }
    OUTPUTS["first_look"] = [
        f"{RESULTS}/first_look/traces.png",
        f"{RESULTS}/first_look/topics.png",
        f"{RESULTS}/first_look/summary.csv",
    ]

    rule first_look:
        input:
            targets("first_look"),

    rule first_look_run:
        input:
            corpus=corpus_of("first_look"),
        output:
            record=directory(f"{RESULTS}/first_look/{{run}}"),
        log:
            f"{RESULTS}/logs/first_look-{{run}}.log",
        wildcard_constraints:
            run="|".join(RUNS["first_look"]) or "none",
        params:
            run=params_of("first_look"),
            seed=config["seed"],
            scale=SCALE,
            checkpoints=CHECKPOINTS,
            code=code_hash(
                "bayestopics.studies.first_look.compute_chain",
                SAMPLERS[STUDY["first_look"]["sampler"]].module,
            ),
        message:
            "Sampling {wildcards.run}"
        script:
            "../scripts/first_look_run.py"

    rule first_look_figures:
        input:
            records=record_folders("first_look"),
        output:
            traces=report(
                f"{RESULTS}/first_look/traces.png",
                caption="../report/first_look_traces.rst",
                category="First look",
                labels={"what": "log joint and perplexity"},
            ),
            topics=report(
                f"{RESULTS}/first_look/topics.png",
                caption="../report/first_look_topics.rst",
                category="First look",
                labels={"what": "topics"},
            ),
            summary=f"{RESULTS}/first_look/summary.csv",
        log:
            f"{RESULTS}/logs/first_look-figures.log",
        params:
            scale=SCALE,
            code=code_hash("bayestopics.studies.first_look.figures"),
        message:
            "Drawing the first look"
        script:
            "../scripts/first_look_figures.py"
