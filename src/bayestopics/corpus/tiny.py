"""A tiny corpus on which kernels are compiled before time is measured."""

from __future__ import annotations

import numpy as np

from bayestopics.corpus.corpus import Corpus


def tiny_corpus() -> Corpus:
    """Two documents: one has a term twice, the other has another term once."""
    tokens = np.array([0, 1])
    return Corpus.from_counts(tokens, tokens, np.array([2, 1]), document_count=2, term_count=2)
