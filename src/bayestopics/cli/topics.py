"""bayestopics topics"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from bayestopics.cli.arguments import (
    ALPHA,
    ETA,
    SAMPLER,
    Parser,
    add_workers,
    chains,
    count,
    counts,
    given,
    number,
    positive,
    topic_count,
    topic_limit,
)
from bayestopics.evidence import WALKS

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.evidence.topic_prior import TopicPrior
    from bayestopics.runs.kinds import TopicPosteriorResult

NAME = "topics"
HELP = (
    "estimate how many topics there are: the posterior of the number of topics T, and whether it can be trusted "
    "(`fit` lists the topics themselves)"
)
PARENTS = ()


def arguments(parser: Parser) -> None:
    parser.add_argument(
        "--method",
        choices=list(WALKS),
        default="jump",
        help="jump: chains over T and the topics together; pmmh: pseudo-marginal Metropolis-Hastings (Chen & Doss)",
    )
    parser.add_argument("--min", type=topic_count, default=1, metavar="T", help="smallest number of topics")
    about = "largest number of topics; 0 means no limit (not with a uniform prior)"
    parser.add_argument("--max", type=topic_limit, default=100, metavar="T", help=about)
    about = (
        "number of topics at which a chain starts; one chain for each: 5 or 5,30,60 (default: 1,30,60 for jump, 5,30 "
        "for pmmh, or the nearest values in the range)"
    )
    parser.add_argument("--start", type=counts, default=argparse.SUPPRESS, metavar="T", help=about)
    about = "prior of the number of topics: uniform, poisson:RATE or geometric:P"
    parser.add_argument("--prior", default="uniform", metavar="P", help=about)
    about = (
        "for jump: fixed, alpha and eta stay as they are; sampled, they start there and are sampled as well, under a "
        "prior that is uniform in their logs"
    )
    parser.add_argument("--hyper", choices=["fixed", "sampled"], default="fixed", help=about)
    about = (
        "for pmmh: how the evidence m(T) is estimated: gibbs, by the sweeps of a sampler, as in the paper; annealed, "
        "by annealing from a fitted reference, which takes longer and scatters much less"
    )
    parser.add_argument("--estimate", choices=["gibbs", "annealed"], default="gibbs", help=about)
    about = (
        "number of sweeps for each estimate (gibbs; default: 50), or of annealing steps for each run (annealed; "
        "default: 1000); more give less noise"
    )
    parser.add_argument("--inner", type=positive, metavar="m", help=about)
    about = "for annealed: number of annealing runs whose mean is one estimate; more give less noise (default: 4)"
    parser.add_argument("--runs", type=chains, metavar="k", help=about)
    about = "for pmmh: how far a proposal may be from the current T (default: 1 for gibbs, 50 for annealed)"
    parser.add_argument("--reach", type=positive, metavar="d", help=about)
    about = "number of iterations to keep from each chain (default: 5000 for jump, 1000 for pmmh)"
    parser.add_argument("--iterations", type=positive, metavar="n", help=about)
    about = "number of iterations to drop before the first one that is kept (default: 5000 for jump, 200 for pmmh)"
    parser.add_argument("--burn-in", type=count, metavar="b", help=about)
    about = f"for gibbs, {SAMPLER}; or prior, which draws from the prior instead and fails on all but tiny corpora"
    parser.add_argument("--sampler", default="single-site", metavar="NAME", help=about)
    about = (
        "for gibbs: the start of an estimate: uniform, with random topics; pilot, the end of one pilot run for each T"
    )
    parser.add_argument("--z-start", choices=["uniform", "pilot"], default="uniform", help=about)
    parser.add_argument("--alpha", type=number, default=0.1, metavar="A", help=ALPHA)
    parser.add_argument("--eta", type=number, default=0.01, metavar="E", help=ETA)
    add_workers(parser, "number of processes that run chains (jump) or make estimates (pmmh) at the same time")


def check(options: argparse.Namespace) -> TopicPrior:
    from bayestopics.evidence.topic_prior import TopicPrior

    return TopicPrior.parse(options.prior, options.min, options.max or None)


def call(corpus: Corpus, options: argparse.Namespace) -> TopicPosteriorResult:
    from bayestopics.api import topic_posterior
    from bayestopics.lda.state import Prior

    walk: dict[str, Any] = {"topic_prior": check(options), "starts": getattr(options, "start", None)}
    how = given(options, "method", "hyper", "estimate", "inner", "runs", "reach", "sampler", "z_start")
    work = given(options, "iterations", "burn_in", "workers")
    return topic_posterior(corpus, Prior(options.alpha, options.eta), **walk, **how, **work, **options.place)
