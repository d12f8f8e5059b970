"""bayestopics hyper"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bayestopics.cli.arguments import (
    SAMPLER,
    Parser,
    add_workers,
    chains,
    given,
    interval,
    number,
    positive,
    shape,
    topic_count,
)
from bayestopics.hyper import METHODS, SEARCHES

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.runs.kinds import HyperResult

NAME = "hyper"
HELP = (
    "find the hyperparameters alpha and eta that make the corpus most probable, with their Monte Carlo error and "
    "their uncertainty"
)
PARENTS = ()


def arguments(parser: Parser) -> None:
    parser.add_argument("--topics", type=topic_count, default=10, metavar="T", help="number of topics")
    about = (
        "score and tempering are the methods to trust; the others are there for comparison (default: score, or "
        "tempering with one of --grid, --search iterative-grid and --integrate)"
    )
    parser.add_argument("--method", choices=list(METHODS), help=about)
    about = (
        "score: an alpha for each topic, from large to small, each with its error, and what this gains over one alpha "
        "for all topics; takes about three times as long"
    )
    parser.add_argument("--asymmetric", action="store_true", help=about)
    about = "tempering, score and full-bayes: search alpha in this range only, as in 0.01,2 (default: 0.0001,10000)"
    parser.add_argument("--alpha-range", type=interval, metavar="LO,HI", help=about)
    about = "tempering, score and full-bayes: search eta in this range only (default: 0.0001,10000)"
    parser.add_argument("--eta-range", type=interval, metavar="LO,HI", help=about)
    about = "tempering: number of grid points for alpha and for eta, as in 9x11 (default: as many as the corpus needs)"
    parser.add_argument("--grid", type=shape, metavar="AxE", help=about)
    about = (
        "tempering: where the search starts; pilot: at alpha = eta = 0.5; iterative-grid: at the result of the "
        "paper's scheme on part of the documents"
    )
    parser.add_argument("--search", choices=list(SEARCHES), default="pilot", help=about)
    about = (
        "number of sweeps to keep (default: 10000 for tempering and full-bayes, 2000 for score, 200 in each step of "
        "gibbs-em), or largest number of passes (default: 500 for variational-em)"
    )
    parser.add_argument("--sweeps", type=positive, metavar="n", help=about)
    about = "tempering and score: number of independent chains; a single chain may stay in one mode and miss the others"
    parser.add_argument("--chains", type=chains, default=8, metavar="c", help=about)
    about = (
        "tempering and score: run longer chains until the Monte Carlo deviation of alpha and eta is at most this part "
        "of their own uncertainty, as in 0.1 (default: stop after --sweeps sweeps)"
    )
    parser.add_argument("--precision", type=number, metavar="p", help=about)
    about = (
        "tempering: check the surface by integrating the derivative of the log marginal likelihood along alpha and "
        "along eta, with chains from both ends; takes about as long again"
    )
    parser.add_argument("--integrate", action="store_true", help=about)
    parser.add_argument("--sampler", default="single-site", metavar="NAME", help=SAMPLER)
    add_workers(parser, "number of chains to run at the same time, each in its own process")


def check(options: argparse.Namespace) -> None:
    from bayestopics.lda import sampler

    sampler(options.sampler)


def call(corpus: Corpus, options: argparse.Namespace) -> HyperResult:
    from bayestopics.api import hyper

    how = given(options, "method", "asymmetric", "alpha_range", "eta_range", "grid", "search", "sampler")
    work = given(options, "sweeps", "chains", "precision", "integrate", "workers")
    return hyper(corpus, options.topics, **how, **work, **options.place)
