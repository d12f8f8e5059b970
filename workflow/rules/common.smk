# What all rules share: the settings, the available corpora, the plans of the studies, and the names of files.
import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

from bayestopics.base.code import code_hash, kernel_hash
from bayestopics.base.problems import InputError
from bayestopics.corpus.registry import SAFE, Registry
from bayestopics.runs import publish as publishing
from bayestopics.studies import plan as plans
from bayestopics.studies.claims import modules_with_claims
from bayestopics.studies.errors import CAPTION as ERRORS_CAPTION

validate(config, "../schemas/config.schema.yaml")
SCALE = config["scale"]
RESULTS = f"results/{SCALE}"
CHECKPOINTS = "results/checkpoints"
TOGETHER = SCALE == "smoke"  # at this scale, starting a process takes longer than a run

if config["mirror"]:
    os.environ.update(BAYESTOPICS_MIRROR=str(Path(config["mirror"]).resolve()))
REGISTRY = Registry()


# -- settings ----------------------------------------------------------------------------------------


def load(path, schema):
    """A settings file, checked against its schema."""
    content = yaml.load(Path(path).read_text(encoding="utf-8"), SAFE)
    if Path(schema).is_file():
        validate(content, str(schema))
    return content


def settings_of(study):
    path = Path(f"config/studies/{study}.yaml")
    if not path.is_file():
        known = ", ".join(plans.names_in(path.parent))
        raise WorkflowError(f"there is no study {study!r}; the studies are {known}")
    content = load(path, plans.FOLDER / study / "settings.schema.yaml")
    if SCALE not in content.get("scales", {}):
        raise WorkflowError(f"{path}: there are no settings for the scale {SCALE}")
    return content


load("config/corpora.yaml", Path(workflow.basedir) / "workflow/schemas/corpora.schema.yaml")
SETTINGS = {study: settings_of(study) for study in config["studies"] or plans.names_in(Path("config/studies"))}
STUDIES = list(SETTINGS)
AT_SCALE = {study: settings["scales"][SCALE] for study, settings in SETTINGS.items()}


# -- available corpora -------------------------------------------------------------------------------


def places():
    """Where each corpus is. The first process finds out, and the processes that Snakemake starts read its answer.

    The report shows the results as they were made, even if more corpora are available now.
    """
    named = {name for here in AT_SCALE.values() for name in here["corpora"]}
    wanted, made = sorted(named & set(REGISTRY.entries)), Path(f"{RESULTS}/config.yaml")
    if REPORTING and made.is_file():
        left_out = yaml.safe_load(made.read_text(encoding="utf-8"))["config"]["left_out"]
        return {name: None if name in left_out else "within reach" for name in wanted}
    if FIRST:
        os.environ.update(BAYESTOPICS_PLACES=json.dumps(REGISTRY.where(wanted)))
    return json.loads(os.environ.get("BAYESTOPICS_PLACES"))


def say_what_is_left_out():
    """Say loudly, at the start and at the end, which corpora are not available and how to get them."""
    if LEFT_OUT:
        names = ", ".join(LEFT_OUT)
        print(
            f"LEFT OUT: {len(LEFT_OUT)} corpora are not available here: {names}",
            file=sys.stderr,
        )
        print(
            f"  To get them, use a machine with internet access or set BAYESTOPICS_MIRROR; {RESULTS}/claims.md lists "
            "each source.",
            file=sys.stderr,
        )
    for name, place in PLACES.items():
        if place == "package" and (note := (REGISTRY[name].package or {}).get("note")):
            print(f"NOTE: {name}: {note}", file=sys.stderr)


def plan_of(study):
    try:
        return plans.plan_of(plans.Settings.of(study, SCALE, SETTINGS[study], REGISTRY.entries, WITHIN_REACH))
    except InputError as error:
        raise WorkflowError(str(error))


FIRST = "BAYESTOPICS_PLACES" not in os.environ
REPORTING = any(argument.startswith("--report") for argument in sys.argv)
PLACES = places()
WITHIN_REACH = [name for name, place in PLACES.items() if place]
LEFT_OUT = {name: REGISTRY.how_to_get(name) for name, place in PLACES.items() if place is None}
config["left_out"] = LEFT_OUT  # for the report
if FIRST:
    say_what_is_left_out()
if LEFT_OUT and config["require"] == "all":
    missing = "\n".join(f"  {name}: {how}" for name, how in LEFT_OUT.items())
    raise WorkflowError(f"some corpora are not available, and the setting require=all needs them:\n{missing}")
PLANS = {study: plan_of(study) for study in STUDIES}
JOBS = {study: plan.jobs(TOGETHER) for study, plan in PLANS.items()}


