"""A soft topic: one topic whose size is biased, so that topics can be born and die token by token.

A topic that is not used costs tens of nats on corpora of some size, because every document must spread its proportions
over one topic more. So a chain over (T, z) neither keeps an empty topic until it has grown nor empties one that has.
Serial tempering removes this barrier: one topic k, the soft one, has the weight exp(omega_T(m_k)), where m_k is its
number of tokens. omega_T is 0 for topics of normal size and rises, as the topic shrinks, to the penalty of an empty
topic. Draws are weighted by the inverse of this weight, so their law is the posterior itself, whatever omega is.

How fast topics come and go depends on omega. The best shape makes all sizes equally likely, and it can be read off the
sweeps: if tokens enter a topic of size s at the rate u(s) and leave it at the rate d(s), then in equilibrium
p(s) u(s) = p(s + 1) d(s + 1) (transition matrix Monte Carlo; Fitzgerald, Picard & Silver 1999). These rates, without
the bias, are collected during the burn-in; then omega is frozen. At the beginning, sizes at which the topic stays long
can be lowered little by little, which pushes it on (Wang & Landau 2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, floor, isqrt, log
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from bayestopics.base.jit import kernel
from bayestopics.evidence.tempered import mass_of, mass_of_others
from bayestopics.lda.dense import CANCELLED
from bayestopics.lda.uniforms import uniform

TOKENS_PER_NAT = 15.0  # a topic is of normal size from this number of tokens per nat of its penalty ...
SHARE = 0.5  # ... or from this share of the mean size of a topic
FIRST = 5.0  # tokens: before any rate is known, omega falls with log(1 + s / FIRST)
FLAT = 4.0  # tokens: sizes are to be visited with density 1 / sqrt(s + FLAT), because large topics change faster
TRUSTED = 0.5  # in sweeps: with this many visits, rates count as much as the first guess
NEAR, FADE = 3, 0.25  # rates of T +- 1, 2, 3 count FADE, FADE^2, FADE^3
STEEPEST = 300.0  # nats: the largest step of omega from one size to the next, so that its exp is a number
FORGET = 0.999  # per sweep, so that rates from the beginning fade
REMEMBER = 0.99  # per draw of alpha
LEVELS = 2  # of alpha, for each factor e: on small corpora, each has weights of its own
DEEPEST = 0.3  # of the penalty: by how much a size can be lowered
REFRESH = 10  # sweeps from one renewal of omega to the next
VISITS, IN, OUT, LOWERED = range(4)


class Bias(NamedTuple):
    """omega_T and what the kernel needs of it."""

    omega: np.ndarray  # float64[S + 1]: omega_T(0), ..., omega_T(S) = 0
    tilt: np.ndarray  # float64[S]: exp(omega_T(s + 1) - omega_T(s))
    depth: float = 1.0  # of omega: it is used times this

    def __call__(self, sizes: np.ndarray | int) -> np.ndarray:
        return self.depth * self.omega[np.minimum(sizes, len(self.omega) - 1)]

    @property
    def tilt_used(self) -> np.ndarray:
        return self.tilt if self.depth == 1.0 else np.exp(np.clip(self.depth * np.log(self.tilt), -STEEPEST, STEEPEST))


class Normaliser:
    """sum_d lG(T alpha) - lG(n_d + T alpha) as a function of T."""

    def __init__(self, lengths: np.ndarray, alpha: float) -> None:
        self._values, self._counts = np.unique(lengths, return_counts=True)
        self._alpha, self._known = alpha, dict[int, float]()

    def __call__(self, topics: int) -> float:
        if topics not in self._known:
            total = topics * self._alpha
            self._known[topics] = float(self._counts @ (gammaln(total) - gammaln(self._values + total)))
        return self._known[topics]


@dataclass
class SoftTopic:
    """The weights omega_T for every T, and the rates that they are made from. They depend on alpha, which makes an
    empty topic dear or cheap; if alpha is drawn as well, this is a typical value, of all draws or of those on one
    level."""

    tokens: int
    lengths: np.ndarray  # of the documents
    alpha: float
    rates: dict[int, np.ndarray] = field(default_factory=dict)  # by T: float64[bins, 3], with VISITS, IN, OUT
    lowered: dict[int, np.ndarray] = field(default_factory=dict)  # by T: float64[bins + 1], nats
    used: dict[int, np.ndarray] = field(default_factory=dict)  # the rates that omega is made from
    sweeps: int = 0  # that were learnt from
    followed: int = 0  # draws of alpha that were learnt from

    def __post_init__(self) -> None:
        self._biases: dict[int, Bias] = {}
        self.normaliser = Normaliser(self.lengths, self.alpha)
        # a topic of size s varies by about sqrt(s), so bins of this width see how its rates depend on its size
        self._edges = np.arange(isqrt(self.tokens) + 2) ** 2 // 2
        self._edges = np.unique(np.append(self._edges, [1, 2, 3, self.tokens + 1]))
        self.bins = (np.searchsorted(self._edges, np.arange(self.tokens + 1), side="right") - 1).astype(np.int32)

    def penalty(self, topics: int) -> float:
        """What an empty topic costs, in nats, if it is one of `topics`."""
        many = max(topics, 2)
        return self.normaliser(many - 1) - self.normaliser(many)

    def rates_of(self, topics: int) -> np.ndarray:
        """The table that sweeps with this T add to."""
        if topics not in self.rates:
            self.rates[topics] = np.zeros((len(self._edges) - 1, 3))
            self.lowered[topics] = np.zeros(len(self._edges))
        return self.rates[topics]

    def learn(self, topics: int, size: int, gain: float) -> None:
        """Learn from a sweep with this T that left the soft topic with this size."""
        self.rates[topics] *= FORGET
        if size < len(self.bias(topics).tilt):
            lowered = self.lowered[topics]
            lowered[self.bins[size]] = min(lowered[self.bins[size]] + gain, DEEPEST * self.penalty(topics))
        self.sweeps += 1
        if self.sweeps % REFRESH == 0:
            self.renew()

    def renew(self) -> None:
        """Make the weights anew from what was learnt."""
        self.used = {t: np.column_stack([rates, self.lowered[t][:-1]]) for t, rates in self.rates.items()}
        self._biases.clear()

    def follow(self, alpha: float) -> None:
        """Learn from a draw of alpha: the typical value is a mean of the logs in which old draws fade."""
        self.followed += 1
        share = max(1 / self.followed, 1 - REMEMBER)
        self.alpha = float(np.exp((1 - share) * np.log(self.alpha) + share * np.log(alpha)))
        self.normaliser = Normaliser(self.lengths, self.alpha)
        self._biases.clear()

    def raise_all(self) -> None:
        """Undo what was lowered."""
        for lowered in self.lowered.values():
            lowered[:] = 0.0
        for used in self.used.values():
            used[:, LOWERED] = 0.0
        self._biases.clear()

    def bias(self, topics: int) -> Bias:
        if topics not in self._biases:
            self._biases[topics] = self._make(topics)
        return self._biases[topics]

    def bias_at(self, topics: int, normaliser: Normaliser) -> Bias:
        """The same for another alpha of the level, that of this normaliser: as deep as an empty topic is dear there."""
        many = max(topics, 2)
        return self.bias(topics)._replace(depth=(normaliser(many - 1) - normaliser(many)) / self.penalty(topics))

    def bin_edges(self, topics: int) -> np.ndarray:
        """int64[bins + 1]: the smallest size in each bin, up to a normal size."""
        normal = min(TOKENS_PER_NAT * self.penalty(topics), SHARE * self.tokens / topics)
        last = min(max(2, int(np.searchsorted(self._edges, normal))), len(self._edges) - 1)
        return self._edges[: last + 1]

    def _make(self, topics: int) -> Bias:
        penalty, edges = self.penalty(topics), self.bin_edges(topics)
        guess = penalty * np.diff(np.log1p(edges / FIRST)) / np.log1p(edges[-1] / FIRST)
        force, trust = self._force(topics, len(edges) - 1)
        log_share = np.concatenate([[0.0], np.cumsum((1 - trust) * guess + trust * force * np.diff(edges))])
        sizes = np.arange(edges[-1] + 1)
        most_likely = np.maximum.accumulate(log_share[::-1])[::-1]  # of the sizes from this one on
        omega = np.interp(sizes, edges, most_likely - log_share)
        omega += 0.5 * np.log((edges[-1] + FLAT) / (sizes + FLAT))
        omega *= penalty / omega[0]  # then a new, empty topic is as likely as no new topic
        if topics in self.used:
            omega -= np.interp(sizes, edges, np.append(self.used[topics][: len(edges) - 1, LOWERED], 0.0))
        steps = np.clip(np.diff(omega), -STEEPEST, STEEPEST)
        return Bias(np.append(-np.cumsum(steps[::-1])[::-1], 0.0), np.exp(steps))

    def _force(self, topics: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """d log p(s) / ds in each bin, without the bias, and how far it is to be trusted, from 0 to 1."""
        near = [t for t in range(topics - NEAR, topics + NEAR + 1) if t in self.used]
        rates = sum((FADE ** abs(t - topics) * self.used[t][:last, :LOWERED] for t in near), np.zeros((last, 3)))
        with np.errstate(divide="ignore", invalid="ignore"):
            force = np.log(rates[:, IN] / rates[:, OUT])
            # from 0 to 1: no token can leave an empty topic
            force[0] = np.log(rates[0, IN] / rates[0, VISITS]) - np.log(rates[1, OUT] / rates[1, VISITS])
        known = np.isfinite(force)
        trust = np.where(known, rates[:, VISITS] / (rates[:, VISITS] + TRUSTED * self.tokens), 0.0)
        return np.where(known, force, 0.0), trust


def level_of(alpha: float) -> int:
    """The number of the level that alpha is in; level 0 begins at 1."""
    return floor(LEVELS * log(alpha))


def centre_of(level: int) -> float:
    """The alpha in the middle of a level."""
    return exp((level + 0.5) / LEVELS)


def log_weight(bias: Bias, sizes: Sequence[int] | np.ndarray, empty: int) -> float:
    """log of the mean of exp(omega) over all topics: those with these sizes, and `empty` more."""
    omega = np.append(bias(np.asarray(sizes)), bias(0) + np.log(empty) if empty else -np.inf)
    return float(np.logaddexp.reduce(omega)) - np.log(len(sizes) + empty)


@kernel
def _power(total: float, b: float) -> float:
    """total^-b, which at b = 1 is one division."""
    return 1.0 / total if b == 1.0 else total**-b


@kernel
def soft_sweep(
    documents: np.ndarray,
    terms: np.ndarray,
    topics: int,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    alpha: float,
    eta: float,
    assignments: np.ndarray,
    soft: int,
    tilt: np.ndarray,
    bins: np.ndarray,
    rates: np.ndarray,
    learning: bool,
    b: float,
    table: np.ndarray,
    powers: np.ndarray,
    words: np.ndarray,
) -> None:
    """Draw the topic of every token once, from p(z) p(w | z)^b times exp(omega(size of the soft topic)).

    table[c] = (c + eta)^b; `powers` is room for V x T numbers. The arrays of counts may have more columns than
    `topics`. As in `lda.dense`, counts include the token, and the weight of its own topic is corrected. For the soft
    topic, factor[t] contains tilt[its size without the token].
    """
    total_eta, normal = len(term_topic) * eta, len(tilt)
    for v in range(len(term_topic)):
        for t in range(topics):
            powers[v, t] = table[term_topic[v, t]]
    factor, totals = np.empty(topics), (topic_total[:topics] + total_eta) ** -b
    current = -1
    for i in range(len(assignments)):
        d, v, old = documents[i], terms[i], assignments[i]
        if d != current:
            current = d
            for t in range(topics):
                factor[t] = (document_topic[d, t] + alpha) * totals[t]
            if topic_total[soft] < normal:
                factor[soft] *= tilt[topic_total[soft]]
        own = (document_topic[d, old] - 1 + alpha) * _power(topic_total[old] - 1 + total_eta, b)
        if old == soft and topic_total[soft] <= normal:
            own *= tilt[topic_total[soft] - 1]
        chosen = table[term_topic[v, old] - 1] * own
        with_token = mass_of(v, powers, factor)
        others = with_token - powers[v, old] * factor[old]
        if others < CANCELLED * with_token:
            others = mass_of_others(v, powers, factor, old)
        mass = others + chosen
        if learning and topic_total[soft] < normal:
            size = topic_total[soft]
            bin_of = bins[size]
            rates[bin_of, VISITS] += 1.0
            if old == soft:
                untilted = chosen / tilt[size - 1]
                rates[bin_of, OUT] += others / (others + untilted)
            else:
                tilted = powers[v, soft] * factor[soft]
                untilted = tilted / tilt[size]
                rates[bin_of, IN] += untilted / (mass - tilted + untilted)
        threshold = uniform(words) * mass - chosen
        if threshold < 0.0:
            continue
        new = int(old)
        for t in range(topics):
            if t != old:
                new = t
                threshold -= powers[v, t] * factor[t]
                if threshold < 0.0:
                    break
        if new == old:
            continue
        assignments[i] = new
        term_topic[v, old] -= 1
        document_topic[d, old] -= 1
        topic_total[old] -= 1
        factor[old] = own
        term_topic[v, new] += 1
        document_topic[d, new] += 1
        topic_total[new] += 1
        powers[v, old], powers[v, new] = table[term_topic[v, old]], table[term_topic[v, new]]
        totals[old] = _power(topic_total[old] + total_eta, b)
        totals[new] = _power(topic_total[new] + total_eta, b)
        factor[new] = (document_topic[d, new] + alpha) * totals[new]
        if new == soft and topic_total[new] < normal:
            factor[new] *= tilt[topic_total[new]]
