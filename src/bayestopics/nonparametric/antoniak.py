"""The number of tables in a Chinese restaurant (Antoniak 1974), drawn by seating its customers one after the other.

Customer i + 1 opens a table with probability c / (c + i). Stirling numbers give the same distribution, but overflow.
"""

from __future__ import annotations

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.lda.uniforms import uniform


@kernel
def draw_tables(customers: int, concentration: float, words: np.ndarray) -> int:
    """The number of tables of one restaurant."""
    tables = min(customers, 1)
    for i in range(1, customers):
        if uniform(words) * (concentration + i) < concentration:
            tables += 1
    return tables


@kernel
def draw_topic_tables(document_topic: np.ndarray, alpha: np.ndarray, words: np.ndarray) -> np.ndarray:
    """int64[T]: the tables of each topic over all documents; each document and topic k is a restaurant with alpha_k."""
    documents, labels = document_topic.shape
    tables = np.zeros(labels, np.int64)
    for d in range(documents):
        for t in range(labels):
            if document_topic[d, t] > 0:
                tables[t] += draw_tables(document_topic[d, t], alpha[t], words)
    return tables
