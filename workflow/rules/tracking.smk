# What was found to MLflow, and the settings it was found with. One job at a time writes to the store.


rule publish:
    input:
        jobs=jobs_of_study,
        shown=shown_by_study,
    output:
        published=f"{RESULTS}/{{study}}/published.json",
    log:
        f"{RESULTS}/logs/{{study}}-publish.log",
    resources:
        mlflow_writer=1,
    params:
        records=records_of_study,
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
        published=f"{RESULTS}/published.json",
    log:
        f"{RESULTS}/logs/publish.log",
    params:
        records={},
        title="claims",
        scale=SCALE,
        store=os.environ.get("MLFLOW_TRACKING_URI", ""),
        code=code_hash("bayestopics.runs.publish"),
    message:
        "Publishing the claims to MLflow"


rule resolved_config:
    output:
        settings=f"{RESULTS}/config.yaml",
    log:
        f"{RESULTS}/logs/config.log",
    localrule: True
    params:
        settings={"config": dict(config), "studies": AT_SCALE},
    message:
        "Writing the settings that were used"
    script:
        "../scripts/resolved_config.py"
