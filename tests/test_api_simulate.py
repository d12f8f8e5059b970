"""`simulate`: its arguments, each in its place."""

from __future__ import annotations

import numpy as np

from bayestopics import simulate


def test_sizes_and_the_seed() -> None:
    """Guards sizes that are swapped, and a seed that is not heard."""
    one = simulate(documents=5, length=7, terms=11, topics=2, seed=1)
    assert (one.document_count, one.term_count, one.token_count) == (5, 11, 35)
    assert one.fingerprint == simulate(documents=5, length=7, terms=11, topics=2, seed=1).fingerprint
    assert one.fingerprint != simulate(documents=5, length=7, terms=11, topics=2, seed=2).fingerprint


def test_alpha_and_eta_are_not_swapped() -> None:
    """Guards the sides: with a large eta all topics are alike, and so documents have most of the terms."""
    size = {"documents": 20, "length": 100, "terms": 20, "topics": 4, "seed": 1}
    distinct = [
        np.mean((simulate(**size, alpha=a, eta=e).counts.toarray() > 0).sum(axis=1))
        for a, e in ((1e-3, 1e3), (1e3, 1e-3))
    ]
    assert distinct[0] > 15
    assert distinct[1] < 6
