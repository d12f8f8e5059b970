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


def log_marginal(counts: np.ndarray, alpha: float | tuple[float, float], eta: float) -> float:
    """log p(w | T = 2, alpha, eta) of the token sequence, from the counts (documents x terms); alpha is one number, or
    one for each topic."""
    alphas = np.broadcast_to(np.asarray(alpha, float), 2)
    totals = counts.sum(axis=0)
    law = np.zeros(totals + 1)
    law[(0,) * len(totals)] = 1.0
    for document in counts:
        law = _with(law, document, alphas)
    first = np.array(np.meshgrid(*(np.arange(n + 1) for n in totals), indexing="ij"), dtype=float)
    log_words = _log_topic(first, eta) + _log_topic(totals.reshape(-1, *[1] * len(totals)) - first, eta)
    with np.errstate(divide="ignore"):
        return float(logsumexp(np.log(law) + log_words))


def _with(law: np.ndarray, document: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """The law of the numbers of tokens in the first topic, with one more document."""
    made, length = np.zeros_like(law), int(document.sum())
    for ones in product(*(range(n + 1) for n in document)):
        k = sum(ones)
        log_p = gammaln(alphas.sum()) - gammaln(length + alphas.sum()) - gammaln(alphas).sum()
        log_p += gammaln(k + alphas[0]) + gammaln(length - k + alphas[1])
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


def best(counts: np.ndarray, start: tuple[float, ...]) -> np.ndarray:
    """The (alpha, eta), or (alpha_1, alpha_2, eta), with the largest marginal likelihood near the start."""
    found = minimize(
        lambda x: -log_marginal(counts, tuple(np.exp(x[:-1])), float(np.exp(x[-1]))),
        np.log(start),
        method="Nelder-Mead",
        options={"xatol": 1e-4, "fatol": 1e-7},
    )
    return np.exp(found.x)