# -- the jobs of a study -----------------------------------------------------------------------------


def record(study, run):
    """The folder with the record of a run, which its job writes; a finished record is not computed again."""
    return f"{RESULTS}/{study}/{run}"


def job_file(study, run):
    """The file that the job of this run writes when it is done."""
    if PLANS[study].runs[run].step:
        return f"{RESULTS}/{study}/steps/{run}.json"
    (job,) = [job for job, runs in JOBS[study].items() if run in runs]
    return f"{RESULTS}/{study}/jobs/{job}.json"


def runs_of_job(wildcards):
    """The names of the runs of a job; a step is its own job."""
    return JOBS[wildcards.study].get(wildcards.job, [wildcards.job])


def corpora_of_job(wildcards):
    runs = [PLANS[wildcards.study].runs[name] for name in runs_of_job(wildcards)]
    return sorted({corpus_file(run.corpus) for run in runs if run.corpus})


def jobs_before(wildcards):
    """The files of the jobs that this one builds on."""
    names = runs_of_job(wildcards)
    before = {one for name in names for one in PLANS[wildcards.study].runs[name].before} - set(names)
    return sorted({job_file(wildcards.study, name) for name in before})


def definitions(wildcards):
    """The definition of each run of a job, for the script that computes it."""
    plan = PLANS[wildcards.study]
    return {
        name: {
            "params": plan.runs[name].params,
            "corpus": corpus_file(plan.runs[name].corpus) if plan.runs[name].corpus else None,
            "before": [record(wildcards.study, one) for one in plan.runs[name].before],
            "record": record(wildcards.study, name),
            "code": plan.code(name),
        }
        for name in runs_of_job(wildcards)
    }


def threads_of_job(wildcards):
    names = runs_of_job(wildcards)
    threads = PLANS[wildcards.study].runs[names[0]].threads if len(names) == 1 else 1
    return threads or workflow.resource_settings.cores or 1  # on a cluster nobody knows them; see alone_on_its_node


def alone_on_its_node(wildcards):
    """A run that takes all threads measures time: on Slurm it has a node of its own."""
    names = runs_of_job(wildcards)
    return "--exclusive" if len(names) == 1 and PLANS[wildcards.study].runs[names[0]].threads is None else ""


# -- what a study leaves -----------------------------------------------------------------------------


def records_of(study):
    return {run: record(study, run) for run in PLANS[study].runs}


def forget_jobs_without_records():
    """Delete the job files of deleted records, so that these records are made again."""
    for study in STUDIES:
        for run, folder in records_of(study).items():
            if not Path(folder, "run.json").is_file():
                Path(job_file(study, run)).unlink(missing_ok=True)


def jobs_of(study):
    return sorted({job_file(study, run) for run in PLANS[study].runs})


def errors_of(study):
    return [f"{RESULTS}/{study}/errors.parquet"] if PLANS[study].has("errors") else []


def tables_of(study):
    return [f"{RESULTS}/{study}/tables"] if PLANS[study].tables or errors_of(study) else []


def figures_of(study):
    return [f"{RESULTS}/{study}/figures"] if PLANS[study].figures else []


def shown_of(study):
    return [*tables_of(study), *figures_of(study)]


def targets(study):
    """What the target of a study asks for: its figures and tables, and its records published."""
    return [*shown_of(study), f"{RESULTS}/{study}/published.json", f"{RESULTS}/config.yaml"]


def everything():
    """The figures, tables and claims of all studies, published; at scale smoke one job publishes them."""
    studies = [path for study in STUDIES for path in (shown_of(study) if TOGETHER else targets(study))]
    rest = [f"{RESULTS}/claims.md", f"{RESULTS}/published.json", f"{RESULTS}/site", f"{RESULTS}/config.yaml"]
    return [*studies, *rest]


def published_files():
    """Which MLflow runs the records have; at scale smoke one job publishes them."""
    studies = [] if TOGETHER else [f"{RESULTS}/{study}/published.json" for study in STUDIES]
    return [*studies, f"{RESULTS}/published.json"]


def site_plan(study):
    """What the site shows of a study."""
    plan = PLANS[study]
    parts = {"figures": plan.figures, "tables": plan.tables}
    shown = {kind: {name: vars(part) for name, part in found.items()} for kind, found in parts.items()}
    return {"title": plan.title, "runs": list(plan.runs), **shown}


# -- input functions ---------------------------------------------------------------------------------


def jobs_of_study(wildcards):
    return jobs_of(wildcards.study)


def errors_of_study(wildcards):
    return errors_of(wildcards.study)


