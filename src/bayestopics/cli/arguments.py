"""What the commands share: the parser, groups of options that several commands have, and types of option values."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn, TypeVar

from bayestopics.base.problems import InputError
from bayestopics.base.wording import did_you_mean, quoted, visible
from bayestopics.corpus.text import TOKEN
from bayestopics.lda import SAMPLERS

Value = TypeVar("Value", int, float)


class Parser(argparse.ArgumentParser):
    """argparse, but an error is one line, and an unknown word gets the known one that is most like it."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see `{self.prog} --help`)")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """A command refuses what it does not know itself, because only it knows its options."""
        found, rest = super().parse_known_args(args, namespace)
        if rest and self._subparsers is None:
            option = next((word.partition("=")[0] for word in rest if word.startswith("-")), None)
            if option is None:
                self.error(f"unrecognized arguments: {' '.join(rest)}")
            self.error(f"unknown option {option}{did_you_mean(option, self._option_string_actions)}")
        return found, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += did_you_mean(str(value), map(str, action.choices or ()))
            raise


class HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Adds the default to a help text, unless it is None or False: then the text itself says what happens."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        told = action.default is None or action.default is False
        return action.help if told else super()._get_help_string(action)


def add_command(commands: Any, command: ModuleType) -> None:
    """Add a command that computes: a module with NAME, HELP, PARENTS, `arguments`, `check` and `call`."""
    parents = [reading(), *command.PARENTS, record(), output()]
    parser = add_parser(commands, command.NAME, parents, command.HELP)
    parser.set_defaults(command=command)
    command.arguments(parser)


def add_parser(commands: Any, name: str, parents: list[Parser], help: str) -> Parser:
    parser: Parser = commands.add_parser(
        name, help=help, description=help, parents=parents, formatter_class=HelpFormatter
    )
    parser.set_defaults(command=None, notes=[])
    return parser


def output() -> Parser:
    parent = Parser(add_help=False)
    parent.add_argument("--json", action="store_true", help="print the result as one JSON object")
    return parent


def record() -> Parser:
    """Where the run record goes, and the seed."""
    parent = Parser(add_help=False)
    group = parent.add_argument_group("record")
    about = "folder to keep the result in (default: nothing is kept); a finished run there is read instead of repeated"
    group.add_argument("--out", metavar="DIR", help=about)
    about = "compute again, and replace the run that is in the folder --out, even if it is a different one"
    group.add_argument("--overwrite", action="store_true", help=about)
    about = "publish the result to MLflow, at MLFLOW_TRACKING_URI or in results/mlflow.db of the present folder"
    group.add_argument("--track", action="store_true", help=about)
    about = "seed of the random numbers; the same seed gives the same result"
    group.add_argument("--seed", type=seed, default=0, metavar="s", help=about)
    return parent


def reading() -> Parser:
    """PATH, and the options that say how to read it."""
    parent = Parser(add_help=False)
    parent.add_argument(
        "path", metavar="PATH", help="corpus: a registered name, a file or a folder (see bayestopics --help)"
    )
    group = parent.add_argument_group("reading the corpus")
    about = "size of the vocabulary, for a file without one (default: the largest term number in the file, plus 1)"
    group.add_argument("--terms", type=positive, metavar="V", help=about)
    texts = parent.add_argument_group("reading texts (CSV, TSV, JSON lines, Parquet, or a folder)")
    about = "column of the texts (default: the column text, or the only column that holds texts)"
    texts.add_argument("--text-column", metavar="NAME", help=about)
    about = "whether the first line of a CSV or TSV file names its columns: yes, no, or auto to see from its content"
    texts.add_argument("--header", choices=("auto", "yes", "no"), default="auto", help=about)
    about = "words to leave out: english, none, a file with one word per line, or de, fr, ... (needs stopwordsiso)"
    texts.add_argument("--stop-words", default="english", metavar="WORDS", help=about)
    about = "drop terms in fewer than n documents, or in less than this share (default: 2; 1 for under 100 documents)"
    texts.add_argument("--min-documents", type=number, metavar="n", help=about)
    about = "drop terms in more than n documents, or in more than this share (default: 0.5; 1 for under 100 documents)"
    texts.add_argument("--max-documents", "--max-fraction", type=number, metavar="n", help=about)
    about = "drop terms that occur fewer than n times in all"
    texts.add_argument("--min-count", type=positive, default=1, metavar="n", help=about)
    about = "how many words in a row make a term: 1, or 1-2 for words and pairs of words"
    texts.add_argument("--ngrams", type=ngrams, default=(1, 1), metavar="n", help=about)
    about = "regular expression of a word in lower-case text (default: three or more letters of any script)"
    texts.add_argument("--token-pattern", default=TOKEN, metavar="REGEX", help=about)
    texts.add_argument("--encoding", default="utf-8", metavar="NAME", help="character encoding of the texts")
    return parent


