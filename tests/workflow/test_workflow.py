"""The workflow as its users see it: complete, idempotent, honest about what is missing, and resumable."""

import itertools
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

import pandas as pd
import pytest

from bayestopics.runs.publish import CHILD_OF, IDENTITY, PARENT, publish
from bayestopics.runs.record import read, same_bits
from bayestopics.studies.claims import VERDICTS, all_claims
from conftest import PATIENCE, Project
from test_results_site import broken


def jobs(output: str) -> dict[str, int]:
    """Rule -> number of jobs, from Snakemake's job table."""
    lines = output[output.index("Job stats:") :].splitlines()[3:]
    rows = [line.split() for line in lines[: lines.index("")]]
    return {row[0]: int(row[1]) for row in rows if row[0] != "total"}


def messages(output: str) -> set[str]:
    """What the jobs say that are planned or run."""
    return set(re.findall(r"^Job \d+: (.+)$", output, re.MULTILINE))


def test_everything_is_made(finished):
    results = finished.folder / "results" / "smoke"
    made = [results / name for name in ("claims.md", "claims.csv", "claims.html", "config.yaml", "published.json")]
    records = []
    for study, plan in finished.planned().items():
        folder = results / study
        records += [folder / run for run in plan.runs]
        made += [folder / "figures" / f"{name}.png" for name in plan.figures]
        made += [folder / "tables" / f"{name}.{ending}" for name in plan.tables for ending in ("csv", "html")]
        made += [folder / "errors.csv", folder / "tables" / "errors.html"] if plan.has("errors") else []
    made += [results / "site" / f"{name}.html" for name in ("index", "claims", "study-first_look")]
    assert [str(path) for path in made if not path.is_file()] == []
    assert broken(results / "site") == []
    assert finished.records() == sorted(records)
    assert not list((finished.folder / "results" / "checkpoints").glob("*"))


def test_the_errors_are_those_of_the_records(finished):
    errors = pd.read_parquet(finished.folder / "results" / "smoke" / "first_look" / "errors.parquet")
    for row in errors.itertuples():
        metrics = read(finished.folder / "results" / "smoke" / "first_look" / row.run).metrics
        assert (row.estimate, row.standard_error) == (metrics["log_joint"], metrics["log_joint_error"])
        assert row.effective_draws == metrics["log_joint_effective_draws"]


def test_the_graph_of_rules_reads_like_the_design(finished):
    graph = finished.snakemake("--rulegraph", "--forceall", scale="paper").stdout
    names = dict(re.findall(r'(\d+)\[label = "(\w+)"', graph))
    arrows = {(names[a], names[b]) for a, b in re.findall(r"(\d+) -> (\d+)", graph)}
    stages = ("corpus", "run", "grid_step", "errors", "tables", "claims", "publish_rest")
    assert set(itertools.pairwise(stages)) <= arrows
    shown = {("run", "figures"), ("errors", "figures"), ("errors", "claims"), ("claims", "site")}
    assert {*shown, ("figures", "publish"), ("tables", "publish")} <= arrows
    assert len(names) <= 12  # however many studies there are


def test_again_there_is_nothing_to_do(finished):
    assert "Nothing to be done" in finished.snakemake().stderr


def test_the_papers_own_sizes_can_be_planned(finished):
    stats = jobs(finished.snakemake("--dry-run", scale="paper").stdout)
    assert stats["run"] > 100
    assert stats["grid_step"] > 10
    assert stats["claims"] == 1


def test_every_claim_is_listed_and_none_is_answered_without_its_corpora(finished):
    claims = pd.read_csv(finished.folder / "results" / "smoke" / "claims.csv", keep_default_na=False)
    registered = [claim.id for claim in all_claims()]
    assert list(claims["id"]) == registered
    verdicts = claims.set_index("id")["verdict"]
    everywhere = ["T13", "V1"]  # so small that they are run at every scale
    assert all(verdict.startswith("not answered: not run at this scale") for verdict in verdicts.drop(everywhere))
    assert set(verdicts[everywhere]) <= set(VERDICTS)


def test_every_record_is_one_mlflow_run(finished):
    with sqlite3.connect(finished.folder / "results" / "mlflow.db") as store:
        rows = store.execute("select value from tags where key = ?", (IDENTITY,)).fetchall()
        statuses = store.execute("select distinct status from runs").fetchall()
    assert sorted(row[0] for row in rows) == sorted(read(folder).key for folder in finished.records())
    assert statuses == [("FINISHED",)]


