"""The command line: `bayestopics`. Every command prints one JSON object with --json."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from bayestopics import __version__
from bayestopics.problems import InputError

Result = dict[str, Any]

DESCRIPTION = """\
Bayesian topic models: which sampler, how well does it predict - each answer with its error.

  bayestopics corpus info my.ldac                  what is in a corpus, and is it readable?
  bayestopics fit my.ldac --topics 20 --out out    topics, and a run record in the folder `out`
  bayestopics evidence my.ldac --topics 2-12       log p(w | T): how many topics does the corpus support?
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


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        options = build_parser().parse_args(arguments)
        result = options.run(options)
        print(_json(result) if options.json else options.show(result), flush=True)
        for note in options.notes:
            _say(f"note: {note}")
        return 0
    except InputError as error:
        return _say(str(error), 2)
    except BrokenPipeError:  # the reader left, as in `| head -1`; nothing more may be flushed to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # a disk that is full, a folder that may not be written
        place = error.filename2 or error.filename
        return _say(f"{place}: {error.strerror}" if place else str(error), 2)
    except MemoryError as error:
        return _say(f"not enough memory ({error})", 2)
    except KeyboardInterrupt:
        return _say("interrupted (`fit`, called again, goes on from its last checkpoint)", 130)


def _json(result: Result) -> str:
    from bayestopics.runs.record import without_nan

    return json.dumps(without_nan(result), allow_nan=False)


def _say(message: str, code: int = 0) -> int:
    """One line on standard error, whatever a file name or a library puts into the message."""
    print("bayestopics: " + " ".join(message.splitlines()), file=sys.stderr)
    return code


# -- the parser ----------------------------------------------------------------------------------


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
    _score_command(commands, output)
    return parser


