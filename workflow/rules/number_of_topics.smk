# Study `number_of_topics`: PMMH chains, evidence by every method, leave-one-out scores, distances between topics.
# Its runs are named in number_of_topics_runs.smk.

if "number_of_topics" in config["studies"]:

    rule number_of_topics:
        input:
            targets("number_of_topics"),

    rule number_of_topics_run:
        input:
            corpus=corpus_of("number_of_topics"),
            before=number_before,
        output:
            record=directory(f"{RESULTS}/number_of_topics/{{run}}"),
        log:
            f"{RESULTS}/logs/number_of_topics-{{run}}.log",
        wildcard_constraints:
            run="|".join(RUNS["number_of_topics"]) or "none",
        threads: number_threads
        params:
            study="number_of_topics",
            run=params_of("number_of_topics"),
            seed=config["seed"],
            scale=SCALE,
            checkpoints=CHECKPOINTS,
            code=number_code,
        message:
            "Running {wildcards.run}"
        script:
            "../scripts/study_run.py"

    rule number_of_topics_walks:
        input:
            records=lambda wildcards: number_records(WALKS, wildcards.corpus),
        output:
            report(
                f"{RESULTS}/number_of_topics/walks-{{corpus}}.png",
                caption="../report/number_of_topics_walks.rst",
                category="Number of topics",
                labels={"what": "PMMH: {corpus}"},
            ),
        log:
            f"{RESULTS}/logs/number_of_topics-walks-{{corpus}}.log",
        params:
            scale=SCALE,
            module="topics",
            draw="draw_walks",
            code=code_hash("bayestopics.studies.number_of_topics.figures"),
        message:
            "Drawing the PMMH chains of {wildcards.corpus}"
        script:
            "../scripts/study_figure.py"

    rule number_of_topics_evidence:
        input:
            records=lambda wildcards: number_records(["topics_evidence"], wildcards.corpus),
        output:
            report(
                f"{RESULTS}/number_of_topics/evidence-{{corpus}}.png",
                caption="../report/number_of_topics_evidence.rst",
                category="Number of topics",
                labels={"what": "log m(T) by every method: {corpus}"},
            ),
        log:
            f"{RESULTS}/logs/number_of_topics-evidence-{{corpus}}.log",
        params:
            scale=SCALE,
            module="topics",
            draw="draw_evidence",
            code=code_hash("bayestopics.studies.number_of_topics.figures"),
        message:
            "Drawing the evidence of {wildcards.corpus}"
        script:
            "../scripts/study_figure.py"

    rule number_of_topics_ladders:
        input:
            records=number_records(["topics_ladder"]),
        output:
            report(
                f"{RESULTS}/number_of_topics/ladders.png",
                caption="../report/number_of_topics_ladders.rst",
                category="Number of topics",
                labels={"what": "error a second of the paths of annealing"},
            ),
        log:
            f"{RESULTS}/logs/number_of_topics-ladders.log",
        params:
            scale=SCALE,
            module="topics",
            draw="draw_ladders",
            code=code_hash("bayestopics.studies.number_of_topics.figures"),
        message:
            "Drawing the errors of annealing"
        script:
            "../scripts/study_figure.py"

    rule number_of_topics_scores:
        input:
            records=number_records(["topics_score"]),
        output:
            report(
                f"{RESULTS}/number_of_topics/scores.png",
                caption="../report/number_of_topics_scores.rst",
                category="Number of topics",
                labels={"what": "leave-one-out scores"},
            ),
        log:
            f"{RESULTS}/logs/number_of_topics-scores.log",
        params:
            scale=SCALE,
            module="topics",
            draw="draw_scores",
            code=code_hash("bayestopics.studies.number_of_topics.figures"),
        message:
            "Drawing the leave-one-out scores"
        script:
            "../scripts/study_figure.py"

    rule number_of_topics_table:
        input:
            records=lambda wildcards: number_records(NUMBER_TABLES[wildcards.table][0]),
        output:
            csv=f"{RESULTS}/number_of_topics/{{table}}.csv",
            html=report(
                f"{RESULTS}/number_of_topics/{{table}}.html",
                caption="../report/number_of_topics_table.rst",
                category="Number of topics",
                labels={"what": "table: {table}"},
            ),
        log:
            f"{RESULTS}/logs/number_of_topics-{{table}}.log",
        wildcard_constraints:
            table="|".join(NUMBER_TABLES),
        params:
            scale=SCALE,
            module="topics",
            make=lambda wildcards: f"{wildcards.table}_table",
            title=lambda wildcards: NUMBER_TABLES[wildcards.table][1],
            code=code_hash("bayestopics.studies.number_of_topics.figures"),
        message:
            "Making the table of {wildcards.table}"
        script:
            "../scripts/study_table.py"
