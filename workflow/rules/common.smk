# What all rules share: settings, what corpora are within reach, and the names of the records.
import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

from bayestopics.base.code import code_hash, kernel_hash
from bayestopics.corpus.registry import Registry
from bayestopics.evidence.compute import PATHS
from bayestopics.lda import SAMPLERS

validate(config, "../schemas/config.schema.yaml")
SCALE = config["scale"]
RESULTS = f"results/{SCALE}"
CHECKPOINTS = "results/checkpoints"


def load(path, schema):
    """A settings file, checked against its schema."""
    content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    validate(content, f"../schemas/{schema}.schema.yaml")
    return content


if config["mirror"]:
    os.environ.update(BAYESTOPICS_MIRROR=str(Path(config["mirror"]).resolve()))
load("config/corpora.yaml", "corpora")
CLAIMS = load("config/claims.yaml", "claims")
STUDY = {study: load(f"config/studies/{study}.yaml", f"studies/{study}") for study in config["studies"]}
AT_SCALE = {study: settings["scales"][SCALE] for study, settings in STUDY.items()}
REGISTRY = Registry()


def insist(condition, message):
    """One line for a setting that cannot work."""
    if not condition:
        raise WorkflowError(message)


for study, settings in AT_SCALE.items():
    for name in settings["corpora"]:
        insist(name in REGISTRY.entries, f"config/studies/{study}.yaml: no corpus {name!r} in config/corpora.yaml")


def say_what_is_left_out():
    """Loud, at the start and at the end: what is not available, and how to get it."""
    if LEFT_OUT:
        names = ", ".join(LEFT_OUT)
        print(
            f"LEFT OUT: {len(LEFT_OUT)} corpora are not available here: {names}",
            file=sys.stderr,
        )
        print(
            f"  to get them: internet access, or BAYESTOPICS_MIRROR; {RESULTS}/claims.md has each source",
            file=sys.stderr,
        )


# Where each corpus is, found out once: the processes that Snakemake starts read the answer of the first.
WANTED = sorted({name for settings in AT_SCALE.values() for name in settings["corpora"]})
FIRST = "BAYESTOPICS_PLACES" not in os.environ
if FIRST:
    os.environ.update(BAYESTOPICS_PLACES=json.dumps(REGISTRY.where(WANTED)))
PLACES = json.loads(os.environ.get("BAYESTOPICS_PLACES"))
LEFT_OUT = {name: REGISTRY.how_to_get(name) for name, place in PLACES.items() if place is None}
config["left_out"] = LEFT_OUT  # for the report
if FIRST:
    say_what_is_left_out()
if LEFT_OUT and config["require"] == "all":
    missing = "\n".join(f"  {name}: {how}" for name, how in LEFT_OUT.items())
    raise WorkflowError(f"corpora are not available, and require=all:\n{missing}")


def available(study):
    """The study's corpora at this scale that are within reach."""
    return [name for name in AT_SCALE[study]["corpora"] if PLACES[name]]


def corpus_file(name):
    return f"data/corpora/{name}.npz"


def record_folders(study):
    """The folders of all run records of a study."""
    return [f"{RESULTS}/{study}/{run}" for run in RUNS[study]]


def targets(study):
    """What a study's own target asks for: figures and tables, and its records published."""
    return [*OUTPUTS[study], f"{RESULTS}/{study}/published.json"]


def params_of(study):
    """Input function: the parameters of the run that the wildcard names."""
    return lambda wildcards: RUNS[study][wildcards.run]


def corpus_of(study):
    """Input function: the corpus of the run that the wildcard names."""
    return lambda wildcards: corpus_file(RUNS[study][wildcards.run]["corpus"])


def records_of(wildcards):
    return record_folders(wildcards.study)


def all_records(wildcards):
    return [folder for study in config["studies"] for folder in record_folders(study)]


def registry_entry(wildcards):
    """What decides a corpus: a change of it makes the corpus anew."""
    return REGISTRY[wildcards.name].content()


def own_files(wildcards):
    """A corpus of the user's own is read again when its files change."""
    return REGISTRY.own_files(wildcards.name)


# Each study's file fills these in: run name -> parameters, and the outputs beside the records.
RUNS = {}
OUTPUTS = {}


def compile_kernels():
    """Once, before jobs that use them run side by side. Results do not depend on it, each knows its own code."""
    mark = Path(f"results/kernels-{kernel_hash()}.ready")
    if not mark.exists():
        print("Compiling the kernels", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "bayestopics.runs.warm"], check=True)
        mark.parent.mkdir(exist_ok=True)
        mark.touch()
