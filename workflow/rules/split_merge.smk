# Study `split_merge`: split-merge beside plain Gibbs. Its runs are named in split_merge_runs.smk.

if "split_merge" in config["studies"]:

    rule split_merge:
        input:
            targets("split_merge"),

    rule split_merge_run:
        input:
            corpus=split_merge_corpus,
        output:
            record=directory(f"{RESULTS}/split_merge/{{run}}"),
        log:
            f"{RESULTS}/logs/split_merge-{{run}}.log",
        wildcard_constraints:
            run="|".join(RUNS["split_merge"]) or "none",
        params:
            study="split_merge",
            run=params_of("split_merge"),
            seed=config["seed"],
            scale=SCALE,
            checkpoints=CHECKPOINTS,
            code=split_merge_code,
        message:
            "Running {wildcards.run}"
        script:
            "../scripts/study_run.py"

    rule split_merge_figure:
        input:
            records=lambda wildcards: SPLIT_MERGE_FIGURES[wildcards.figure][1],
        output:
            report(
                f"{RESULTS}/split_merge/{{figure}}.png",
                caption="../report/split_merge_figure.rst",
                category="Split-merge",
                labels={"what": "{figure}"},
            ),
        log:
            f"{RESULTS}/logs/split_merge-{{figure}}.log",
        wildcard_constraints:
            figure="|".join(SPLIT_MERGE_FIGURES) or "none",
        params:
            scale=SCALE,
            module="split_merge",
            draw=lambda wildcards: SPLIT_MERGE_FIGURES[wildcards.figure][0],
            code=code_hash("bayestopics.studies.split_merge.figures"),
        message:
            "Drawing {wildcards.figure}"
        script:
            "../scripts/study_figure.py"

    rule split_merge_table:
        input:
            records=lambda wildcards: split_merge_records(SPLIT_MERGE_TABLES[wildcards.table][0]),
        output:
            csv=f"{RESULTS}/split_merge/{{table}}.csv",
            html=report(
                f"{RESULTS}/split_merge/{{table}}.html",
                caption="../report/split_merge_table.rst",
                category="Split-merge",
                labels={"what": "table: {table}"},
            ),
        log:
            f"{RESULTS}/logs/split_merge-{{table}}.log",
        wildcard_constraints:
            table="|".join(SPLIT_MERGE_TABLES),
        params:
            scale=SCALE,
            module="split_merge_tables",
            make=lambda wildcards: f"{wildcards.table}_table",
            title=lambda wildcards: SPLIT_MERGE_TABLES[wildcards.table][1],
            code=code_hash("bayestopics.studies.split_merge.tables"),
        message:
            "Making the table of {wildcards.table}"
        script:
            "../scripts/study_table.py"
