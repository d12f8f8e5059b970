# Study `routes`: the number of topics by every route, a run a corpus.

if "routes" in config["studies"]:

    def routes_runs():
        for entry in AT_SCALE["routes"]["runs"]:
            rest = {key: value for key, value in entry.items() if key != "corpora"}
            for corpus in entry["corpora"]:
                for given, where in [
                    (AT_SCALE["routes"]["corpora"], "the scale's corpora"),
                    (STUDY["routes"]["priors"], "priors"),
                ]:
                    insist(
                        corpus in given,
                        f"config/studies/routes.yaml: {corpus!r} is not among {where}",
                    )
                yield corpus, {"kind": "routes", "corpus": corpus, **STUDY["routes"]["priors"][corpus], **rest}

    RUNS["routes"] = {name: run for name, run in routes_runs() if PLACES[run["corpus"]]}
    OUTPUTS["routes"] = [f"{RESULTS}/routes/routes.{ending}" for ending in ("png", "csv")]

    rule routes:
        input:
            targets("routes"),

    rule routes_run:
        input:
            corpus=corpus_of("routes"),
        output:
            record=directory(f"{RESULTS}/routes/{{run}}"),
        log:
            f"{RESULTS}/logs/routes-{{run}}.log",
        wildcard_constraints:
            run="|".join(RUNS["routes"]) or "none",
        params:
            study="routes",
            run=params_of("routes"),
            seed=config["seed"],
            scale=SCALE,
            checkpoints=CHECKPOINTS,
            code=code_hash("bayestopics.studies.routes"),
        message:
            "Running every route on {wildcards.run}"
        script:
            "../scripts/study_run.py"

    rule routes_figure:
        input:
            records=record_folders("routes"),
        output:
            report(
                f"{RESULTS}/routes/routes.png",
                caption="../report/routes.rst",
                category="Number of topics",
                labels={"what": "by every route"},
            ),
        log:
            f"{RESULTS}/logs/routes-figure.log",
        params:
            scale=SCALE,
            module="routes",
            draw="draw_routes",
            code=code_hash("bayestopics.figures.routes"),
        message:
            "Drawing the number of topics by every route"
        script:
            "../scripts/study_figure.py"

    rule routes_table:
        input:
            records=record_folders("routes"),
        output:
            csv=f"{RESULTS}/routes/routes.csv",
            html=report(
                f"{RESULTS}/routes/routes.html",
                caption="../report/routes.rst",
                category="Number of topics",
                labels={"what": "table: by every route"},
            ),
        log:
            f"{RESULTS}/logs/routes-table.log",
        params:
            scale=SCALE,
            module="routes",
            make="routes_table",
            title="The number of topics by every route, and what each of them estimates",
            code=code_hash("bayestopics.figures.routes"),
        message:
            "Making the table of the number of topics by every route"
        script:
            "../scripts/study_table.py"
