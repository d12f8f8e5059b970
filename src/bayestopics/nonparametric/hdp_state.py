"""The state of an HDP sampler by direct assignment (Teh et al. 2006, section 5.3): z, and the top-level weights.

Given the weights beta = (beta_1 .. beta_K, beta_u), the HDP is LDA with alpha_k = concentration * beta_k, plus a weight
concentration * beta_u for all topics not yet seen. So the state is a state of LDA whose labels come and go: a label
without tokens has alpha 0 and is free.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.density import log_likelihood
from bayestopics.lda.state import LARGEST, State, count
from bayestopics.nonparametric.top_level import SMALLEST_WEIGHT, draw_weights

SPARE = 8  # smallest number of free labels after making room
SMALLEST = 1e-3  # for gamma and concentration: below it, beta_u leaves the range of doubles


@dataclass(frozen=True)
class HdpPrior:
    """`gamma` of the top level, `concentration` of the documents, `eta` of the topics' terms."""

    gamma: float = 1.0
    concentration: float = 1.0
    eta: float = 0.1

    def __post_init__(self) -> None:
        for name, least in (("gamma", SMALLEST), ("concentration", SMALLEST), ("eta", 1e-50)):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not least <= value <= LARGEST:  # nor nan
                raise InputError(f"{name} must be a number from {least:g} to {LARGEST:g}, not {value!r}")


@dataclass(frozen=True, eq=False)
class HdpState(State):
    """What the next sweep needs. Sweeps change the arrays in place and return a wider state when labels run out."""

    alpha_new: np.ndarray = field(repr=False)  # float64[1]: concentration * beta_u
    gamma: float
    concentration: float

    @property
    def labels(self) -> int:
        return len(self.alpha)

    @property
    def active(self) -> np.ndarray:
        """The labels in use."""
        return np.flatnonzero(self.topic_total)

    @property
    def topics(self) -> int:
        """K: the number of topics that have tokens."""
        return int(np.count_nonzero(self.topic_total))

    @property
    def beta(self) -> np.ndarray:
        """beta_1 .. beta_K of the labels in use, and beta_u."""
        return np.append(self.alpha[self.active], self.alpha_new) / self.concentration

    @property
    def total_eta(self) -> float:
        return len(self.term_topic) * self.eta

    @cached_property
    def document_offsets(self) -> np.ndarray:
        """int64[D + 1]: the tokens of document d are document_offsets[d] .. document_offsets[d + 1] - 1."""
        return np.searchsorted(self.documents, np.arange(len(self.document_topic) + 1))

    def changed(self, **fields: Any) -> HdpState:
        """The same state with other fields; the known orders of the tokens are kept."""
        other, known = replace(self, **fields), ("by_term", "by_block", "document_offsets")
        other.__dict__.update({name: self.__dict__[name] for name in known if name in self.__dict__})
        return other

    def copy(self) -> HdpState:
        """An independent copy; it shares the corpus and the orders of its tokens."""
        names = ("assignments", "document_topic", "term_topic", "topic_total", "alpha", "alpha_new")
        return self.changed(**{name: getattr(self, name).copy() for name in names})


def from_assignments(corpus: Corpus, prior: HdpPrior, assignments: np.ndarray, beta: np.ndarray) -> HdpState:
    """A state with topics 0 .. K - 1, each with at least one token; beta is (beta_1 .. beta_K, beta_u)."""
    assignments, topics = np.array(assignments, dtype=np.int32), len(beta) - 1
    if assignments.shape != corpus.terms.shape or not np.array_equal(np.unique(assignments), np.arange(topics)):
        raise ValueError("assignments must be a topic for each token, and beta one more than there are topics")
    alpha = prior.concentration * np.maximum(beta, SMALLEST_WEIGHT)
    counts = count(corpus, topics, assignments)
    state = HdpState(
        corpus.documents,
        corpus.terms,
        alpha[:-1],
        float(prior.eta),
        assignments,
        *counts,
        alpha_new=alpha[-1:],
        gamma=float(prior.gamma),
        concentration=float(prior.concentration),
    )
    return make_room(state)


def to_arrays(state: HdpState) -> dict[str, np.ndarray]:
    """Everything that the next sweep depends on, except the corpus and the generator."""
    prior = np.array([state.gamma, state.concentration, state.eta])
    return {"assignments": state.assignments, "alpha": state.alpha, "alpha_new": state.alpha_new, "prior": prior}


