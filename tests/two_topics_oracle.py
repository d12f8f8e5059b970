"""log m(h) of two topics, exactly, for corpora of a hundred tokens and a few terms.

p(w | z, eta) depends on z only through how many tokens of each term are in the first topic. The law of these numbers
under the prior of z is a convolution over documents: an array with one axis per term, far smaller than all 2^N
assignments. Shares no code with the package.
"""

from __future__ import annotations

from itertools import product
from math import comb, prod

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp


def log_marginal(counts: np.ndarray, alpha: float, eta: float) -> float:
    """log p(w | T = 2, alpha, eta) of the token sequence, from the counts (documents x terms)."""
    totals = counts.sum(axis=0)
    law = np.zeros(totals + 1)
    law[(0,) * len(totals)] = 1.0
    for document in counts:
        law = _with(law, document, alpha)
    first = np.array(np.meshgrid(*(np.arange(n + 1) for n in totals), indexing="ij"), dtype=float)
    log_words = _log_topic(first, eta) + _log_topic(totals.reshape(-1, *[1] * len(totals)) - first, eta)
    with np.errstate(divide="ignore"):
        return float(logsumexp(np.log(law) + log_words))


def _with(law: np.ndarray, document: np.ndarray, alpha: float) -> np.ndarray:
    """The law of the numbers of tokens in the first topic, with one more document."""
    made, length = np.zeros_like(law), int(document.sum())
    for ones in product(*(range(n + 1) for n in document)):
        k = sum(ones)
        log_p = gammaln(2 * alpha) - gammaln(length + 2 * alpha) - 2 * gammaln(alpha)
        log_p += gammaln(k + alpha) + gammaln(length - k + alpha)
        ways = prod(comb(int(n), one) for n, one in zip(document, ones, strict=True))
        to = tuple(slice(one, None) for one in ones)
        rest = tuple(slice(0, size - one) for size, one in zip(law.shape, ones, strict=True))
        made[to] += ways * np.exp(log_p) * law[rest]
    return made


def _log_topic(counts: np.ndarray, eta: float) -> np.ndarray:
    """Along the first axis: the terms."""
    terms = len(counts)
    words = (gammaln(counts + eta) - gammaln(eta)).sum(axis=0)
    return np.asarray(gammaln(terms * eta) - gammaln(counts.sum(axis=0) + terms * eta) + words)


def best(counts: np.ndarray, start: tuple[float, float]) -> np.ndarray:
    """The (alpha, eta) with the largest marginal likelihood near the start."""
    found = minimize(
        lambda x: -log_marginal(counts, *np.exp(x)),
        np.log(start),
        method="Nelder-Mead",
        options={"xatol": 1e-4, "fatol": 1e-7},
    )
    return np.exp(found.x)
