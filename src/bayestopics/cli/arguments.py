"""What the command line understands: its commands, their arguments and the types of these."""

from __future__ import annotations

import argparse
import math
import os
from typing import Any, NoReturn

from bayestopics import __version__
from bayestopics.base.problems import InputError

DESCRIPTION = """\
Bayesian topic models: how many topics, which hyperparameters, how well do they predict - each answer with its error.

  bayestopics corpus info my.ldac                  what is in a corpus, and is it readable?
  bayestopics fit my.ldac --topics 20 --out out    topics, and a run record in the folder `out`
  bayestopics evidence my.ldac --topics 2-12       log p(w | T): how many topics does the corpus support?
  bayestopics topics my.ldac --max 40              the posterior of the number of topics, by PMMH
  bayestopics hyper my.ldac --topics 20            which alpha and eta?
  bayestopics select my.ldac --out report          all three, with a report in the folder `report`
  bayestopics hdp my.ldac --method split-merge     how many topics, if the model has no fixed number?
  bayestopics score my.ldac --topics 20            how well does the model predict held-out words?

PATH is a registered corpus (`bayestopics corpus list`), or a file of your own:
  x.ldac               LDA-C, terms in x.ldac.vocab or x.vocab
  docword.x.txt[.gz]   UCI bag of words, terms in vocab.x.txt
  x.mtx                Matrix Market, documents x terms, terms in x.mtx.vocab
  x.npz                a scipy sparse matrix, or what `corpus convert` wrote
  x.tsv, or a folder   texts: a line, or a file, a document
"""


