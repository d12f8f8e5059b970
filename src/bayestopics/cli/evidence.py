"""bayestopics evidence"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bayestopics.cli.arguments import ALPHA, ETA, Parser, add_workers, alpha, chains, counts, given, number, positive
from bayestopics.evidence import METHODS, PATHS

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.lda.state import Prior
    from bayestopics.runs.kinds import EvidenceResult

NAME = "evidence"
HELP = (
    "compare numbers of topics by their evidence: the log probability of the whole corpus given T topics, "
    "log m(T) = log p(w | T), with its error"
)
PARENTS = ()


def arguments(parser: Parser) -> None:
    parser.add_argument(
        "--topics", type=counts, default="1-6", metavar="T", help="numbers of topics to compare: 5, 1-6 or 5,10,20"
    )
    about = f"{ALPHA}; one number, or, if there is only one T, T numbers (0.1,0.2,...)"
    parser.add_argument("--alpha", type=alpha, default=0.1, metavar="A", help=about)
    parser.add_argument("--eta", type=number, default=0.01, metavar="E", help=ETA)
    about = "annealing is the method to trust; the others are there for comparison"
    parser.add_argument("--method", choices=list(METHODS), default="annealing", help=about)
    about = (
        "where annealing starts: reference is a distribution fitted to the corpus; both-ways goes from it and back "
        "(for corpora where one way lags behind; of the topics that were found alone); ais, smc and "
        "replica-exchange start from the prior; both-ways and replica-exchange are biased"
    )
    parser.add_argument("--path", dest="way", choices=list(PATHS), default="reference", help=about)
    about = (
        "length of each run: annealing steps (for replica-exchange, sweeps at each temperature); "
        "with other methods, sweeps to keep"
    )
    parser.add_argument("--sweeps", type=positive, default=2000, metavar="m", help=about)
    about = (
        "how often each run goes through all T to find good topics before it anneals, only with --path reference or "
        "both-ways"
    )
    parser.add_argument("--passes", type=positive, default=4, metavar="P", help=about)
    about = "number of independent runs for each T; their scatter gives the standard error"
    parser.add_argument("--repeats", type=chains, default=4, metavar="R", help=about)
    about = "a record of `topics` (the folder of its --out): begin with the topics that its chains found"
    parser.add_argument("--start-from", dest="start", type=Path, metavar="DIR", help=about)
    add_workers(parser, "number of processes that share the runs")


def check(options: argparse.Namespace) -> Prior:
    from bayestopics.lda.state import Prior

    return Prior(options.alpha, options.eta)


def call(corpus: Corpus, options: argparse.Namespace) -> EvidenceResult:
    from bayestopics.api import evidence

    work = given(options, "method", "sweeps", "passes", "repeats", "start", "workers")
    return evidence(corpus, options.topics, check(options), path=options.way, **work, **options.place)
