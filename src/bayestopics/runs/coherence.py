"""Coherence of topics: how often the leading words of a topic occur in the same documents.

With p_i the share of documents that have word i, and p_ij that of those that have both i and j:

- NPMI, the mean over pairs of log(p_ij / (p_i p_j)) / -log p_ij (Bouma 2009): 1 if two words only occur together, 0 if
  they are independent.
- UMass, the mean over pairs of log((D_ij + 1) / D_j), D the numbers of documents, where j is the more probable word of
  the topic (Mimno et al. 2011).
- c_v: word i has the vector of its NPMI with all the words; the mean over words of the cosine of their vector with the
  sum of all vectors (Roeder, Both & Hinneburg 2015).

A corpus is a bag of words, so words occur together if they are in the same document, not in a window of a few words.
For NPMI and c_v these are the numbers of gensim with a window as long as the longest document.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus

TINY = 1e-12  # added to a p_ij before its log is taken, as gensim does: words that never occur together have p_ij = 0


def coherence(topics: dict[int, list[str]], corpus: Corpus) -> pd.DataFrame:
    """One row per topic, from its leading words, the most probable first. Words that the corpus does not have are left
    out; a topic with fewer than two others has nan."""
    place = {term: number for number, term in enumerate(corpus.vocabulary)}
    present = (corpus.counts > 0).astype(np.float64).tocsc()
    rows = []
    for topic, words in topics.items():
        columns = [place[word] for word in words if word in place]
        own = present[:, columns]
        together = (own.T @ own).toarray()  # D_ij; D_i on the diagonal
        kept = np.flatnonzero(np.diag(together) > 0)
        together = together[np.ix_(kept, kept)]
        values = _of_topic(together, corpus.document_count) if len(kept) > 1 else (np.nan,) * 3
        rows.append((topic, len(kept), *values))
    return pd.DataFrame(rows, columns=["topic", "words", "npmi", "umass", "c_v"])


def _of_topic(together: np.ndarray, documents: int) -> tuple[float, float, float]:
    single = np.diag(together)
    later, earlier = np.tril_indices(len(single), k=-1)  # row i, and a more probable word j < i
    shares = together / documents + TINY
    npmi = np.log(shares / np.outer(single, single) * documents**2) / np.maximum(-np.log(shares), TINY)
    umass = np.log((together[later, earlier] + 1) / single[earlier])
    total = npmi.sum(axis=0)
    lengths = np.linalg.norm(npmi, axis=1) * np.linalg.norm(total)
    cosine = np.divide(npmi @ total, lengths, out=np.zeros(len(single)), where=lengths > 0)
    return float(npmi[later, earlier].mean()), float(umass.mean()), float(cosine.mean())


def check(words: int) -> None:
    if words < 2:
        raise InputError(f"coherence needs at least 2 words per topic, not {words}")
