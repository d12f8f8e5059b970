"""A copy of the project in which the workflow has run at scale smoke."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bayestopics.corpus.registry import Registry
from bayestopics.studies.plan import Plan, Settings, names_in, plan_of

ROOT = Path(__file__).parents[2]
PARTS = ("Snakefile", "profiles", "Makefile", "pyproject.toml", "workflow", "config", "src")
PATIENCE = 3600  # seconds, only to catch a hang: a busy machine is not an error


def pytest_collection_modifyitems(items):
    """All workflow tests go to one worker, because they share the run."""
    for item in items:
        if "workflow" in Path(item.fspath).parts:
            item.add_marker(pytest.mark.xdist_group("workflow"))


class Project:
    """A copy of the project; its own sources come first on the path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for part in PARTS:
            source = ROOT / part
            ignore = shutil.ignore_patterns("*.pyc.*", "*.egg-info")  # compiled modules, but none that is being written
            if source.is_dir():
                shutil.copytree(source, folder / part, ignore=ignore)
            else:
                shutil.copy(source, folder / part)
        # without a mirror and without internet, as on every machine
        self.environment = {
            k: v for k, v in os.environ.items() if k not in ("BAYESTOPICS_MIRROR", "MLFLOW_TRACKING_URI")
        }
        self.environment["PYTHONPATH"] = str(folder / "src")
        self.environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def command(self, *arguments: str, scale: str = "smoke") -> list[str]:
        return [sys.executable, "-m", "snakemake", "--cores", "2", *arguments, "--config", f"scale={scale}"]

    def snakemake(self, *arguments: str, check: bool = True, scale: str = "smoke") -> subprocess.CompletedProcess[str]:
        return self.run(*self.command(*arguments, scale=scale), check=check)

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=PATIENCE
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    def planned(self, scale: str = "smoke") -> dict[str, Plan]:
        """The plan of every study, with all corpora within reach."""
        entries, found = Registry().entries, {}
        for study in names_in(self.folder / "config" / "studies"):
            content = yaml.safe_load((self.folder / "config" / "studies" / f"{study}.yaml").read_text())
            found[study] = plan_of(Settings.of(study, scale, content, entries, reach=entries))
        return found

    def records(self, scale: str = "smoke") -> list[Path]:
        return sorted(path.parent for path in (self.folder / "results" / scale).glob("*/*/run.json"))


@pytest.fixture
def copy(finished, tmp_path) -> Project:
    """A copy of the finished project that a test may change."""
    project = Project.__new__(Project)
    project.folder = tmp_path / "project"
    shutil.copytree(finished.folder, project.folder, symlinks=True)
    project.environment = finished.environment | {"PYTHONPATH": str(project.folder / "src")}
    return project


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Project:
    """The workflow, run once at scale smoke. Tests only look at it."""
    project = Project(tmp_path_factory.mktemp("finished") / "project")
    project.output = project.snakemake()  # type: ignore[attr-defined]
    return project
