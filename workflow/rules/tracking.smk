# Run records to MLflow. One job creates the store, one job at a time writes to it.
TRACKING_CODE = code_hash("bayestopics.runs.publish")


rule mlflow_store:
    output:
        touch("results/mlflow.ready"),
    log:
        "results/logs/mlflow-store.log",
    resources:
        mlflow_writer=1,
    message:
        "Creating the MLflow store"
    script:
        "../scripts/mlflow_store.py"


def records_of(wildcards):
    return record_folders(wildcards.study)


rule publish:
    input:
        records=records_of,
        store=ancient("results/mlflow.ready"),
    output:
        f"{RESULTS}/{{study}}/published.json",
    log:
        f"{RESULTS}/logs/publish-{{study}}.log",
    wildcard_constraints:
        study="|".join(config["studies"]),
    resources:
        mlflow_writer=1,
    params:
        code=TRACKING_CODE,
    message:
        "Publishing the records of {wildcards.study} to MLflow"
    script:
        "../scripts/publish.py"
