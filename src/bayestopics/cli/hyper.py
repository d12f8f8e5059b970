"""bayestopics hyper"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bayestopics.cli.arguments import Parser, add_workers, given, interval, positive, shape
from bayestopics.hyper import METHODS, SEARCHES

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.runs.kinds import HyperResult

NAME = "hyper"
HELP = "the alpha and eta of largest marginal likelihood, with their Monte Carlo error and their own uncertainty"
PARENTS = ()


def arguments(parser: Parser) -> None:
    parser.add_argument("--topics", type=positive, default=10, metavar="T", help="number of topics")
    about = "tempering is the one to trust; the others are there to be compared with"
    parser.add_argument("--method", choices=list(METHODS), default="tempering", help=about)
    about = "where to look for alpha; without it, anywhere"
    parser.add_argument("--alpha-range", type=interval, metavar="LO,HI", help=about)
    parser.add_argument("--eta-range", type=interval, metavar="LO,HI", help="where to look for eta")
    about = "points of the grid, alpha x eta, as 9x11; without it, as many as the corpus needs"
    parser.add_argument("--grid", type=shape, metavar="AxE", help=about)
    about = "where tempering's search starts: at (0.5, 0.5), or where the paper's scheme on few documents ends"
    parser.add_argument("--search", choices=list(SEARCHES), default="pilot", help=about)
    about = "kept sweeps of the last run (10000), of a step of gibbs-em (200), or passes of variational-em (500)"
    parser.add_argument("--sweeps", type=positive, metavar="n", help=about)
    about = "independent chains of tempering; one chain cannot see other modes"
    parser.add_argument("--chains", type=positive, default=4, metavar="c", help=about)
    parser.add_argument("--sampler", default="single-site", metavar="NAME", help="which sampler")
    add_workers(parser, "run so many chains at once, each in a process")


def check(options: argparse.Namespace) -> None:
    from bayestopics.lda import sampler

    sampler(options.sampler)


def call(corpus: Corpus, options: argparse.Namespace) -> HyperResult:
    from bayestopics.api import hyper

    how = given(options, "method", "alpha_range", "eta_range", "grid", "search", "sampler")
    work = given(options, "sweeps", "chains", "workers")
    return hyper(corpus, options.topics, **how, **work, **options.place)