def from_arrays(corpus: Corpus, arrays: dict[str, np.ndarray]) -> HdpState:
    """The state that `to_arrays` took apart, with the same labels, so that a chain continues with the same bits."""
    assignments, alpha, alpha_new = (arrays[name].copy() for name in ("assignments", "alpha", "alpha_new"))
    gamma, concentration, eta = arrays["prior"].tolist()
    counts = count(corpus, len(alpha), assignments)
    own = {"alpha_new": alpha_new, "gamma": gamma, "concentration": concentration}
    return HdpState(corpus.documents, corpus.terms, alpha, eta, assignments, *counts, **own)


def random_start(corpus: Corpus, prior: HdpPrior, topics: int, rng: np.random.Generator) -> HdpState:
    """Assign each token to one of `topics` topics uniformly, then draw beta; a topic that no token drew is dropped."""
    if topics < 1:
        raise InputError(f"the number of topics to start from must be at least 1, not {topics}")
    _, assignments = np.unique(rng.integers(topics, size=corpus.token_count), return_inverse=True)
    kept = int(assignments.max()) + 1
    state = from_assignments(corpus, prior, assignments, np.full(kept + 1, 1 / (kept + 1)))
    return draw_weights(state, rng)


def make_room(state: HdpState) -> HdpState:
    """The same topics with labels 0 .. K - 1, followed by free labels."""
    active = state.active
    labels = len(active) + max(SPARE, len(active) // 4)
    new_label = np.zeros(state.labels, np.int32)
    new_label[active] = np.arange(len(active))

    def moved(values: np.ndarray) -> np.ndarray:
        wider = np.zeros((*values.shape[:-1], labels), values.dtype)
        wider[..., : len(active)] = values[..., active]
        return wider

    fields = {name: moved(getattr(state, name)) for name in ("alpha", "document_topic", "term_topic", "topic_total")}
    return state.changed(assignments=new_label[state.assignments], **fields)


def fitted(state: HdpState) -> HdpState:
    """The state with some free labels, but not so many that loops over labels waste time."""
    free = state.labels - state.topics
    return make_room(state) if free < SPARE // 2 or free > state.topics + 2 * SPARE else state


# -- densities --------------------------------------------------------------------------------------


def log_joint(state: HdpState) -> float:
    """log p(w, partition, beta | gamma, concentration, eta), with theta and the topics' terms integrated out.

    gamma^K beta_u^(gamma - 1) prod_k 1 / beta_k prod_d [G(a) / G(a + n_d) prod_k G(a beta_k + n_dk) / G(a beta_k)]
    times p(w | z). Summed over set partitions of the tokens, and integrated over beta_1 .. beta_K, it is p(w).
    """
    log_beta = np.log(state.beta)
    top = state.topics * math.log(state.gamma) + (state.gamma - 1) * log_beta[-1] - log_beta[:-1].sum()
    lengths = np.bincount(state.documents, minlength=len(state.document_topic))
    return float(top - log_rising_all(lengths, state.concentration) + log_documents(state) + log_likelihood(state))


def log_documents(state: HdpState) -> float:
    """sum_d sum_k log G(a beta_k + n_dk) / G(a beta_k)."""
    return float(_log_documents(state.document_topic, state.alpha))


SHORT = 16  # up to this many factors are multiplied; beyond it, log-gammas are faster


@kernel
def rising(start: float, count: int) -> float:
    """start (start + 1) .. (start + count - 1), for a short count."""
    product = 1.0
    for i in range(count):
        product *= start + i
    return product


@kernel
def log_rising(start: float, count: int) -> float:
    """log G(start + count) / G(start)."""
    return math.log(rising(start, count)) if count <= SHORT else math.lgamma(start + count) - math.lgamma(start)


@kernel
def log_rising_all(counts: np.ndarray, start: float) -> float:
    total = 0.0
    for n in counts:
        total += log_rising(start, n)
    return total


@kernel
def _log_documents(document_topic: np.ndarray, alpha: np.ndarray) -> float:
    documents, labels = document_topic.shape
    total, product = 0.0, 1.0  # the log of the product is taken only before it leaves the range of doubles
    for d in range(documents):
        for t in range(labels):
            n = document_topic[d, t]
            if n > SHORT:
                total += log_rising(alpha[t], n)
            elif n > 0:
                product *= rising(alpha[t], n)
                if not 1e-100 < product < 1e100:
                    total += math.log(product)
                    product = 1.0
    return total + math.log(product)
