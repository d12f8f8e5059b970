"""bayestopics score"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bayestopics.cli.arguments import (
    Parser,
    add_workers,
    chains,
    count,
    documents,
    given,
    model,
    number,
    particles,
    positive,
    share,
)
from bayestopics.cli.fit import check
from bayestopics.predict import BETAS, ESTIMATORS, METHODS

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.runs.score_result import ScoreResult

__all__ = ["HELP", "NAME", "PARENTS", "arguments", "call", "check"]

NAME, HELP = "score", "measure how well a model predicts held-out words or documents, with the Monte Carlo error"
PARENTS = (model(200, 200, several=True),)


def arguments(parser: Parser) -> None:
    about = (
        "completion: mean log probability of a held-out word, given the rest of its document; leave-one-out: mean "
        "log probability of a document, given all the others"
    )
    parser.add_argument("--method", choices=list(METHODS), default="completion", help=about)
    completion = parser.add_argument_group("completion")
    about = "hold out half of the words of this last share of the documents, from 0 to 1"
    completion.add_argument("--heldout", type=share, default=0.1, metavar="SHARE", help=about)
    group = parser.add_argument_group("leave-one-out")
    about = "leave out k documents, evenly spaced, or the documents with these numbers (0,7,9; the first is 0)"
    group.add_argument("--documents", type=documents, default="all", metavar="k", help=about)
    group.add_argument("--thin", type=positive, default=5, metavar="n", help="take a draw at every nth kept sweep")
    about = (
        "bridge: combine draws with and without the document; left-to-right: draws without it, too low if few of them "
        "carry the weight"
    )
    group.add_argument("--estimator", choices=list(ESTIMATORS), default="bridge", help=about)
    add_workers(group, "number of processes that share the documents")
    group = parser.add_argument_group("leave-one-out by the bridge")
    about = "number of chains on the whole corpus, a multiple of 8; more chains give a smaller error"
    group.add_argument("--chains", type=chains, default=16, metavar="c", help=about)
    about = "sweeps in which a chain forgets the document; with too few, the score is too high"
    group.add_argument("--forget", type=count, default=20, metavar="n", help=about)
    about = "number of steps in which a document leaves or joins; more steps bring the bounds closer together"
    group.add_argument("--steps", type=positive, default=200, metavar="n", help=about)
    about = "a document needs no more draws once its error is at most this many nats"
    group.add_argument("--tolerance", type=number, default=0.5, metavar="nats", help=about)
    group = parser.add_argument_group("leave-one-out by left-to-right (one chain per document)")
    about = "number of particles in each estimate; more particles give less noise"
    group.add_argument("--particles", type=particles, default=10, metavar="r", help=about)
    about = "integrate over the topics' words, or draw them; drawn has the same mean and more noise"
    group.add_argument("--beta", choices=list(BETAS), default="integrated", help=about)
    about = "start all chains from one chain of n sweeps on the whole corpus; 0 starts them at random"
    group.add_argument("--warm-up", type=count, default=0, metavar="n", help=about)


def call(corpus: Corpus, options: argparse.Namespace) -> ScoreResult:
    from bayestopics.api import score

    work = given(options, "method", "sampler", "sweeps", "burn_in", "workers")
    of_methods = given(options, "heldout", "documents", "thin", "estimator", "chains", "forget", "steps", "tolerance")
    of_methods |= given(options, "particles", "beta", "warm_up")
    topics = options.topics if len(options.topics) > 1 else options.topics[0]
    return score(corpus, topics, check(options), **work, **of_methods, **options.place)
