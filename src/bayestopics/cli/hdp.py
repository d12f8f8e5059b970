"""bayestopics hdp"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from bayestopics.cli.arguments import ETA, Parser, add_workers, chains, count, number, positive, share
from bayestopics.nonparametric import BIRTHS, FIRST_PASSES, METHODS, MODELS, SWEEPERS, VARIANTS

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.runs.kinds import HdpResult

NAME = "hdp"
HELP = (
    "let the model find the number of topics: a hierarchical Dirichlet process (HDP) topic model, "
    "or a Dirichlet process (DP) mixture of documents"
)
PARENTS = ()


def arguments(parser: Parser) -> None:
    about = "hdp: a document has many topics; dp-mixture: a document has one topic"
    parser.add_argument("--model", choices=list(MODELS), default="hdp", help=about)
    about = (
        "gibbs and split-merge sample the posterior (model hdp only); truncation-free and truncated are variational "
        "approximations (both models)"
    )
    parser.add_argument("--method", choices=list(METHODS), default="gibbs", help=about)
    about = (
        "split-merge only: exact; with the paper's acceptance ratio, which is not exact; or annealed, also exact, with "
        "moves that cost much more"
    )
    parser.add_argument("--variant", choices=list(VARIANTS), default="exact", help=about)
    about = "split-merge only: number of split or merge moves after each sweep (default: 1)"
    parser.add_argument("--moves", type=positive, metavar="k", help=about)
    about = (
        "gibbs and split-merge: plain updates one token at a time; blocked updates all tokens of one word in a "
        "document together"
    )
    parser.add_argument("--sampler", choices=list(SWEEPERS), default="plain", help=about)
    parser.add_argument("--eta", type=number, default=0.1, metavar="E", help=ETA)
    about = "concentration of the whole corpus; large: more topics"
    parser.add_argument("--gamma", type=number, default=1.0, metavar="G", help=about)
    about = "concentration of each document; large: more topics per document (not used by dp-mixture)"
    parser.add_argument("--concentration", type=number, default=1.0, metavar="A", help=about)
    about = "gibbs and split-merge: sample gamma and the concentration too, with Gamma(1, 1) priors"
    parser.add_argument("--resample", action="store_true", help=about)
    about = (
        "number of sweeps to keep from each chain (default: 500), or number of passes over the corpus for a "
        "variational method (default: 10)"
    )
    parser.add_argument("--sweeps", type=positive, metavar="n", help=about)
    about = "gibbs and split-merge: number of sweeps to drop before the first one that is kept"
    parser.add_argument("--burn-in", type=count, default=500, metavar="b", help=about)
    about = "variational methods: number of documents in one update"
    parser.add_argument("--batch-size", type=positive, default=100, metavar="S", help=about)
    about = (
        "truncation-free only: data starts from a Gibbs run over the first documents (500; dp-mixture: 10,000) and, "
        "for model hdp, remembers the topics of all documents; words lets one word or document at a time open a topic, "
        "as in the paper (default: data)"
    )
    parser.add_argument("--births", choices=list(BIRTHS), help=about)
    about = (
        "truncation-free only, model hdp only with births words: in the first pass over the corpus, sequential weighs "
        "all documents equally, fading forgets the earlier ones (default: sequential)"
    )
    parser.add_argument("--first-pass", choices=list(FIRST_PASSES), help=about)
    about = "hold out this last share of the documents, from 0 to 1, and predict them (default: none are held out)"
    parser.add_argument("--heldout", type=share, metavar="SHARE", help=about)
    about = (
        "number of independent chains; samplers start them with 1, 20, 5, 60, 1, ... topics, variational methods "
        "with different seeds"
    )
    parser.add_argument("--chains", type=chains, default=1, metavar="c", help=about)
    add_workers(parser, "number of chains to run at the same time, each in its own process")


def check(options: argparse.Namespace) -> dict[str, Any]:
    from dataclasses import fields

    from bayestopics.nonparametric.compute import HdpSettings

    given = {field.name: getattr(options, field.name) for field in fields(HdpSettings)}
    HdpSettings(**given)
    return given


def call(corpus: Corpus, options: argparse.Namespace) -> HdpResult:
    from bayestopics.api import hdp

    return hdp(corpus, chains=options.chains, workers=options.workers, **check(options), **options.place)
