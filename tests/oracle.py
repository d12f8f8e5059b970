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


def differences(f: Callable[[np.ndarray], float], x: np.ndarray, step: float = 2e-3) -> tuple[np.ndarray, np.ndarray]:
    """The first and second derivatives of f at x, by central differences."""
    one = np.eye(len(x)) * step
    first = np.array([(8 * (f(x + e) - f(x - e)) - f(x + 2 * e) + f(x - 2 * e)) / 12 / step for e in one])
    second = [[(f(x + d + e) - f(x + d - e) - f(x - d + e) + f(x - d - e)) / 4 / step**2 for d in one] for e in one]
    return first, np.array(second)


# -- plain twins, and faults for negative controls ---------------------------------------------------

FAULTS = ("decrement", "topic total", "alpha", "vocabulary")


def plain_sweep(
    state: State, choose: Callable[[int, list[float]], int], fault: str | None = None, order: str = "document"
) -> tuple[np.ndarray, float]:
    """Single-site Gibbs in plain Python: the new assignments and log g; `state` stays as it is.

    `choose(i, probabilities)` says where token i goes. A fault makes the conditional wrong: "decrement" and
    "topic total" forget to take the token out (of all counts, of m_t only), "alpha" takes alpha for 1,
    "vocabulary" takes V for V + 1.
    """
    alpha = [1.0] * state.topics if fault == "alpha" else state.alpha.tolist()
    total_eta = (len(state.term_topic) + (fault == "vocabulary")) * state.eta
    by_document, by_term, total = plain_counts(state)
    documents, terms = state.documents.tolist(), state.terms.tolist()
    z, log_g = state.assignments.tolist(), 0.0
    key = {"document": lambda i: (documents[i], terms[i], i), "term": lambda i: (terms[i], documents[i], i)}[order]
    for i in sorted(range(len(z)), key=key):
        d, v = documents[i], terms[i]
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


def plain_counts(state: State) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """Copies: n_dt by document, m_tv by term, m_t."""
    return state.document_topic.tolist(), state.term_topic.tolist(), state.topic_total.tolist()


def plain_single_site(state: State, target: np.ndarray, fault: str | None = None, order: str = "document") -> float:
    """log g(z, target) of single-site Gibbs."""
    return plain_sweep(state, lambda i, _: int(target[i]), fault, order)[1]


def plain_sparse(state: State, target: np.ndarray, fault: str | None = None) -> float:
    """log g(z, target) of single-site Gibbs by document, as eta * factor ("smoothing") plus m_tv * factor ("list").

    The smoothing bucket is kept while a document lasts. Faults: "smoothing" does not update it when a token leaves its
    topic, "list" leaves the token in m_tv.
    """
    by_document, by_term, total = plain_counts(state)
    alpha, total_eta = state.alpha.tolist(), len(state.term_topic) * state.eta
    smoothing: list[float] = []
    log_g, current = 0.0, -1
    for d, v, old, new in zip(state.documents.tolist(), state.terms.tolist(), state.assignments, target, strict=True):
        rows = (by_document[d], by_term[v], total)
        if d != current:
            current = d
            smoothing = [
                state.eta * plain_factor(by_document[d], alpha, total, total_eta, t) for t in range(len(alpha))
            ]
        for counts in rows:
            counts[old] -= 1
        factor = [plain_factor(by_document[d], alpha, total, total_eta, t) for t in range(len(alpha))]
        if fault != "smoothing":
            smoothing[old] = state.eta * factor[old]
        listed = [count + (fault == "list" and t == old) for t, count in enumerate(by_term[v])]
        weights = [s + m * f for s, m, f in zip(smoothing, listed, factor, strict=True)]
        log_g += math.log(weights[new] / sum(weights))
        for counts in rows:
            counts[new] += 1
        smoothing[new] = state.eta * plain_factor(by_document[d], alpha, total, total_eta, new)
    return log_g


def plain_factor(in_document: list[int], alpha: list[float], total: list[int], total_eta: float, t: int) -> float:
    return (in_document[t] + alpha[t]) / (total[t] + total_eta)


