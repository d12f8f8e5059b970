"""Study `hyperparameters`: tempering, its rivals, the iterative grid, scores and coverage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from bayestopics.lda import SAMPLERS
from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table, chosen, without

PARTS = ("surfaces", "rivals", "steps", "scores", "coverage")
Named = Iterator[tuple[str, dict[str, Any]]]

SURFACE = """
log M-hat(h), the estimate of the marginal likelihood of h = (alpha, eta) up to a constant, by serial tempering: where
it matters (left), near its top (middle), and its relative Monte Carlo error by batch means (right). The ellipse is
Monte Carlo error of the best h: it shrinks as the chain grows. The dashed region is about h itself, from the
curvature at the top: it shrinks as the corpus grows. Where log M-hat is flat along alpha or eta over the whole grid,
the corpus does not identify it, and its best value is arbitrary (the answer to claim H4 says where). Best h of other
chains and samplers are marked on the same surface (George & Doss, figure 7).
"""
FUNCTIONALS = """
Posterior expectations I-hat(h) from one tempered chain, a row a functional: over h (left), and along alpha and eta
with bands that cover the whole function of h with probability 95 % (George & Doss, figure 4). "Topics 1 and 2" have
no meaning of their own once labels switch: the mean over all pairs has.
"""
HAT_TILDE = """
The estimates I-hat and I-tilde of the same posterior expectations by two chains with different seeds, along alpha at
two values of eta (George & Doss, figures 5 and 6), and the root mean square difference of the two chains over all h.
"""
RIVALS = """
Estimates of the best h on six simulated corpora: all of them (upper panels), and those near tempering's 95 % Monte
Carlo ellipse, from independent chains (lower panels; George & Doss, figure 8). A mark a start of variational EM and
Gibbs-EM. The last step of Gibbs-EM has Monte Carlo noise of its own, which the ellipse does not know of; the mean of
its last steps has less. The dashed region is about h itself.
"""
GRID = """
The paper's iterative choice of the grid: documents of each step, ends of the grid and the best h in it, and log M-hat
at some steps (George & Doss, figures 2 and 3). Each step has a tenth more documents and a grid narrower by a tenth,
but not narrower than three standard deviations of h. The best h is that of the documents so far, not of the whole
corpus.
"""
ESTIMATES = """
The best (alpha, eta) of every tempered chain, beside the paper's and the truth. `error` is Monte Carlo error, which
shrinks as the chain grows; `deviation` is that of h itself, which shrinks as the corpus grows. Chains with warnings
are not to be trusted.
"""
SCORES = """
Leave-one-out scores over that of tempering's h, S(h) / S(tempering), S being the geometric mean over documents of
their probability given all others; the Monte Carlo error of the log of the ratio; and the paper's ratio (George &
Doss, table 3).
"""
TIMES = """
Seconds of every method: CPU seconds of tempering with the search for its grid, tuning and all chains of the last run,
and medians over the starts of the others; beside them the paper's minutes (George & Doss, tables 1 and 4), of other
lengths and on another machine.
"""
COVERAGE = """
How many 95 % Monte Carlo ellipses, from batches of one chain and from independent chains, cover the best h of a far
longer run, with an exact 95 % interval for their share.
"""


def plan(settings: Settings) -> Plan:
    here, models = settings.here, settings.shared["models"]
    for part in PARTS:
        for entry in here[part]:
            for name in entry.get("corpora") or [entry["corpus"]]:
                settings.insist_among(name, part, models=models)
    kinds = {
        "surface": list(_surfaces(here["surfaces"])),
        "rivals": list(_on_corpora(here["rivals"], "rivals")),
        "step": list(_steps(here["steps"])),
        "score": list(_on_corpora(here["scores"], "scores")),
        "coverage": [("coverage", entry) for entry in here["coverage"]],
    }
    runs = {
        f"{params['corpus']}-{name}": _run(
            {"kind": kind, "truth": None, "paper": None, **models[params["corpus"]], **params}
        )
        for kind, named in kinds.items()
        for name, params in named
        if params["corpus"] in settings.within_reach
    }
    runs = {name: replace(run, before=_before(run.params, runs)) for name, run in runs.items()}
    return Plan("Hyperparameters", runs, _figures(runs, models), _tables(runs))


def _run(params: Mapping[str, Any]) -> Run:
    sampler = SAMPLERS[params.get("sampler", "single-site")].module
    return Run(params, modules=(sampler,), step=params["kind"] == "step" and params["number"] > 0)


def _surfaces(entries: list[dict[str, Any]]) -> Named:
    for entry in entries:
        model = f"{entry['topics']}-topics-" if "topics" in entry else ""
        rest = without(entry, "corpora", "replicates")
        for corpus in entry["corpora"]:
            for replicate in range(entry["replicates"]):
                name = f"tempering-{model}{entry['sampler']}-{replicate}"
                yield name, {"corpus": corpus, "replicate": replicate, **rest}


def _on_corpora(entries: list[dict[str, Any]], name: str) -> Named:
    for entry in entries:
        for corpus in entry["corpora"]:
            yield name, {"corpus": corpus, **without(entry, "corpora")}


def _steps(entries: list[dict[str, Any]]) -> Named:
    for entry in entries:
        for number in range(entry["steps"]):
            yield f"step-{number + 1:02}", {"number": number, **without(entry, "steps")}


def _before(params: Mapping[str, Any], runs: Mapping[str, Run]) -> tuple[str, ...]:
    """The runs that this one builds on: the step before, or where the choices of h come from."""
    corpus = params["corpus"]
    if params["kind"] == "step" and params["number"] > 0:
        return (f"{corpus}-step-{params['number']:02}",)
    if params["kind"] == "score":
        model = {"corpus": corpus, "topics": params["topics"]}
        found = chosen(runs, "surface", functionals=False, replicate=0, **model)
        return (*found, *chosen(runs, "rivals", corpus=corpus))
    return ()


def _figures(runs: Mapping[str, Run], models: Mapping[str, Any]) -> dict[str, Figure]:
    found: dict[str, tuple[str, tuple[str, ...], str]] = {}
    tempered = sorted({(runs[name].params["corpus"], runs[name].params["topics"]) for name in chosen(runs, "surface")})
    for corpus, topics in tempered:
        model = {"corpus": corpus, "topics": topics}
        name = corpus if topics == models[corpus]["topics"] else f"{corpus}-{topics}-topics"
        found[f"surface-{name}"] = ("draw_surface", chosen(runs, "surface", **model), SURFACE)
        if followed := chosen(runs, "surface", functionals=True, **model):
            found[f"functionals-{name}"] = ("draw_functionals", followed, FUNCTIONALS)
        if chosen(runs, "surface", functionals=True, replicate=1, **model):
            found[f"hat-tilde-{name}"] = ("draw_hat_tilde", followed, HAT_TILDE)
    # where rivals have several starts, they are drawn with tempering [figure 8]
    met = [run.params["corpus"] for run in runs.values() if run.params.get("starts", 1) > 1]
    both = tuple(one for corpus in met for one in chosen(runs, "surface", "rivals", corpus=corpus))
    found["rivals"] = ("draw_rivals", both, RIVALS)
    for corpus in sorted({runs[name].params["corpus"] for name in chosen(runs, "step")}):
        found[f"grid-{corpus}"] = ("draw_grid", chosen(runs, "step", corpus=corpus), GRID)
    return {name: Figure(*rest, label=name) for name, rest in found.items()}


def _tables(runs: Mapping[str, Run]) -> dict[str, Table]:
    found = {
        "estimates": (("surface",), "The best h of every corpus, by serial tempering", ESTIMATES),
        "scores": (("score",), "Leave-one-out scores of every choice of h, relative to tempering", SCORES),
        "times": (("surface", "rivals"), "Seconds of tempering and of its rivals", TIMES),
        "coverage": (("coverage",), "How often ellipses of 95 % cover the top of a long run", COVERAGE),
    }
    return {
        name: Table(f"{name}_table", chosen(runs, *kinds), title, caption)
        for name, (kinds, title, caption) in found.items()
    }
