"""bayestopics score"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bayestopics.cli.arguments import Parser, add_workers, count, documents, given, model, positive, share
from bayestopics.cli.fit import check
from bayestopics.predict import BETAS, METHODS

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.runs.kinds import ScoreResult

__all__ = ["HELP", "NAME", "PARENTS", "arguments", "call", "check"]

NAME, HELP = "score", "log probability of held-out words or documents, with its Monte Carlo error"
PARENTS = (model(200, 200),)


def arguments(parser: Parser) -> None:
    about = "completion: mean log probability of a held-out word; leave-one-out: of a document given all others"
    parser.add_argument("--method", choices=list(METHODS), default="completion", help=about)
    completion = parser.add_argument_group("completion")
    about = "half of the words of this last share of documents"
    completion.add_argument("--heldout", type=share, default=0.1, metavar="SHARE", help=about)
    group = parser.add_argument_group("leave-one-out (one chain per document)")
    about = "leave out k documents, evenly spaced, or those in a list: 0,7,9"
    group.add_argument("--documents", type=documents, default="all", metavar="k", help=about)
    group.add_argument("--thin", type=positive, default=5, metavar="n", help="every nth kept sweep gives an estimate")
    about = "particles of left-to-right in one estimate"
    group.add_argument("--particles", type=positive, default=10, metavar="r", help=about)
    about = "topics are integrated out given z, or drawn: the same mean, more scatter"
    group.add_argument("--beta", choices=list(BETAS), default="integrated", help=about)
    about = "start all chains from one of so many sweeps on the whole corpus; 0: at random"
    group.add_argument("--warm-up", type=count, default=0, metavar="n", help=about)
    add_workers(group, "run so many chains at once, each in a process")


def call(corpus: Corpus, options: argparse.Namespace) -> ScoreResult:
    from bayestopics.api import score

    work = given(options, "method", "sampler", "sweeps", "burn_in", "workers")
    of_methods = given(options, "heldout", "documents", "thin", "particles", "beta", "warm_up")
    return score(corpus, options.topics, check(options), **work, **of_methods, **options.place)
