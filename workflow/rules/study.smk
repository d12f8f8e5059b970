# Every study: its runs, the errors of its estimates, its tables and figures. What they are is in its plan.
from bayestopics.studies.errors import CAPTION as ERRORS_CAPTION


def jobs_of_study(wildcards):
    return jobs_of(wildcards.study)


def errors_of_study(wildcards):
    return errors_of(wildcards.study)


def title(wildcards):
    return PLANS[wildcards.study].title


def table_label(wildcards):
    return {"what": f"table: {wildcards.name}"}


def figure_label(wildcards):
    return {"what": PLANS[wildcards.study].figures[wildcards.name].label}


def runs_of_study(wildcards):
    return list(PLANS[wildcards.study].runs)


def planned_tables(wildcards):
    return {name: vars(table) for name, table in PLANS[wildcards.study].tables.items()}


def planned_figures(wildcards):
    return {name: vars(figure) for name, figure in PLANS[wildcards.study].figures.items()}


def table_captions(wildcards):
    tables = {name: table.caption for name, table in PLANS[wildcards.study].tables.items()}
    return {**tables, "errors": ERRORS_CAPTION}


def figure_captions(wildcards):
    return {name: figure.caption for name, figure in PLANS[wildcards.study].figures.items()}


def code_of_errors(wildcards):
    return PLANS[wildcards.study].code_of("errors")


def code_of_tables(wildcards):
    return PLANS[wildcards.study].code_of("tables")


def code_of_figures(wildcards):
    return PLANS[wildcards.study].code_of("figures")


wildcard_constraints:
    study="|".join(STUDIES),


# The records are folders beside `jobs`; a finished one is not computed again.
rule run:
    input:
        corpora=corpora_of_job,
        before=jobs_before,
    output:
        done=f"{RESULTS}/{{study}}/jobs/{{job}}.json",
    log:
        f"{RESULTS}/logs/{{study}}-run-{{job}}.log",
    threads: threads_of_job
    params:
        runs=definitions,
        records=f"{RESULTS}/{{study}}",
        seed=config["seed"],
        scale=SCALE,
        checkpoints=CHECKPOINTS,
    message:
        "Running {wildcards.job} of {wildcards.study}"
    script:
        "../scripts/run.py"


# A step of an iterative grid goes on where the step before it ended.
use rule run as grid_step with:
    output:
        done=f"{RESULTS}/{{study}}/steps/{{job}}.json",
    message:
        "Running {wildcards.job} of {wildcards.study}, a step of the grid"


# Batch means over the chains, and what follows from them.
rule errors:
    input:
        jobs=jobs_of_study,
    output:
        parquet=f"{RESULTS}/{{study}}/errors.parquet",
        csv=f"{RESULTS}/{{study}}/errors.csv",
    log:
        f"{RESULTS}/logs/{{study}}-errors.log",
    params:
        records=f"{RESULTS}/{{study}}",
        runs=runs_of_study,
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
        report(
            directory(f"{RESULTS}/{{study}}/tables"),
            patterns=["{name}.html"],
            caption="../report/shown.rst",
            category=title,
            labels=table_label,
        ),
    log:
        f"{RESULTS}/logs/{{study}}-tables.log",
    params:
        records=f"{RESULTS}/{{study}}",
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
    output:
        report(
            directory(f"{RESULTS}/{{study}}/figures"),
            patterns=["{name}.png"],
            caption="../report/shown.rst",
            category=title,
            labels=figure_label,
        ),
    log:
        f"{RESULTS}/logs/{{study}}-figures.log",
    params:
        records=f"{RESULTS}/{{study}}",
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
