"""Chib's (1995) estimator with a main chain that is independent of its pilot run: for comparison only.

The two runs number their topics differently, and on a corpus of some size neither ever renumbers them. So the main
chain is about as far from z* as a chain can be, and how far depends on which topics happen to have the same numbers.
"""

from __future__ import annotations

import numpy as np

from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.chib import chib
from bayestopics.lda.state import Prior


def repeat(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> float:
    """One estimate of log m(T), from `sweeps` sweeps of the main chain."""
    pilot = max(1, sweeps // 3)
    return chib(corpus, topics, prior, sweeps=sweeps, pilot=pilot, rng=rng, continued=False).log_evidence
