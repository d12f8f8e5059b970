"""bayestopics select"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bayestopics.cli.arguments import (
    Parser,
    add_report,
    add_workers,
    chains,
    count,
    counts,
    duration,
    given,
    positive,
    topic_count,
)

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.runs.select_result import SelectResult

NAME = "select"
HELP = "choose the number of topics, alpha and eta together, with their uncertainty; with --out, write a report"
PARENTS = ()


def arguments(parser: Parser) -> None:
    about = "range of the number of topics, such as 2-12 (default: from 1 to the square root of the number of tokens)"
    parser.add_argument("--topics", type=counts, metavar="T", help=about)
    parser.add_argument("--min", type=topic_count, metavar="T", help="smallest number of topics, instead of --topics")
    parser.add_argument("--max", type=topic_count, metavar="T", help="largest number of topics, instead of --topics")
    about = "prior of the number of topics: uniform, poisson:RATE or geometric:P"
    parser.add_argument("--prior", default="uniform", metavar="P", help=about)
    about = (
        "number of chains over the number of topics, alpha, eta and the topics; they start from the first answer, from "
        "1, from twice the first answer and from half of it, and so on"
    )
    parser.add_argument("--chains", type=chains, default=4, metavar="c", help=about)
    about = (
        "number of iterations to keep from each chain (default: by the size of the corpus, so that 100,000 tokens take "
        "about 20 minutes on 2 cores)"
    )
    parser.add_argument("--iterations", "--sweeps", type=positive, metavar="n", help=about)
    about = "instead of --iterations: about how long the chains may take, such as 90s, 20m or 1h30m"
    parser.add_argument("--budget", type=duration, metavar="TIME", help=about)
    about = "number of iterations to drop before the first one that is kept (default: as many as are kept)"
    parser.add_argument("--burn-in", type=count, metavar="b", help=about)
    add_workers(parser, "number of processes that share the chains")
    add_report(parser)


def check(options: argparse.Namespace) -> tuple[int | None, int | None]:
    """The ends of the range of T, where they are given."""
    from bayestopics.base.problems import InputError

    if options.budget is not None and options.iterations is not None:
        raise InputError("give either --budget or --iterations")
    if options.topics is None:
        return options.min, options.max
    if options.min is not None or options.max is not None:
        raise InputError("give either --topics or --min and --max")
    numbers = sorted(set(options.topics))
    if len(numbers) < 2 or numbers != list(range(numbers[0], numbers[-1] + 1)):
        raise InputError("--topics: give a range with at least two numbers of topics, such as 2-12")
    return numbers[0], numbers[-1]


def call(corpus: Corpus, options: argparse.Namespace) -> SelectResult:
    from bayestopics.api import select
    from bayestopics.evidence.topic_prior import TopicPrior
    from bayestopics.runs.select import default_prior

    low, high = check(options)
    usual = default_prior(corpus)
    prior = TopicPrior.parse(options.prior, low or usual.low, high or usual.high)
    work = given(options, "chains", "iterations", "burn_in", "budget", "workers")
    return select(corpus, prior, **work, **options.place)


def report(result: SelectResult, corpus: Corpus, out: Path) -> None:
    """Write the report and the tables for spreadsheets into the folder of the record."""
    from bayestopics.pages.report import REPORT, write_report

    result.write_csv(out)
    write_report(result, corpus, out / REPORT)
