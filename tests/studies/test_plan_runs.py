"""Which runs the studies plan, from small settings: none is forgotten, and each has what it builds on."""

from typing import Any

import pytest

from bayestopics.base.problems import InputError
from bayestopics.corpus.registry import Entry
from bayestopics.studies.blocking.plan import plan as blocking
from bayestopics.studies.first_look.plan import plan as first_look
from bayestopics.studies.hyperparameters.plan import plan as hyperparameters
from bayestopics.studies.number_of_topics.plan import PARTS as number_of_topics_parts
from bayestopics.studies.number_of_topics.plan import plan as number_of_topics
from bayestopics.studies.plan import Plan, Run, Settings, chosen
from bayestopics.studies.split_merge.plan import plan as split_merge
from bayestopics.studies.truncation_free.plan import plan as truncation_free

ENTRIES = {name: Entry(name, "", generator={"documents": 3}) for name in ("a", "b", "gone")}


def settings(shared: dict[str, Any], **here: Any) -> Settings:
    """The corpus `gone` is out of reach."""
    return Settings("study", "smoke", shared, {"corpora": ["a", "b", "gone"], **here}, ENTRIES, {"a", "b"})


def test_chosen_runs_have_all_that_is_wanted():
    """Guards `any` for `all`, and kinds that are mixed up."""
    runs = {
        "one": Run({"kind": "k", "corpus": "a", "topics": 2}),
        "two": Run({"kind": "k", "corpus": "a", "topics": 3}),
        "three": Run({"kind": "l", "corpus": "a", "topics": 2}),
        "four": Run({"kind": "k", "corpus": "b", "topics": 2}),
    }
    assert chosen(runs, "k", corpus="a", topics=2) == ("one",)
    assert chosen(runs, "k", "l", topics=2) == ("one", "three", "four")


# -- blocking ----------------------------------------------------------------------------------------------


def test_blocking_has_every_sampler_and_run_and_times_alone():
    """Guards a run that is forgotten, timings beside other work, and figures that mix corpora."""
    model = {"topics": 3, "samplers": ["single-site", "sparse"]}
    shared = {"models": dict.fromkeys(("a", "b", "gone"), model), "timing": {"samplers": ["sparse"], "alpha": 0.1}}
    timing = {"corpora": ["a"], "topics": [8], "settling_sweeps": 1, "rounds": 2}
    numbers = {"runs": {"a": 2, "b": 1, "gone": 1}, "sweeps": {"a": 10, "b": 20, "gone": 1}}
    made = blocking(settings(shared, timing=timing, **numbers))
    chains = {"a-single-site-run0", "a-single-site-run1", "a-sparse-run0", "a-sparse-run1"}
    assert set(made.runs) == chains | {"b-single-site-run0", "b-sparse-run0", "a-times"}
    assert made.runs["b-sparse-run0"].params["sweeps"] == 20
    assert [name for name, run in made.runs.items() if run.threads is None] == ["a-times"]
    assert set(made.figures["mixing-a"].runs) == chains
    assert set(made.tables["summary"].runs) == set(made.runs) - {"a-times"}
    assert made.figures["times"].runs == made.tables["times"].runs == ("a-times",)
    module = made.runs["a-sparse-run0"].modules
    assert module == made.runs["a-times"].modules != made.runs["a-single-site-run0"].modules


# -- number_of_topics --------------------------------------------------------------------------------------

NOTHING = {key: [] for key in number_of_topics_parts}
PRIORS = {"priors": {name: {"alpha": 0.1, "eta": 0.2} for name in ENTRIES}}


def topics(**here: Any) -> Plan:
    return number_of_topics(settings(PRIORS, **NOTHING | here))


def walks(**changes: Any) -> dict[str, Any]:
    entry = {"corpus": "a", "sampler": "single-site", "inner": [50, 100, 75], "starts": [5, 30], "least": 2, "most": 9}
    return entry | {"iterations": 40} | changes


def test_chains_that_share_estimates_build_on_the_largest_m_of_their_own_start():
    """Guards a `before` that is forgotten, or one of another start, corpus or range."""
    made = topics(walks=[walks(), walks(corpus="b"), walks(most=200, inner=[50], starts=[7])])
    for corpus in ("a", "b"):
        for start in (5, 30):
            names = {m: f"{corpus}-pmmh-single-site-m{m}-from{start}" for m in (50, 75, 100)}
            assert made.runs[names[100]].before == ()
            assert made.runs[names[100]].params["shorter"] == [50, 75]
            for m in (50, 75):
                assert made.runs[names[m]].before == (names[100],)
                assert "shorter" not in made.runs[names[m]].params
    assert made.runs["a-pmmh-single-site-m50-from7"].before == ()
    assert len(made.runs) == 13
    assert len(made.figures["walks-a"].runs) == 7
    assert len(made.tables["walks"].runs) == 13


