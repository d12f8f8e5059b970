# For every study: its runs, the errors of its estimates, its tables and its figures. The study's plan defines them.


wildcard_constraints:
    study="|".join(STUDIES),


# The records are folders beside `jobs`.
rule run:
    input:
        corpora=corpora_of_job,
        before=jobs_before,
    output:
        done=f"{RESULTS}/{{study}}/jobs/{{job}}.json",
    log:
        f"{RESULTS}/logs/{{study}}-run-{{job}}.log",
    threads: threads_of_job
    resources:
        slurm_extra=alone_on_its_node,
    params:
        runs=definitions,
        seed=config["seed"],
        scale=SCALE,
        checkpoints=CHECKPOINTS,
    message:
        "Running {wildcards.job} of {wildcards.study}"
    script:
        "../scripts/run.py"


# A step of an iterative grid continues where the previous step ended.
use rule run as grid_step with:
    output:
        done=f"{RESULTS}/{{study}}/steps/{{job}}.json",
    message:
        "Running {wildcards.job} of {wildcards.study}, a step of the grid"


# Monte Carlo errors: batch means over the chains, the scatter of repeats, and what follows from them.
rule errors:
    input:
        jobs=jobs_of_study,
    output:
        parquet=f"{RESULTS}/{{study}}/errors.parquet",
        csv=f"{RESULTS}/{{study}}/errors.csv",
    log:
        f"{RESULTS}/logs/{{study}}-errors.log",
    params:
        records=records_of_study,
        code=code_of_errors,
    message:
        "Estimating the Monte Carlo errors of {wildcards.study}"
    script:
        "../scripts/errors.py"


rule tables:
    input:
        jobs=jobs_of_study,
        errors=errors_of_study,
    output:
        folder=report(
            directory(f"{RESULTS}/{{study}}/tables"),
            patterns=["{name}.html"],
            caption="../report/shown.rst",
            category=title,
            labels=table_label,
        ),
    log:
        f"{RESULTS}/logs/{{study}}-tables.log",
    params:
        records=records_of_study,
        tables=planned_tables,
        captions=table_captions,
        scale=SCALE,
        code=code_of_tables,
    message:
        "Making the tables of {wildcards.study}"
    script:
        "../scripts/tables.py"


rule figures:
    input:
        jobs=jobs_of_study,
        errors=errors_of_study,
    output:
        folder=report(
            directory(f"{RESULTS}/{{study}}/figures"),
            patterns=["{name}.png"],
            caption="../report/shown.rst",
            category=title,
            labels=figure_label,
        ),
    log:
        f"{RESULTS}/logs/{{study}}-figures.log",
    params:
        records=records_of_study,
        figures=planned_figures,
        captions=figure_captions,
        scale=SCALE,
        code=code_of_figures,
    message:
        "Drawing the figures of {wildcards.study}"
    script:
        "../scripts/figures.py"


for study in STUDIES:

    rule:
        name:
            study
        input:
            targets(study),
