"""bayestopics hdp"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from bayestopics.cli.arguments import Parser, add_workers, count, number, positive, share
from bayestopics.nonparametric import METHODS, MODELS, SWEEPERS, VARIANTS

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.runs.kinds import HdpResult

NAME = "hdp"
HELP = "the number of topics of a model without a fixed one: the HDP topic model, or a DP mixture of documents"
PARENTS = ()


def arguments(parser: Parser) -> None:
    about = "hdp: a document has many topics; dp-mixture: it has one"
    parser.add_argument("--model", choices=list(MODELS), default="hdp", help=about)
    about = "gibbs and split-merge sample the posterior of the hdp; the others are variational, for both models"
    parser.add_argument("--method", choices=list(METHODS), default="gibbs", help=about)
    about = "of split-merge: exact, or with the acceptance ratio of the paper, which is not"
    parser.add_argument("--variant", choices=list(VARIANTS), default="exact", help=about)
    parser.add_argument("--moves", type=positive, metavar="k", help="split-merge moves after each sweep (1)")
    about = "sweeps of gibbs and split-merge; blocked draws all tokens of a word in a document at once"
    parser.add_argument("--sampler", choices=list(SWEEPERS), default="plain", help=about)
    parser.add_argument("--eta", type=number, default=0.1, metavar="E", help="Dirichlet parameter of the topics")
    parser.add_argument("--gamma", type=number, default=1.0, metavar="G", help="concentration of the top level")
    about = "concentration of the documents; a dp-mixture has none"
    parser.add_argument("--concentration", type=number, default=1.0, metavar="A", help=about)
    about = "draw gamma and the concentration too, by gibbs and split-merge, from Gamma(1, 1) priors"
    parser.add_argument("--resample", action="store_true", help=about)
    about = "sweeps kept, after the burn-in (500), or passes of a variational method (10)"
    parser.add_argument("--sweeps", type=positive, metavar="n", help=about)
    about = "sweeps dropped first, by the samplers"
    parser.add_argument("--burn-in", type=count, default=500, metavar="b", help=about)
    about = "number of documents in an update of the variational methods"
    parser.add_argument("--batch-size", type=positive, default=100, metavar="S", help=about)
    about = "predict this last share of the documents from the others; without it, all are learnt from"
    parser.add_argument("--heldout", type=share, metavar="SHARE", help=about)
    about = "of the samplers, from 1, 20, 5, 60, 1, ... topics; of the others, streams with other seeds"
    parser.add_argument("--chains", type=positive, default=1, metavar="c", help=about)
    add_workers(parser, "run so many chains at once, each in a process")


def check(options: argparse.Namespace) -> dict[str, Any]:
    from dataclasses import fields

    from bayestopics.nonparametric.compute import HdpSettings

    given = {field.name: getattr(options, field.name) for field in fields(HdpSettings)}
    HdpSettings(**given)
    return given


def call(corpus: Corpus, options: argparse.Namespace) -> HdpResult:
    from bayestopics.api import hdp

    return hdp(corpus, chains=options.chains, workers=options.workers, **check(options), **options.place)