ALPHA = "Dirichlet parameter of the topics in a document (small: few topics per document)"
ETA = "Dirichlet parameter of the terms in a topic (small: few terms per topic)"
SAMPLER = f"sampler of the topics: {', '.join(SAMPLERS)}"


def model(sweeps: int, burn_in: int, several: bool = False) -> Parser:
    """The number of topics, or several, the prior, the sampler and the length of its chains."""
    parent = Parser(add_help=False)
    group = parent.add_argument_group("model and chain")
    if several:
        about = "number of topics, or several to compare: 5, 1-6 or 5,10,20"
        group.add_argument("--topics", type=counts, default="10", metavar="T", help=about)
    else:
        group.add_argument("--topics", type=topic_count, default=10, metavar="T", help="number of topics")
    about = f"{ALPHA}; one number for all topics, or T numbers (0.1,0.2,...)"
    group.add_argument("--alpha", type=alpha, default=0.1, metavar="A", help=about)
    group.add_argument("--eta", type=number, default=0.01, metavar="E", help=ETA)
    group.add_argument("--sampler", default="single-site", metavar="NAME", help=SAMPLER)
    about = "number of sweeps to keep from each chain; a sweep updates every token once"
    group.add_argument("--sweeps", type=positive, default=sweeps, metavar="n", help=about)
    about = "number of sweeps to drop before the first one that is kept"
    group.add_argument("--burn-in", type=count, default=burn_in, metavar="b", help=about)
    return parent


def add_workers(parser: Any, help: str) -> None:
    about = f"{help}; the results do not depend on it (default: all cores, here %(default)s)"
    parser.add_argument("--workers", type=workers, default=cores(), metavar="w", help=about)
    about = "Dask cluster that shares the work instead: the address of its scheduler (tcp://...), or local:N for N "
    about += "processes here; the results do not depend on it"
    parser.add_argument("--cluster", metavar="ADDRESS", help=about)


def add_report(parser: Any) -> None:
    about = "write a report for the browser to this file, such as report.html; with --out, it is in that folder anyway"
    parser.add_argument("--report", metavar="FILE", help=about)


def given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """These options, for a function whose parameters have the same names."""
    return {name: getattr(options, name) for name in names}


def say(message: str, code: int = 0) -> int:
    """Print one line on standard error, even if a file name or a library puts line breaks into the message."""
    print("bayestopics: " + visible(" ".join(message.splitlines())), file=sys.stderr)
    return code


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# -- types ---------------------------------------------------------------------------------------


MOST_TOPICS = 1_000_000
MOST_CHAINS = 10_000  # also the longest list of numbers of topics, each of which has chains of its own
MOST_WORKERS = 1000
MOST_POINTS = 1_000_000  # of a grid
MOST_PARTICLES = 1_000_000


