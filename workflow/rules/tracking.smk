# What was found to MLflow, and the settings it was found with. One job at a time writes to the store.


def shown_by_study(wildcards):
    return [*tables_of(wildcards.study), *figures_of(wildcards.study)]


rule publish:
    input:
        jobs=jobs_of_study,
        shown=shown_by_study,
    output:
        f"{RESULTS}/{{study}}/published.json",
    log:
        f"{RESULTS}/logs/{{study}}-publish.log",
    resources:
        mlflow_writer=1,
    params:
        records=f"{RESULTS}/{{study}}",
        runs=runs_of_study,
        title="{study}",
        scale=SCALE,
        store=os.environ.get("MLFLOW_TRACKING_URI", ""),
        code=code_hash("bayestopics.runs.publish"),
    message:
        "Publishing {wildcards.study} to MLflow"
    script:
        "../scripts/publish.py"


use rule publish as publish_claims with:
    input:
        shown=rules.claims.output,
    output:
        f"{RESULTS}/published.json",
    log:
        f"{RESULTS}/logs/publish.log",
    params:
        records=RESULTS,
        runs=[],
        title="claims",
        scale=SCALE,
        store=os.environ.get("MLFLOW_TRACKING_URI", ""),
        code=code_hash("bayestopics.runs.publish"),
    message:
        "Publishing the claims to MLflow"


rule resolved_config:
    output:
        f"{RESULTS}/config.yaml",
    log:
        f"{RESULTS}/logs/config.log",
    localrule: True
    params:
        settings={"config": dict(config), "studies": AT_SCALE},
    message:
        "Writing the settings that were used"
    script:
        "../scripts/resolved_config.py"
