"""bayestopics infer"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bayestopics.cli.arguments import Parser, add_workers, count, given, positive

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.runs.infer_result import InferResult

NAME = "infer"
HELP = "find the topics of new documents, given the topics of a fit; with --out, write a table of the documents too"
PARENTS = ()


def arguments(parser: Parser) -> None:
    about = "a record of `fit` or `select` (the folder of its --out), which has the topics (required)"
    parser.add_argument("--fit", type=Path, required=True, metavar="DIR", help=about)
    about = "number of sweeps over each document to keep, for each of ten draws of the topics"
    parser.add_argument("--sweeps", type=positive, default=12, metavar="n", help=about)
    about = "number of sweeps to drop before the first of these draws; before each of the others, a fifth of it"
    parser.add_argument("--burn-in", type=count, default=10, metavar="b", help=about)
    add_workers(parser, "number of threads that share the documents")


def check(options: argparse.Namespace) -> None:
    """Every word counts that the fit knows, however rare it is in the new documents."""
    options.min_documents = options.min_documents or 1
    options.max_documents = options.max_documents or 1.0


def call(corpus: Corpus, options: argparse.Namespace) -> InferResult:
    from bayestopics.api import infer

    return infer(corpus, **given(options, "fit", "sweeps", "burn_in", "workers"), **options.place)


def report(result: InferResult, corpus: Corpus, out: Path) -> None:
    """Write the table for spreadsheets into the folder of the record."""
    result.write_csv(out)