def positive(text: str) -> int:
    value = count(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value


def up_to(most: int) -> Callable[[str], int]:
    """A whole number from 1 to this one: more would fill the memory before anything is computed."""

    def read(text: str) -> int:
        value = positive(text)
        if value > most:
            raise argparse.ArgumentTypeError(f"{text} is more than {most:,}")
        return value

    return read


topic_count, chains, workers, particles = map(up_to, (MOST_TOPICS, MOST_CHAINS, MOST_WORKERS, MOST_PARTICLES))


def topic_limit(text: str) -> int:
    """A number of topics, or 0 for no limit."""
    return topic_count(text) if count(text) else 0


def counts(text: str) -> list[int]:
    """5, 1-6 or 5,10,20."""
    counts: list[int] = []
    for part in text.split(","):
        low, dash, high = part.partition("-")
        between = dash and low  # without the first number, it is a negative one
        more = range(topic_count(low), topic_count(high) + 1) if between else [topic_count(part)]
        if len(counts) + len(more) > MOST_CHAINS:
            raise argparse.ArgumentTypeError(f"{quoted(text)} has more than {MOST_CHAINS:,} numbers")
        counts += more
    if not counts:
        raise argparse.ArgumentTypeError(f"{text!r} is an empty range")
    return counts


def count(text: str) -> int:
    return _whole(text, 2**31)


def seed(text: str) -> int:
    return _whole(text, 2**64)


def _whole(text: str, limit: int) -> int:
    value = _read(int, text, "a whole number")
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text[:60]} is negative")
    if value >= limit:
        raise argparse.ArgumentTypeError(f"{text[:60]} is too large")
    return value


def _read(kind: Callable[[str], Value], text: str, what: str) -> Value:
    try:
        if "_" in text or not text.isascii():  # Python takes 1_000 and digits of other scripts for numbers
            raise ValueError
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not {what}") from None


def number(text: str) -> float:
    value = _read(float, text, "a number")
    if not math.isfinite(value) or value <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not positive and finite")
    return value


def duration(text: str) -> float:
    """Seconds: 90s, 20m, 1h30m."""
    found = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text, re.ASCII)
    seconds = sum(int(part) * unit for part, unit in zip(found.groups("0"), (3600, 60, 1), strict=True)) if found else 0
    if seconds == 0 or seconds >= 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration: write 90s, 20m or 1h30m")
    return float(seconds)


def ngrams(text: str) -> tuple[int, int]:
    """1, 2 or 1-2."""
    low, dash, high = text.partition("-")
    if dash and positive(low) > positive(high):
        raise argparse.ArgumentTypeError(f"{text!r} is not a range: write the smaller number first, as in 1-2")
    return positive(low), positive(high if dash else low)


def alpha(text: str) -> float | tuple[float, ...]:
    values = tuple(number(part) for part in text.split(","))
    return values[0] if len(values) == 1 else values


def interval(text: str) -> tuple[float, float]:
    """0.1,2."""
    low, comma, high = text.partition(",")
    if not comma or not number(low) < number(high):
        raise argparse.ArgumentTypeError(f"{text!r} is not a range: write the smaller number first, as in 0.1,2")
    return number(low), number(high)


def shape(text: str) -> tuple[int, int]:
    """9x11."""
    first, cross, second = text.partition("x")
    if not cross:
        raise argparse.ArgumentTypeError(f"{text!r} is not a grid: write two numbers of points, as in 9x11")
    points = positive(first), positive(second)
    if points[0] * points[1] > MOST_POINTS:
        raise argparse.ArgumentTypeError(f"{text} has more than {MOST_POINTS:,} points")
    return points


def share(text: str) -> float:
    value = number(text)
    if value > 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share between 0 and 1")
    return value


def documents(text: str) -> int | list[int] | None:
    """How many documents; with a comma, which ones; None for all of them."""
    if text == "all":
        return None
    return [count(part) for part in text.split(",") if part] if "," in text else positive(text)