def _command(commands: Any, name: str, parents: list[Parser], help: str, run: Callable, show: Callable) -> Parser:
    command: Parser = commands.add_parser(
        name, help=help, description=help, parents=parents, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    command.set_defaults(run=run, show=show, notes=[])
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
    _command(commands, "info", [_reading(), output], info, corpus_info, _show_table)
    simulate = _command(commands, "simulate", [output], "draw a corpus from LDA", corpus_simulate, _show_table)
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
    convert = _command(commands, "convert", [_reading(), output], about, corpus_convert, _show_table)
    convert.add_argument("out", metavar="OUT", help="the file to write; its name tells the format")
    _command(commands, "list", [output], "the registered corpora, and where they are", corpus_list, _show_list)


def _fit_command(commands: Any, output: Parser) -> None:
    help = "run a sampler: the log joint of every kept sweep, and the topics"
    fit_command = _command(commands, "fit", [_reading(), _model(500, 500), output], help, fit, _show_fit)
    fit_command.add_argument("--chains", type=_positive, default=1, metavar="c", help="independent chains")
    about = "run so many chains at once, each in a process; the results do not depend on it"
    fit_command.add_argument("--workers", type=_positive, default=_cores(), metavar="w", help=about)
    fit_command.add_argument("--out", metavar="DIR", help="a folder for the run record, topics included")


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _evidence_command(commands: Any, output: Parser) -> None:
    help = "log m(T) = log p(w | T), the evidence for each number of topics, with its error"
    command = _command(commands, "evidence", [_reading(), output], help, evidence, _show_evidence)
    command.add_argument("--topics", type=_counts, default="1-6", metavar="T", help="5, 1-6 or 5,10,20")
    command.add_argument("--alpha", type=_number, default=0.1, metavar="A", help="Dirichlet parameter of documents")
    command.add_argument("--eta", type=_number, default=0.01, metavar="E", help="Dirichlet parameter of the topics")
    methods = ["annealing", "chib", "harmonic-z", "harmonic-psi"]
    about = "annealing is the one to trust; the others are there to be compared with"
    command.add_argument("--method", choices=methods, default="annealing", help=about)
    about = "of annealing; ais and smc are unbiased, replica-exchange is not"
    command.add_argument("--path", dest="way", choices=["ais", "replica-exchange", "smc"], default="ais", help=about)
    about = "steps of the ladder, sweeps of a replica, or kept sweeps"
    command.add_argument("--sweeps", type=_positive, default=2000, metavar="m", help=about)
    command.add_argument("--repeats", type=_positive, default=4, metavar="R", help="independent repeats")
    command.add_argument("--seed", type=_count, default=0, metavar="s", help="root of all random numbers")


def _score_command(commands: Any, output: Parser) -> None:
    help = "log probability of held-out words or documents, with its Monte Carlo error"
    score_command = _command(commands, "score", [_reading(), _model(200, 200), output], help, score, _show_score)
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


# -- the commands --------------------------------------------------------------------------------


def _load(options: argparse.Namespace) -> Any:
    """The corpus that PATH names: a registered one, else a file or folder."""
    from bayestopics.corpus import Pruning, read_corpus
    from bayestopics.corpus.registry import Registry, default_config

    path = Path(options.path)
    if not path.exists() and "/" not in options.path and "." not in options.path:
        try:
            registry = Registry(default_config())
        except InputError as error:
            raise InputError(f"{path}: no such file or folder, and {error}") from None
        if options.path in registry.entries:
            return _checked(registry.load(options.path), options)
    pruning = Pruning(options.stop_words, options.min_documents, options.max_fraction, options.min_count)
    return _checked(read_corpus(path, terms=options.terms, pruning=pruning, encoding=options.encoding), options)


def _checked(corpus: Any, options: argparse.Namespace) -> Any:
    if options.terms not in (None, corpus.term_count):
        raise InputError(f"{options.path}: --terms {options.terms} disagrees with its {corpus.term_count} terms")
    if corpus.empty_documents:  # said at the end: on an error standard error has one line
        options.notes.append(f"{options.path}: empty documents, kept: {corpus.empty_documents}")
    return corpus


def corpus_info(options: argparse.Namespace) -> Result:
    return dict(_load(options).summary())


def corpus_convert(options: argparse.Namespace) -> Result:
    from bayestopics.corpus import write_corpus

    corpus = _load(options)
    write_corpus(corpus, options.out)
    return {"out": options.out, **corpus.summary()}


def corpus_list(options: argparse.Namespace) -> Result:
    from bayestopics.corpus.registry import Registry

    registry = Registry()
    places = registry.where(list(registry.entries))
    return {
        name: {"title": entry.title, "where": places[name], "expected": entry.expected}
        for name, entry in registry.entries.items()
    }


def corpus_simulate(options: argparse.Namespace) -> Result:
    from bayestopics.corpus import write_corpus
    from bayestopics.corpus.synthetic import simulate_lda
    from bayestopics.seeds import generator

    out = Path(options.out)
    if out.suffix != ".ldac":
        raise InputError(f"--out {out}: the name must end in .ldac")
    if out.is_dir():
        raise InputError(f"--out {out}: is a folder")
    simulated = simulate_lda(
        documents=options.documents,
        length=options.length,
        terms=options.terms,
        topics=options.topics,
        alpha=options.alpha,
        eta=options.eta,
        poisson=options.poisson,
        rng=generator(options.seed, "simulate"),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    simulated.save_truth(out.with_suffix(".truth.npz"))
    write_corpus(simulated.corpus, out)
    return {"out": str(out), **simulated.corpus.summary()}


def _prior(options: argparse.Namespace) -> Any:
    """The prior; what is wrong with the model is said before a large corpus is read."""
    from bayestopics.lda import sampler
    from bayestopics.lda.state import Prior

    sampler(options.sampler)
    prior = Prior(options.alpha, options.eta)
    prior.alpha_vector(options.topics)
    return prior


def fit(options: argparse.Namespace) -> Result:
    from bayestopics.runs.fit import fit as run_fit

    out = Path(options.out) if options.out else None
    if out is not None and out.exists() and not (out / "run.json").is_file():
        raise InputError(f"--out {out}: exists, and is not a run record")
    prior = _prior(options)
    return run_fit(
        _load(options),
        topics=options.topics,
        prior=prior,
        sampler=options.sampler,
        sweeps=options.sweeps,
        burn_in=options.burn_in,
        chains=options.chains,
        seed=options.seed,
        out=out,
        workers=options.workers,
    )


def evidence(options: argparse.Namespace) -> Result:
    from bayestopics.evidence.compute import evidence as compute
    from bayestopics.lda.state import Prior

    prior = Prior(options.alpha, options.eta)
    work = {"method": options.method, "path": options.way, "sweeps": options.sweeps, "repeats": options.repeats}
    return compute(_load(options), options.topics, prior, **work, seed=options.seed)


def score(options: argparse.Namespace) -> Result:
    import dataclasses

    prior = _prior(options)
    corpus = _load(options)
    chain = {"sampler": options.sampler, "sweeps": options.sweeps, "burn_in": options.burn_in}
    by_method = {"completion": _completion, "leave-one-out": _leave_one_out}
    return dataclasses.asdict(by_method[options.method](options, corpus, prior, chain))


def _completion(options: argparse.Namespace, corpus: Any, prior: Any, chain: dict[str, Any]) -> Any:
    from bayestopics.predict.completion import score
    from bayestopics.seeds import generator

    documents = max(1, round(options.heldout * corpus.document_count))
    rng = generator(options.seed, "score/completion")
    return score(corpus, options.topics, prior, **chain, documents=documents, rng=rng)


def _leave_one_out(options: argparse.Namespace, corpus: Any, prior: Any, chain: dict[str, Any]) -> Any:
    from bayestopics.predict.leave_one_out import score

    return score(
        corpus,
        options.topics,
        prior,
        **chain,
        thin=options.thin,
        particles=options.particles,
        beta=options.beta,
        warm_up=options.warm_up,
        documents=options.documents,
        seed=options.seed,
        workers=options.workers,
    )


# -- for people ----------------------------------------------------------------------------------


def _show_table(result: Result) -> str:
    width = max(map(len, result))
    return "\n".join(f"{key.replace('_', ' '):{width}}  {value}" for key, value in result.items())


def _show_score(result: Result) -> str:
    """Without the table of the documents, which may be long."""
    return _show_table({key: value for key, value in result.items() if key != "documents"})


def _show_list(result: Result) -> str:
    rows = [f"{name:24} {row['where'] or 'out of reach':14} {row['title']}" for name, row in result.items()]
    return "\n".join(rows)


def _show_evidence(result: Result) -> str:
    lines = ["topics   log evidence   standard error"]
    for topics, value, error in zip(result["topics"], result["log_evidence"], result["standard_error"], strict=True):
        lines.append(f"{topics:6}  {value:13.2f}   {'unknown' if error is None else f'{error:14.2f}'}")
    lines += ["", *(f"warning: {warning}" for warning in result["warnings"])]
    return "\n".join(lines).rstrip()


def _show_fit(result: Result) -> str:
    lines = [f"topic {row['topic']:3}  {row['share']:6.1%}  {' '.join(row['words'])}" for row in result["topics"]]
    summary = {key: value for key, value in result.items() if key not in ("log_joint", "topics")}
    return "\n".join([*lines, "", _show_table(summary)])


if __name__ == "__main__":
    sys.exit(main())