class Parser(argparse.ArgumentParser):
    """argparse, with errors in one line."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see `{self.prog} --help`)")


def build_parser() -> Parser:
    parser = Parser(prog="bayestopics", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"bayestopics {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    output = Parser(add_help=False)
    output.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    corpora = commands.add_parser("corpus", help="look at, simulate, convert and list corpora")
    _corpus_commands(corpora.add_subparsers(title="commands", metavar="COMMAND", required=True), output)
    _fit_command(commands, output)
    _evidence_command(commands, output)
    _topics_command(commands, output)
    _hyper_command(commands, output)
    _select_command(commands, output)
    _hdp_command(commands, output)
    _score_command(commands, output)
    return parser


def _command(commands: Any, name: str, parents: list[Parser], help: str) -> Parser:
    command: Parser = commands.add_parser(
        name, help=help, description=help, parents=parents, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    command.set_defaults(command=name, notes=[])
    return command


def _reading() -> Parser:
    """PATH, and how to read it."""
    parent = Parser(add_help=False)
    parent.add_argument("path", metavar="PATH", help="a registered corpus, a file or a folder (see bayestopics --help)")
    group = parent.add_argument_group("reading")
    group.add_argument("--terms", type=_positive, metavar="V", help="number of terms, where no vocabulary says it")
    texts = parent.add_argument_group("texts (a TSV or a folder)")
    texts.add_argument("--stop-words", default="english", help="english, none, or a file with a word a line")
    texts.add_argument("--min-documents", type=_positive, default=1, help="keep terms in at least so many documents")
    texts.add_argument("--max-fraction", type=float, default=1.0, help="keep terms in at most this share of documents")
    texts.add_argument("--min-count", type=_positive, default=1, help="keep terms that occur at least so often")
    texts.add_argument("--encoding", default="utf-8", help="of the texts")
    return parent


def _model(sweeps: int, burn_in: int) -> Parser:
    parent = Parser(add_help=False)
    group = parent.add_argument_group("model and chain")
    group.add_argument("--topics", type=_positive, default=10, metavar="T", help="number of topics")
    group.add_argument("--alpha", type=_alpha, default=0.1, metavar="A", help="a number, or T numbers: 0.1,0.2,...")
    group.add_argument("--eta", type=_number, default=0.01, metavar="E", help="Dirichlet parameter of the topics")
    group.add_argument("--sampler", default="single-site", metavar="NAME", help="which sampler")
    group.add_argument("--sweeps", type=_positive, default=sweeps, metavar="n", help="sweeps kept, after the burn-in")
    group.add_argument("--burn-in", type=_count, default=burn_in, metavar="b", help="sweeps dropped first")
    group.add_argument("--seed", type=_count, default=0, metavar="s", help="root of all random numbers")
    return parent


def _corpus_commands(commands: Any, output: Parser) -> None:
    info = "documents, terms, tokens and fingerprint of a corpus"
    _command(commands, "info", [_reading(), output], info)
    simulate = _command(commands, "simulate", [output], "draw a corpus from LDA")
    simulate.add_argument("--documents", type=_positive, default=100, metavar="D", help="number of documents")
    simulate.add_argument("--length", type=_positive, default=100, metavar="n", help="words a document")
    simulate.add_argument("--poisson", action="store_true", help="lengths are Poisson with that mean")
    simulate.add_argument("--terms", type=_positive, default=100, metavar="V", help="number of terms")
    simulate.add_argument("--topics", type=_positive, default=10, metavar="T", help="number of topics")
    simulate.add_argument("--alpha", type=_alpha, default=0.1, metavar="A", help="a number, or T numbers")
    simulate.add_argument("--eta", type=_number, default=0.1, metavar="E", help="Dirichlet parameter of the topics")
    simulate.add_argument("--seed", type=_count, default=0, metavar="s", help="root of all random numbers")
    simulate.add_argument("--out", required=True, metavar="FILE.ldac", help="also FILE.ldac.vocab, FILE.truth.npz")
    about = "write a corpus in another format: x.ldac, docword.x.txt[.gz], x.mtx or x.npz"
    convert = _command(commands, "convert", [_reading(), output], about)
    convert.add_argument("out", metavar="OUT", help="the file to write; its name tells the format")
    _command(commands, "list", [output], "the registered corpora, and where they are")


def _fit_command(commands: Any, output: Parser) -> None:
    help = "run a sampler: the log joint of every kept sweep, and the topics"
    fit_command = _command(commands, "fit", [_reading(), _model(500, 500), output], help)
    _chains(fit_command, "independent chains")


def _chains(command: Parser, help: str) -> None:
    command.add_argument("--chains", type=_positive, default=1, metavar="c", help=help)
    about = "run so many chains at once, each in a process; the results do not depend on it"
    command.add_argument("--workers", type=_positive, default=_cores(), metavar="w", help=about)
    _out(command, "a folder for the run record, topics included")


def _out(command: Parser, help: str) -> None:
    command.add_argument("--out", metavar="DIR", help=help)


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _evidence_command(commands: Any, output: Parser) -> None:
    help = "log m(T) = log p(w | T), the evidence for each number of topics, with its error"
    command = _command(commands, "evidence", [_reading(), output], help)
    command.add_argument("--topics", type=_counts, default="1-6", metavar="T", help="5, 1-6 or 5,10,20")
    about = "a number, or, for one T, T numbers: 0.1,0.2,..."
    command.add_argument("--alpha", type=_alpha, default=0.1, metavar="A", help=about)
    command.add_argument("--eta", type=_number, default=0.01, metavar="E", help="Dirichlet parameter of the topics")
    methods = ["annealing", "pseudo-marginal", "chib", "harmonic-z", "harmonic-psi"]
    about = "annealing is the one to trust; the others are there to be compared with"
    command.add_argument("--method", choices=methods, default="annealing", help=about)
    about = "of annealing: from a fitted reference, or from the prior (ais, smc, replica-exchange; the last is biased)"
    paths = ["reference", "ais", "replica-exchange", "smc"]
    command.add_argument("--path", dest="way", choices=paths, default="reference", help=about)
    about = "steps of the ladder, sweeps of a replica, or kept sweeps"
    command.add_argument("--sweeps", type=_positive, default=2000, metavar="m", help=about)
    about = "over all T in search of good topics, by each repeat (path reference)"
    command.add_argument("--passes", type=_positive, default=4, metavar="P", help=about)
    command.add_argument("--repeats", type=_positive, default=4, metavar="R", help="independent repeats")
    about = "processes that share the repeats; the results do not depend on it (default: all cores)"
    command.add_argument("--workers", type=_positive, default=_cores(), metavar="w", help=about)
    command.add_argument("--seed", type=_count, default=0, metavar="s", help="root of all random numbers")
    _out(command, "a folder for the run record")


def _topics_command(commands: Any, output: Parser) -> None:
    help = "the posterior of the number of topics, and whether to believe it"
    command = _command(commands, "topics", [_reading(), output], help)
    command.add_argument("--method", choices=["pmmh"], default="pmmh", help="Chen & Doss")
    command.add_argument("--min", type=_positive, default=1, metavar="T", help="least number of topics")
    about = "largest number of topics; 0: no limit, where the prior allows it"
    command.add_argument("--max", type=_count, default=100, metavar="T", help=about)
    about = "a chain from each: 5 or 5,30,60 (default: 5,30, moved into the range where they are outside)"
    command.add_argument("--start", type=_counts, default=argparse.SUPPRESS, metavar="T", help=about)
    about = "of the number of topics: uniform, poisson:RATE or geometric:P"
    command.add_argument("--prior", default="uniform", metavar="P", help=about)
    command.add_argument("--inner", type=_positive, default=50, metavar="m", help="sweeps an estimate")
    command.add_argument("--iterations", type=_positive, default=1000, metavar="n", help="kept, of each chain")
    command.add_argument("--burn-in", type=_count, default=200, metavar="b", help="steps dropped first")
    about = "single-site, sparse or grouped; or prior, for draws of the prior in place of a sampler, which fail"
    command.add_argument("--sampler", default="single-site", metavar="NAME", help=about)
    about = "where an estimate starts: anywhere, or at the end of one pilot run for each T"
    command.add_argument("--z-start", choices=["uniform", "pilot"], default="uniform", help=about)
    command.add_argument("--alpha", type=_number, default=0.1, metavar="A", help="Dirichlet parameter of documents")
    command.add_argument("--eta", type=_number, default=0.01, metavar="E", help="Dirichlet parameter of the topics")
    about = "make so many estimates at once, each in a process; the results do not depend on it"
    command.add_argument("--workers", type=_positive, default=_cores(), metavar="w", help=about)
    command.add_argument("--seed", type=_count, default=0, metavar="s", help="root of all random numbers")
    _out(command, "a folder for the run record")


def _hyper_command(commands: Any, output: Parser) -> None:
    help = "the alpha and eta of largest marginal likelihood, with their Monte Carlo error and their own uncertainty"
    command = _command(commands, "hyper", [_reading(), output], help)
    command.add_argument("--topics", type=_positive, default=10, metavar="T", help="number of topics")
    methods = ["tempering", "gibbs-em", "variational-em", "full-bayes"]
    about = "tempering is the one to trust; the others are there to be compared with"
    command.add_argument("--method", choices=methods, default="tempering", help=about)
    about = "where to look for alpha; without it, anywhere"
    command.add_argument("--alpha-range", type=_range, metavar="LO,HI", help=about)
    command.add_argument("--eta-range", type=_range, metavar="LO,HI", help="where to look for eta")
    about = "points of the grid, alpha x eta, as 9x11; without it, as many as the corpus needs"
    command.add_argument("--grid", type=_shape, metavar="AxE", help=about)
    about = "where tempering's search starts: at (0.5, 0.5), or where the paper's scheme on few documents ends"
    command.add_argument("--search", choices=["pilot", "iterative-grid"], default="pilot", help=about)
    about = "kept sweeps of the last run (10000), of a step of gibbs-em (200), or passes of variational-em (500)"
    command.add_argument("--sweeps", type=_positive, metavar="n", help=about)
    about = "independent chains of tempering; one chain cannot see other modes"
    command.add_argument("--chains", type=_positive, default=4, metavar="c", help=about)
    about = "run so many chains at once, each in a process; the results do not depend on it (default: all cores)"
    command.add_argument("--workers", type=_positive, default=_cores(), metavar="w", help=about)
    command.add_argument("--sampler", default="single-site", metavar="NAME", help="which sampler")
    command.add_argument("--seed", type=_count, default=0, metavar="s", help="root of all random numbers")


def _select_command(commands: Any, output: Parser) -> None:
    help = "the number of topics, alpha and eta together, with their uncertainty; with --out, a report"
    command = _command(commands, "select", [_reading(), output], help)
    about = "the numbers of topics to try, from 2 on: 2-12 or 5,10,20"
    command.add_argument("--topics", type=_counts, default="2-12", metavar="T", help=about)
    about = "of each chain that samples alpha and eta, after as many of burn-in, and of the last run"
    command.add_argument("--sweeps", type=_positive, default=2000, metavar="n", help=about)
    command.add_argument("--steps", type=_positive, default=2000, metavar="m", help="of each ladder of annealing")
    command.add_argument("--repeats", type=_positive, default=4, metavar="R", help="of annealing, for each T")
    about = "independent chains of tempering at the best number of topics; one chain cannot see other modes"
    command.add_argument("--chains", type=_positive, default=4, metavar="c", help=about)
    about = "processes that share the repeats and chains; the results do not depend on it (default: all cores)"
    command.add_argument("--workers", type=_positive, default=_cores(), metavar="w", help=about)
    command.add_argument("--seed", type=_count, default=0, metavar="s", help="root of all random numbers")
    _out(command, "a folder for the report: index.html, and what it shows")


def _hdp_command(commands: Any, output: Parser) -> None:
    help = "the number of topics of a model without a fixed one: the HDP topic model, or a DP mixture of documents"
    command = _command(commands, "hdp", [_reading(), output], help)
    about = "hdp: a document has many topics; dp-mixture: it has one"
    command.add_argument("--model", choices=["hdp", "dp-mixture"], default="hdp", help=about)
    about = "gibbs and split-merge sample the posterior of the hdp; the others are variational, for both models"
    methods = ["gibbs", "split-merge", "truncation-free", "truncated"]
    command.add_argument("--method", choices=methods, default="gibbs", help=about)
    about = "of split-merge: exact, or with the acceptance ratio of the paper, which is not"
    command.add_argument("--variant", choices=["exact", "paper"], default="exact", help=about)
    about = "split-merge moves after each sweep (1)"
    command.add_argument("--moves", type=_positive, metavar="k", help=about)
    about = "sweeps of gibbs and split-merge; blocked draws all tokens of a word in a document at once"
    command.add_argument("--sampler", choices=["plain", "blocked"], default="plain", help=about)
    command.add_argument("--eta", type=_number, default=0.1, metavar="E", help="Dirichlet parameter of the topics")
    command.add_argument("--gamma", type=_number, default=1.0, metavar="G", help="concentration of the top level")
    about = "concentration of the documents; a dp-mixture has none"
    command.add_argument("--concentration", type=_number, default=1.0, metavar="A", help=about)
    about = "draw gamma and the concentration too, by gibbs and split-merge, from Gamma(1, 1) priors"
    command.add_argument("--resample", action="store_true", help=about)
    about = "sweeps kept, after the burn-in (500), or passes of a variational method (10)"
    command.add_argument("--sweeps", type=_positive, metavar="n", help=about)
    about = "sweeps dropped first, by the samplers"
    command.add_argument("--burn-in", type=_count, default=500, metavar="b", help=about)
    about = "documents an update of the variational methods"
    command.add_argument("--batch-size", type=_positive, default=100, metavar="S", help=about)
    about = "predict this last share of the documents from the others; without it, all are learnt from"
    command.add_argument("--heldout", type=_share, metavar="SHARE", help=about)
    _chains(command, "of the samplers, from 1, 20, 5, 60, 1, ... topics; of the others, streams with other seeds")
    command.add_argument("--seed", type=_count, default=0, metavar="s", help="root of all random numbers")


def _score_command(commands: Any, output: Parser) -> None:
    help = "log probability of held-out words or documents, with its Monte Carlo error"
    score_command = _command(commands, "score", [_reading(), _model(200, 200), output], help)
    about = "completion: mean log probability of a held-out word; leave-one-out: of a document given all others"
    methods = ["completion", "leave-one-out"]
    score_command.add_argument("--method", choices=methods, default="completion", help=about)
    completion = score_command.add_argument_group("completion")
    about = "half of the words of this last share of documents"
    completion.add_argument("--heldout", type=_share, default=0.1, metavar="SHARE", help=about)
    group = score_command.add_argument_group("leave-one-out (a chain a document)")
    about = "leave out k documents, evenly spaced, or those in a list: 0,7,9"
    group.add_argument("--documents", type=_documents, default="all", metavar="k", help=about)
    group.add_argument("--thin", type=_positive, default=5, metavar="n", help="every nth kept sweep gives an estimate")
    group.add_argument("--particles", type=_positive, default=10, metavar="r", help="of left-to-right, an estimate")
    about = "topics are integrated out given z, or drawn: the same mean, more scatter"
    group.add_argument("--beta", choices=["integrated", "drawn"], default="integrated", help=about)
    about = "start all chains from one of so many sweeps on the whole corpus; 0: at random"
    group.add_argument("--warm-up", type=_count, default=0, metavar="n", help=about)
    about = "run so many chains at once, each in a process; the results do not depend on it"
    group.add_argument("--workers", type=_positive, default=_cores(), metavar="w", help=about)


# -- types ---------------------------------------------------------------------------------------


def _positive(text: str) -> int:
    value = _count(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    if value >= 2**31:
        raise argparse.ArgumentTypeError(f"{text} is too large")
    return value


def _counts(text: str) -> list[int]:
    """5, 1-6 or 5,10,20."""
    counts: list[int] = []
    for part in text.split(","):
        low, dash, high = part.partition("-")
        counts += range(_positive(low), _positive(high) + 1) if dash else [_positive(part)]
    if not counts:
        raise argparse.ArgumentTypeError(f"{text!r} is an empty range")
    return counts


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not math.isfinite(value) or value <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not positive and finite")
    return value


def _alpha(text: str) -> float | tuple[float, ...]:
    values = tuple(_number(part) for part in text.split(","))
    return values[0] if len(values) == 1 else values


def _range(text: str) -> tuple[float, float]:
    """0.1,2."""
    low, comma, high = text.partition(",")
    if not comma or not _number(low) < _number(high):
        raise argparse.ArgumentTypeError(f"{text!r} is not two rising numbers, as 0.1,2")
    return _number(low), _number(high)


def _shape(text: str) -> tuple[int, int]:
    """9x11."""
    first, cross, second = text.partition("x")
    if not cross:
        raise argparse.ArgumentTypeError(f"{text!r} is not a grid, as 9x11")
    return _positive(first), _positive(second)


def _share(text: str) -> float:
    value = _number(text)
    if value > 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share between 0 and 1")
    return value


def _documents(text: str) -> int | list[int] | None:
    """How many, or, with a comma, which; None for all."""
    if text == "all":
        return None
    return [_count(part) for part in text.split(",") if part] if "," in text else _positive(text)
