"""log m(h) and I(h) of two topics, exactly, for corpora of a hundred tokens and a few terms.

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
from scipy.stats import beta


def log_marginal(counts: np.ndarray, alpha: float | tuple[float, float], eta: float) -> float:
    """log p(w | T = 2, alpha, eta) of the token sequence, from the counts (documents x terms); alpha is one number, or
    one for each topic."""
    law = _law(counts, counts.sum(axis=0), alpha)
    first, second = _in_topics(counts.sum(axis=0))
    with np.errstate(divide="ignore"):
        return float(logsumexp(np.log(law) + _log_topic(first, eta) + _log_topic(second, eta)))


def expectations(
    counts: np.ndarray, alpha: float, eta: float, documents: tuple[int, int], close: float
) -> tuple[float, float]:
    """(P(the topic weights of these two documents are at most `close` apart), E[squared distance of the topics])."""
    totals, pair = counts.sum(axis=0), list(documents)
    first, second = _in_topics(totals)
    log_words = _log_topic(first, eta) + _log_topic(second, eta)
    words = np.exp(log_words - log_words.max())
    moments = [_moments(first, eta), _moments(second, eta)]
    apart = sum(squares.sum(axis=0) for _, squares in moments) - 2 * (moments[0][0] * moments[1][0]).sum(axis=0)
    rest = _law(np.delete(counts, pair, axis=0), totals, alpha)
    lengths, mass, near, squared = counts[pair].sum(axis=1), 0.0, 0.0, 0.0
    for one in range(lengths[0] + 1):
        part = _with(rest, counts[pair[0]], alpha, one)
        for other in range(lengths[1] + 1):
            law = _with(part, counts[pair[1]], alpha, other) * words
            mass, squared = mass + law.sum(), squared + (law * apart).sum()
            near += law.sum() * _close(one, other, lengths, alpha, close / np.sqrt(2))
    return near / mass, squared / mass


def _close(one: int, other: int, lengths: np.ndarray, alpha: float, close: float) -> float:
    """P(|x - y| <= close) of two beta variables, by the midpoint rule in the quantiles of the first."""
    x = beta.ppf((np.arange(4000) + 0.5) / 4000, one + alpha, lengths[0] - one + alpha)
    below = beta.cdf(np.array([x + close, x - close]), other + alpha, lengths[1] - other + alpha)
    return float(np.mean(below[0] - below[1]))


def _moments(counts: np.ndarray, eta: float) -> tuple[np.ndarray, np.ndarray]:
    """E[beta_v] and E[beta_v^2] of a topic with these counts (terms along the first axis)."""
    total = counts.sum(axis=0) + len(counts) * eta
    return (counts + eta) / total, (counts + eta) * (counts + eta + 1) / (total * (total + 1))


def _in_topics(totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of tokens of each term in the first and in the second topic, for every cell of the law."""
    first = np.array(np.meshgrid(*(np.arange(n + 1) for n in totals), indexing="ij"), dtype=float)
    return first, totals.reshape(-1, *[1] * len(totals)) - first


def _law(counts: np.ndarray, totals: np.ndarray, alpha: float | tuple[float, float]) -> np.ndarray:
    """The law of the numbers of tokens of each term in the first topic, under the prior of z."""
    law = np.zeros(totals + 1)
    law[(0,) * len(totals)] = 1.0
    for document in counts:
        law = _with(law, document, alpha)
    return law


def _with(
    law: np.ndarray, document: np.ndarray, alpha: float | tuple[float, float], only: int | None = None
) -> np.ndarray:
    """The law with one more document; with `only`, of this many of its tokens in the first topic."""
    made, length, alphas = np.zeros_like(law), int(document.sum()), np.broadcast_to(np.asarray(alpha, float), 2)
    for ones in product(*(range(n + 1) for n in document)):
        k = sum(ones)
        if only is not None and k != only:
            continue
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
