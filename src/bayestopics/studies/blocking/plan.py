"""Study `blocking`: chains of several samplers from the same starts, and seconds per sweep."""

from __future__ import annotations

from bayestopics.lda import SAMPLERS
from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table, without

MIXING = """
Log joint (top) and completion perplexity over every ten sweeps (bottom), against sweeps (left) and seconds of sampling
(right). Thin lines are single runs, thick lines their median. All samplers start from the same assignments and see the
same held-out words. A run counts as trapped if it ends more than ten standard deviations of the log joint below the
best run. Where the chains still climb, as on KOS and NIPS, this counts the runs that lag behind.
"""
AUTOCORRELATION = """
Integrated autocorrelation times over the second halves of the chains, in sweeps (left) and in seconds of sampling
(right), for three statistics that do not depend on topic labels. Each dot is a run that is not trapped; the bar is the
median. Smaller is better. Where chains still climb, as on large corpora, the times come out about as long as the
chains themselves and are only lower bounds.
"""
SUMMARY = """
All samplers in numbers: medians and quartiles over the runs for the last tenth of the chains, and the median integrated
autocorrelation times over the second halves of the runs that are not trapped.
"""
TIMES = """
Median seconds per sweep against the number of topics (top), and their ratio to single-site (bottom; Zhang & Sisson,
figure 3). The samplers start from the same state and take turns, on one thread unless the legend says otherwise. In
our implementation one single-site draw costs tens of nanoseconds.
"""
TIMES_TABLE = "Seconds per sweep of every sampler: the median, the smallest and the largest over the rounds."


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
    figures["times"] = Figure("draw_times", tuple(times), TIMES, "seconds per sweep")
    tables = {
        "summary": Table("summary_table", tuple(chains), "Samplers side by side", SUMMARY),
        "times": Table("times_table", tuple(times), "Seconds per sweep", TIMES_TABLE),
    }
    return Plan("Blocking", chains | times, figures, tables)


def _check(settings: Settings) -> None:
    models, here, timing = settings.shared["models"], settings.here, settings.shared["timing"]
    for name in here["corpora"]:
        for part, given in (("models", models), ("runs", here["runs"]), ("sweeps", here["sweeps"])):
            settings.insist(name in given, f"{part}: no entry for the corpus {name!r}")
        for sampler in models[name]["samplers"] + timing["samplers"]:
            settings.insist(sampler in SAMPLERS, f"unknown sampler {sampler!r}; known are {list(SAMPLERS)}")
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
    """Timing runs take all threads, so that nothing else runs at the same time."""
    shared, here = settings.shared["timing"], settings.here["timing"]
    sizes = {key: here[key] for key in ("topics", "settling_sweeps", "rounds")}
    modules = tuple(SAMPLERS[name].module for name in shared["samplers"])
    return {
        f"{name}-times": Run({"kind": "times", "corpus": name, **shared, **sizes}, modules=modules, threads=None)
        for name in here["corpora"]
        if name in settings.within_reach
    }
