"""Reading the corpus that PATH names."""

from __future__ import annotations

import argparse
from pathlib import Path

from bayestopics.base.problems import InputError
from bayestopics.base.wording import did_you_mean
from bayestopics.cli.arguments import say
from bayestopics.corpus import Corpus, Pruning, read_corpus
from bayestopics.corpus.registry import Registry, default_config


def load(options: argparse.Namespace) -> Corpus:
    """Load a registered corpus or, if PATH is not the name of one, a file or folder."""
    path = Path(options.path)
    if not path.exists() and "/" not in options.path and "." not in options.path:
        try:
            registry = Registry(default_config())
        except InputError as error:
            raise InputError(f"{path}: no such file or folder, and {error}") from None
        if options.path in registry.entries:
            return _noted(registry.load(options.path), options)
        if near := did_you_mean(options.path, registry.entries):
            raise InputError(f"{path}: no such file or folder, and no registered corpus of that name{near}")
    corpus = read_corpus(
        path,
        text_column=options.text_column,
        header={"auto": None, "yes": True, "no": False}[options.header],
        terms=options.terms,
        pruning=pruning_of(options),
        encoding=options.encoding,
    )
    return _noted(corpus, options)


def pruning_of(options: argparse.Namespace) -> Pruning:
    return Pruning(
        stop_words=options.stop_words,
        min_documents=options.min_documents,
        max_documents=options.max_documents,
        min_count=options.min_count,
        token_pattern=options.token_pattern,
        ngrams=options.ngrams,
    )


def _noted(corpus: Corpus, options: argparse.Namespace) -> Corpus:
    """The corpus, checked; its notes are printed at once: nobody should wait for topics of the wrong column."""
    _checked(corpus, options)
    for note in corpus.notes:
        say(f"note: {note}")
    return corpus


def _checked(corpus: Corpus, options: argparse.Namespace) -> Corpus:
    if options.terms not in (None, corpus.term_count):
        raise InputError(f"{options.path}: --terms {options.terms} disagrees with its {corpus.term_count} terms")
    if corpus.empty_documents:  # printed at the end
        options.notes.append(
            f"{options.path}: the corpus has empty documents, which are kept: {corpus.empty_documents}"
        )
    return corpus
