# Study `truncation_free`: the toy, streams of both methods and models with batches of many sizes, and without end.
# Its runs are named in truncation_free_runs.smk.

if "truncation_free" in config["studies"]:

    rule truncation_free:
        input:
            targets("truncation_free"),

    rule truncation_free_run:
        input:
            corpus=free_corpus,
        output:
            record=directory(f"{RESULTS}/truncation_free/{{run}}"),
        log:
            f"{RESULTS}/logs/truncation_free-{{run}}.log",
        wildcard_constraints:
            run="|".join(RUNS["truncation_free"]),
        params:
            study="truncation_free",
            run=params_of("truncation_free"),
            seed=config["seed"],
            scale=SCALE,
            checkpoints=CHECKPOINTS,
            code=free_code,
        message:
            "Running {wildcards.run}"
        script:
            "../scripts/study_run.py"

    rule truncation_free_figure:
        input:
            records=lambda wildcards: FREE_FIGURES[wildcards.figure][1],
        output:
            report(
                f"{RESULTS}/truncation_free/{{figure}}.png",
                caption="../report/truncation_free_figure.rst",
                category="Truncation-free",
                labels={"what": "{figure}"},
            ),
        log:
            f"{RESULTS}/logs/truncation_free-figure-{{figure}}.log",
        wildcard_constraints:
            figure="|".join(FREE_FIGURES),
        params:
            scale=SCALE,
            module="free",
            draw=lambda wildcards: FREE_FIGURES[wildcards.figure][0],
            code=code_hash("bayestopics.studies.truncation_free.figures"),
        message:
            "Drawing {wildcards.figure}"
        script:
            "../scripts/study_figure.py"

    rule truncation_free_table:
        input:
            records=lambda wildcards: FREE_TABLES[wildcards.table][1],
        output:
            csv=f"{RESULTS}/truncation_free/{{table}}.csv",
            html=report(
                f"{RESULTS}/truncation_free/{{table}}.html",
                caption="../report/truncation_free_table.rst",
                category="Truncation-free",
                labels={"what": "table: {table}"},
            ),
        log:
            f"{RESULTS}/logs/truncation_free-{{table}}.log",
        wildcard_constraints:
            table="|".join(FREE_TABLES),
        params:
            scale=SCALE,
            module="free_tables",
            make=lambda wildcards: f"{wildcards.table}_table",
            title=lambda wildcards: FREE_TABLES[wildcards.table][0],
            code=code_hash("bayestopics.studies.truncation_free.tables"),
        message:
            "Making the table of {wildcards.table}"
        script:
            "../scripts/study_table.py"
