"""The exact posterior of the HDP topic model on a tiny corpus, by enumerating set partitions and numbers of tables.

Written from the formulas of the Chinese restaurant franchise, dense, and sharing no code with the package. For
N <= 7 tokens there are at most 877 partitions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from scipy.special import gammaln, logsumexp
from scipy.stats import beta as beta_law

from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric.hdp_state import HdpPrior


def set_partitions(tokens: int) -> Iterator[list[int]]:
    """As labels by first appearance: 0, then at most one more than the largest before."""

    def extend(labels: list[int]) -> Iterator[list[int]]:
        if len(labels) == tokens:
            yield labels
            return
        for label in range(max(labels, default=-1) + 2):
            yield from extend([*labels, label])

    return extend([])


def codes(z: np.ndarray) -> np.ndarray:
    """A number for each partition (last axis), whatever its labels: which pairs of tokens are together."""
    first, second = np.triu_indices(z.shape[-1], 1)
    return (z[..., first] == z[..., second]) @ (1 << np.arange(len(first)))


def stirling(n: int, m: int) -> int:
    """Unsigned, of the first kind."""
    if n == 0 or m == 0:
        return int(n == m)
    return stirling(n - 1, m - 1) + (n - 1) * stirling(n - 1, m)


def log_likelihood(corpus: Corpus, z: np.ndarray, eta: float) -> float:
    counts = np.zeros((z.max() + 1, corpus.term_count))
    np.add.at(counts, (z, corpus.terms), 1)
    total = corpus.term_count * eta
    words = np.sum(gammaln(counts + eta) - gammaln(eta))
    return float(words + np.sum(gammaln(total) - gammaln(counts.sum(axis=1) + total)))


def document_topic(corpus: Corpus, z: np.ndarray) -> np.ndarray:
    counts = np.zeros((corpus.document_count, z.max() + 1), int)
    np.add.at(counts, (corpus.documents, z), 1)
    return counts


@dataclass(frozen=True)
class Posterior:
    partitions: np.ndarray  # M x N: labels by first appearance
    probability: np.ndarray  # M
    beta_unseen: float  # E[beta_u]
    beta_squares: float  # E[sum_k beta_k^2]
    log_evidence: float  # log p(w)

    @property
    def topics(self) -> np.ndarray:
        """p(K), from K = 0."""
        return np.bincount(self.partitions.max(axis=1) + 1, self.probability)


def posterior(corpus: Corpus, prior: HdpPrior) -> Posterior:
    partitions = np.array(list(set_partitions(corpus.token_count)))
    log_weights, unseen, squares = [], [], []
    for z in partitions:
        logs, means = zip(*_tables(document_topic(corpus, z), prior), strict=True)
        share = np.exp(np.array(logs) - logsumexp(logs))
        log_weights.append(logsumexp(logs) + log_likelihood(corpus, z, prior.eta))
        unseen.append(share @ [mean[0] for mean in means])
        squares.append(share @ [mean[1] for mean in means])
    probability = np.exp(log_weights - logsumexp(log_weights))
    moments = float(probability @ unseen), float(probability @ squares)
    return Posterior(partitions, probability, *moments, float(logsumexp(log_weights)))


def _tables(counts: np.ndarray, prior: HdpPrior) -> Iterator[tuple[float, tuple[float, float]]]:
    """log p(z, tables) of all numbers of tables, with the means of beta_u and sum_k beta_k^2 given them."""
    a, gamma = prior.concentration, prior.gamma
    constant = sum(gammaln(a) - gammaln(a + n) for n in counts.sum(axis=1))
    cells = [(d, k) for d, k in np.argwhere(counts)]
    for choice in product(*(range(1, counts[cell] + 1) for cell in cells)):
        m = np.zeros(counts.shape[1], int)
        log_p = constant
        for (d, k), tables in zip(cells, choice, strict=True):
            m[k] += tables
            log_p += math.log(stirling(int(counts[d, k]), tables)) + tables * math.log(a)
        log_p += len(m) * math.log(gamma) + gammaln(m).sum() + gammaln(gamma) - gammaln(gamma + m.sum())
        total = gamma + m.sum()
        yield float(log_p), (gamma / total, float(np.sum(m * (m + 1)) / (total * (total + 1))))


# -- the density with beta, and a plain twin of the split ----------------------------------------------


def log_joint(corpus: Corpus, prior: HdpPrior, z: np.ndarray, beta: np.ndarray) -> float:
    """log p(w, partition, beta), with beta = (beta_1 .. beta_K, beta_u)."""
    a, gamma, counts = prior.concentration, prior.gamma, document_topic(corpus, z)
    top = len(beta[:-1]) * math.log(gamma) + (gamma - 1) * math.log(beta[-1]) - np.log(beta[:-1]).sum()
    urns = np.sum(gammaln(a * beta[:-1] + counts) - gammaln(a * beta[:-1]))
    urns += np.sum(gammaln(a) - gammaln(a + counts.sum(axis=1)))
    return float(top + urns + log_likelihood(corpus, z, prior.eta))


def log_allocation(corpus: Corpus, prior: HdpPrior, tokens: list[int], side: list[int], beta_k: float) -> float:
    """log of the probability that tokens, placed in this order, go to these sides; the first two are the seeds."""
    result = 0.0
    for i in range(2, len(tokens)):
        d, v = corpus.documents[tokens[i]], corpus.terms[tokens[i]]
        weights = []
        for s in (0, 1):
            before = [t for t, where in zip(tokens[:i], side[:i], strict=True) if where == s]
            in_document = sum(corpus.documents[t] == d for t in before)
            in_term = sum(corpus.terms[t] == v for t in before)
            words = (in_term + prior.eta) / (len(before) + corpus.term_count * prior.eta)
            weights.append((in_document + prior.concentration * beta_k / 2) * words)
        result += math.log(weights[side[i]] / sum(weights))
    return result


def log_split_ratio(
    corpus: Corpus, prior: HdpPrior, z: np.ndarray, beta: np.ndarray, tokens: list[int], side: list[int], share: float,
    choice: str,
) -> float:  # fmt: skip
    """The Metropolis-Hastings ratio of splitting the topic of `tokens` so, from the densities of both states."""
    k, topics, size = int(z[tokens[0]]), len(beta) - 1, len(tokens)
    after, beta_after = z.copy(), np.insert(beta, topics, (1 - share) * beta[k])
    after[[t for t, where in zip(tokens, side, strict=True) if where == 1]] = topics
    beta_after[k] *= share
    # the expected numbers of tables are the parameters of the proportion's density
    weight, halves = prior.concentration * beta[k] / 2, document_topic(corpus, after)[:, [k, topics]]
    tables = [sum(weight / (weight + i) for n in column for i in range(n)) for column in halves.T]
    forward = log_allocation(corpus, prior, tokens, side, beta[k]) + beta_law.logpdf(share, *tables)
    reverse, order = 0.0, math.factorial(size - 2)
    if choice == "uniform":
        forward -= math.log(2 * topics * size * (size - 1) * order)
        reverse -= math.log(2 * (topics + 1) * topics * halves[:, 0].sum() * halves[:, 1].sum() * order)
    jacobian = abs(np.linalg.det([[share, beta[k]], [1 - share, -beta[k]]]))
    difference = log_joint(corpus, prior, after, beta_after) - log_joint(corpus, prior, z, beta)
    return difference + reverse - forward + math.log(jacobian)


def all_splits(members: list[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Every order of the tokens (the first two are the seeds), and every way to place the others."""
    for tokens in permutations(members):
        for rest in product((0, 1), repeat=len(members) - 2):
            yield list(tokens), [0, 1, *rest]