def plain_blocked(state: State, target: np.ndarray, fault: str | None = None) -> float:
    """log g(z, target) of the blocked samplers: all T^n arrangements of its n tokens, each weighed token by token.

    In a document first the words that occur once, then the others. Faults: with "blind" the tokens of a block do not
    see each other, with "coefficient" log g is that of the block's counts, not of its tokens.
    """
    by_document, by_term, total = plain_counts(state)
    total_eta = len(state.term_topic) * state.eta
    blocks: dict[tuple[int, int], list[int]] = {}
    for i, (d, v) in enumerate(zip(state.documents.tolist(), state.terms.tolist(), strict=True)):
        blocks.setdefault((d, v), []).append(i)
    log_g = 0.0
    for (d, v), tokens in sorted(blocks.items(), key=lambda block: (block[0][0], len(block[1]) > 1, block[0][1])):
        rows = (by_document[d], by_term[v], total)
        for i, counts in product(tokens, rows):
            counts[state.assignments[i]] -= 1
        weights = {}
        for arrangement in product(range(state.topics), repeat=len(tokens)):
            weights[arrangement] = 1.0
            for place, t in enumerate(arrangement):
                seen = 0 if fault == "blind" else arrangement[:place].count(t)
                conditional = (by_document[d][t] + state.alpha[t] + seen) * (by_term[v][t] + state.eta + seen)
                weights[arrangement] *= conditional / (total[t] + total_eta + seen)
        chosen = tuple(int(target[i]) for i in tokens)
        log_g += math.log(weights[chosen] / sum(weights.values()))
        if fault == "coefficient":
            log_g += math.log(
                math.factorial(len(tokens)) / math.prod(math.factorial(chosen.count(t)) for t in set(chosen))
            )
        for i, counts in product(tokens, rows):
            counts[target[i]] += 1
    return log_g


@dataclass(frozen=True)
class Draws:
    """What a chain visits."""

    z: np.ndarray  # M x N
    theta: np.ndarray  # M x D x T: rows sum to one
    beta: np.ndarray  # M x V x T: columns sum to one


def counts_of(exact: Enumeration, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """n_dt (M x D x T) and m_tv (M x V x T) of each row of z."""
    topic, corpus = np.eye(exact.topics)[z], exact.corpus
    by_document = np.eye(corpus.document_count)[corpus.documents]
    by_term = np.eye(corpus.term_count)[corpus.terms]
    return tuple(np.einsum("nk,mnt->mkt", rows, topic) for rows in (by_document, by_term))  # type: ignore[return-value]


def plain_parameters(
    exact: Enumeration, z: np.ndarray, rng: np.random.Generator, fault: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """theta and beta given each row of z, by gamma variables.

    Faults: "alpha" takes alpha for 1, "mean" takes E[theta | z] for a draw of theta, "axis" normalises beta over the
    topics, "late" draws for row m - 1.
    """
    by_document, by_term = counts_of(exact, np.roll(z, 1, axis=0) if fault == "late" else z)
    shape = by_document + (1.0 if fault == "alpha" else np.asarray(exact.prior.alpha))
    theta, beta = shape if fault == "mean" else rng.standard_gamma(shape), rng.standard_gamma(by_term + exact.prior.eta)
    axis = 2 if fault == "axis" else 1
    return theta / theta.sum(axis=2, keepdims=True), beta / beta.sum(axis=axis, keepdims=True)


def plain_grouped(exact: Enumeration, sweeps: int, rng: np.random.Generator, fault: str | None = None) -> Draws:
    """A run of the two-block sampler: (theta, beta) given z, with a fault of `plain_parameters`; then z given both."""
    corpus, z, visited = exact.corpus, exact.assignments[:1], []
    for _ in range(sweeps):
        theta, beta = plain_parameters(exact, z, rng, fault)
        cumulative = (theta[:, corpus.documents] * beta[:, corpus.terms]).cumsum(axis=2)
        threshold = cumulative[:, :, -1:] * rng.random((1, corpus.token_count, 1))
        z = np.sum(cumulative[:, :, :-1] <= threshold, axis=2)
        visited.append((z[0], theta[0], beta[0]))
    return Draws(*map(np.array, zip(*visited, strict=True)))


def plain_partially_collapsed(
    exact: Enumeration, sweeps: int, rng: np.random.Generator, fault: str | None = None
) -> Draws:
    """A run of the sampler that draws beta given z, and then each token in turn given beta, without theta.

    Faults: "axis" as in `plain_parameters`; "decrement" leaves the token in the counts of its document.
    """
    corpus, z, visited = exact.corpus, exact.assignments[:1].copy(), []
    for _ in range(sweeps):
        theta, beta = plain_parameters(exact, z, rng, fault)
        visited.append((z[0].copy(), theta[0], beta[0]))
        counts = counts_of(exact, z)[0][0] + np.asarray(exact.prior.alpha)
        for i, (d, v) in enumerate(zip(corpus.documents, corpus.terms, strict=True)):
            counts[d, z[0, i]] -= fault != "decrement"
            weights = (counts[d] * beta[0, v]).cumsum()
            before, z[0, i] = z[0, i], np.sum(weights[:-1] <= rng.random() * weights[-1])
            counts[d, before] -= fault == "decrement"
            counts[d, z[0, i]] += 1
    return Draws(*map(np.array, zip(*visited, strict=True)))


def check_unbiased(log_estimates: np.ndarray, exact: float) -> None:
    """The mean of exp(log-estimate) in units of its standard error: two-sided false-alarm rate 1e-6."""
    ratios = np.exp(log_estimates - exact)
    score = (ratios.mean() - 1) / (ratios.std(ddof=1) / np.sqrt(len(ratios)))
    assert abs(score) < 4.9, f"the mean is {score:.1f} standard errors off"
