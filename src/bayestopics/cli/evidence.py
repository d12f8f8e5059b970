"""bayestopics evidence"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bayestopics.cli.arguments import Parser, add_workers, alpha, counts, given, number, positive
from bayestopics.evidence import METHODS, PATHS

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.lda.state import Prior
    from bayestopics.runs.kinds import EvidenceResult

NAME, HELP = "evidence", "log m(T) = log p(w | T), the evidence for each number of topics, with its error"
PARENTS = ()


def arguments(parser: Parser) -> None:
    parser.add_argument("--topics", type=counts, default="1-6", metavar="T", help="5, 1-6 or 5,10,20")
    about = "a number, or, for one T, T numbers: 0.1,0.2,..."
    parser.add_argument("--alpha", type=alpha, default=0.1, metavar="A", help=about)
    parser.add_argument("--eta", type=number, default=0.01, metavar="E", help="Dirichlet parameter of the topics")
    about = "annealing is the one to trust; the others are there to be compared with"
    parser.add_argument("--method", choices=list(METHODS), default="annealing", help=about)
    about = "of annealing: from a fitted reference, or from the prior (ais, smc, replica-exchange; the last is biased)"
    parser.add_argument("--path", dest="way", choices=list(PATHS), default="reference", help=about)
    about = "steps of the ladder, sweeps of a replica, or kept sweeps"
    parser.add_argument("--sweeps", type=positive, default=2000, metavar="m", help=about)
    about = "over all T in search of good topics, by each repeat (path reference)"
    parser.add_argument("--passes", type=positive, default=4, metavar="P", help=about)
    parser.add_argument("--repeats", type=positive, default=4, metavar="R", help="independent repeats")
    add_workers(parser, "processes that share the repeats")


def check(options: argparse.Namespace) -> Prior:
    from bayestopics.lda.state import Prior

    return Prior(options.alpha, options.eta)


def call(corpus: Corpus, options: argparse.Namespace) -> EvidenceResult:
    from bayestopics.api import evidence

    work = given(options, "method", "sweeps", "passes", "repeats", "workers")
    return evidence(corpus, options.topics, check(options), path=options.way, **work, **options.place)