def test_figures_and_tables_are_artifacts_of_parent_runs(finished):
    """Every figure and table of a study is with its corpus, or with all of them; every record is below its corpus."""
    from mlflow import MlflowClient

    results = finished.folder / "results"
    client = MlflowClient(f"sqlite:///{results / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("bayestopics/number_of_topics").experiment_id
    runs = client.search_runs([experiment])
    parents = {run.data.tags[PARENT]: run.info.run_id for run in runs if PARENT in run.data.tags}
    corpora = ("tiny-lda", "enumerable", "all corpora")
    assert sorted(parents) == sorted(f"number_of_topics: {corpus}, smoke" for corpus in corpora)
    for part in ("figures", "tables"):
        ours = sorted(path.name for path in (results / "smoke" / "number_of_topics" / part).glob("[!.]*"))
        artifacts = [artifact for run in parents.values() for artifact in client.list_artifacts(run, part)]
        assert sorted(artifact.path.removeprefix(f"{part}/") for artifact in artifacts) == ours
    children = [run for run in runs if CHILD_OF in run.data.tags]
    assert len(children) + len(parents) == len(runs)
    for run in children:
        assert run.data.tags[CHILD_OF] == parents[f"number_of_topics: {run.data.tags['corpus']}, smoke"]
    above = client.get_experiment_by_name("bayestopics").experiment_id
    (claims,) = client.search_runs([above], f"tags.`{PARENT}` = 'claims, smoke'")
    assert "claims.md" in [artifact.path for artifact in client.list_artifacts(claims.info.run_id)]


def test_publishing_twice_leaves_one_run(copy):
    results = copy.folder / "results"
    before = json.loads((results / "smoke" / "published.json").read_text())["runs"]
    assert publish(copy.records(), results) == before


FIRST_LOOK, BLOCKING = "Running runs-1 of first_look", "Running runs-1 of blocking"
FIGURES, PUBLISH = "Drawing the figures of first_look", "Publishing the claims and all studies to MLflow"


def test_changed_code_reruns_just_the_jobs_that_use_it(copy):
    """tests/studies/test_plan_code.py has more changes: here are those that reach Snakemake."""
    source = copy.folder / "src" / "bayestopics"
    for module, change in (
        ("studies/first_look/figures.py", "# a comment changes nothing"),
        ("cli/__main__.py", "X = 1"),
    ):
        with open(source / module, "a") as file:
            file.write(f"\n{change}\n")
    done = copy.snakemake("--dry-run")
    assert "Nothing to be done" in done.stdout + done.stderr
    for module in ("studies/first_look/figures.py", "lda/grouped.py"):
        with open(source / module, "a") as file:
            file.write("\nCHANGED = True\n")
    done = copy.snakemake("--dry-run")
    planned = messages(done.stdout + done.stderr)
    assert {FIGURES, PUBLISH, BLOCKING} <= planned
    assert not {FIRST_LOOK, "Running runs-1 of corpora", "Getting the corpora"} & planned


def test_a_killed_workflow_goes_on_and_gives_the_same_records(finished, tmp_path):
    """Two studies are enough: the others run by the same script."""
    project = Project(tmp_path / "project")
    targets = [f"results/smoke/{study}/jobs/runs-1.json" for study in ("first_look", "number_of_topics")]
    command = project.command(*targets)
    whole = [folder for folder in finished.records() if folder.parent.name in ("first_look", "number_of_topics")]
    process = subprocess.Popen(
        command,
        cwd=project.folder,
        env=project.environment,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + PATIENCE
    while not project.records() and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert 0 < len(project.records()) < len(whole)
    assert project.run(*command, check=False).returncode != 0  # the dead run's lock is still there
    project.run(sys.executable, "workflow/scripts/unlock.py")  # `make results` does this
    project.run(*command)
    assert [p.name for p in project.records()] == [p.name for p in whole]
    for ours, theirs in zip(project.records(), whole, strict=True):
        assert same_bits(read(ours), read(theirs)), ours


def test_a_store_whose_making_was_killed_is_made_anew(finished, tmp_path):
    """MLflow cannot go on with migrations that were cut short: a half-made store must not stand in its place."""
    make = """
import sys, pathlib, bayestopics.runs.store as s
with s.open_store(pathlib.Path(sys.argv[1])) as store: print(store.experiment("").id)
"""
    command = [sys.executable, "-c", make, str(tmp_path)]
    process = subprocess.Popen(command, env=finished.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and not any(path.stat().st_size for path in tmp_path.rglob("mlflow.db")):
        time.sleep(0.01)
    process.kill()
    assert process.communicate()[0] == b""  # it was not ready yet
    assert not (tmp_path / "mlflow.db").exists()
    assert finished.run(*command).stdout.strip().isdigit()


def test_without_corpora_it_says_at_once_what_is_left_out(copy):
    # a plan is enough; at the scale quick most corpora are real
    done = copy.snakemake("--dry-run", scale="quick")
    # Snakemake's own word on the profile comes first
    first = next(line for line in done.stderr.splitlines()[:3] if line.startswith("LEFT OUT: "))
    assert "cats" in first
    assert "whales" in first
    required = copy.run(*copy.command("--dry-run", scale="quick"), "require=all", check=False)
    assert required.returncode != 0
    assert "require=all" in required.stdout + required.stderr
    assert "Traceback" not in required.stdout + required.stderr


@pytest.mark.parametrize(
    ("setting", "message"), [("scale=huge", "huge"), ("seed=-1", "-1"), ("studies=[cooking]", "cooking")]
)
def test_wrong_settings_are_refused(copy, setting, message):
    done = copy.run(*copy.command("--dry-run"), setting, check=False)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr


def add_own_corpus(project: Project, models: bool) -> None:
    """A corpus of the user's own, registered and named in the study's settings."""
    (project.folder / "my.ldac").write_text("2 0:3 1:2\n2 1:4 2:1\n1 0:6\n")
    with open(project.folder / "config" / "corpora.yaml", "a") as file:
        file.write("mine:\n  title: My own\n  path: my.ldac\n")
    settings = project.folder / "config" / "studies" / "first_look.yaml"
    text = settings.read_text().replace("corpora: [tiny-lda, tiny-bars]", "corpora: [mine]")
    if models:
        text = text.replace("\nscales:", "\n  mine: {topics: 2, alpha: 0.1, eta: 0.1, heldout_documents: 1}\nscales:")
    settings.write_text(text)


def test_a_corpus_of_ones_own_is_run_and_read_again_when_it_changes(copy):
    add_own_corpus(copy, models=True)
    copy.snakemake("results/smoke/first_look/jobs/runs-1.json")
    record = copy.folder / "results" / "smoke" / "first_look" / "mine-chain0"
    assert read(record).metrics["training_tokens"] == 16 - 3
    (copy.folder / "my.ldac").write_text("2 0:3 1:2\n2 1:4 2:1\n1 0:4\n")
    copy.snakemake("results/smoke/first_look/jobs/runs-1.json")
    assert read(record).metrics["training_tokens"] == 14 - 2


def test_the_report_is_of_the_results_as_they_were_made(copy):
    """A corpus that has come within reach since then does not make it ask for more."""
    with open(copy.folder / "config" / "corpora.yaml", "a") as file:
        file.write("mine:\n  title: My own\n  path: my.ldac\n")
    settings = copy.folder / "config" / "studies" / "corpora.yaml"
    settings.write_text(settings.read_text().replace("corpora: [tiny-lda, ", "corpora: [mine, tiny-lda, "))
    assert "LEFT OUT: 1 corpora are not available here: mine" in copy.snakemake().stderr
    (copy.folder / "my.ldac").write_text("2 0:3 1:2\n2 1:4 2:1\n1 0:6\n")
    done = copy.snakemake("--dry-run")
    assert "Getting the corpora" in messages(done.stdout + done.stderr)
    copy.snakemake("--report", "report.html")
    assert (copy.folder / "report.html").stat().st_size > 1_000_000


def test_a_corpus_without_a_model_is_one_clear_line(copy):
    add_own_corpus(copy, models=False)
    done = copy.snakemake("--dry-run", check=False)
    assert done.returncode != 0
    assert "config/studies/first_look.yaml: models: no entry for the corpus 'mine'" in done.stdout + done.stderr


def test_lint(finished):
    """`snakemake --lint` has nothing to say but what we do on purpose (see the README)."""
    done = finished.snakemake("--lint", check=False)
    on_purpose = ("Specify a conda environment or container for each rule",)
    found = [line.strip() for line in done.stderr.splitlines() if line.strip().startswith("* ")]
    assert [line for line in found if not any(text in line for text in on_purpose)] == []
