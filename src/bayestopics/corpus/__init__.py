"""Corpora: the type, files, texts, generators, and the registry of the papers' corpora."""

from bayestopics.corpus.corpus import Corpus
from bayestopics.corpus.io import read_corpus, write_corpus
from bayestopics.corpus.text import Pruning

__all__ = ["Corpus", "Pruning", "read_corpus", "write_corpus"]
