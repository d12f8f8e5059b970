# Study `blocking`: chains of several samplers from the same starts, and seconds a sweep against the number of topics.

if "blocking" in config["studies"]:
    BLOCKING = AT_SCALE["blocking"]
    MODELS = STUDY["blocking"]["models"]
    for name in BLOCKING["corpora"]:
        for part, given in [
            ("models", MODELS),
            ("runs", BLOCKING["runs"]),
            ("sweeps", BLOCKING["sweeps"]),
        ]:
            insist(name in given, f"config/studies/blocking.yaml: {part}: nothing for {name!r}")
        for sampler in MODELS[name]["samplers"] + STUDY["blocking"]["timing"]["samplers"]:
            insist(sampler in SAMPLERS, f"config/studies/blocking.yaml: {sampler!r} is none of {list(SAMPLERS)}")
    insist(
        set(BLOCKING["timing"]["corpora"]) <= set(BLOCKING["corpora"]),
        "config/studies/blocking.yaml: timing: corpora must be among the scale's corpora",
    )
    CHAINS = {
        f"{name}-{sampler}-run{run}": {
            "corpus": name,
            "sampler": sampler,
            "run": run,
            "sweeps": BLOCKING["sweeps"][name],
            **{key: value for key, value in MODELS[name].items() if key != "samplers"},
        }
        for name in available("blocking")
        for sampler in MODELS[name]["samplers"]
        for run in range(BLOCKING["runs"][name])
    }
    TIMES = {
        f"{name}-times": {
            "corpus": name,
            **STUDY["blocking"]["timing"],
            **{key: BLOCKING["timing"][key] for key in ("topics", "settling_sweeps", "rounds")},
        }
        for name in BLOCKING["timing"]["corpora"]
        if PLACES[name]
    }
    RUNS["blocking"] = CHAINS | TIMES
    OUTPUTS["blocking"] = [
        *(f"{RESULTS}/blocking/mixing-{name}.png" for name in available("blocking")),
        f"{RESULTS}/blocking/autocorrelation.png",
        f"{RESULTS}/blocking/summary.csv",
        *([f"{RESULTS}/blocking/times.png"] if TIMES else []),
    ]

    rule blocking:
        input:
            targets("blocking"),

    rule blocking_run:
        input:
            corpus=corpus_of("blocking"),
        output:
            record=directory(f"{RESULTS}/blocking/{{run}}"),
        log:
            f"{RESULTS}/logs/blocking-{{run}}.log",
        wildcard_constraints:
            run="|".join(CHAINS) or "none",
        params:
            run=params_of("blocking"),
            seed=config["seed"],
            scale=SCALE,
            checkpoints=CHECKPOINTS,
            code=lambda wildcards: code_hash(
                "bayestopics.studies.blocking.compute_chain", SAMPLERS[CHAINS[wildcards.run]["sampler"]].module
            ),
        message:
            "Sampling {wildcards.run}"
        script:
            "../scripts/blocking_run.py"

    rule blocking_times:
        input:
            corpus=corpus_of("blocking"),
        output:
            record=directory(f"{RESULTS}/blocking/{{run}}"),
        log:
            f"{RESULTS}/logs/blocking-{{run}}.log",
        wildcard_constraints:
            run="|".join(TIMES) or "none",
        threads: workflow.cores  # nothing else runs while seconds are counted
        params:
            run=params_of("blocking"),
            seed=config["seed"],
            scale=SCALE,
            code=code_hash(
                "bayestopics.studies.blocking.compute_times",
                *(SAMPLERS[name].module for name in STUDY["blocking"]["timing"]["samplers"]),
            ),
        message:
            "Timing the samplers: {wildcards.run}"
        script:
            "../scripts/blocking_times.py"

    rule blocking_mixing:
        input:
            records=lambda wildcards: [
                f"{RESULTS}/blocking/{run}" for run in CHAINS if CHAINS[run]["corpus"] == wildcards.corpus
            ],
        output:
            report(
                f"{RESULTS}/blocking/mixing-{{corpus}}.png",
                caption="../report/blocking_mixing.rst",
                category="Blocking",
                labels={"what": "log posterior and perplexity: {corpus}"},
            ),
        log:
            f"{RESULTS}/logs/blocking-mixing-{{corpus}}.log",
        params:
            scale=SCALE,
            code=code_hash("bayestopics.studies.blocking.figures"),
        message:
            "Drawing the chains of {wildcards.corpus}"
        script:
            "../scripts/blocking_mixing.py"

    rule blocking_summary:
        input:
            records=[f"{RESULTS}/blocking/{run}" for run in CHAINS],
        output:
            csv=f"{RESULTS}/blocking/summary.csv",
            html=report(
                f"{RESULTS}/blocking/summary.html",
                caption="../report/blocking_summary.rst",
                category="Blocking",
                labels={"what": "all samplers in numbers"},
            ),
            figure=report(
                f"{RESULTS}/blocking/autocorrelation.png",
                caption="../report/blocking_autocorrelation.rst",
                category="Blocking",
                labels={"what": "autocorrelation times"},
            ),
        log:
            f"{RESULTS}/logs/blocking-summary.log",
        params:
            scale=SCALE,
            code=code_hash("bayestopics.studies.blocking.figures"),
        message:
            "Summing up the samplers"
        script:
            "../scripts/blocking_summary.py"

    rule blocking_times_figure:
        input:
            records=[f"{RESULTS}/blocking/{run}" for run in TIMES],
        output:
            figure=report(
                f"{RESULTS}/blocking/times.png",
                caption="../report/blocking_times.rst",
                category="Blocking",
                labels={"what": "seconds a sweep"},
            ),
            csv=f"{RESULTS}/blocking/times.csv",
        log:
            f"{RESULTS}/logs/blocking-times-figure.log",
        params:
            scale=SCALE,
            code=code_hash("bayestopics.studies.blocking.figures"),
        message:
            "Drawing seconds a sweep"
        script:
            "../scripts/blocking_times_figure.py"
