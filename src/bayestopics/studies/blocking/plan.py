"""Study `blocking`: chains of several samplers from the same starts, and seconds a sweep."""

from __future__ import annotations

from bayestopics.lda import SAMPLERS
from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table, without

MIXING = """
Log joint (top) and completion perplexity over each ten sweeps (bottom) of every run, thin, and their median, thick;
against sweeps (left) and seconds of sampling (right). Runs of different samplers start from the same assignments and
see the same held-out words. A run is trapped if it ends more than ten standard deviations of the log joint below the
best. Where chains still climb, as on KOS and NIPS, this counts the runs that lag behind.
"""
AUTOCORRELATION = """
Integrated autocorrelation times of three label-invariant statistics over the second halves of the chains: a dot a run
that is not trapped, a bar at their median; in sweeps (left) and in seconds of sampling (right). Smaller is better.
Chains that still climb, as on large corpora, have times of the order of their length: then this is a lower bound.
"""
SUMMARY = """
All samplers in numbers: medians over the runs (quartiles beside them) of the last tenth of the chains, and medians of
the integrated autocorrelation times over the second halves of the runs that are not trapped.
"""
TIMES = """
Seconds a sweep against the number of topics, one thread, all samplers from the same state in turns, medians; below,
as a ratio to single-site (Zhang & Sisson, figure 3, with implementations in which a single-site draw costs tens of
nanoseconds).
"""
TIMES_TABLE = "Seconds a sweep of every sampler: the median of the rounds, the least and the largest."


def plan(settings: Settings) -> Plan:
    _check(settings)
    chains, times = _chains(settings), _times(settings)
    figures = {
        f"mixing-{corpus}": Figure(
            "draw_mixing",
            tuple(name for name, run in chains.items() if run.corpus == corpus),
            MIXING,
            f"log posterior and perplexity: {corpus}",
        )
        for corpus in settings.available
    }
    figures["autocorrelation"] = Figure("draw_autocorrelation", tuple(chains), AUTOCORRELATION, "autocorrelation times")
    figures["times"] = Figure("draw_times", tuple(times), TIMES, "seconds a sweep")
    tables = {
        "summary": Table("summary_table", tuple(chains), "Samplers side by side", SUMMARY),
        "times": Table("times_table", tuple(times), "Seconds a sweep", TIMES_TABLE),
    }
    return Plan("Blocking", chains | times, figures, tables)


def _check(settings: Settings) -> None:
    models, here, timing = settings.shared["models"], settings.here, settings.shared["timing"]
    for name in here["corpora"]:
        for part, given in (("models", models), ("runs", here["runs"]), ("sweeps", here["sweeps"])):
            settings.insist(name in given, f"{part}: nothing for {name!r}")
        for sampler in models[name]["samplers"] + timing["samplers"]:
            settings.insist(sampler in SAMPLERS, f"{sampler!r} is none of {list(SAMPLERS)}")
    known = set(here["timing"]["corpora"]) <= set(here["corpora"])
    settings.insist(known, "timing: corpora must be among the scale's corpora")


def _chains(settings: Settings) -> dict[str, Run]:
    models, here = settings.shared["models"], settings.here
    return {
        f"{name}-{sampler}-run{run}": Run(
            {
                "kind": "chain",
                "corpus": name,
                "sampler": sampler,
                "run": run,
                "sweeps": here["sweeps"][name],
                **without(models[name], "samplers"),
            },
            modules=(SAMPLERS[sampler].module,),
        )
        for name in settings.available
        for sampler in models[name]["samplers"]
        for run in range(here["runs"][name])
    }


def _times(settings: Settings) -> dict[str, Run]:
    """Nothing else runs while seconds are counted."""
    shared, here = settings.shared["timing"], settings.here["timing"]
    sizes = {key: here[key] for key in ("topics", "settling_sweeps", "rounds")}
    modules = tuple(SAMPLERS[name].module for name in shared["samplers"])
    return {
        f"{name}-times": Run({"kind": "times", "corpus": name, **shared, **sizes}, modules=modules, threads=None)
        for name in here["corpora"]
        if name in settings.within_reach
    }
