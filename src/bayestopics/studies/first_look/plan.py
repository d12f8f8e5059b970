"""Study `first_look`: one run is one chain."""

from __future__ import annotations

from bayestopics.lda import SAMPLERS
from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table

TRACES = """
Single-site collapsed Gibbs at scale {scale}: the log joint log p(w, z) per token over all sweeps (left) and over the
second halves (middle), and the completion perplexity over every ten sweeps (right; half of the words of the last
documents are held out). Each line is a chain from its own random start. R-hat, for the log joint, is near 1 when the
chains agree.
"""
TOPICS = """
The largest topics of each corpus, from the last sweep of its first chain: their share of the tokens and their most
probable words.
"""
SUMMARY = """
Every chain in numbers: means over its second half with Monte Carlo errors, R-hat over the chains of the same corpus,
and speed.
"""


def plan(settings: Settings) -> Plan:
    sampler, models, here = settings.shared["sampler"], settings.shared["models"], settings.here
    settings.insist(sampler in SAMPLERS, f"unknown sampler {sampler!r}; known are {list(SAMPLERS)}")
    for name in here["corpora"]:
        settings.insist(name in models, f"models: no entry for the corpus {name!r}")
    runs = {
        f"{name}-chain{chain}": Run(
            {
                "kind": "chain",
                "corpus": name,
                "chain": chain,
                "sampler": sampler,
                "sweeps": here["sweeps"],
                **models[name],
            },
            modules=(SAMPLERS[sampler].module,),
        )
        for name in settings.available
        for chain in range(here["chains"])
    }
    chains = tuple(runs)
    figures = {
        "traces": Figure("draw_traces", chains, TRACES.format(scale=settings.scale), "log joint and perplexity"),
        "topics": Figure("draw_topics", chains, TOPICS, "topics"),
    }
    tables = {"summary": Table("summary_table", chains, "Chains of the first look", SUMMARY)}
    return Plan("First look", runs, figures, tables)
