"""The plans of the studies, without Snakemake: complete, consistent, and one clear line where settings cannot work."""

import inspect
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from bayestopics.base.problems import InputError
from bayestopics.corpus.registry import Registry
from bayestopics.studies.plan import Plan, Run, Settings, names_in, plan_of

SETTINGS = Path(__file__).parents[2] / "config" / "studies"
STUDIES = names_in(SETTINGS)
SCALES = ("smoke", "quick", "paper")
ENTRIES = Registry().entries


def settings_of(study: str, scale: str, without=(), **changes) -> Settings:
    shared = yaml.safe_load((SETTINGS / f"{study}.yaml").read_text(encoding="utf-8"))
    here = shared.pop("scales")[scale] | changes
    return Settings(study, scale, shared, here, ENTRIES, within_reach=set(ENTRIES) - set(without))


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("scale", SCALES)
def test_every_part_of_a_plan_is_there(study, scale):
    plan = plan_of(settings_of(study, scale))
    assert plan.runs
    for name, run in plan.runs.items():
        takes = inspect.signature(import_module(plan.module(f"compute_{run.kind}")).compute).parameters
        assert list(takes)[:3] == ["task", "corpus", "checkpoint"], name
        assert not run.before or "before" in takes, name
        assert len(plan.code(name)) == 16
    for part, shown in (("figures", plan.figures), ("tables", plan.tables)):
        for name, one in shown.items():
            function = one.draw if part == "figures" else one.make
            assert callable(getattr(import_module(plan.module(part)), function)), name
            assert one.runs
            assert one.caption.strip()


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("scale", SCALES)
def test_without_real_corpora_the_rest_of_a_plan_holds(study, scale):
    published = [name for name, entry in ENTRIES.items() if not entry.generator]
    plan = plan_of(settings_of(study, scale, without=published))
    assert not {run.corpus for run in plan.runs.values()} & set(published)


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("together", [False, True])
def test_every_run_has_one_job_and_comes_after_what_it_builds_on(study, together):
    plan = plan_of(settings_of(study, "quick"))
    check_jobs(plan, together)


def check_jobs(plan: Plan, together: bool) -> None:
    jobs = plan.jobs(together) | {name: [name] for name in plan.steps()}
    job_of = {run: job for job, runs in jobs.items() for run in runs}
    assert sorted(run for runs in jobs.values() for run in runs) == sorted(plan.runs)
    done: list[str] = []
    waiting = dict(jobs)
    while waiting:  # no two jobs wait for each other
        ready = [
            job
            for job, runs in waiting.items()
            if all(job_of[b] in (job, *done) for run in runs for b in plan.runs[run].before)
        ]
        assert ready, f"in a circle: {list(waiting)}"
        done += ready
        waiting = {job: runs for job, runs in waiting.items() if job not in ready}
    for runs in jobs.values():
        for number, run in enumerate(runs):
            assert set(plan.runs[run].before) & set(runs) <= set(runs[:number])


def test_a_run_that_needs_its_own_process_parts_those_around_it():
    runs = {
        "last": Run({"kind": "k"}, before=("alone", "first")),
        "first": Run({"kind": "k"}),
        "alone": Run({"kind": "k"}, before=("first",), alone=True),
        "timed": Run({"kind": "k"}, threads=None),
        "step": Run({"kind": "k"}, before=("last",), step=True),
        "other": Run({"kind": "k"}, before=("first",)),
    }
    plan = Plan("", runs)
    assert plan.jobs(together=True) == {
        "runs-1": ["first", "other"],
        "alone": ["alone"],
        "runs-2": ["last"],
        "timed": ["timed"],
    }
    check_jobs(plan, together=True)
    check_jobs(plan, together=False)


def test_steps_of_the_grid_each_build_on_the_one_before():
    plan = plan_of(settings_of("hyperparameters", "smoke"))
    assert plan.runs["tiny-lda-step-01"].before == ()
    assert not plan.runs["tiny-lda-step-01"].step
    assert plan.runs["tiny-lda-step-03"].before == ("tiny-lda-step-02",)
    assert plan.steps() == ["tiny-lda-step-02", "tiny-lda-step-03"]


@pytest.mark.parametrize(
    ("study", "changes", "message"),
    [
        ("first_look", {"corpora": ["kos", "nips"]}, "first_look.yaml: models: no entry for the corpus 'nips'"),
        ("first_look", {"corpora": ["nowhere"]}, "first_look.yaml: no corpus 'nowhere' in config/corpora.yaml"),
        ("blocking", {"runs": {}}, "blocking.yaml: runs: no entry for the corpus 'tiny-bars'"),
        ("hyperparameters", {"corpora": ["kos"]}, "surfaces: 'tiny-lda' is not among the scale's corpora"),
        ("number_of_topics", {"corpora": ["tiny-lda"]}, "exact: 'enumerable' is not among the scale's corpora"),
        ("routes", {"corpora": ["kos"]}, "runs: 'tiny-lda' is not among the scale's corpora"),
        ("split_merge", {"corpora": ["kos"]}, "synthetic: 'tiny-hdp' is not among the scale's corpora"),
        ("truncation_free", {"corpora": ["tiny-hdp"]}, "streams: 'tiny-dp-mixture' is not among the scale's corpora"),
    ],
)
def test_settings_that_cannot_work_are_one_line(study, changes, message):
    with pytest.raises(InputError) as raised:
        plan_of(settings_of(study, "smoke", **changes))
    assert message in str(raised.value)
    assert str(raised.value).startswith(f"config/studies/{study}.yaml: ")
