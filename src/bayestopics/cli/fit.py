"""bayestopics fit"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bayestopics.cli.arguments import Parser, add_workers, chains, given, model

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.lda.state import Prior
    from bayestopics.runs.kinds import FitResult

NAME, HELP = "fit", "find the topics of a corpus by running a sampler with a fixed number of topics"
PARENTS = (model(500, 500),)


def arguments(parser: Parser) -> None:
    about = "number of independent chains; two or more show whether they agree (R-hat)"
    parser.add_argument("--chains", type=chains, default=1, metavar="c", help=about)
    add_workers(parser, "number of chains to run at the same time, each in its own process")


def check(options: argparse.Namespace) -> Prior:
    from bayestopics.lda import sampler
    from bayestopics.lda.state import Prior

    sampler(options.sampler)
    prior = Prior(options.alpha, options.eta)
    prior.alpha_vector(options.topics)
    return prior


def call(corpus: Corpus, options: argparse.Namespace) -> FitResult:
    from bayestopics.api import fit

    work = given(options, "sampler", "sweeps", "burn_in", "chains", "workers")
    return fit(corpus, options.topics, check(options), **work, **options.place)
