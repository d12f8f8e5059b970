"""bayestopics fit"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bayestopics.cli.arguments import Parser, add_report, add_workers, chains, given, model, workers
from bayestopics.lda import STARTS

if TYPE_CHECKING:
    from pathlib import Path

    from bayestopics.corpus import Corpus
    from bayestopics.lda.state import Prior
    from bayestopics.runs.fit_result import FitResult

NAME = "fit"
HELP = "find the topics of a corpus, given their number; with --out, write a report and tables for spreadsheets, too"
PARENTS = (model(500, 500),)


def arguments(parser: Parser) -> None:
    about = "number of independent chains; two or more show whether they agree (R-hat), and on which topics"
    parser.add_argument("--chains", type=chains, default=4, metavar="c", help=about)
    about = "where chains start: random topics, or progressive, each token given those before it (a shorter burn-in)"
    parser.add_argument("--start", choices=STARTS, default="random", help=about)
    add_workers(parser, "number of chains to run at the same time, each in its own process")
    about = "number of threads of each chain, for parallel samplers (default: the chains share all cores)"
    parser.add_argument("--threads", type=workers, metavar="n", help=about)
    add_report(parser)


def check(options: argparse.Namespace) -> Prior:
    from bayestopics.lda import sampler
    from bayestopics.lda.state import Prior

    sampler(options.sampler)
    prior = Prior(options.alpha, options.eta)
    for topics in options.topics if isinstance(options.topics, list) else [options.topics]:
        prior.alpha_vector(topics)
    return prior


def call(corpus: Corpus, options: argparse.Namespace) -> FitResult:
    from bayestopics.api import fit

    work = given(options, "sampler", "sweeps", "burn_in", "chains", "start", "workers", "threads")
    return fit(corpus, options.topics, check(options), **work, **options.place)


def report(result: FitResult, corpus: Corpus, out: Path) -> None:
    """Write the report and the tables for spreadsheets into the folder of the record."""
    from bayestopics.pages.report import REPORT, write_report

    result.write_csv(out)
    write_report(result, corpus, out / REPORT)
