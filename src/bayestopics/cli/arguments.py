"""What the commands share: the parser, PATH and how to read it, the model, where the record goes; types of values."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn, TypeVar

from bayestopics.base.problems import InputError

Value = TypeVar("Value", int, float)


class Parser(argparse.ArgumentParser):
    """argparse, with errors in one line."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see `{self.prog} --help`)")


def add_command(commands: Any, command: ModuleType) -> None:
    """A command that computes: a module with NAME, HELP, PARENTS, `arguments`, `check` and `call`."""
    parents = [reading(), *command.PARENTS, record(), output()]
    parser = add_parser(commands, command.NAME, parents, command.HELP)
    parser.set_defaults(command=command)
    command.arguments(parser)


def add_parser(commands: Any, name: str, parents: list[Parser], help: str) -> Parser:
    parser: Parser = commands.add_parser(
        name, help=help, description=help, parents=parents, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.set_defaults(command=None, notes=[])
    return parser


def output() -> Parser:
    parent = Parser(add_help=False)
    parent.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    return parent


def record() -> Parser:
    """Where the record goes."""
    parent = Parser(add_help=False)
    group = parent.add_argument_group("record")
    about = "a folder for the run record; a run that was killed goes on where it was when it is called again"
    group.add_argument("--out", metavar="DIR", help=about)
    about = "replace a different finished run in that folder, or compute the same one again"
    group.add_argument("--overwrite", action="store_true", help=about)
    about = "publish the record to MLflow: to MLFLOW_TRACKING_URI, or to results/mlflow.db in this folder"
    group.add_argument("--track", action="store_true", help=about)
    group.add_argument("--seed", type=count, default=0, metavar="s", help="root of all random numbers")
    return parent


def reading() -> Parser:
    """PATH, and how to read it."""
    parent = Parser(add_help=False)
    parent.add_argument("path", metavar="PATH", help="a registered corpus, a file or a folder (see bayestopics --help)")
    group = parent.add_argument_group("reading")
    group.add_argument("--terms", type=positive, metavar="V", help="number of terms, where no vocabulary says it")
    texts = parent.add_argument_group("texts (a TSV or a folder)")
    texts.add_argument("--stop-words", default="english", help="english, none, or a file with one word per line")
    texts.add_argument("--min-documents", type=positive, default=1, help="keep terms in at least so many documents")
    texts.add_argument("--max-fraction", type=float, default=1.0, help="keep terms in at most this share of documents")
    texts.add_argument("--min-count", type=positive, default=1, help="keep terms that occur at least so often")
    texts.add_argument("--encoding", default="utf-8", help="of the texts")
    return parent


def model(sweeps: int, burn_in: int) -> Parser:
    """One number of topics, a prior and a chain."""
    parent = Parser(add_help=False)
    group = parent.add_argument_group("model and chain")
    group.add_argument("--topics", type=positive, default=10, metavar="T", help="number of topics")
    group.add_argument("--alpha", type=alpha, default=0.1, metavar="A", help="a number, or T numbers: 0.1,0.2,...")
    group.add_argument("--eta", type=number, default=0.01, metavar="E", help="Dirichlet parameter of the topics")
    group.add_argument("--sampler", default="single-site", metavar="NAME", help="which sampler")
    group.add_argument("--sweeps", type=positive, default=sweeps, metavar="n", help="sweeps kept, after the burn-in")
    group.add_argument("--burn-in", type=count, default=burn_in, metavar="b", help="sweeps dropped first")
    return parent


def add_workers(parser: Any, help: str) -> None:
    about = f"{help}; the results do not depend on it"
    parser.add_argument("--workers", type=positive, default=cores(), metavar="w", help=about)


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """These options, for a function whose parameters have the same names."""
    return {name: getattr(options, name) for name in names}


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# -- types ---------------------------------------------------------------------------------------


def positive(text: str) -> int:
    value = count(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    if value >= 2**31:
        raise argparse.ArgumentTypeError(f"{text} is too large")
    return value


def counts(text: str) -> list[int]:
    """5, 1-6 or 5,10,20."""
    counts: list[int] = []
    for part in text.split(","):
        low, dash, high = part.partition("-")
        counts += range(positive(low), positive(high) + 1) if dash else [positive(part)]
    if not counts:
        raise argparse.ArgumentTypeError(f"{text!r} is an empty range")
    return counts


def count(text: str) -> int:
    value = _read(int, text, "a whole number")
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def _read(kind: Callable[[str], Value], text: str, what: str) -> Value:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None


def number(text: str) -> float:
    value = _read(float, text, "a number")
    if not math.isfinite(value) or value <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not positive and finite")
    return value


def alpha(text: str) -> float | tuple[float, ...]:
    values = tuple(number(part) for part in text.split(","))
    return values[0] if len(values) == 1 else values


def interval(text: str) -> tuple[float, float]:
    """0.1,2."""
    low, comma, high = text.partition(",")
    if not comma or not number(low) < number(high):
        raise argparse.ArgumentTypeError(f"{text!r} is not two rising numbers, as 0.1,2")
    return number(low), number(high)


def shape(text: str) -> tuple[int, int]:
    """9x11."""
    first, cross, second = text.partition("x")
    if not cross:
        raise argparse.ArgumentTypeError(f"{text!r} is not a grid, as 9x11")
    return positive(first), positive(second)


def share(text: str) -> float:
    value = number(text)
    if value > 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share between 0 and 1")
    return value


def documents(text: str) -> int | list[int] | None:
    """How many, or, with a comma, which; None for all."""
    if text == "all":
        return None
    return [count(part) for part in text.split(",") if part] if "," in text else positive(text)
