"""Study `truncation_free`: the toy example, streams of both methods and models in many batch sizes, endless streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table, chosen, without

TOY = """
A document repeats one word w times. Does it belong to component 1, which has seen words, or to component 2, which has
seen none? Above 0 the answer is component 1. The exact answer integrates the components out, as the locally collapsed
update does; mean field is wrong in case B (Wang & Blei, figure 2).
"""
ENDLESS = """
An endless stream, in which each document is generated, learnt from once and forgotten: the peak memory of the process
so far, including Python and its packages (left), and the components in use (right). The first mark is before any
document.
"""
HELD_OUT = """
Held-out log likelihood per word against batch size, after equal CPU seconds, namely when the first run of the panel
ends (Wang & Blei, figures 3a and 4a). Each mark is one run. The score is exact for the DP mixture and estimated by
left-to-right for the HDP. Bars are two standard errors over held-out documents, including Monte Carlo error but not the
differences between documents that are equal for all runs. The corpora are 10 to 200 times smaller than the paper's, and
the budgets are far shorter than its 10 hours. A stream in order of date that ends within its first pass has not seen
the later years, which are among the held-out documents; small batches, which are slow, then look worse than they are.
Lines: the training documents' word frequencies, a model without topics; and, for the HDP, the last state of a Gibbs
sampler from 60 topics, which shows what there is to be found.
"""
OVER_TIME = (
    "Held-out log likelihood per word over CPU seconds of learning, one line per run. Runs are compared at the "
    "vertical dotted line. Level lines: unigram frequencies, and a Gibbs sampler."
)
COMPONENTS = """
The number of components that hold a document (DP mixture) or a word (HDP), against batch size, after equal CPU seconds
(Wang & Blei, figures 3b and 4b, left). Truncated starts with 300. The corpora are 10 to 200 times smaller than the
paper's.
"""
COMPONENTS_OVER_TIME = """
The number of components over CPU seconds (above) and over documents seen (below), one line per run (Wang & Blei,
figures 3b and 4b, right). Truncated starts with 300 components, truncation-free with none.
"""
SCORES_TABLE = """
Every stream at its end: documents seen, CPU seconds of learning, held-out log likelihood per word (exact for the DP
mixture; by left-to-right, with its Monte Carlo error, for the HDP), the paper's own estimate, and the number of
components; then the same after equal seconds. The paper's estimate takes the DP mixture at its means; for the HDP it is
importance sampling, whose weights have infinite variance, so that its error cannot be trusted.
"""
ENDLESS_TABLE = """
Endless streams, in which each document is generated, learnt from once and forgotten: the components at the end and at
most, the CPU seconds of learning, and the peak memory of the process before the first document, after the first part
of the stream and at its end.
"""
DIFFERENCES_TABLE = """
Held-out log likelihood per word of truncation-free minus truncated, after equal CPU seconds, with its standard error
over held-out documents, and the number of components of both.
"""


def plan(settings: Settings) -> Plan:
    runs = {
        "toy": Run({"kind": "toy", **settings.here["toy"]}),
        **_endless(settings),
        **_streams(settings),
        **_references(settings),
    }
    return Plan("Truncation-free", runs, _figures(runs), _tables(runs))


def _streams(settings: Settings) -> dict[str, Run]:
    """One run per corpus, model, method and batch size."""
    runs = {}
    for entry in settings.here["streams"]:
        shared = without(entry, "corpora", "documents", "gibbs")
        for corpus in entry["corpora"]:
            settings.insist_among(corpus, "streams")
            for method, sizes in entry["documents"].items():
                for batch, documents in sizes if corpus in settings.within_reach else ():
                    own = {"corpus": corpus, "method": method, "batch": batch, "documents": documents}
                    params = {"kind": "stream", **shared, **own, **_truncation(settings, method)}
                    runs[f"{corpus}-{entry['model']}-{method}-{batch:03}"] = Run(params)
    return runs


def _references(settings: Settings) -> dict[str, Run]:
    """One Gibbs sampler per corpus with streams of the HDP that ask for it."""
    runs = {}
    for entry in settings.here["streams"]:
        for corpus in entry["corpora"] if "gibbs" in entry else ():
            own = {"kind": "gibbs", "corpus": corpus, "model": entry["model"], **entry["gibbs"]}
            shared = {name: entry[name] for name in ("held_out", "particles", "order")}
            if corpus in settings.within_reach:
                runs[f"{corpus}-gibbs"] = Run(own | shared)
    return runs


def _endless(settings: Settings) -> dict[str, Run]:
    """One run per learner, each in its own process, because peak memory is measured per process."""
    runs, shared = {}, without(settings.here["endless"], "learners")
    for model, method in settings.here["endless"]["learners"]:
        params = {"kind": "endless", "model": model, "method": method, **shared, **_truncation(settings, method)}
        runs[f"endless-{model}-{method}"] = Run(params, alone=True)
    return runs


def _truncation(settings: Settings, method: str) -> dict[str, Any]:
    return {"truncation": settings.shared["truncation"]} if method.startswith("truncated") else {}


def _figures(runs: Mapping[str, Run]) -> dict[str, Figure]:
    streams = chosen(runs, "stream")
    found = {
        "toy": ("draw_toy", chosen(runs, "toy"), TOY),
        "endless": ("draw_endless", chosen(runs, "endless"), ENDLESS),
        "held-out": ("draw_held_out", chosen(runs, "stream", "gibbs"), HELD_OUT),
        "held-out-over-time": ("draw_held_out_over_time", chosen(runs, "stream", "gibbs"), OVER_TIME),
        "components": ("draw_components", streams, COMPONENTS),
    }
    for model in sorted({runs[name].params["model"] for name in streams}):
        of_model = chosen(runs, "stream", model=model)
        found[f"components-over-time-{model}"] = ("draw_components_over_time", of_model, COMPONENTS_OVER_TIME)
    return {name: Figure(*rest, label=name) for name, rest in found.items()}


def _tables(runs: Mapping[str, Run]) -> dict[str, Table]:
    streams, endless = chosen(runs, "stream"), chosen(runs, "endless")
    scores = "Held-out scores and components of every stream, at its end and at equal seconds"
    differences = "Truncation-free minus truncated, at equal seconds"
    return {
        "endless": Table("endless_table", endless, "Components and peak memory of endless streams", ENDLESS_TABLE),
        "scores": Table("scores_table", streams, scores, SCORES_TABLE),
        "differences": Table("differences_table", streams, differences, DIFFERENCES_TABLE),
    }
