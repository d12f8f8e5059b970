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
HELP = "choose the number of topics, alpha and eta together, with their uncertainty; with --out, write a report"
PARENTS = ()


def arguments(parser: Parser) -> None:
    about = "numbers of topics to try, each at least 2: 2-12 or 5,10,20"
    parser.add_argument("--topics", type=counts, default="2-12", metavar="T", help=about)
    about = (
        "number of sweeps to keep from each chain that samples alpha and eta (as many are dropped before), and of "
        "the final run at the chosen T"
    )
    parser.add_argument("--sweeps", type=positive, default=2000, metavar="n", help=about)
    about = "number of steps in each annealing run, which estimates the evidence of one T"
    parser.add_argument("--steps", type=positive, default=2000, metavar="m", help=about)
    about = "number of independent annealing runs for each T; their scatter gives the standard error"
    parser.add_argument("--repeats", type=positive, default=4, metavar="R", help=about)
    about = (
        "number of independent chains that find alpha and eta at the best T; a single chain may stay in one mode and "
        "miss the others"
    )
    parser.add_argument("--chains", type=positive, default=4, metavar="c", help=about)
    add_workers(parser, "number of processes that share the runs and chains")


def check(options: argparse.Namespace) -> None:
    from bayestopics.runs.select import check

    check(options.topics, options.sweeps)


def call(corpus: Corpus, options: argparse.Namespace) -> SelectResult:
    from bayestopics.api import select

    work = given(options, "sweeps", "steps", "repeats", "chains", "workers")
    return select(corpus, options.topics, **work, **options.place)


def report(result: SelectResult, corpus: Corpus, out: Path) -> None:
    """Write the report into the folder of the record."""
    from bayestopics.pages.selection import write_report

    write_report(result, corpus, out)
