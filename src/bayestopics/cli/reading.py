"""Reading the corpus that PATH names."""

from __future__ import annotations

import argparse
from pathlib import Path

from bayestopics.base.problems import InputError
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
            return _checked(registry.load(options.path), options)
    pruning = Pruning(options.stop_words, options.min_documents, options.max_fraction, options.min_count)
    return _checked(read_corpus(path, terms=options.terms, pruning=pruning, encoding=options.encoding), options)


def _checked(corpus: Corpus, options: argparse.Namespace) -> Corpus:
    if options.terms not in (None, corpus.term_count):
        raise InputError(f"{options.path}: --terms {options.terms} disagrees with its {corpus.term_count} terms")
    if corpus.empty_documents:  # printed at the end, so that an error remains the only line on standard error
        options.notes.append(
            f"{options.path}: the corpus has empty documents, which are kept: {corpus.empty_documents}"
        )
    return corpus
