"""Study `number_of_topics`: PMMH chains, evidence by every method, leave-one-out scores, distances between topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from bayestopics.evidence import ESTIMATORS, PATHS
from bayestopics.lda import SAMPLERS
from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table, chosen

PARTS = (
    *("exact", "ladders", "walks", "empirical", "slips", "evidence"),
    *("fitted", "bounds", "jumps", "calibration", "scores", "distances"),
)
WALKS = ("pmmh", "empirical")
LARGEST_M = 100  # of the paper; chains with a larger m are not among the answers
IN_TABLE_3 = {"lda-20", "lda-20-short", "whales", "birds-of-prey"}  # the second replaces the first at small scales
Named = Iterator[tuple[str, dict[str, Any]]]

WALKS_FIGURE = """
PMMH chains over the number of topics: T at every step (left), its running mean (middle), and the estimate of log m(T)
at the chain's current state (right). Chains of one colour differ only in their random numbers. The legend gives the
standard deviation of new estimates at the chain's mode. In theory they should scatter by 1 to 2 nats (1 nat is a factor
of 2.7 in probability); with much more, a chain rarely moves. The dotted line is the number of topics that the paper
found or that generated the corpus; the dashed line is the T with the largest annealed evidence, our yardstick.
"""
EVIDENCE_FIGURE = """
log m(T) by every method: all methods (left), those near the yardstick (middle), and the top of the yardstick alone,
where T is decided (right). Lines join neighbouring T only. A difference of 1 nat is a factor of 2.7 in probability.
Bars are standard errors; where repeats scatter by more than 1 nat, the bar is their full standard deviation, not
divided by the root of their number. The dotted line is the number of topics that the paper found or that generated the
corpus.
"""
ANSWERS_FIGURE = """
The number of topics of the same corpora, by every method. Annealed evidence: the T of the largest log m(T), and those
that its errors do not exclude. Chain over (T, z): the median and the central 95 % of its posterior of T. PMMH: the
median and the central 95 % of the second half of each chain; chains from different starts stand below each other. Short
Gibbs runs: the estimate (4.9) that PMMH takes, with m = 50, and those T that its errors do not exclude. Leave-one-out
score, Chib's estimate and the harmonic means: the best of the T that were tried. On simulated corpora the true number
is known; on the others the dotted line is the answer of the paper.
"""
LADDERS_FIGURE = """
Annealing along every path, at the true T of simulated corpora: how much single log-estimates of the same corpus
scatter, against the CPU seconds of one estimate. Each mark is a ladder of another length. The dashed line is the goal
of 1 nat, a factor of 2.7 in probability.
"""
JUMPS_FIGURE = """
The posterior of the number of topics from chains over T and the assignments together. Top: its probabilities from all
chains, with two standard errors; crosses are what the yardstick, annealed evidence, gives for the T that it tried.
Bottom: T along the chains, one line per start; the shaded part is burn-in, during which the chain learns its weights.
The dashed line is the yardstick's best T, the dotted one the T of the paper or the true T.
"""
JUMPS_TABLE = """
Chains over T and the assignments, from every start: the mean and the most probable T of each chain alone; the posterior
mean of T from all chains with its Monte Carlo error; R-hat of T and of the log joint between the chains (above 1.05
they disagree); and the CPU seconds of all chains.
"""
CALIBRATION_FIGURE = """
Does the posterior of T mean what it says? The rank of the true T in its posterior, over small simulated corpora with T
drawn from its prior: the share of smaller T, plus a uniform share of the true one. Ranks are uniform if the posterior
is right; a posterior that is too narrow has too many near 0 and 1. The shaded band holds each bar with a probability of
95 %. Left: alpha and eta are known; right: they are drawn from their prior and sampled with T. Each corpus has a single
short chain, so a chain that moves too rarely is seen here too.
"""
CALIBRATION_TABLE = """
Ranks of the true T in its posterior, over small simulated corpora: their mean and standard deviation (0.5 and 0.289 if
they are uniform), the p-value of a Kolmogorov-Smirnov test, the mean posterior probability of the true T, and how often
the central 80 % of the ranks holds (0.8 if the posterior is right).
"""
SCORES_FIGURE = """
The leave-one-out score of T: the mean over documents of the log probability of a document given all others. Higher is
better. Bars are Monte Carlo standard errors. The band is between the estimate from paths that put a document into the
corpus, which is too low on average, and that from paths that take it out, which is too high.
"""
WALKS_TABLE = """
Every PMMH chain: where it ended, its posterior of T (as in table 2 of the paper), how often it moved, and any reason
not to trust it. The first half of each chain is burn-in.
"""
EVIDENCE_TABLE = """
Every method beside the yardstick on the same corpus: its best T, Kendall's rank correlation with the yardstick over T,
the median difference of log m(T) from the yardstick, the scatter of single estimates, and the seconds per estimate.
"""
LADDERS_TABLE = """
Annealing on simulated corpora at the true T. `scatter` is the standard deviation of the log-estimates of one corpus.
`gap` is the mean distance between two bounds: the estimate from above, annealed backward from the z that generated the
corpus, minus the estimate from below.
"""
LENGTHS_TABLE = """
How many steps and seconds an estimate needs to scatter by only 1 nat (a factor of 2.7 in probability), at the true T of
simulated corpora; this scatter is the standard error of one estimate. `how` says how the number is known: "measured",
between two lengths that were run; "extrapolated", beyond the longest run, if the scatter falls as 1 / sqrt(steps); "at
most", when the shortest run already scatters less.
"""
CONSTANTS_TABLE = """
Could a forgotten constant explain the paper's numbers? The best T by the yardstick, and the T that would be best if
some constants of p(w, z | T) were left out. These constants depend on T but not on z.
"""
FITTED_TABLE = """
log m(T) of the real corpora at the alpha and eta that serial tempering finds for each T, instead of one pair for all T.
"""
BOUNDS_TABLE = """
Could a forgotten constant explain the paper's numbers on the real corpora, and agree with its simulated ones? Bounds of
log m at the true T, and from below with one topic less: how much the last topic can gain at most, and what it would
lose without the factor Gamma(V eta) of each topic. If the loss is larger, a program without this factor would prefer
one topic less, whatever the sampler. Each bound holds with a probability of at least 99 %.
"""
TIMES_TABLE = """
Hours of one core for the same work in table 3 of the paper and here. Our hours come from the seconds of our runs,
scaled to the paper's lengths, T, documents and tokens. The machines differ.
"""


def plan(settings: Settings) -> Plan:
    here, priors = settings.here, settings.shared["priors"]
    for part in PARTS:
        for entry in here[part]:
            settings.insist_among(entry["corpus"], part, priors=priors)
    for entry in here["bounds"]:
        truth = priors[entry["corpus"]].get("expected_topics", 0)
        needed = {truth - 1, truth} <= set(entry["topics"])
        settings.insist(needed, f"bounds: {entry['corpus']} needs bounds at its true T and one less")
    kinds = {
        "exact": [("exact", entry) for entry in here["exact"]],
        "pmmh": list(_walks(here["walks"])),
        "empirical": [(f"empirical-m{e['inner']}-from{e['start']}", e) for e in here["empirical"]],
        "slip": [(f"slip-{name}", params) for name, params in _walks(here["slips"])],
        "evidence": list(_evidence(here["evidence"])),
        "fitted": [("fitted", entry) for entry in here["fitted"]],
        "bounds": [("bounds", entry) for entry in here["bounds"]],
        "ladder": [("ladder", {**e, "law": settings.entries[e["corpus"]].generator}) for e in here["ladders"]],
        "jump": [("jump", entry) for entry in here["jumps"]],
        "calibration": [("calibration", entry) for entry in here["calibration"]],
        "score": [("leave-one-out", entry) for entry in here["scores"]],
        "distances": [("distances", entry) for entry in here["distances"]],
    }
    runs = {
        f"{params['corpus']}-{name}": _run({"kind": kind, **params, **priors[params["corpus"]]})
        for kind, named in kinds.items()
        for name, params in named
        if params["corpus"] in settings.within_reach
    }
    runs = {name: replace(run, before=_before(run.params, runs)) for name, run in runs.items()}
    timed = bool(IN_TABLE_3.intersection(here["corpora"]))
    return Plan("Number of topics", runs, _figures(runs) | _answers(runs, settings), _tables(runs, timed))


def _run(params: Mapping[str, Any]) -> Run:
    named = params.get("sampler", "sparse" if params["kind"] == "evidence" else "single-site")
    modules = [SAMPLERS[named].module] if named in SAMPLERS else []
    paths = ["reference"] if params["kind"] == "fitted" else [params["path"]] if "path" in params else []
    if params["kind"] in ("evidence", "ladder", "fitted"):
        estimators = params["steps"] if params["kind"] == "ladder" else paths or [params["method"]]
        modules += [ESTIMATORS[name].module for name in estimators]
    # the yardstick and the chains over (T, z) take longest, so their repeats and chains run side by side
    threads = params["repeats"] if any(ESTIMATORS[path].walks for path in paths) else len(params.get("starts", "1"))
    return Run(params, modules=tuple(modules), threads=threads)


def _walks(entries: list[dict[str, Any]]) -> Named:
    """Chains from the same start with different m share estimates, which the chain with the largest m makes. `chains`
    is how many there are from each start; they differ by their names and so by their random numbers."""
    for entry in entries:
        rest = {key: entry[key] for key in ("corpus", "sampler", "least", "most", "iterations")}
        how = entry["sampler"]
        if entry.get("z_start", "uniform") != "uniform":
            rest["z_start"] = entry["z_start"]
            how = f"{how}-{entry['z_start']}"
        *smaller, largest = inners = sorted(set(entry["inner"]))
        for start, chain in product(entry["starts"], range(1, entry.get("chains", 1) + 1)):
            another = {"chain": chain} if chain > 1 else {}
            for inner in inners:
                shared = {"shorter": smaller} if smaller and inner == largest else {}
                name = f"pmmh-{how}-m{inner}-from{start}" + f"-chain{chain}" * bool(another)
                yield name, {**rest, "start": start, "inner": inner, **shared, **another}


def _evidence(entries: list[dict[str, Any]]) -> Named:
    for entry in entries:
        for method, work in entry["methods"].items():
            way = {"method": "annealing", "path": method} if method in PATHS else {"method": method}
            yield f"evidence-{method}", {"corpus": entry["corpus"], "topics": entry["topics"], **way, **work}


def _before(params: Mapping[str, Any], runs: Mapping[str, Run]) -> tuple[str, ...]:
    """The run that this one builds on: a chain with more inner sweeps, or the other harmonic mean."""
    keys = ("kind", "corpus", "sampler", "start", "z_start", "chain", "least", "most", "topics", "sweeps", "repeats")
    return tuple(
        name
        for name, other in runs.items()
        if all(params.get(key) == other.params.get(key) for key in keys)
        and (
            params.get("inner") in other.params.get("shorter", ())
            or (params.get("method"), other.params.get("method")) == ("harmonic-psi", "harmonic-z")
        )
    )


def _figures(runs: Mapping[str, Run]) -> dict[str, Figure]:
    def corpora(kind: str) -> list[str]:
        return sorted({run.params["corpus"] for run in runs.values() if run.kind == kind})

    steps = max((run.params["iterations"] for run in runs.values() if run.kind in WALKS), default=1)
    walks = {
        f"walks-{name}": Figure(
            "draw_walks",
            (*chosen(runs, *WALKS, corpus=name), *chosen(runs, "evidence", corpus=name, path="reference")),
            WALKS_FIGURE,
            f"PMMH: {name}",
            {"steps": steps},  # all figures have the same axes
        )
        for name in corpora("pmmh")
    }
    evidence = {
        f"evidence-{name}": Figure(
            "draw_evidence",
            chosen(runs, "evidence", corpus=name),
            EVIDENCE_FIGURE,
            f"log m(T) by every method: {name}",
        )
        for name in corpora("evidence")
    }
    jumps = {
        f"jump-{name}": Figure(
            "draw_jump",
            (*chosen(runs, "jump", corpus=name), *chosen(runs, "evidence", corpus=name, path="reference")),
            JUMPS_FIGURE,
            f"posterior of T by a chain over (T, z): {name}",
        )
        for name in corpora("jump")
    }
    label = "paths of annealing: error against seconds"
    return {
        **walks,
        **jumps,
        **evidence,
        "calibration": Figure(
            "draw_calibration",
            chosen(runs, "calibration"),
            CALIBRATION_FIGURE,
            "the rank of the true T in its posterior",
        ),
        "scores": Figure("draw_scores", chosen(runs, "score"), SCORES_FIGURE, "leave-one-out scores"),
        "ladders": Figure("draw_ladders", chosen(runs, "ladder"), LADDERS_FIGURE, label),
    }


def _answering(runs: Mapping[str, Run]) -> tuple[str, ...]:
    """The runs whose answers are compared. Chains from one start share their estimates: the one with the largest m of
    the paper is among them."""
    walks: dict[tuple[Any, ...], str] = {}
    for name in chosen(runs, "pmmh", sampler="single-site", z_start=None):
        params = runs[name].params
        if params["inner"] <= LARGEST_M:
            key = (params["corpus"], params["start"], params.get("chain"))
            walks[key] = max(walks.get(key, name), name, key=lambda one: runs[one].params["inner"])
    return (*chosen(runs, "jump"), *walks.values(), *chosen(runs, "evidence", "score"))


def _answers(runs: Mapping[str, Run], settings: Settings) -> dict[str, Figure]:
    """All methods side by side, on the corpora that have them all; the last is the estimate inside PMMH."""
    corpora = [run.params["corpus"] for run in runs.values() if run.params.get("method") == "pseudo-marginal"]
    entries = settings.entries
    return {
        "answers": Figure(
            "draw_answers",
            tuple(name for name in _answering(runs) if runs[name].corpus in corpora),
            ANSWERS_FIGURE,
            "the number of topics by every method",
            {
                "titles": {name: entries[name].title for name in corpora},
                "simulated": [name for name in corpora if entries[name].generator],
            },
        )
    }


def _tables(runs: Mapping[str, Run], timed: bool) -> dict[str, Table]:
    evidence, ladders = chosen(runs, "evidence"), chosen(runs, "ladder")
    found = {
        "walks": (chosen(runs, *WALKS), "PMMH chains over the number of topics", WALKS_TABLE),
        "jumps": (chosen(runs, "jump"), "Chains over T and the assignments", JUMPS_TABLE),
        "calibration": (chosen(runs, "calibration"), "The rank of the true T in its posterior", CALIBRATION_TABLE),
        "answers": (_answering(runs), "The number of topics by every method", ANSWERS_FIGURE),
        "evidence": (evidence, "Methods for the evidence, compared with the yardstick", EVIDENCE_TABLE),
        "ladders": (ladders, "Annealing on simulated corpora, from below and from above", LADDERS_TABLE),
        "lengths": (ladders, "How long a ladder must be for a standard error of 1 nat", LENGTHS_TABLE),
        "fitted": (chosen(runs, "fitted"), "log m(T) at the alpha and eta that fit each T", FITTED_TABLE),
        "bounds": (chosen(runs, "bounds"), "What the last topic gains, and a forgotten constant", BOUNDS_TABLE),
        "constants": (evidence, "The best T if constants of the density were left out", CONSTANTS_TABLE),
    }
    if timed:
        work = chosen(runs, "pmmh", "evidence", "score")
        found["times"] = (work, "Hours of one core, here and in the paper", TIMES_TABLE)
    return {name: Table(f"{name}_table", *rest) for name, rest in found.items()}
