# Run records to MLflow. One job creates the store, one job at a time writes to it.


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
        store=os.environ.get("MLFLOW_TRACKING_URI", ""),
        code=code_hash("bayestopics.runs.publish"),
    message:
        "Publishing the records of {wildcards.study} to MLflow"
    script:
        "../scripts/publish.py"
