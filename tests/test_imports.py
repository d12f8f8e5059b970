"""The import linter's contracts (pyproject.toml) are kept, and each of them would see what it is there for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

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


def test_wrong_imports_are_seen(tmp_path: Path) -> None:
    """All at once, for the linter takes seconds."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name, (line, _) in WRONG.items():
        with open(tmp_path / "src" / "bayestopics" / name, "a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    broken = "\n".join(text for text in lint(tmp_path / "src").stdout.splitlines() if "BROKEN" in text)
    assert [contract for _, contract in WRONG.values() if contract not in broken] == []


SLOW = ("arviz", "matplotlib", "mlflow", "scipy.stats", "sklearn", "statsmodels")


def test_commands_start_without_what_is_slow_to_import() -> None:
    """Each of these takes about a second."""
    parts = ("cli.main", *(f"runs.{path.stem}" for path in (ROOT / "src/bayestopics/runs").glob("[a-z]*.py")))
    imports = "; ".join(f"import bayestopics.{part}" for part in parts if part not in ("runs.compile", "runs.plots"))
    code = f"import sys; {imports}; print([name for name in {SLOW} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
