"""A new study is one folder and one settings file: it runs from corpus to claim and MLflow with no other change."""

import json
import sys
from textwrap import dedent

import pandas as pd

from bayestopics.runs.record import read
from conftest import Project

SETTINGS = """
description: The mean of a few random numbers
shift: 0.5
scales:
  smoke: &all {corpora: [tiny-lda], draws: 50, chains: 2}
  quick: *all
  paper: *all
"""
FOLDER = {
    "__init__": "",
    "plan": """
        from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table


        def plan(settings: Settings) -> Plan:
            settings.insist(settings.here["draws"] > 3, "draws: four are needed for an error")
            sizes = {"draws": settings.here["draws"], "shift": settings.shared["shift"]}
            runs = {
                f"{corpus}-{chain}": Run({"kind": "draws", "corpus": corpus, "chain": chain, **sizes})
                for corpus in settings.available
                for chain in range(settings.here["chains"])
            }
            runs["together"] = Run({"kind": "mean"}, before=tuple(runs))
            drawn = tuple(runs)[:-1]
            figures = {"draws": Figure("draw_draws", drawn, "All draws.", "draws")}
            return Plan("Toy", runs, figures, {"means": Table("means_table", drawn, "Means", "Of every chain.")})
        """,
    "compute_draws": """
        import pandas as pd

        from bayestopics.runs.result import Result


        def compute(task, corpus, checkpoint):
            draws = task.generator().normal(task.params["shift"], size=task.params["draws"])
            return Result(task, {"mean": float(draws.mean())}, tables={"trace": pd.DataFrame({"x": draws})})
        """,
    "compute_mean": """
        from bayestopics.runs.result import Result


        def compute(task, corpus, checkpoint, before):
            return Result(task, {"mean": sum(record.metrics["mean"] for record in before) / len(before)})
        """,
    "errors": """
        from bayestopics.studies.errors import of_chain, table_of


        def errors(records):
            return table_of(of_chain(one.task.name, "x", one.trace["x"]) for one in records if "trace" in one.tables)
        """,
    "tables": """
        import pandas as pd


        def means_table(records, errors):
            known = errors.set_index("run")["standard_error"]
            rows = [{"run": record.task.name, "mean": record.metrics["mean"]} for record in records]
            return pd.DataFrame([row | {"error": known[row["run"]]} for row in rows])
        """,
    "figures": """
        import matplotlib.pyplot as plt


        def draw_draws(records, scale, errors):
            assert list(errors["quantity"]) == ["x", "x"]
            figure, axis = plt.subplots()
            for record in records:
                axis.plot(record.trace["x"])
            return figure
        """,
    "claims": """
        from bayestopics.studies.claims import Answer, claim, verdict


        @claim("Z1", paper="Nobody", where="nowhere", statement="The mean is about 0.5.", rule="Within 0.5 of it.")
        def _(records, entries, numbers, errors):
            mean = records["together"].metrics["mean"]
            return Answer(f"{mean:.2f}", f"{errors['standard_error'].max():.3f}", verdict(abs(mean - 0.5) < 0.5))
        """,
}


def add_study(project: Project) -> None:
    folder = project.folder / "src" / "bayestopics" / "studies" / "toy"
    folder.mkdir()
    for name, text in FOLDER.items():
        (folder / f"{name}.py").write_text(dedent(text))
    (project.folder / "config" / "studies" / "toy.yaml").write_text(SETTINGS)


def test_a_study_is_a_folder_and_a_settings_file(tmp_path):
    project = Project(tmp_path / "project")
    add_study(project)
    project.run(*project.command(), "studies=[toy]")
    results = project.folder / "results" / "smoke"
    made = ["toy/figures/draws.png", "toy/tables/means.csv", "toy/tables/means.html", "toy/tables/errors.html"]
    assert [name for name in made if not (results / name).is_file()] == []
    means = [read(results / "toy" / f"tiny-lda-{chain}").metrics["mean"] for chain in (0, 1)]
    assert read(results / "toy" / "together").metrics["mean"] == sum(means) / 2
    assert list(pd.read_csv(results / "toy" / "tables" / "means.csv")["mean"]) == means
    errors = pd.read_csv(results / "toy" / "errors.csv")["standard_error"]
    assert (errors > 0).all()
    assert list(pd.read_csv(results / "toy" / "tables" / "means.csv")["error"]) == list(errors)
    claims = pd.read_csv(results / "claims.csv").set_index("id")
    assert claims.loc["Z1", "verdict"] == "reproduced"
    assert claims.loc["Z1", "error"] == round(errors.max(), 3)
    assert claims.loc["B1", "verdict"] == "not answered: the study blocking was not run"
    assert len(json.loads((results / "published.json").read_text())["runs"]) == 3
    # all studies run without being named, and each has a target of its own
    assert "of toy" in project.snakemake("--dry-run", "toy", "--forceall").stdout
    everything = project.snakemake("--dry-run", "--forceall").stdout
    assert "of toy" in everything
    assert "of first_look" in everything


def test_without_its_tracking_server_everything_else_is_made(tmp_path):
    project = Project(tmp_path / "project")
    add_study(project)
    project.environment["MLFLOW_TRACKING_URI"] = "http://127.0.0.1:9"  # nobody listens there
    done = project.run(*project.command(), "studies=[toy]")
    said = [line for line in done.stderr.splitlines() if line.startswith("NOT PUBLISHED: ")]
    assert len(said) == 1
    assert "not published to http://127.0.0.1:9: " in said[0]
    results = project.folder / "results" / "smoke"
    assert (results / "claims.md").is_file()
    assert (results / "toy" / "figures" / "draws.png").is_file()
    # `make publish` catches up, and so does the workflow itself when the store has been deleted
    del project.environment["MLFLOW_TRACKING_URI"]
    project.run(sys.executable, "workflow/scripts/publish_again.py")
    assert len(json.loads((results / "published.json").read_text())["runs"]) == 3
    (project.folder / "results" / "mlflow.db").unlink()
    assert "Publishing the claims" in project.run(*project.command("--dry-run"), "studies=[toy]").stdout


def test_a_setting_that_cannot_work_is_one_clear_line(tmp_path):
    project = Project(tmp_path / "project")
    add_study(project)
    settings = project.folder / "config" / "studies" / "toy.yaml"
    settings.write_text(SETTINGS.replace("draws: 50", "draws: 3"))
    done = project.snakemake("--dry-run", check=False)
    assert done.returncode != 0
    assert "config/studies/toy.yaml: draws: four are needed for an error" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
