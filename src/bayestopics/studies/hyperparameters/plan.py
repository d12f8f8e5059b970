"""Study `hyperparameters`: tempering, its rivals, the iterative grid, scores and coverage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from bayestopics.lda import SAMPLERS
from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table, chosen, without

PARTS = ("surfaces", "rivals", "methods", "steps", "scores", "coverage")
Named = Iterator[tuple[str, dict[str, Any]]]

SURFACE = """
Above: the estimate log M-hat(h) of the log marginal likelihood of h = (alpha, eta), up to a constant, by serial
tempering: where it matters (left), near its maximum (middle), and its relative Monte Carlo error from long batches of
all chains (right). A difference of 1 nat is a factor of 2.7 in probability. The ellipse shows the Monte Carlo error of
the best h; it shrinks as the chains grow. The dashed region shows the uncertainty about h itself, from the curvature at
the maximum; it shrinks as the corpus grows. Where log M-hat is flat along alpha or eta over the whole grid, the corpus
does not identify this parameter, and its best value is arbitrary (claim H4 says where). The best h of every chain and
sampler are marked (George & Doss, figure 7). Below, for the same chains and the same h: the estimate M-tilde (2.17),
its relative error, and how often the chains visit each point of the grid. For chains of (theta, beta, z), M-tilde has
no finite variance where alpha or eta is at most half the largest value on the grid (2.3); its error there means
nothing.
"""
FUNCTIONALS = """
Posterior expectations I-hat(h) by tempering, one row per functional: over h (left), and along alpha and eta with 95 %
bands for all h of the grid at once (George & Doss, figure 4). The bands come from long batches of several chains. On a
small corpus where I(h) is known they covered it in 96.5 % of 400 replications; on Cats, with chains of 4,000 sweeps,
they were too narrow for the distances between topics (the page on methods has the numbers). Thin lines are other runs.
Once the labels of topics switch, "topics 1 and 2" no longer means anything; the mean over all pairs of topics still
does.
"""
HAT_TILDE = """
I-hat and I-tilde, two estimates of the same posterior expectations, from two runs with different seeds: over h for the
first functional (upper row; George & Doss, figure 5), and along alpha at two values of eta (figure 6). The text in each
panel gives the root mean square difference of the two runs over all h. I-tilde has no finite variance where alpha or
eta is at most half the largest value on the grid (2.3).
"""
RIVALS = """
Estimates of the best h on six simulated corpora: all estimates (upper panels), and those near tempering's 95 % Monte
Carlo ellipse, which comes from independent chains (lower panels; George & Doss, figure 8). Variational EM and Gibbs-EM
have one mark per start. The last step of Gibbs-EM has its own Monte Carlo noise, which the ellipse does not include;
the mean of its last steps has less noise. Chains that double stop doubling at a cap: 1,024 sweeps at scale quick and
16,384 at scale paper, where the paper goes on to 2^26. The dashed region shows the uncertainty about h itself.
"""
METHODS = """
The answers of several methods on one corpus. Left: the 95 % regions for h itself (dashed), or the level set where the
corpus hardly determines h: there log m(h) is at most 3 nats below its maximum. Right: the 95 % Monte Carlo ellipses of
the best h, or log m along the ridge of the level set, with two standard errors.
"""
WAY = """
How far Gibbs-EM and its variants still are from the best h after 20 steps, as a share of the distance at the start (in
log h; medians over the starts). Slow steps leave a large share, however long the chains are. `exact step` is the share
that noiseless EM would leave, from the curvatures at the best h.
"""
GRID = """
The paper's iterative choice of the grid: the documents used at each step, the ends of the grid and its best h, and log
M-hat at some steps (George & Doss, figures 2 and 3). Each step uses a tenth more documents and a grid that is a tenth
narrower, but never narrower than three standard deviations of h. The best h is for the documents used so far, not for
the whole corpus.
"""
ESTIMATES = """
The best (alpha, eta) of every tempered chain, beside the paper's estimate and the truth. `error` is the Monte Carlo
error, which shrinks as the chain grows. `deviation` is the standard deviation of h itself, which shrinks as the corpus
grows. Do not trust a chain with a warning.
"""
SCORES = """
Leave-one-out scores relative to tempering: the ratio S(h) / S(tempering), the standard error of its log, and the
paper's ratio (George & Doss, table 3). The error contains the Monte Carlo noise and, unless all documents were left
out, which documents were. S is the geometric mean over documents of the probability of a document given
all others; a ratio below 1 means that tempering predicts better.
"""
TIMES = """
CPU seconds of every method, beside the paper's minutes (George & Doss, tables 1 and 4), which are for other chain
lengths and another machine. Tempering includes the search for its grid, tuning, and all chains of the last run;
`tempering_one` is its share of one chain. For the other methods, the numbers are medians over the starts.
"""
COVERAGE = """
The share of 95 % Monte Carlo ellipses that cover the best h of a far longer run, with an exact 95 % interval for this
share. The ellipses come from batches of one chain or from independent chains.
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
        "methods": list(_on_corpora(here["methods"], "methods")),
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
    """The runs that this one builds on: the previous step, or the runs that give the choices of h."""
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
    # rivals with several starts are drawn together with tempering [figure 8]
    met = [run.params["corpus"] for run in runs.values() if run.params.get("starts", 1) > 1]
    both = tuple(one for corpus in met for one in chosen(runs, "surface", "rivals", corpus=corpus))
    found["rivals"] = ("draw_rivals", both, RIVALS)
    for name in chosen(runs, "methods"):
        found[f"methods-{runs[name].params['corpus']}"] = ("draw_methods", (name,), METHODS)
    for corpus in sorted({runs[name].params["corpus"] for name in chosen(runs, "step")}):
        found[f"grid-{corpus}"] = ("draw_grid", chosen(runs, "step", corpus=corpus), GRID)
    return {name: Figure(*rest, label=name) for name, rest in found.items()}


def _tables(runs: Mapping[str, Run]) -> dict[str, Table]:
    found = {
        "estimates": (("surface",), "The best h of every corpus, by serial tempering", ESTIMATES),
        "scores": (("score",), "Leave-one-out scores of every choice of h, relative to tempering", SCORES),
        "times": (("surface", "rivals"), "CPU seconds of tempering and its rivals", TIMES),
        "way": (("surface", "rivals"), "How far Gibbs-EM is from the best h after 20 steps", WAY),
        "coverage": (("coverage",), "How often 95 % ellipses cover the best h of a long run", COVERAGE),
    }
    return {
        name: Table(f"{name}_table", chosen(runs, *kinds), title, caption)
        for name, (kinds, title, caption) in found.items()
    }
