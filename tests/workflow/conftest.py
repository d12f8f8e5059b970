"""A copy of the project in which the workflow has run at scale smoke."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("Snakefile", "profiles", "Makefile", "pyproject.toml", "workflow", "config", "src")
PATIENCE = 90  # seconds for a page or a server; they take five and ten on two free cores


def pytest_collection_modifyitems(items):
    """All workflow tests go to one worker: they share the run."""
    for item in items:
        if "workflow" in Path(item.fspath).parts:
            item.add_marker(pytest.mark.xdist_group("workflow"))


def eventually(look: Callable, complaint: Callable[[], str]):
    """What `look` returns, once that is true."""
    deadline = time.monotonic() + PATIENCE
    while not (value := look()):
        assert time.monotonic() < deadline, complaint()
        time.sleep(0.2)
    return value


def stop(process: subprocess.Popen) -> None:
    """End the leader of a session, and whatever it has left running."""
    process.terminate()
    try:
        process.wait(PATIENCE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


class Project:
    """A copy of the project; its own sources come first on the path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for part in PARTS:
            source = ROOT / part
            ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
            if source.is_dir():
                shutil.copytree(source, folder / part, ignore=ignore)
            else:
                shutil.copy(source, folder / part)
        # neither a mirror nor the internet: what every machine can do
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
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=600
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    def records(self, scale: str = "smoke") -> list[Path]:
        return sorted(path.parent for path in (self.folder / "results" / scale).glob("*/*/run.json"))


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Project:
    """The workflow, run once at scale smoke. Tests only look at it."""
    project = Project(tmp_path_factory.mktemp("finished") / "project")
    project.output = project.snakemake()  # type: ignore[attr-defined]
    return project
