"""Study `truncation_free`: the toy, streams of both methods and models with batches of many sizes, and without end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table, chosen, without

TOY = """
A document of one word, w times: is it in component 1, which has seen words, or in component 2, which has seen none?
Above 0 it is in component 1. The exact answer integrates the components out, as the locally collapsed update does;
mean field is wrong in case B (Wang & Blei, figure 2).
"""
ENDLESS = """
Documents that are generated, learnt from once and forgotten: the peak memory of the process so far, which includes
Python and all its packages, and the components in use. The first mark is before any document.
"""
HELD_OUT = """
Held-out log likelihood a word against batch size, after equal CPU seconds: where the first run of the panel ends
(Wang & Blei, figures 3a and 4a). Exact for the DP mixture, left-to-right for the HDP. Bars are two standard errors
over held-out documents, Monte Carlo error included, without what makes a document hard for all runs alike. One run a
mark. The corpora are 10 to 200 times smaller than the paper's, and the budgets far shorter than its 10 hours. A
stream in order of date that ends within its first pass has not seen the later years, which are among the held-out
documents: then small batches, which are slow, look worse than they are.
"""
OVER_TIME = (
    "Held-out log likelihood a word over CPU seconds of learning, a line a run; scores are compared at the dotted line."
)
COMPONENTS = """
Components that hold a document (DP mixture) or a word (HDP) against batch size, after equal CPU seconds (Wang & Blei,
figures 3b and 4b, left). Truncated has 300 at the start. The corpora are 10 to 200 times smaller than the paper's.
"""
COMPONENTS_OVER_TIME = """
Components over CPU seconds (above) and over documents seen (below), a line a run (Wang & Blei, figures 3b and 4b,
right). Truncated has 300 at the start, truncation-free none.
"""
SCORES_TABLE = """
Every stream at its end: documents seen, CPU seconds of learning, held-out log likelihood a word (exact for the DP
mixture, left-to-right with its Monte Carlo error for the HDP), the paper's own estimate (the mixture at its means;
importance sampling, whose weights have no variance in the HDP, so that its error is not to be trusted), and
components; and the same after equal seconds.
"""
ENDLESS_TABLE = """
Documents that are generated, learnt from once and forgotten: components at the end and at most, CPU seconds of
learning, and the peak memory of the process before the first document, after the first part of the stream and at its
end.
"""
DIFFERENCES_TABLE = """
Held-out log likelihood a word of truncation-free less that of truncated after equal CPU seconds, with the standard
error over held-out documents, and the components of both.
"""


def plan(settings: Settings) -> Plan:
    runs = {
        "toy": Run({"kind": "toy", **settings.here["toy"]}),
        **_endless(settings),
        **_streams(settings),
    }
    return Plan("Truncation-free", runs, _figures(runs), _tables(runs))


def _streams(settings: Settings) -> dict[str, Run]:
    """One run for each corpus, model, method and batch size."""
    runs = {}
    for entry in settings.here["streams"]:
        shared = without(entry, "corpora", "documents")
        for corpus in entry["corpora"]:
            settings.insist_among(corpus, "streams")
            for method, sizes in entry["documents"].items():
                for batch, documents in sizes if corpus in settings.within_reach else ():
                    own = {"corpus": corpus, "method": method, "batch": batch, "documents": documents}
                    params = {"kind": "stream", **shared, **own, **_truncation(settings, method)}
                    runs[f"{corpus}-{entry['model']}-{method}-{batch:03}"] = Run(params)
    return runs


def _endless(settings: Settings) -> dict[str, Run]:
    """One run for each learner, in a process of its own: peak memory is that of a process."""
    runs, shared = {}, without(settings.here["endless"], "learners")
    for model, method in settings.here["endless"]["learners"]:
        params = {"kind": "endless", "model": model, "method": method, **shared, **_truncation(settings, method)}
        runs[f"endless-{model}-{method}"] = Run(params, alone=True)
    return runs


def _truncation(settings: Settings, method: str) -> dict[str, Any]:
    return {"truncation": settings.shared["truncation"]} if method == "truncated" else {}


def _figures(runs: Mapping[str, Run]) -> dict[str, Figure]:
    streams = chosen(runs, "stream")
    found = {
        "toy": ("draw_toy", chosen(runs, "toy"), TOY),
        "endless": ("draw_endless", chosen(runs, "endless"), ENDLESS),
        "held-out": ("draw_held_out", streams, HELD_OUT),
        "held-out-over-time": ("draw_held_out_over_time", streams, OVER_TIME),
        "components": ("draw_components", streams, COMPONENTS),
    }
    for model in sorted({runs[name].params["model"] for name in streams}):
        of_model = chosen(runs, "stream", model=model)
        found[f"components-over-time-{model}"] = ("draw_components_over_time", of_model, COMPONENTS_OVER_TIME)
    return {name: Figure(*rest, label=name) for name, rest in found.items()}


def _tables(runs: Mapping[str, Run]) -> dict[str, Table]:
    streams, endless = chosen(runs, "stream"), chosen(runs, "endless")
    scores = "Held-out scores and components of every stream, at its end and at equal seconds"
    differences = "Truncation-free less truncated, at equal seconds"
    return {
        "endless": Table("endless_table", endless, "Components and peak memory of streams without end", ENDLESS_TABLE),
        "scores": Table("scores_table", streams, scores, SCORES_TABLE),
        "differences": Table("differences_table", streams, differences, DIFFERENCES_TABLE),
    }
