"""Study `first_look`: one run is one chain."""

from __future__ import annotations

from bayestopics.lda import SAMPLERS
from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table

TRACES = """
Single-site collapsed Gibbs at scale {scale}: log joint log p(w, z) a token over all sweeps (left) and over the second
halves (middle), and completion perplexity over each ten sweeps (right; half of the words of the last documents are
held out). A line a chain, from independent random starts; R-hat is of the log joint.
"""
TOPICS = """
The largest topics in the last sweep of the first chain of each corpus: share of the tokens, most probable words.
"""
SUMMARY = """
Every chain in numbers: means over the second half with Monte Carlo errors, R-hat over the chains of a corpus, and
speed.
"""


def plan(settings: Settings) -> Plan:
    sampler, models, here = settings.shared["sampler"], settings.shared["models"], settings.here
    settings.insist(sampler in SAMPLERS, f"samplers are {list(SAMPLERS)}")
    for name in here["corpora"]:
        settings.insist(name in models, f"no model for {name!r}")
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
