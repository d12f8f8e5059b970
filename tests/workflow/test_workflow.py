"""The workflow as its users see it: complete, idempotent, honest about what is missing, and resumable."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pandas as pd
import pytest
import yaml

from bayestopics.runs.publish import IDENTITY, publish
from bayestopics.runs.record import read, same_bits
from bayestopics.studies.claims import VERDICTS
from conftest import ROOT, Project


@pytest.fixture
def copy(finished, tmp_path) -> Project:
    """A copy of the finished project that a test may change."""
    project = Project.__new__(Project)
    project.folder = tmp_path / "project"
    shutil.copytree(finished.folder, project.folder, symlinks=True)
    project.environment = finished.environment | {"PYTHONPATH": str(project.folder / "src")}
    return project


def jobs(output: str) -> dict[str, int]:
    """Rule -> number of jobs, from Snakemake's job table."""
    lines = output[output.index("Job stats:") :].splitlines()[3:]
    rows = [line.split() for line in lines[: lines.index("")]]
    return {row[0]: int(row[1]) for row in rows if row[0] != "total"}


def test_everything_is_made(finished):
    results = finished.folder / "results" / "smoke"
    made = ["claims.md", "claims.csv", "config.yaml", "corpora/table.csv", "corpora/corpora.png"]
    made += ["first_look/traces.png", "first_look/topics.png", "first_look/summary.csv"]
    made += [
        "blocking/mixing-tiny-bars.png",
        "blocking/autocorrelation.png",
        "blocking/summary.csv",
        "blocking/times.png",
    ]
    figures = ("walks-tiny-lda", "evidence-tiny-lda", "ladders", "scores")
    made += [f"number_of_topics/{name}.png" for name in figures]
    made += [f"number_of_topics/{name}.csv" for name in ("walks", "evidence", "ladders", "constants")]
    figures = ("toy", "endless", "held-out", "held-out-over-time", "components", "components-over-time-hdp")
    made += [f"truncation_free/{name}.png" for name in figures]
    made += [f"truncation_free/{name}.csv" for name in ("endless", "scores", "differences")]
    made += [f"split_merge/{name}" for name in ("blocks.png", "blocks.csv", "law.png", "law.csv")]
    made += ["routes/routes.png", "routes/routes.csv"]
    assert [name for name in made if not (results / name).is_file()] == []
    assert len(finished.records()) == 6 + 4 + 7 + 15 + 9 + 10 + 4 + 1
    assert not list((finished.folder / "results" / "checkpoints").glob("*"))


def test_again_there_is_nothing_to_do(finished):
    assert "Nothing to be done" in finished.snakemake().stderr


def test_the_papers_own_sizes_can_be_planned(finished):
    stats = jobs(finished.snakemake("--dry-run", scale="paper").stdout)
    assert stats["number_of_topics_run"] > 20
    assert stats["claims"] == 1


def test_every_claim_is_listed_and_none_is_answered_without_its_corpora(finished):
    claims = pd.read_csv(finished.folder / "results" / "smoke" / "claims.csv", keep_default_na=False)
    registered = yaml.safe_load((ROOT / "config" / "claims.yaml").read_text())
    assert list(claims["id"]) == [claim["id"] for claim in registered]
    verdicts = claims.set_index("id")["verdict"]
    everywhere = ["T13", "V1"]  # so small that they are run at every scale
    with_study = [claim["id"] for claim in registered if "function" in claim and claim["id"] not in everywhere]
    assert all(verdict.startswith("not answered: not run at this scale") for verdict in verdicts[with_study])
    assert set(verdicts[everywhere]) <= set(VERDICTS)
    assert verdicts.drop([*with_study, *everywhere]).empty  # every claim has a study


def test_every_record_is_one_mlflow_run(finished):
    with sqlite3.connect(finished.folder / "results" / "mlflow.db") as store:
        rows = store.execute("select value from tags where key = ?", (IDENTITY,)).fetchall()
        statuses = store.execute("select distinct status from runs").fetchall()
    assert sorted(row[0] for row in rows) == sorted(read(folder).key for folder in finished.records())
    assert statuses == [("FINISHED",)]


