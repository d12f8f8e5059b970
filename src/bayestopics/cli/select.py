"""bayestopics select"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bayestopics.cli.arguments import Parser, add_workers, counts, given, positive

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.runs.kinds import SelectResult

NAME = "select"
HELP = "the number of topics, alpha and eta together, with their uncertainty; with --out, a report"
PARENTS = ()


def arguments(parser: Parser) -> None:
    about = "the numbers of topics to try, from 2 on: 2-12 or 5,10,20"
    parser.add_argument("--topics", type=counts, default="2-12", metavar="T", help=about)
    about = "of each chain that samples alpha and eta, after as many of burn-in, and of the last run"
    parser.add_argument("--sweeps", type=positive, default=2000, metavar="n", help=about)
    parser.add_argument("--steps", type=positive, default=2000, metavar="m", help="of each ladder of annealing")
    about = "how many annealing runs to make for each T"
    parser.add_argument("--repeats", type=positive, default=4, metavar="R", help=about)
    about = "independent chains of tempering at the best number of topics; one chain cannot see other modes"
    parser.add_argument("--chains", type=positive, default=4, metavar="c", help=about)
    add_workers(parser, "processes that share the repeats and chains")


def check(options: argparse.Namespace) -> None:
    from bayestopics.runs.select import check

    check(options.topics, options.sweeps)


def call(corpus: Corpus, options: argparse.Namespace) -> SelectResult:
    from bayestopics.api import select

    work = given(options, "sweeps", "steps", "repeats", "chains", "workers")
    return select(corpus, options.topics, **work, **options.place)


def report(result: SelectResult, corpus: Corpus, out: Path) -> None:
    """Beside the record, in its folder."""
    from bayestopics.pages.selection import write_report

    write_report(result, corpus, out)
