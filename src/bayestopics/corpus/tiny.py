"""A corpus to compile kernels on, so that no timing holds a compilation."""

from __future__ import annotations

import numpy as np

from bayestopics.corpus.corpus import Corpus


def tiny_corpus() -> Corpus:
    """Two documents of a term each, one of which occurs twice."""
    tokens = np.array([0, 1])
    return Corpus.from_counts(tokens, tokens, np.array([2, 1]), document_count=2, term_count=2)