def test_several_chains_from_one_start_share_nothing_with_each_other():
    """Guards a chain that builds on another, two chains of one name, and estimates that start elsewhere."""
    made = topics(
        walks=[walks(inner=[50, 75], starts=[5], chains=3), walks(inner=[50, 75], starts=[5], z_start="pilot")]
    )
    start = "a-pmmh-single-site-m{}-from5"
    for end in ("", "-chain2", "-chain3"):
        assert made.runs[start.format(50) + end].before == (start.format(75) + end,)
    pilot = "a-pmmh-single-site-pilot-m{}-from5"
    assert made.runs[pilot.format(50)].before == (pilot.format(75),)
    assert made.runs[pilot.format(50)].params["z_start"] == "pilot"
    assert len(made.runs) == 8
    assert "chain" not in made.runs[start.format(50)].params


def test_bounds_need_the_true_t_and_one_less():
    """Guards a table that cannot be made."""
    truth = {"priors": {"a": {"alpha": 0.1, "eta": 0.2, "expected_topics": 4}}}
    entry = {"corpus": "a", "steps": 20, "repeats": 1}
    assert "a-bounds" in number_of_topics(settings(truth, **NOTHING | {"bounds": [entry | {"topics": [3, 4]}]})).runs
    with pytest.raises(InputError, match="its true T and one less"):
        number_of_topics(settings(truth, **NOTHING | {"bounds": [entry | {"topics": [4, 5]}]}))


def test_one_harmonic_mean_builds_on_the_other():
    """Guards two chains for what comes from one, and the mean of another corpus."""
    methods = {
        "harmonic-psi": {"sweeps": 20, "repeats": 2},
        "harmonic-z": {"sweeps": 20, "repeats": 2},
        "reference": {"sweeps": 40, "passes": 2, "repeats": 3},
        "chib": {"sweeps": 20, "repeats": 2},
    }
    made = topics(evidence=[{"corpus": name, "topics": [2, 3], "methods": methods} for name in ("a", "b")])
    assert made.runs["a-evidence-harmonic-psi"].before == ("a-evidence-harmonic-z",)
    assert [name for name, run in made.runs.items() if run.before] == [f"{c}-evidence-harmonic-psi" for c in "ab"]
    reference, chib = made.runs["a-evidence-reference"], made.runs["a-evidence-chib"]
    assert (reference.params["method"], reference.params["path"]) == ("annealing", "reference")
    assert (chib.params["method"], "path" in chib.params) == ("chib", False)
    assert (reference.threads, chib.threads) == (3, 1)
    assert set(made.figures["evidence-b"].runs) == {f"b-evidence-{name}" for name in methods}
    assert not set(reference.modules) & {m for m in chib.modules if m.startswith("bayestopics.evidence")}


def test_what_is_out_of_reach_is_not_planned():
    """Guards runs that cannot start."""
    made = topics(walks=[walks(corpus="gone")], scores=[{"corpus": "a", "topics": [2], "sampler": "single-site"}])
    assert list(made.runs) == ["a-leave-one-out"]


# -- hyperparameters ---------------------------------------------------------------------------------------

SURFACE = {"sampler": "single-site", "sweeps": 10, "chains": 1, "replicates": 1, "functionals": False}


def hyper(**here: Any) -> Plan:
    models = {"a": {"topics": 3, "truth": [0.1, 0.2]}, "b": {"topics": 4}, "gone": {"topics": 5}}
    empty = {key: [] for key in ("surfaces", "rivals", "methods", "steps", "scores", "coverage")}
    return hyperparameters(settings({"models": models}, **empty | here))


