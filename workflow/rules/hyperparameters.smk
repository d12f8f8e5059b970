# Study `hyperparameters`: tempering, its rivals, the iterative grid, scores and coverage.
# Its runs are named in hyperparameters_runs.smk.

if "hyperparameters" in config["studies"]:

    rule hyperparameters:
        input:
            targets("hyperparameters"),

    # a step of the iterative grid has the step before as its input; scores have the estimates of h
    rule hyperparameters_run:
        input:
            corpus=corpus_of("hyperparameters"),
            before=hyper_before,
        output:
            record=directory(f"{RESULTS}/hyperparameters/{{run}}"),
        log:
            f"{RESULTS}/logs/hyperparameters-{{run}}.log",
        wildcard_constraints:
            run="|".join(RUNS["hyperparameters"]) or "none",
        params:
            study="hyperparameters",
            run=params_of("hyperparameters"),
            seed=config["seed"],
            scale=SCALE,
            checkpoints=CHECKPOINTS,
            code=hyper_code,
        message:
            "Running {wildcards.run}"
        script:
            "../scripts/study_run.py"

    rule hyperparameters_figure:
        input:
            records=lambda wildcards: HYPER_FIGURES[wildcards.figure][1],
        output:
            report(
                f"{RESULTS}/hyperparameters/{{figure}}.png",
                caption="../report/hyperparameters_figure.rst",
                category="Hyperparameters",
                labels={"what": "{figure}"},
            ),
        log:
            f"{RESULTS}/logs/hyperparameters-{{figure}}.log",
        wildcard_constraints:
            figure="|".join(HYPER_FIGURES) or "none",
        params:
            scale=SCALE,
            module="hyper",
            draw=lambda wildcards: HYPER_FIGURES[wildcards.figure][0],
            code=code_hash("bayestopics.studies.hyperparameters.figures"),
        message:
            "Drawing {wildcards.figure}"
        script:
            "../scripts/study_figure.py"

    rule hyperparameters_table:
        input:
            records=lambda wildcards: hyper_records(*HYPER_TABLES[wildcards.table][0]),
        output:
            csv=f"{RESULTS}/hyperparameters/{{table}}.csv",
            html=report(
                f"{RESULTS}/hyperparameters/{{table}}.html",
                caption="../report/hyperparameters_table.rst",
                category="Hyperparameters",
                labels={"what": "table: {table}"},
            ),
        log:
            f"{RESULTS}/logs/hyperparameters-{{table}}.log",
        wildcard_constraints:
            table="|".join(HYPER_TABLES),
        params:
            scale=SCALE,
            module="hyper_tables",
            make=lambda wildcards: f"{wildcards.table}_table",
            title=lambda wildcards: HYPER_TABLES[wildcards.table][1],
            code=code_hash("bayestopics.studies.hyperparameters.tables"),
        message:
            "Making the table of {wildcards.table}"
        script:
            "../scripts/study_table.py"
