"""Study `number_of_topics`: the factors of p(w, z | T) that depend on T but not on z; a program may forget them."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from bayestopics.runs.result import Result

SLIP = "G(V eta)^T"


def constants(record: Result, topics: np.ndarray) -> dict[str, np.ndarray]:
    """The logs of these factors at each T, for the corpus and prior of an evidence record."""
    params, size = record.task.params, record.tables["size"].iloc[0]
    alpha, eta, documents, terms = params["alpha"], params["eta"], float(size["documents"]), float(size["terms"])
    return {
        "G(T alpha)^D": documents * gammaln(topics * alpha),
        "G(alpha)^-TD": -documents * topics * gammaln(alpha),
        SLIP: topics * gammaln(terms * eta),
        "G(eta)^-VT": -terms * topics * gammaln(eta),
    }
