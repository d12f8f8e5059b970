"""The probability of a held-out document under the HDP topic model.

For a learner, we take pi and theta at their means [Wang & Blei, S.3]; the model is then LDA with Dirichlet parameters
b pi. There are two estimates of p(x), both unbiased: left-to-right, and importance sampling of the document's topic
weights. The paper's proposal for the latter, Dirichlet(b pi + counts), has weights of infinite variance. With a share
of the prior mixed in, the weights are bounded by the inverse of this share.

For the states of a Gibbs chain nothing is plugged in; see `left_to_right_of_states`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.special import gammaln, logsumexp

from bayestopics.base.guard import not_finite, possible_log
from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.left_to_right import given_beta, given_topics_of_others, log_mean_of_products
from bayestopics.lda.parameters import log_gamma_draws
from bayestopics.lda.uniforms import new_words, uniform
from bayestopics.nonparametric.hdp_state import HdpState
from bayestopics.nonparametric.stream import Bags, HeldOutScore, Learner

LARGE_SCATTER = 1.0  # nats (a factor of 2.7 in probability): beyond it, the delta method understates the error
GIBBS_SWEEPS = 20  # the second half gives the counts of a proposal
LEFT_WHOLE = 1e-3  # share of the weight of unseen topics: so small a rest is not broken further, but is one topic
MOST_PIECES = 200  # nor is it broken into more pieces; with gamma below 20 LEFT_WHOLE comes first
SCORE_PARTICLES = 10  # for a score taken while learning continues
GROUPS = 10  # of importance draws; their means are compared, because single weights have two scales


@dataclass(frozen=True, eq=False)
class EstimatedHeldOut:
    """Independent estimates of p(x) for each document with words, and the logs of their means."""

    log_estimates: np.ndarray  # documents x repeats
    tokens: int

    @property
    def log_likelihoods(self) -> np.ndarray:
        return logsumexp(self.log_estimates, axis=1) - np.log(self.log_estimates.shape[1])

    @property
    def per_word(self) -> float:
        return float(self.log_likelihoods.sum() / self.tokens)

    @property
    def standard_error(self) -> float:
        """The error of `per_word` from the draws alone, not from the choice of documents.

        For each document it is the standard deviation of its log estimates divided by sqrt(repeats), if this deviation
        is below 1 nat. Otherwise it is the deviation itself, and `per_word` may be too low by as much: the estimate of
        p(x) is unbiased, but its log is not.
        """
        spread = self.log_estimates.std(axis=1, ddof=1)
        errors = np.where(spread < LARGE_SCATTER, spread / np.sqrt(self.log_estimates.shape[1]), spread)
        return float(np.sqrt(np.sum(errors**2)) / self.tokens)

    @property
    def share_of_the_largest(self) -> float:
        """The share of a document's sum that its largest term has, on average; near 1, only one repeat counts."""
        return float(np.mean(np.exp(self.log_estimates.max(axis=1) - logsumexp(self.log_estimates, axis=1))))


def score(learner: Learner, held_out: Corpus | sparse.csr_array) -> HeldOutScore:
    """A score for a learner's history. It has its own generator, so that scoring does not change the learning."""
    found = left_to_right(learner, held_out, SCORE_PARTICLES, np.random.default_rng(learner.updates))
    return HeldOutScore(found.per_word, found.standard_error)


def left_to_right(
    learner: Learner, corpus: Corpus | sparse.csr_array, particles: int, rng: np.random.Generator
) -> EstimatedHeldOut:
    """Left-to-right at the means of a learner's pi and theta."""
    bags, alpha, theta = _prepared(learner, corpus)
    return left_to_right_given(alpha, theta, bags, particles, rng)


def left_to_right_given(
    alpha: np.ndarray, theta: np.ndarray, bags: Bags, particles: int, rng: np.random.Generator
) -> EstimatedHeldOut:
    """Left-to-right given the documents' Dirichlet parameters alpha and the topics theta (V x K)."""
    if particles < 2:
        raise InputError(f"left-to-right needs at least 2 particles for an error, not {particles}")
    log_theta, words = np.log(theta), new_words(rng)
    logs = []
    for d in _shown(np.flatnonzero(bags.lengths).tolist()):
        document = bags.document(d)
        terms = rng.permutation(np.repeat(document.terms, document.counts))
        logs.append(given_beta(terms, log_theta, alpha, particles, words).sum(axis=1))
        if not possible_log(logs[-1]):
            raise not_finite("the log probability of a held-out document", len(logs) - 1, (alpha, theta))
    return EstimatedHeldOut(np.array(logs), int(bags.counts.sum()))


def left_to_right_of_states(
    states: Sequence[HdpState], corpus: Corpus, particles: int, rng: np.random.Generator
) -> EstimatedHeldOut:
    """One estimate per document and state of p(x | z, beta), with the terms of all topics integrated out given z.

    The weight that beta leaves to unseen topics is broken into pieces, which are drawn anew for each state. So an
    estimate is unbiased except for the last, tiny piece. If the states come from the posterior, the mean over states
    estimates p(x | corpus).
    """
    ends = corpus.document_offsets
    documents = [corpus.terms[ends[d] : ends[d + 1]] for d in np.flatnonzero(corpus.document_lengths)]
    if not documents:
        raise InputError("there are no held-out words")
    words, logs = new_words(rng), []
    for number, state in enumerate(states, 1):
        model, shown = _broken(_of_active(state), rng), _shown(documents, f", state {number} of {len(states)}")
        steps = [given_topics_of_others(rng.permutation(terms), model, particles, words) for terms in shown]
        logs.append([log_mean_of_products(of_document) for of_document in steps])
        if not possible_log(logs[-1]):
            raise not_finite("the log probability of a held-out document", number - 1, state)
    return EstimatedHeldOut(np.array(logs).T, corpus.token_count)


