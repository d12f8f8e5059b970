"""The DP mixture of multinomials, with one component per document: the probability of a held-out document.

There are two forms, both exact. `plug_in` is the paper's [Wang & Blei, S.3]: it takes the means of theta and pi for the
truth. `collapsed` is E_q[p(x)] with theta and pi integrated out: what the model believes, including its uncertainty.
Both include the components not yet seen, with the mean of their prior, so that the probabilities of all documents of
one length sum to one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from scipy.special import logsumexp

from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric.stream import Bags, Learner
from bayestopics.nonparametric.truncation_free import factors_of_a_product

BLOCK = 512  # documents at a time, to bound the memory


@dataclass(frozen=True, eq=False)
class HeldOut:
    """log p(x) of each document, read as a sequence of tokens."""

    log_likelihoods: np.ndarray
    tokens: int

    @property
    def per_word(self) -> float:
        """sum_d log p(x_d) / tokens."""
        return float(self.log_likelihoods.sum() / self.tokens)


def plug_in(learner: Learner, corpus: Corpus | sparse.csr_array) -> HeldOut:
    """log sum_k pi_k prod_w theta_kw^c_w, at the means of pi and theta."""
    bags = _with_words(corpus, learner.term_count)
    weights, theta = learner.mean_model()
    log_weights, log_theta = np.log(weights), np.log(theta)
    matrix = sparse.csr_array((bags.counts.astype(np.float64), bags.terms, bags.offsets), (len(bags), len(theta)))
    blocks = [matrix[start : start + BLOCK] @ log_theta + log_weights for start in range(0, len(bags), BLOCK)]
    return HeldOut(np.concatenate([logsumexp(block, axis=1) for block in blocks]), int(bags.counts.sum()))


def collapsed(learner: Learner, corpus: Corpus | sparse.csr_array) -> HeldOut:
    """The log of the sum of the weights in [6]: E_q over theta and pi, including unseen components."""
    bags = _with_words(corpus, learner.term_count)
    components = learner.components
    rows, totals = components.rows(bags.kinds, 1), components.row_totals(1)
    factors = factors_of_a_product(components.eta, totals.max() + bags.lengths.max())
    likelihoods = log_likelihoods_of_all(bags.offsets, bags.rows, bags.counts, bags.lengths, rows, totals, factors)
    weights, unseen = learner.mean_weights()
    with np.errstate(divide="ignore"):  # a truncated q leaves no weight for unseen components
        log_weights = np.log(np.append(weights, unseen))
    return HeldOut(logsumexp(likelihoods + log_weights, axis=1), int(bags.counts.sum()))


def _with_words(corpus: Corpus | sparse.csr_array, term_count: int) -> Bags:
    bags = Bags.of(corpus, term_count)
    if not np.any(bags.lengths):
        raise InputError("there are no held-out words")
    return bags


@kernel
def log_likelihoods(
    start: int,
    end: int,
    rows_of: np.ndarray,
    counts: np.ndarray,
    length: int,
    rows: np.ndarray,
    totals: np.ndarray,
    factors: int,
    result: np.ndarray,
) -> None:
    """log of G(L_k) / G(L_k + n) prod_w G(lambda_kw + c_w) / G(lambda_kw) for the components in `result`.

    The ratios of gammas are products; the log is taken only once every `factors` factors.
    """
    components = len(result)
    product = np.ones(components)
    for k in range(components):
        result[k] = math.lgamma(totals[k]) - math.lgamma(totals[k] + length)
    pending = 0
    for e in range(start, end):
        row = rows[rows_of[e]]
        for i in range(counts[e]):
            for k in range(components):
                product[k] *= row[k] + i
            pending += 1
            if pending == factors:
                pending = 0
                for k in range(components):
                    result[k] += math.log(product[k])
                    product[k] = 1.0
    for k in range(components):
        result[k] += math.log(product[k])


@kernel
def log_likelihoods_of_all(
    offsets: np.ndarray,
    rows_of: np.ndarray,
    counts: np.ndarray,
    lengths: np.ndarray,
    rows: np.ndarray,
    totals: np.ndarray,
    factors: int,
) -> np.ndarray:
    """Documents x components."""
    result = np.empty((len(lengths), len(totals)))
    for d in range(len(lengths)):
        log_likelihoods(offsets[d], offsets[d + 1], rows_of, counts, lengths[d], rows, totals, factors, result[d])
    return result