def test_scores_build_on_tempering_and_on_the_rivals_of_their_corpus():
    """Guards a choice of h that comes from another corpus, T, kind of chain, or is forgotten."""
    surfaces = [
        SURFACE | {"corpora": ["a", "b"]},
        SURFACE | {"corpora": ["a"], "sampler": "augmented", "replicates": 2, "functionals": True},
        SURFACE | {"corpora": ["a"], "topics": 7},
    ]
    rivals = [{"corpora": ["a", "b"], "starts": 2, "methods": {}}]
    made = hyper(surfaces=surfaces, rivals=rivals, scores=[{"corpora": ["a", "b"], "sampler": "single-site"}])
    assert made.runs["a-scores"].before == ("a-tempering-single-site-0", "a-rivals")
    assert made.runs["b-scores"].before == ("b-tempering-single-site-0", "b-rivals")
    assert made.runs["a-tempering-7-topics-single-site-0"].params["topics"] == 7
    assert made.runs["a-tempering-single-site-0"].params["truth"] == [0.1, 0.2]
    followed = ("a-tempering-augmented-0", "a-tempering-augmented-1")
    assert set(made.figures["surface-a"].runs) == {"a-tempering-single-site-0", *followed}
    assert made.figures["functionals-a"].runs == made.figures["hat-tilde-a"].runs == followed
    assert made.figures["surface-a-7-topics"].runs == ("a-tempering-7-topics-single-site-0",)
    assert {"a-rivals", "b-rivals"} <= set(made.figures["rivals"].runs)
    assert len(made.tables["estimates"].runs) == 5


def test_every_step_builds_on_the_step_before():
    """Guards steps that all build on the first, and a first that waits for something."""
    made = hyper(steps=[{"corpus": "a", "steps": 4, "sweeps": 5}, {"corpus": "b", "steps": 2, "sweeps": 5}])
    names = [f"a-step-{number:02}" for number in (1, 2, 3, 4)]
    assert [made.runs[name].before for name in names] == [(), *((name,) for name in names[:3])]
    assert [made.runs[name].params["number"] for name in names] == [0, 1, 2, 3]
    assert made.steps() == [*names[1:], "b-step-02"]
    assert made.figures["grid-a"].runs == tuple(names)


# -- the others --------------------------------------------------------------------------------------------


def test_streams_have_every_method_and_batch_and_those_without_end_a_process_each():
    """Guards documents of another batch, a truncation where there is none, and memory that two runs share."""
    documents = {"truncation-free": [[1, 100], [10, 200]], "truncated": [[10, 300]]}
    streams = [{"model": "hdp", "corpora": ["a", "gone"], "documents": documents, "checks": 4}]
    endless = {"learners": [["hdp", "truncated"], ["hdp", "truncation-free"]], "batch": 5}
    made = truncation_free(settings({"truncation": 300}, toy={"most": 3}, streams=streams, endless=endless))
    of = {
        name: (run.params["batch"], run.params["documents"]) for name, run in made.runs.items() if run.kind == "stream"
    }
    assert of == {
        "a-hdp-truncation-free-001": (1, 100),
        "a-hdp-truncation-free-010": (10, 200),
        "a-hdp-truncated-010": (10, 300),
    }
    cut = {name for name, run in made.runs.items() if "truncation" in run.params}
    assert cut == {"a-hdp-truncated-010", "endless-hdp-truncated"}
    assert [name for name, run in made.runs.items() if run.alone] == [
        "endless-hdp-truncated",
        "endless-hdp-truncation-free",
    ]
    assert set(made.figures["held-out"].runs) == set(of)


def test_split_merge_has_every_setting_on_every_corpus():
    """Guards settings that share a name and replace each other."""
    values = [{"gamma": g, "concentration": 2, "eta": 0.5, "start": 1} for g in (1, 3)]
    entry = {"corpora": ["a", "b", "gone"], "settings": values, "sweeps": 10}
    here = {"law": {"sweeps": 5}, "synthetic": [entry], "perplexity": [entry | {"corpora": ["b"]}]}
    here |= {"blocks": [], "agreement": []}
    made = split_merge(settings({}, **here))
    kinds = [(run.kind, run.corpus, run.params.get("gamma")) for run in made.runs.values()]
    assert sorted(kinds[1:]) == sorted(
        [("synthetic", c, g) for c in "ab" for g in (1, 3)] + [("perplexity", "b", g) for g in (1, 3)]
    )
    assert len(made.figures["topics-a"].runs) == 2
    assert len(made.tables["samplers"].runs) == 4
    assert made.figures["law"].runs == ("law",)


@pytest.mark.parametrize("chains", [1, 3])
def test_first_look_has_every_chain(chains):
    """Guards the last chain, which is forgotten."""
    shared = {"sampler": "sparse", "models": {key: {"topics": 3} for key in ENTRIES}}
    made = first_look(settings(shared, chains=chains, sweeps=9))
    assert list(made.runs) == [f"{name}-chain{n}" for name in "ab" for n in range(chains)]
    assert made.figures["traces"].runs == made.tables["summary"].runs == tuple(made.runs)
