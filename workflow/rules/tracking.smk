# Publishes the results to MLflow and writes the settings that were used. Only one job at a time writes to the store.


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
        parents=study_to_publish,
        store=os.environ.get("MLFLOW_TRACKING_URI", ""),
        code=code_hash("bayestopics.runs.publish"),
    message:
        "Publishing {wildcards.study} to MLflow"
    script:
        "../scripts/publish.py"


# Publishes the claims; at scale smoke this job publishes everything.
use rule publish as publish_rest with:
    input:
        claims=rules.claims.output,
        shown=[shown_of(study) for study in STUDIES if TOGETHER],
    output:
        published=f"{RESULTS}/published.json",
    log:
        f"{RESULTS}/logs/publish.log",
    params:
        parents=rest_to_publish,
        store=os.environ.get("MLFLOW_TRACKING_URI", ""),
        code=code_hash("bayestopics.runs.publish"),
    message:
        "Publishing the claims" + (" and all studies" if TOGETHER else "") + " to MLflow"


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