def title(wildcards):
    return PLANS[wildcards.study].title


def table_label(wildcards):
    return {"what": f"table: {wildcards.name}"}


def figure_label(wildcards):
    return {"what": PLANS[wildcards.study].figures[wildcards.name].label}


def records_of_study(wildcards):
    return records_of(wildcards.study)


def planned_tables(wildcards):
    return {name: vars(table) for name, table in PLANS[wildcards.study].tables.items()}


def planned_figures(wildcards):
    return {name: vars(figure) for name, figure in PLANS[wildcards.study].figures.items()}


def table_captions(wildcards):
    tables = {name: table.caption for name, table in PLANS[wildcards.study].tables.items()}
    return {**tables, "errors": ERRORS_CAPTION}


def figure_captions(wildcards):
    return {name: figure.caption for name, figure in PLANS[wildcards.study].figures.items()}


def code_of_errors(wildcards):
    return PLANS[wildcards.study].code_of("errors")


def code_of_tables(wildcards):
    return PLANS[wildcards.study].code_of("tables")


def code_of_figures(wildcards):
    return PLANS[wildcards.study].code_of("figures")


def shown_by_study(wildcards):
    return shown_of(wildcards.study)


def to_publish(study):
    """The parent runs of a study, one for each corpus, with the records that are its children and with its artifacts.

    What is shown of several corpora belongs to a parent run of all corpora.
    """
    plan, parents = PLANS[study], {}

    def below(corpora):
        name = f"{study}: {corpora.pop() if len(corpora) == 1 else 'all corpora'}, {SCALE}"
        return parents.setdefault(name, {"study": study, "records": [], "shown": []})

    for run, folder in records_of(study).items():
        below({plan.runs[run].corpus or "no corpus"})["records"].append(folder)
    for part, endings in (("figures", ["png"]), ("tables", ["csv", "html"])):
        for name, made in getattr(plan, part).items():
            files = [f"{RESULTS}/{study}/{part}/{name}.{ending}" for ending in endings]
            below({plan.runs[run].corpus or "no corpus" for run in made.runs})["shown"] += files
    if errors_of(study):
        below(set())["shown"] += [f"{RESULTS}/{study}/tables/errors.{ending}" for ending in ("csv", "html")]
    return parents


def study_to_publish(wildcards):
    return to_publish(wildcards.study)


def rest_to_publish(wildcards):
    claims = [f"{RESULTS}/claims.{ending}" for ending in ("csv", "md", "html")] + [f"{RESULTS}/claims"]
    rest = {f"claims, {SCALE}": {"study": "", "records": [], "shown": claims}}
    for study in STUDIES if TOGETHER else ():
        rest |= to_publish(study)
    return rest


def published_lists():
    """The lists of published runs; at scale smoke there is one for all studies."""
    return [Path(RESULTS, *folder, "published.json") for folder in ([], *([study] for study in STUDIES))]


def forget_what_is_not_published():
    """Delete the lists of runs that are not in the store, so that these runs are published again."""
    for path in published_lists():
        if path.is_file() and publishing.problem_of(path):
            path.unlink()


def say_what_is_not_published():
    """One line, whatever the number of studies."""
    problems = [publishing.problem_of(path) for path in published_lists() if path.is_file()]
    if problem := next(filter(None, problems), None):
        print(f"NOT PUBLISHED: {problem}. The results are complete; `make publish` catches up.", file=sys.stderr)


def code_of_claims(wildcards):
    found = [module for study in PLANS for module in modules_with_claims(study)]
    return code_hash("bayestopics.studies.claims", *found)


# -- corpora, kernels --------------------------------------------------------------------------------


def corpus_file(name):
    """The file of a corpus. At scale smoke one job makes all corpora, in a folder of their own."""
    return f"data/{SCALE}/{name}.npz" if TOGETHER else f"data/corpora/{name}.npz"


def registry_entry(wildcards):
    """What defines a corpus: if it changes, the corpus is made again."""
    return {wildcards.name: REGISTRY[wildcards.name].content()}


def own_files(wildcards):
    """The files of a user's own corpus, which is read again when they change."""
    return REGISTRY.own_files(wildcards.name)


def compile_kernels():
    """Compile once, before several jobs use the kernels at the same time. Results do not depend on this."""
    mark = Path(f"results/kernels-{kernel_hash()}.ready")
    if not mark.exists():
        print("Compiling the kernels", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "bayestopics.runs.compile"], check=True)
        mark.parent.mkdir(exist_ok=True)
        mark.touch()


if FIRST and not REPORTING:
    forget_jobs_without_records()
    forget_what_is_not_published()
