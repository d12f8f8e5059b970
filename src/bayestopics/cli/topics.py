"""bayestopics topics"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from bayestopics.cli.arguments import Parser, add_workers, count, counts, given, number, positive

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.evidence.topic_prior import TopicPrior
    from bayestopics.runs.kinds import TopicPosteriorResult

NAME, HELP = "topics", "the posterior of the number of topics, and whether to believe it"
PARENTS = ()


def arguments(parser: Parser) -> None:
    parser.add_argument("--method", choices=["pmmh"], default="pmmh", help="Chen & Doss")
    parser.add_argument("--min", type=positive, default=1, metavar="T", help="least number of topics")
    about = "largest number of topics; 0: no limit, where the prior allows it"
    parser.add_argument("--max", type=count, default=100, metavar="T", help=about)
    about = "one chain starts at each: 5 or 5,30,60 (default: 5,30, moved into the range where they are outside)"
    parser.add_argument("--start", type=counts, default=argparse.SUPPRESS, metavar="T", help=about)
    about = "of the number of topics: uniform, poisson:RATE or geometric:P"
    parser.add_argument("--prior", default="uniform", metavar="P", help=about)
    parser.add_argument("--inner", type=positive, default=50, metavar="m", help="sweeps for one estimate of m(T)")
    about = "number of iterations to keep from each chain"
    parser.add_argument("--iterations", type=positive, default=1000, metavar="n", help=about)
    parser.add_argument("--burn-in", type=count, default=200, metavar="b", help="steps dropped first")
    about = "the sampler of the estimates; or prior, for draws of the prior in place of a sampler, which fail"
    parser.add_argument("--sampler", default="single-site", metavar="NAME", help=about)
    about = "where an estimate starts: anywhere, or at the end of one pilot run for each T"
    parser.add_argument("--z-start", choices=["uniform", "pilot"], default="uniform", help=about)
    parser.add_argument("--alpha", type=number, default=0.1, metavar="A", help="Dirichlet parameter of documents")
    parser.add_argument("--eta", type=number, default=0.01, metavar="E", help="Dirichlet parameter of the topics")
    add_workers(parser, "make so many estimates at once, each in a process")


def check(options: argparse.Namespace) -> TopicPrior:
    from bayestopics.evidence.topic_prior import TopicPrior

    return TopicPrior.parse(options.prior, options.min, options.max or None)


def call(corpus: Corpus, options: argparse.Namespace) -> TopicPosteriorResult:
    from bayestopics.api import topic_posterior
    from bayestopics.lda.state import Prior

    walk: dict[str, Any] = {"topic_prior": check(options), "starts": getattr(options, "start", None)}
    work = given(options, "inner", "iterations", "burn_in", "sampler", "z_start", "workers")
    return topic_posterior(corpus, Prior(options.alpha, options.eta), **walk, **work, **options.place)
