"""bayestopics corpus info, demo, simulate, convert, list"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bayestopics.base.problems import InputError
from bayestopics.cli.arguments import (
    ALPHA,
    ETA,
    Parser,
    add_parser,
    alpha,
    number,
    positive,
    reading,
    seed,
    topic_count,
    up_to,
)

Summary = dict[str, Any]
MOST_REPORTS = 1_000_000
Look = Callable[[argparse.Namespace], tuple[Summary, str]]  # the values, and the same as text for people


def add(commands: Any, output: Parser) -> None:
    help = "show the size of a corpus (documents, terms, tokens) and its fingerprint"
    add_parser(commands, "info", [reading(), output], help).set_defaults(look=info)
    help = "write a demo corpus to try the commands on: invented reports with dates, a CSV file; five topics are right"
    shown = add_parser(commands, "demo", [output], help)
    shown.set_defaults(look=demo)
    shown.add_argument("--documents", type=up_to(MOST_REPORTS), default=300, metavar="D", help="number of reports")
    about = "seed of the random numbers; the same seed gives the same reports"
    shown.add_argument("--seed", type=seed, default=1, metavar="s", help=about)
    shown.add_argument("--out", default="demo.csv", metavar="FILE.csv", help="file to write")
    help = "simulate a corpus from latent Dirichlet allocation (LDA)"
    simulated = add_parser(commands, "simulate", [output], help)
    simulated.set_defaults(look=simulate)
    simulated.add_argument("--documents", type=positive, default=100, metavar="D", help="number of documents")
    about = "number of tokens (words) in each document"
    simulated.add_argument("--length", type=positive, default=100, metavar="n", help=about)
    about = "draw each document's length from a Poisson distribution with mean --length"
    simulated.add_argument("--poisson", action="store_true", help=about)
    simulated.add_argument("--terms", type=positive, default=100, metavar="V", help="size of the vocabulary")
    simulated.add_argument("--topics", type=topic_count, default=10, metavar="T", help="number of topics")
    about = f"{ALPHA}; one number for all topics, or T numbers (0.1,0.2,...)"
    simulated.add_argument("--alpha", type=alpha, default=0.1, metavar="A", help=about)
    simulated.add_argument("--eta", type=number, default=0.1, metavar="E", help=ETA)
    about = "seed of the random numbers; the same seed gives the same corpus"
    simulated.add_argument("--seed", type=seed, default=0, metavar="s", help=about)
    about = "file to write (required); FILE.ldac.vocab gets the terms, FILE.truth.npz the true topics"
    simulated.add_argument("--out", required=True, metavar="FILE.ldac", help=about)
    help = "write a corpus in another format: x.ldac, docword.x.txt[.gz], x.mtx, x.npz or x.tokens"
    converted = add_parser(commands, "convert", [reading(), output], help)
    converted.set_defaults(look=convert)
    where = converted.add_mutually_exclusive_group(required=True)
    where.add_argument("out", metavar="OUT", nargs="?", help="file to write; its name decides the format")
    where.add_argument("--out", metavar="OUT", dest="out_option", help="the same")
    listed = add_parser(commands, "list", [output], "list the registered corpora and where each can be found")
    listed.set_defaults(look=list_corpora)


def info(options: argparse.Namespace) -> tuple[Summary, str]:
    from bayestopics.cli.reading import load

    return _shown(dict(load(options).summary()))


def convert(options: argparse.Namespace) -> tuple[Summary, str]:
    from bayestopics.cli.reading import load
    from bayestopics.corpus import write_corpus

    out = options.out or options.out_option
    corpus = load(options)
    write_corpus(corpus, out)
    kept = [what for what, values in (("labels", corpus.labels), ("metadata", corpus.metadata)) if values is not None]
    if kept and Path(out).suffix not in (".npz", ".tokens"):
        options.notes.append(f"{out}: this format has no place for the {' and '.join(kept)}; .npz has one")
    return _shown({"out": out, **corpus.summary()})


def list_corpora(options: argparse.Namespace) -> tuple[Summary, str]:
    from bayestopics.corpus.registry import Registry

    registry = Registry()
    places = registry.where(list(registry.entries))
    found = {
        name: {"title": entry.title, "where": places[name], "expected": entry.expected}
        for name, entry in registry.entries.items()
    }
    lines = [f"{name:24} {row['where'] or 'not available':14} {row['title']}" for name, row in found.items()]
    return found, "\n".join(lines)


def demo(options: argparse.Namespace) -> tuple[Summary, str]:
    from bayestopics.base.files import replacing
    from bayestopics.corpus.demo import demo_texts

    out = Path(options.out)
    if out.suffix != ".csv" or out.is_dir():
        raise InputError(f"--out {out}: the name of a file is needed that ends in .csv")
    table = demo_texts(options.documents, options.seed)
    with replacing(out) as temporary:
        table.to_csv(temporary, index=False)
    return _shown({"out": str(out), "documents": len(table), "columns": ", ".join(table.columns)})


def simulate(options: argparse.Namespace) -> tuple[Summary, str]:
    from bayestopics.base.seeds import generator
    from bayestopics.corpus import write_corpus
    from bayestopics.corpus.synthetic import simulate_lda

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
    return _shown({"out": str(out), **simulated.corpus.summary()})


def _shown(found: Summary) -> tuple[Summary, str]:
    """The values, and one line per value for people."""
    names = {name: "nonzero counts" if name == "nonzeros" else name.replace("_", " ") for name in found}
    width = max(map(len, names.values()))
    return found, "\n".join(f"{names[name]:{width}}  {value}" for name, value in found.items())
