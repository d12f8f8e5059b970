"""Study `split_merge`: split-merge compared with plain Gibbs."""

from __future__ import annotations

from collections.abc import Mapping

from bayestopics.studies.plan import Figure, Plan, Run, Settings, Table, chosen, without

PARTS = ("synthetic", "perplexity", "blocks", "agreement")

SYNTHETIC = {
    "data": """
The topics that generated the corpus, and the words of its groups (Rana, Phung & Venkatesh, figure 2). Four groups show
only four word distributions, whatever the number of topics, so they can hardly identify ten topics.
""",
    "topics": """
The number of topics K: its posterior from the second half of all chains (left), and K over the sweeps with mean and
range over seeds (right; Rana et al., figure 3). Each row is a setting of gamma, the concentration a and eta, which the
paper does not give. Gibbs and both exact kinds of split-merge sample the same posterior; where they differ, the chains
were too short. The paper's rule of acceptance has another stationary distribution.
""",
    "acceptance": """
The share of split-merge moves that were accepted, over the sweeps (Rana et al., figure 3a). Dotted lines mark the first
sweep with as many topics as generated the corpus (median over seeds).
""",
    "confusion": """
Where the tokens of each true topic are after the last sweep of one chain (Rana et al., figure 4). Found topics are
matched one to one with true topics by their words and shown in the same order; columns beyond the true topics have no
match. A true topic is separated if its match is nearer than half the distance to the nearest other true topic. The
titles give the mean number of separated topics over all chains.
""",
}
PERPLEXITY = """
The perplexity of a held-out fifth of the documents against the CPU seconds of sweeps and moves (Rana et al., figure 5).
Above: every chain; all samplers start from the same state. Below: the ratio to Gibbs at equal seconds, by
interpolation, with its mean and range over seeds. Each seed has its own split of the documents.
"""
BLOCKS = """
Blocked Gibbs for the HDP, which draws all tokens of a word in a document at once, compared with plain Gibbs, both
without split-merge moves: the log joint of every chain over sweeps and CPU seconds, and the autocorrelation times over
the second halves of the chains, in sweeps and in seconds (one dot per chain; the bar is their mean). Shorter times are
better. A time longer than a fiftieth of the chain is underestimated and unreliable. The title gives the share of tokens
in blocks.
"""
LAW = """
The exact posterior of K on corpora of a few tokens, by enumeration, and the share of sweeps with each K for every
sampler (mean and range over chains). The exact samplers agree with the posterior; the paper's rule of acceptance has
another distribution.
"""
SAMPLERS_TABLE = """
Every sampler in every setting: the mean of K in the second half of the chains with its standard error over seeds, the
most frequent K, how many chains reached the true number of topics and at which sweep (median), how many of the first
five topics are separated after the last sweep, the share of tokens recalled beside what perfect knowledge of the topics
would give, and the share of accepted moves.
"""
PERPLEXITY_TABLE = """
Held-out perplexity at the last CPU second that all chains of a seed reach, by interpolation, and the log of its ratio
to Gibbs at that time and on average over the time, with standard errors over seeds.
"""
BLOCKS_TABLE = """
Plain and blocked Gibbs for the HDP: the autocorrelation times of K and of the log joint in sweeps, over the second
halves of the chains and with standard errors over seeds; CPU milliseconds per sweep; and effective draws of the log
joint per CPU second.
"""
AGREEMENT_TABLE = """
Chains from few and from many topics: the mean of K in the second half of the chain from each start, and R-hat of K and
of the log joint over these halves. Above 1.05 the starts still matter, and nothing can be said about the posterior.
"""
LAW_TABLE = """
The total variation distance of each sampler from the enumerated posterior, for K and for the partition of the tokens,
with standard errors over chains, and the mean of K beside the exact mean. Even an exact sampler is a little away from
the posterior, because its chains are finite; the exact samplers show how much.
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
                    words = [f"{key}{value:g}" for key, value in values.items()]
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
        "blocks": ("blocks", "Blocked and plain Gibbs: mixing per sweep and per second", BLOCKS_TABLE),
        "agreement": ("agreement", "Chains from few and from many topics: do they agree?", AGREEMENT_TABLE),
        "law": ("law", "How far each sampler is from the enumerated posterior", LAW_TABLE),
    }
    return {
        name: Table(f"{name}_table", chosen(runs, kind), title, caption)
        for name, (kind, title, caption) in found.items()
    }