def _shown(documents: list[Any], more: str = "") -> Iterable[Any]:
    """With a progress bar, because long documents take a long time."""
    return counted(documents, f"left to right{more}", "document")


def _of_active(state: HdpState) -> HdpState:
    """Without the free labels."""
    fields = {name: getattr(state, name)[..., state.active] for name in ("alpha", "term_topic", "topic_total")}
    return state.changed(**fields)


def _broken(state: HdpState, rng: np.random.Generator) -> HdpState:
    """Add topics without tokens; their weights are the sticks beyond the topics in use."""
    left, pieces = 1.0, list[float]()
    while left > LEFT_WHOLE and len(pieces) < MOST_PIECES:
        piece = left * rng.beta(1.0, state.gamma)
        pieces.append(piece)
        left -= piece
    alpha = np.append(state.alpha, state.alpha_new * np.array([*pieces, left]))
    room = len(alpha) - len(state.alpha)
    return state.changed(
        alpha=alpha,
        term_topic=np.pad(state.term_topic, ((0, 0), (0, room))),
        topic_total=np.pad(state.topic_total, (0, room)),
    )


def importance_sampling(
    learner: Learner,
    corpus: Corpus | sparse.csr_array,
    draws: int,
    rng: np.random.Generator,
    prior_share: float = 0.0,
) -> EstimatedHeldOut:
    """The paper's estimate if `prior_share` is 0; with 0.1, a tenth of the draws is from the prior; weights are <= 10.

    The draws are divided into 10 groups of nearly equal size; the mean of a group is one estimate.
    """
    if draws < GROUPS:
        raise InputError(f"importance sampling needs at least {GROUPS} draws, not {draws}")
    if not 0.0 <= prior_share <= 1.0:
        raise InputError(f"the share of the prior must be from 0 to 1, not {prior_share}")
    bags, alpha, theta = _prepared(learner, corpus)
    words = new_words(rng)
    logs = []
    for d in np.flatnonzero(bags.lengths).tolist():
        document = bags.document(d)
        theta_of_entries = theta[document.terms]
        tokens = np.repeat(theta_of_entries, document.counts, axis=0)
        counts = _mean_counts(tokens, alpha, GIBBS_SWEEPS, words)
        from_prior = rng.random(draws) < prior_share
        log_phi = log_gamma_draws(np.where(from_prior[:, None], alpha, alpha + counts), rng)
        log_phi -= logsumexp(log_phi, axis=1, keepdims=True)
        log_likelihood = np.log(np.exp(log_phi) @ theta_of_entries.T) @ document.counts
        log_terms = log_likelihood - _log_mixture(log_phi, alpha, counts, prior_share)
        groups = np.array_split(log_terms, GROUPS)
        logs.append([logsumexp(group) - np.log(len(group)) for group in groups])
    return EstimatedHeldOut(np.array(logs), int(bags.counts.sum()))


def _log_mixture(log_phi: np.ndarray, alpha: np.ndarray, counts: np.ndarray, prior_share: float) -> np.ndarray:
    """The log of the proposal's density divided by the prior's."""
    log_ratio = log_phi @ counts + gammaln(alpha.sum() + counts.sum()) - gammaln(alpha.sum())
    log_ratio -= np.sum(gammaln(alpha + counts) - gammaln(alpha))
    if prior_share == 0.0:
        return log_ratio
    return np.logaddexp(np.log(prior_share), np.log1p(-prior_share) + log_ratio) if prior_share < 1 else 0 * log_ratio


def _prepared(learner: Learner, corpus: Corpus | sparse.csr_array) -> tuple[Bags, np.ndarray, np.ndarray]:
    """The documents, b E[pi], E[theta]."""
    bags = Bags.of(corpus, learner.term_count)
    if not np.any(bags.lengths):
        raise InputError("there are no held-out words")
    weights, theta = learner.mean_model()
    return bags, learner.settings["concentration"] * weights, theta


@kernel
def _mean_counts(theta: np.ndarray, alpha: np.ndarray, sweeps: int, words: np.ndarray) -> np.ndarray:
    """The mean number of words in each topic, over the second half of the Gibbs sweeps; theta[n, k] is for word n."""
    length, topics = theta.shape
    z, counts = np.full(length, -1, np.int64), np.zeros(topics)
    weights, mean = np.empty(topics), np.zeros(topics)
    for sweep in range(sweeps):
        for n in range(length):
            if z[n] >= 0:
                counts[z[n]] -= 1
            mass = 0.0
            for k in range(topics):
                weights[k] = (counts[k] + alpha[k]) * theta[n, k]
                mass += weights[k]
            threshold = uniform(words) * mass
            for k in range(topics):
                z[n] = k
                threshold -= weights[k]
                if threshold < 0.0:
                    break
            counts[z[n]] += 1
        if 2 * sweep >= sweeps:
            mean += counts
    return mean / (sweeps - (sweeps + 1) // 2)
