# Study `routes`: the number of topics by every route, a run a corpus. Its runs are named in routes_runs.smk.

if "routes" in config["studies"]:

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
            code=code_hash("bayestopics.studies.routes.compute_routes"),
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
            code=code_hash("bayestopics.studies.routes.figures"),
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
            code=code_hash("bayestopics.studies.routes.figures"),
        message:
            "Making the table of the number of topics by every route"
        script:
            "../scripts/study_table.py"
