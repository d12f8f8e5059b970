"""The cost of a document for a truncation-free learner with more and more components, of which a document uses a few.

Components and documents are generated: a component has a few terms of a fixed vocabulary; a document has some of the
components (HDP) or one of them (DP mixture).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import scipy.sparse as sparse

from bayestopics.bench.timing import Say
from bayestopics.nonparametric.components import Components
from bayestopics.nonparametric.dp_truncation_free import TruncationFreeDPMixture
from bayestopics.nonparametric.hdp_truncation_free import TruncationFreeHDP
from bayestopics.nonparametric.learners import compile_learner
from bayestopics.nonparametric.truncation_free import TruncationFree

Make = Callable[[int, np.random.Generator], TruncationFree]

TERMS, TERMS_A_COMPONENT, TOKENS_A_TERM = 5000, 50, 40
LENGTH, DOCUMENTS, SEEN = 60, 200, 1_000_000  # tokens per document, documents per round, and before round 1
LEARNERS: dict[str, tuple[Make, int]] = {"HDP": (TruncationFreeHDP, 10), "DP mixture": (TruncationFreeDPMixture, 1)}
BATCHES = (1, 100)


def growth(component_counts: tuple[int, ...], rounds: int, say: Say) -> pd.DataFrame:
    """CPU microseconds per document, with quartiles over rounds, by learner, batch size and number of components."""
    for kind in (TruncationFreeHDP, TruncationFreeDPMixture):
        compile_learner(kind)
    rows = []
    for name, (make, touched) in LEARNERS.items():
        for count in component_counts:
            rng = np.random.default_rng(1)
            terms = rng.permuted(np.tile(np.arange(TERMS), (count, 1)), axis=1)[:, :TERMS_A_COMPONENT]
            for batch in BATCHES:
                say(f"{name}, {count} components, batches of {batch}")
                learner = filled(make, terms, touched, rng)
                costs = [_microseconds(learner, documents(terms, touched, rng), batch) for _ in range(rounds + 1)]
                q1, middle, q3 = np.quantile(costs[1:], [0.25, 0.5, 0.75])  # the first round warms caches
                cell = {"learner": name, "touched": touched, "batch": batch, "components": count}
                rows.append(cell | {"us_a_document": middle, "us_a_document_q1": q1, "us_a_document_q3": q3})
    return pd.DataFrame(rows)


def filled(make: Make, terms: np.ndarray, touched: int, rng: np.random.Generator) -> TruncationFree:
    """Prepare the learner as if it had seen many documents of the components with these terms (rows)."""
    learner = make(TERMS, rng)
    components = Components(TERMS, learner.components.eta, len(terms))
    components.stored[terms, np.arange(len(terms))[:, None]] = TOKENS_A_TERM
    components.totals[:] = TERMS_A_COMPONENT * TOKENS_A_TERM
    components.sizes[:] = touched / LENGTH * components.totals  # a table or document has LENGTH / touched tokens
    learner.components, learner.documents_seen = components, SEEN
    return learner


def documents(terms: np.ndarray, touched: int, rng: np.random.Generator) -> sparse.csr_array:
    """Documents of `touched` components each, which on average have equal shares of the tokens."""
    of_document = rng.integers(len(terms), size=(DOCUMENTS, touched))
    of_token = np.take_along_axis(of_document, rng.integers(touched, size=(DOCUMENTS, LENGTH)), axis=1)
    drawn = terms[of_token, rng.integers(TERMS_A_COMPONENT, size=of_token.shape)]
    places = (np.repeat(np.arange(DOCUMENTS), LENGTH), drawn.ravel())
    return sparse.csr_array((np.ones(drawn.size, np.int64), places), (DOCUMENTS, TERMS))


def _microseconds(learner: TruncationFree, counts: sparse.csr_array, batch: int) -> float:
    batches = [counts[start : start + batch] for start in range(0, DOCUMENTS, batch)]
    begin = time.process_time()
    for each in batches:
        learner.partial_fit(each)
    return 1e6 * (time.process_time() - begin) / DOCUMENTS