def test_publishing_twice_leaves_one_run_and_a_cut_publication_is_done_again(copy):
    from mlflow import MlflowClient

    results = copy.folder / "results"
    before = json.loads((results / "smoke" / "first_look" / "published.json").read_text())
    folders = [folder for folder in copy.records() if folder.parent.name == "first_look"]
    assert publish(folders, results) == before
    # a run that was cut short is still RUNNING
    client = MlflowClient(f"sqlite:///{results / 'mlflow.db'}")
    identity, task = next(iter(before.items()))
    client.update_run(task, status="RUNNING")
    after = publish(folders, results)
    assert after.keys() == before.keys()
    assert after[identity] != task
    assert {key: after[key] for key in after if key != identity} == {k: before[k] for k in before if k != identity}


@pytest.mark.parametrize(
    ("module", "rerun", "kept"),
    [
        ("lda/single_site.py", {"first_look_run", "first_look_figures"}, {"corpora_records", "generated_corpus"}),
        ("figures/first_look.py", {"first_look_figures"}, {"first_look_run", "corpora_records", "publish"}),
        ("corpus/synthetic.py", {"generated_corpus", "published_corpus"}, set()),
        ("cli.py", set(), {"first_look_run", "corpora_records", "generated_corpus", "claims"}),
        ("lda/augmented.py", set(), {"first_look_run", "blocking_run", "blocking_times"}),
        ("lda/grouped.py", set(), {"first_look_run", "number_of_topics_run", "hyperparameters_run"}),
    ],
)
def test_changed_code_reruns_just_the_rules_that_use_it(copy, module, rerun, kept):
    with open(copy.folder / "src" / "bayestopics" / module, "a") as file:
        file.write("\n# changed\n")
    done = copy.snakemake("--dry-run")
    planned = set(jobs(done.stdout + done.stderr)) if "Job stats:" in done.stdout + done.stderr else set()
    assert rerun <= planned
    assert not kept & planned


def test_a_killed_workflow_goes_on_and_gives_the_same_records(finished, tmp_path):
    """Two studies are enough: the others run by the same script."""
    project = Project(tmp_path / "project")
    command = [*project.command(), "studies=[first_look,number_of_topics]"]
    whole = [folder for folder in finished.records() if folder.parent.name in ("first_look", "number_of_topics")]
    process = subprocess.Popen(
        command,
        cwd=project.folder,
        env=project.environment,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
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
    make = "import sys, pathlib, bayestopics.runs.publish as p; print(p.create_store(pathlib.Path(sys.argv[1])))"
    command = [sys.executable, "-c", make, str(tmp_path)]
    process = subprocess.Popen(command, env=finished.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
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
    assert "kos" in first
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
    copy.snakemake("first_look")
    record = copy.folder / "results" / "smoke" / "first_look" / "mine-chain0"
    assert read(record).metrics["training_tokens"] == 16 - 3
    (copy.folder / "my.ldac").write_text("2 0:3 1:2\n2 1:4 2:1\n1 0:4\n")
    copy.snakemake("first_look")
    assert read(record).metrics["training_tokens"] == 14 - 2


def test_a_corpus_without_a_model_is_one_clear_line(copy):
    add_own_corpus(copy, models=False)
    done = copy.snakemake("--dry-run", check=False)
    assert done.returncode != 0
    assert "config/studies/first_look.yaml: no model for 'mine'" in done.stdout + done.stderr


def test_lint(finished):
    """`snakemake --lint` has nothing to say but what we do on purpose (see the README)."""
    done = finished.snakemake("--lint", check=False)
    on_purpose = ("Specify a conda environment or container for each rule",)
    found = [line.strip() for line in done.stderr.splitlines() if line.strip().startswith("* ")]
    assert [line for line in found if not any(text in line for text in on_purpose)] == []
