"""The import linter's contracts (pyproject.toml) are kept, and each of them would see what it is there for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WRONG = {
    "lda/single_site.py": ("from bayestopics.runs.task import Task", "Imports point one way"),
    "evidence/chib.py": ("from bayestopics.hyper.grid import Grid", "Imports point one way"),
    "base/problems.py": ("from bayestopics.base.files import replacing", "import each other"),
    "hyper/grid.py": ("import mlflow", "runs.store alone"),
    "predict/completion.py": ("import snakemake", "The package does not know the workflow"),
    "studies/blocking/compute_chain.py": ("from bayestopics.studies.blocking import figures", "Figures and claims"),
    "studies/split_merge/compute_law.py": ("from bayestopics.studies.split_merge import tables", "its tables"),
}


def lint(source: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("lint-imports"), "--config", ROOT / "pyproject.toml", "--no-cache"]
    environment = os.environ | {"PYTHONPATH": str(source)}
    return subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, check=False)


def test_the_contracts_are_kept() -> None:
    done = lint(ROOT / "src")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_import_is_seen(name: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    path, (line, contract) = tmp_path / "src" / "bayestopics" / name, WRONG[name]
    path.write_text(f"{path.read_text()}\n{line}\n")
    broken = [text for text in lint(tmp_path / "src").stdout.splitlines() if "BROKEN" in text]
    assert any(contract in text for text in broken), broken
