"""What the workflow ships for clusters, as far as it can be checked without one."""

import re

import yaml

from conftest import ROOT


def test_the_job_for_kubernetes_runs_a_command_that_exists():
    job = yaml.safe_load((ROOT / "workflow" / "kubernetes.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    make, target, *settings = container["command"]
    assert make == "make"
    text = (ROOT / "Makefile").read_text()
    assert re.search(rf"^{target}:", text, re.MULTILINE)
    assert all(re.search(rf"^{one.partition('=')[0]} \?=", text, re.MULTILINE) for one in settings)
    (mount,), (volume,) = container["volumeMounts"], job["spec"]["template"]["spec"]["volumes"]
    assert mount["name"] == volume["name"]
    assert container["workingDir"].startswith(mount["mountPath"])


def test_the_profile_for_slurm_names_rules_that_exist():
    profile = yaml.safe_load((ROOT / "workflow" / "profiles" / "slurm" / "config.yaml").read_text())
    rules = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    assert all(re.search(rf"rule ({name}|\w+ as {name})\b", rules) for name in profile["set-resources"])
    assert not any("cpus_per_task" in one for one in profile["default-resources"])  # it would override the threads
