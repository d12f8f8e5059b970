"""The command line: `bayestopics`. Every command prints one JSON object with --json."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayestopics import __version__
from bayestopics.base.guard import NotFiniteError
from bayestopics.base.problems import InputError
from bayestopics.base.wording import visible
from bayestopics.cli import corpus, evidence, fit, hdp, hyper, infer, score, select, topics
from bayestopics.cli.arguments import Parser, add_command, output, say

if TYPE_CHECKING:
    from bayestopics.corpus import Corpus
    from bayestopics.runs.kinds import CommandResult

DESCRIPTION = """\
Bayesian topic models: how many topics, which hyperparameters, how good are
the predictions? Every answer comes with its error.

  bayestopics corpus info my.ldac              can the corpus be read?
  bayestopics fit my.ldac --topics 20          find 20 topics and list them
  bayestopics infer new.csv --fit DIR          topics of new documents, by a fit
  bayestopics evidence my.ldac --topics 2-12   compare 2 to 12 topics
  bayestopics topics my.ldac --max 40          how many topics? their posterior
  bayestopics hyper my.ldac --topics 20        find alpha and eta for 20 topics
  bayestopics select my.ldac --out report      choose all three, write a report
  bayestopics hdp my.ldac                      let the model find their number
  bayestopics score my.ldac --topics 5,10,20   predict held-out words

PATH is a registered corpus (see `bayestopics corpus list`) or your own file:
  x.csv, x.tsv         texts, one per row, in a column `text` or --text-column
  x.jsonl, x.parquet   the same as JSON lines or Parquet
  a folder             texts, one per file
  x.ldac               LDA-C; terms in x.ldac.vocab or x.vocab
  docword.x.txt[.gz]   UCI bag of words; terms in vocab.x.txt
  x.mtx                Matrix Market, documents x terms; terms in x.mtx.vocab
  x.npz                a scipy sparse matrix, or a file of `corpus convert`

Words that the help uses: a term is a word of the vocabulary, a token one
occurrence of a term in a document. T is the number of topics. alpha and eta
are the Dirichlet parameters of the topics in a document and of the terms in
a topic. A sweep updates the topic of every token once; a chain is a sequence
of sweeps.

A run that was interrupted continues where it stopped when the same command is
given again. Every command but corpus can keep its result in a folder
(--out DIR) and publish it to MLflow (--track); every command can print JSON
(--json).
"""
COMMANDS = (fit, infer, evidence, topics, hyper, select, hdp, score)


def build_parser() -> Parser:
    parser = Parser(prog="bayestopics", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"bayestopics {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    corpora = commands.add_parser("corpus", help="inspect, simulate, convert and list corpora")
    corpus.add(corpora.add_subparsers(title="commands", metavar="COMMAND", required=True), output())
    for command in COMMANDS:
        add_command(commands, command)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        options = build_parser().parse_args(arguments)
        if options.command is not None:
            return _compute(options)
        found, text = options.look(options)
        _print(_json(found) if options.json else text)
        return _notes(options)
    except InputError as error:
        return say(str(error), 2)
    except BrokenPipeError:  # the reader left, as in `| head -1`; nothing more may be flushed to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # a disk that is full, a folder that may not be written
        return say(_fault(error), 2)
    except NotFiniteError as error:
        return say(f"stopped: {error}", 1)
    except MemoryError as error:
        return say(f"not enough memory ({error})", 2)
    except KeyboardInterrupt:
        return say("interrupted; the same command continues from its last checkpoint", 130)


def _compute(options: argparse.Namespace) -> int:
    """Compute and print first; write the report and publish afterwards, so that a finished result is never lost."""
    from bayestopics.base.cluster import current, using_cluster
    from bayestopics.cli.reading import load
    from bayestopics.runs.driver import NotKept
    from bayestopics.runs.record import check_place

    out = None if options.out is None else Path(options.out)
    if out is not None:
        check_place(out)
    if (report := getattr(options, "report", None)) is not None and Path(report).is_dir():
        raise InputError(f"--report {report}: is a folder")
    options.command.check(options)  # an error in the model is reported before a large corpus is read
    texts = load(options)
    options.place = {"seed": options.seed, "out": out, "overwrite": options.overwrite}
    try:
        with using_cluster(options.cluster):
            if (cluster := current()) is not None:
                options.workers = max(2, cluster.workers)  # one would mean: here
            result, lost = options.command.call(texts, options), None
    except NotKept as error:
        result, lost = error.result, error
    _print(_json(result.summary()) if options.json else result.text())
    if lost is not None:
        return say(str(lost), 2)
    write_all = getattr(options.command, "report", None)
    steps: list[tuple[Any, ...]] = [(write_all, result, texts, out)] if write_all and out is not None else []
    if report is not None:
        steps.append((write_report, result, texts, report))
    return _afterwards([*steps, (track, result, out)] if options.track else steps) or _notes(options)


def _afterwards(steps: Sequence[tuple[Any, ...]]) -> int:
    """Run these steps; a failure is reported in one line, and the result stays."""
    code = 0
    for step, *given in steps:
        try:
            step(*given)
        except InputError as error:
            code = say(str(error), 2)
        except OSError as error:
            code = say(_fault(error), 2)
        except Exception as error:  # drawing and publishing use many libraries
            code = say(f"{step.__name__}: {type(error).__name__}: {error}", 2)
    return code


def write_report(result: CommandResult, texts: Corpus, path: str) -> None:
    from bayestopics.pages import report

    report.write_report(result, texts, path)


def track(result: CommandResult, out: Path | None) -> None:
    """Publish the record to MLflow; without --out, from a temporary folder."""
    import tempfile

    from bayestopics.runs.publish import publish_or_say

    if out is not None:
        publish_or_say([out])
        return
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "record")
        publish_or_say([Path(folder) / "record"])


def _fault(error: OSError) -> str:
    place = error.filename2 or error.filename
    return f"{place}: {error.strerror}" if place else str(error)


def _print(text: str) -> None:
    """Print lines; what a term or a file name would do to a terminal is shown in place of being done."""
    print("\n".join(map(visible, text.split("\n"))), flush=True)


def _json(summary: dict[str, Any]) -> str:
    from bayestopics.base.plain import without_nan

    return json.dumps(without_nan(summary), allow_nan=False)


def _notes(options: argparse.Namespace) -> int:
    for note in options.notes:
        say(f"note: {note}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
