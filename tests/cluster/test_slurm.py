"""The whole workflow at scale smoke on a Slurm of one node, with the profile as it is: the same records as without."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from slurm import missing, slurm

from bayestopics.runs.record import read, same_bits

spec = spec_from_file_location("workflow_conftest", Path(__file__).parents[1] / "workflow" / "conftest.py")
assert spec is not None
assert spec.loader is not None
workflow = module_from_spec(spec)
spec.loader.exec_module(workflow)

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"not installed: {', '.join(missing())}")


def test_slurm_gives_the_same_records(tmp_path):
    alone, cluster = (workflow.Project(tmp_path / name) for name in ("alone", "cluster"))
    alone.snakemake()
    with slurm() as environment:
        cluster.environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        profile = ["--workflow-profile", "profiles/slurm", "--slurm-init-seconds-before-status-checks", "2"]
        command = [sys.executable, "-m", "snakemake", *profile, "--config", "scale=smoke"]
        done = subprocess.run(command, cwd=cluster.folder, env=cluster.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        listed = subprocess.run(
            ["squeue", "-h", "-t", "all", "-o", "%T"], env=environment, capture_output=True, text=True
        )
    states = listed.stdout.split()
    assert len(states) > 30  # the jobs did run there
    assert set(states) == {"COMPLETED"}
    assert [path.name for path in cluster.records()] == [path.name for path in alone.records()]
    for ours, theirs in zip(cluster.records(), alone.records(), strict=True):
        assert same_bits(read(ours), read(theirs)), ours
    assert (cluster.folder / "results/smoke/claims.csv").read_bytes() == (
        alone.folder / "results/smoke/claims.csv"
    ).read_bytes()
