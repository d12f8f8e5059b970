"""The exact answers on a tiny corpus, by enumerating all T^N assignments.

Written from the formulas, dense, with scipy's gammaln, and sharing no code with the package: what agrees with
this agrees with the model. N <= 9 tokens and T <= 3 topics take milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import gammaln, logsumexp

from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.state import Prior, State, from_assignments


def tiny_corpus(documents: list[list[int]], terms: int) -> Corpus:
    """From a list of terms a document."""
    tokens = [(d, v) for d, document in enumerate(documents) for v in document]
    rows, columns = np.array(tokens).T
    return Corpus.from_counts(
        rows, columns, np.ones(len(tokens), int), document_count=len(documents), term_count=terms, name="tiny"
    )


def random_corpus(rng: np.random.Generator, tokens: int, documents: int, terms: int) -> Corpus:
    """Tokens anywhere: some documents and terms may stay empty."""
    return Corpus.from_counts(
        rng.integers(documents, size=tokens),
        rng.integers(terms, size=tokens),
        np.ones(tokens, int),
        document_count=documents,
        term_count=terms,
    )


# -- densities --------------------------------------------------------------------------------------


def log_dirichlet_multinomial(counts: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """log of lG(A) - lG(n + A) + sum_k lG(n_k + a_k) - lG(a_k) along the last axis: one ordered sequence of draws."""
    total = parameters.sum()
    each = gammaln(counts + parameters) - gammaln(parameters)
    return gammaln(total) - gammaln(counts.sum(axis=-1) + total) + each.sum(axis=-1)


def log_prior(documents: np.ndarray, z: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """log p(z | alpha) of each row of z (M x N)."""
    in_topic = z[:, :, None] == np.arange(len(alpha))
    in_document = documents[:, None] == np.arange(documents.max() + 1)
    counts = np.einsum("mnt,nd->mdt", in_topic.astype(float), in_document.astype(float))
    return log_dirichlet_multinomial(counts, alpha).sum(axis=-1)


def log_likelihood(terms: np.ndarray, z: np.ndarray, topics: int, eta: float, term_count: int) -> np.ndarray:
    """log p(w | z, eta) of each row of z (M x N); `terms` is one corpus (N) or one a row (M x N)."""
    in_topic = z[:, :, None] == np.arange(topics)
    is_term = np.broadcast_to(terms, z.shape)[:, :, None] == np.arange(term_count)
    counts = np.einsum("mnt,mnv->mtv", in_topic.astype(float), is_term.astype(float))
    return log_dirichlet_multinomial(counts, np.full(term_count, eta)).sum(axis=-1)


def log_joint(corpus: Corpus, z: np.ndarray, topics: int, prior: Prior) -> np.ndarray:
    """log p(w, z | T, alpha, eta) of each row of z (M x N)."""
    alpha = np.broadcast_to(np.asarray(prior.alpha, float), (topics,))
    prior_of_z = log_prior(corpus.documents, z, alpha)
    return prior_of_z + log_likelihood(corpus.terms, z, topics, prior.eta, corpus.term_count)


# -- enumeration ------------------------------------------------------------------------------------


def all_assignments(tokens: int, topics: int) -> np.ndarray:
    """T^N x N: row k is k written in base T, so `index_of` inverts it."""
    return np.array(list(product(range(topics), repeat=tokens)), dtype=np.int32).reshape(-1, tokens)


def index_of(z: np.ndarray, topics: int) -> np.ndarray:
    """The row of `all_assignments` that each assignment (last axis) is."""
    powers = topics ** np.arange(z.shape[-1])[::-1]
    return np.asarray(z) @ powers


@dataclass(frozen=True)
class Enumeration:
    """Every assignment of a corpus, with its joint density."""

    corpus: Corpus
    topics: int
    prior: Prior
    assignments: np.ndarray  # T^N x N
    log_joint: np.ndarray  # T^N

    @property
    def log_evidence(self) -> float:
        """log m(T) = log p(w | T, alpha, eta)."""
        return float(logsumexp(self.log_joint))

    @property
    def posterior(self) -> np.ndarray:
        """p(z | w) of each assignment."""
        return np.exp(self.log_joint - self.log_evidence)

    def state(self, row: int) -> State:
        return from_assignments(self.corpus, self.topics, self.prior, self.assignments[row])


def enumerate_all(corpus: Corpus, topics: int, prior: Prior) -> Enumeration:
    z = all_assignments(corpus.token_count, topics)
    return Enumeration(corpus, topics, prior, z, log_joint(corpus, z, topics, prior))


def transition_matrix(exact: Enumeration, log_transition: Callable[[State, np.ndarray], float]) -> np.ndarray:
    """P[i, j]: from assignment i to assignment j in one sweep of a sampler with this transition density."""
    states = [exact.state(row) for row in range(len(exact.assignments))]
    return np.exp([[log_transition(state, target) for target in exact.assignments] for state in states])


# -- a plain twin, and faults for negative controls -------------------------------------------------

FAULTS = ("decrement", "topic total", "alpha", "vocabulary")


def plain_sweep(
    state: State, choose: Callable[[int, list[float]], int], fault: str | None = None
) -> tuple[np.ndarray, float]:
    """Single-site Gibbs in plain Python: the new assignments and log g; `state` stays as it is.

    `choose(i, probabilities)` says where token i goes. A fault makes the conditional wrong: "decrement" and
    "topic total" forget to take the token out (of all counts, of m_t only), "alpha" takes alpha for 1,
    "vocabulary" takes V for V + 1.
    """
    alpha = [1.0] * state.topics if fault == "alpha" else state.alpha.tolist()
    total_eta = (len(state.term_topic) + (fault == "vocabulary")) * state.eta
    by_document, by_term, total = state.document_topic.tolist(), state.term_topic.tolist(), state.topic_total.tolist()
    z, log_g = state.assignments.tolist(), 0.0
    for i, (d, v) in enumerate(zip(state.documents.tolist(), state.terms.tolist(), strict=True)):
        weights = []
        for t in range(state.topics):
            own = int(t == z[i] and fault != "decrement")
            own_total = 0 if fault == "topic total" else own
            conditional = (by_document[d][t] - own + alpha[t]) * (by_term[v][t] - own + state.eta)
            weights.append(conditional / (total[t] - own_total + total_eta))
        mass = sum(weights)
        new = choose(i, [weight / mass for weight in weights])
        log_g += math.log(weights[new] / mass)
        for counts in (by_document[d], by_term[v], total):
            counts[z[i]] -= 1
            counts[new] += 1
        z[i] = new
    return np.array(z, np.int32), log_g
