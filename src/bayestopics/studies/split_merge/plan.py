"""Study `split_merge`: split-merge beside plain Gibbs."""

from __future__ import annotations

from collections.abc import Mapping

from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table, chosen, without

PARTS = ("synthetic", "perplexity", "blocks")

SYNTHETIC = {
    "data": """
The topics that generated the corpus and the words of its groups (Rana, Phung & Venkatesh, figure 2). Where there are
four groups they show four word distributions, whatever the number of topics: ten are hardly identified.
""",
    "topics": """
The number of topics K, a row a setting of gamma, the concentration a and eta, which the paper does not give: its
posterior by the second half of all chains (left) and over the sweeps, mean and range over seeds (right; Rana et al.,
figure 3). Gibbs and both exact kinds of split-merge have the same posterior: where they differ, chains were too
short. The paper's rule of acceptance has another stationary law.
""",
    "acceptance": """
The share of split-merge moves that were accepted, over the sweeps (Rana et al., figure 3a). Dotted lines: the median
over seeds of the first sweep with as many topics as generated the corpus.
""",
    "confusion": """
Where the tokens of each true topic are after the last sweep of one chain (Rana et al., figure 4). Found topics are
matched with true ones one to one by their words, and come in the order of these; columns beyond the true topics have
no match. A topic is separated if its match is nearer to it than half the distance to the next true topic; the mean is
over all chains.
""",
}
PERPLEXITY = """
Perplexity of a fifth of the documents against the CPU seconds of sweeps and moves (Rana et al., figure 5), all
samplers from the same start: every chain (above), and the ratio to Gibbs at equal seconds by interpolation (below),
with its mean and range over seeds. Each seed has another split of the documents.
"""
BLOCKS = """
Blocked Gibbs for the HDP, which draws all tokens of a word in a document at once, beside the plain one, without
split-merge moves: the log joint of every chain over the sweeps and over CPU seconds, and autocorrelation times over
the second halves of the chains, in sweeps and in seconds (a dot a chain, a bar their mean). Lower is better; a time
that is more than a fiftieth of the chain is too small, and not to be relied on. The title says how many tokens are in
blocks.
"""
LAW = """
The posterior of K on corpora of a few tokens, enumerated, and the share of the sweeps with K of every sampler (mean
and range over chains). The exact samplers have the posterior; the paper's rule of acceptance has another law.
"""
SAMPLERS_TABLE = """
Every sampler in every setting: K in the second half of the chains with its standard error over seeds, its most
frequent value, chains that came to the true number of topics and the median sweep of that, how many of the first five
topics are separated after the last sweep, tokens in their topic's match beside what knowledge of the true topics
would give, and moves accepted.
"""
PERPLEXITY_TABLE = """
Held-out perplexity at the CPU seconds that all chains of a seed have, by interpolation, and the log of its ratio to
Gibbs there and in the mean over the time, with standard errors over seeds.
"""
BLOCKS_TABLE = """
Plain and blocked Gibbs for the HDP: autocorrelation times of K and of the log joint over the second halves of the
chains in sweeps, with standard errors over seeds, CPU milliseconds a sweep, and effective draws of the log joint a
CPU second.
"""
LAW_TABLE = """
Total variation distance of the law of each sampler from the enumerated posterior of K, and of the partition of the
tokens, with standard errors over chains, and the mean of K beside the exact one. A chain that has the posterior as
its law is a little away from it too, by its length: the exact samplers show how much.
"""


def plan(settings: Settings) -> Plan:
    runs = {"law": Run({"kind": "law", **settings.here["law"]}), **_on_corpora(settings)}
    return Plan("Split-merge", runs, _figures(runs, settings.available), _tables(runs))


def _on_corpora(settings: Settings) -> dict[str, Run]:
    runs = {}
    for part in PARTS:
        for entry in settings.here[part]:
            rest = without(entry, "corpora", "settings")
            for corpus in entry["corpora"]:
                settings.insist_among(corpus, part)
                simulated = settings.entries[corpus].generator
                settings.insist(part != "synthetic" or simulated, f"{part}: {corpus!r} is not a simulated corpus")
                for values in entry["settings"] if corpus in settings.within_reach else ():
                    words = [f"{key}{values[key]:g}" for key in ("gamma", "concentration", "eta", "start")]
                    runs["-".join([corpus, part, *words])] = Run({"kind": part, "corpus": corpus, **rest, **values})
    return runs


def _figures(runs: Mapping[str, Run], corpora: list[str]) -> dict[str, Figure]:
    found = {"law": ("draw_law", chosen(runs, "law"), LAW)}
    for corpus in corpora:
        synthetic = chosen(runs, "synthetic", corpus=corpus)
        for name, caption in SYNTHETIC.items():
            found[f"{name}-{corpus}"] = (f"draw_{name}", synthetic, caption)
        found[f"perplexity-{corpus}"] = ("draw_perplexity", chosen(runs, "perplexity", corpus=corpus), PERPLEXITY)
    found["blocks"] = ("draw_blocks", chosen(runs, "blocks"), BLOCKS)
    return {name: Figure(*rest, label=name) for name, rest in found.items()}


def _tables(runs: Mapping[str, Run]) -> dict[str, Table]:
    found = {
        "samplers": ("synthetic", "What Gibbs and split-merge find, in each setting", SAMPLERS_TABLE),
        "perplexity": (
            "perplexity",
            "Held-out perplexity of Gibbs and split-merge at equal CPU seconds",
            PERPLEXITY_TABLE,
        ),
        "blocks": ("blocks", "Blocked Gibbs beside plain Gibbs: mixing a sweep and a second", BLOCKS_TABLE),
        "law": ("law", "How far the law of each sampler is from the enumerated posterior", LAW_TABLE),
    }
    return {
        name: Table(f"{name}_table", chosen(runs, kind), title, caption)
        for name, (kind, title, caption) in found.items()
    }
