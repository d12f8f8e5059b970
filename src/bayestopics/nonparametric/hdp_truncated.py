"""The HDP topic model by mean field at a truncation level: the baseline [Wang & Blei, section 3].

The method is that of Wang, Paisley & Blei (2011). A document has its own sticks and a fixed number of tables on them;
each table has a topic. With phi_tk = q(table t has topic k) and zeta_nt = q(word n sits at table t),
    phi_tk  is proportional to exp( E[log pi_k] + sum_n c_n zeta_nt E[log theta_kn] ),
    zeta_nt is proportional to exp( E[log of the document's weight of t] + sum_k phi_tk E[log theta_kn] ).
Stochastic, a batch at a time, or coordinate ascent on the whole corpus, with its bound.
"""

from __future__ import annotations

import math

import numpy as np

from bayestopics.corpus.corpus import Corpus
from bayestopics.jit import kernel, sum_kernel
from bayestopics.nonparametric.sticks import ClosedSticks, best_closed_sticks
from bayestopics.nonparametric.stream import Bags, checked
from bayestopics.nonparametric.truncated import Truncated, component_divergence, digamma, expected_log_rows
from bayestopics.problems import InputError

MOST_ROUNDS = 50  # of coordinate ascent in a document
CONVERGED = 1e-2  # of a document's words move between tables in a round
LOWEST_LOG = -40.0  # below the largest: exp of it is nothing


class TruncatedHDP(Truncated):
    """`truncation` topics of the corpus, `tables` of a document; `gamma` (a) and `concentration` (b) as elsewhere."""

    name = "truncated HDP"

    def __init__(
        self,
        term_count: int,
        rng: np.random.Generator,
        documents: int,
        eta: float = 0.01,
        gamma: float = 1.0,
        concentration: float = 1.0,
        truncation: int = 300,
        tables: int = 20,
    ) -> None:
        checked(gamma=gamma, concentration=concentration)
        if not 2 <= tables <= truncation:
            raise InputError(f"a document has from 2 to {truncation} tables, not {tables}")
        settings = {"documents": documents, "gamma": gamma, "concentration": concentration, "tables": tables}
        super().__init__(term_count, rng, eta, truncation, settings)

    def top_concentration(self) -> float:
        return float(self.settings["gamma"])

    def used_components(self) -> int:
        return int(np.count_nonzero(self.components.totals >= 1.0))

    def _update(self, bags: Bags) -> None:
        zeta = np.full((len(bags.terms), self.settings["tables"]), -1.0)
        kind_sums, sizes, _ = self._local(bags, self.sticks(), zeta)
        self._step(bags, kind_sums, sizes)

    def _local(self, bags: Bags, sticks: ClosedSticks, zeta: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Coordinate ascent in every document, from `zeta` or, where that is negative, from the likeliest topics.

        Gives the sums over documents: kinds x topics, tables of every topic, and the documents' part of the bound.
        """
        kind_sums = np.zeros((len(bags.kinds), self.components.count))
        sizes = np.zeros(self.components.count)
        log_theta, log_pi = expected_log_rows(self.components, bags.kinds), sticks.expected_logs()
        batch = (bags.offsets, bags.rows, bags.counts.astype(np.float64), log_theta, log_pi)
        bound = _documents(*batch, self.settings["concentration"], zeta, kind_sums, sizes)
        return kind_sums, sizes, bound

    def fit(self, corpus: Corpus, iterations: int, tolerance: float = 1e-6) -> np.ndarray:
        """Algorithm 1: coordinate ascent; returns the bound after every iteration, which never falls.

        It stops when the bound gains less than `tolerance` nats a document.
        """
        bags = Bags.of(corpus, self.term_count)
        zeta = np.full((len(bags.terms), self.settings["tables"]), -1.0)
        sticks, bounds = self.sticks(), np.empty(0)
        for _ in range(iterations):
            kind_sums, sizes, bound = self._local(bags, sticks, zeta)
            bounds = np.append(bounds, bound - component_divergence(self.components) - sticks.divergence())
            self._replace(bags.kinds, kind_sums, sizes)
            sticks = best_closed_sticks(self.components.sizes, self.top_concentration(), sticks.order)
            self.documents_seen += len(bags)
            self.updates += 1
            self._record()
            if len(bounds) > 1 and bounds[-1] - bounds[-2] < tolerance * len(bags):
                break
        return bounds


# -- kernels ------------------------------------------------------------------------------------------


@sum_kernel
def _dot(a: np.ndarray, b: np.ndarray) -> float:
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@kernel
def _to_probabilities(scores: np.ndarray) -> float:
    """exp(scores) over its sum, in place; returns the log of the sum."""
    largest = scores.max()
    total = 0.0
    for k in range(len(scores)):
        low = scores[k] - largest < LOWEST_LOG
        scores[k] = 0.0 if low else math.exp(scores[k] - largest)
        total += scores[k]
    for k in range(len(scores)):
        scores[k] /= total
    return largest + math.log(total)


@kernel
def _likeliest_topics(counts: np.ndarray, log_theta: np.ndarray, log_pi: np.ndarray, zeta: np.ndarray) -> None:
    """A start: a table for each of the topics that most words would choose, largest first; words sit accordingly."""
    words, topics = log_theta.shape
    choices, mass = np.empty((words, topics)), np.zeros(topics)
    for n in range(words):
        choices[n] = log_pi + log_theta[n]
        _to_probabilities(choices[n])
        mass += counts[n] * choices[n]
    for t in range(zeta.shape[1]):
        k = np.argmax(mass)
        mass[k] = -1.0
        zeta[:, t] = choices[:, k]
    for n in range(words):
        total = zeta[n].sum()
        if total > 0.0:
            zeta[n] /= total
        else:
            zeta[n] = 1.0 / zeta.shape[1]


@kernel
def _stick_logs(mass: np.ndarray, concentration: float, log_weights: np.ndarray) -> float:
    """E[log weight] of a document's tables given the words at them; returns KL(q | p) of its sticks."""
    after, left, divergence = mass.sum(), 0.0, 0.0
    for t in range(len(mass) - 1):
        after = max(after - mass[t], 0.0)
        u, v = 1.0 + mass[t], concentration + after
        both = digamma(u + v)
        log_taken, log_left = digamma(u) - both, digamma(v) - both
        divergence += mass[t] * log_taken + after * log_left - math.log(concentration)  # B(1, b) = 1 / b
        divergence += math.lgamma(u + v) - math.lgamma(u) - math.lgamma(v)
        log_weights[t] = left + log_taken
        left += log_left
    log_weights[-1] = left
    return divergence


@kernel
def _documents(
    offsets: np.ndarray,
    rows_of: np.ndarray,
    counts: np.ndarray,
    log_theta_rows: np.ndarray,
    log_pi: np.ndarray,
    concentration: float,
    all_zeta: np.ndarray,
    kind_sums: np.ndarray,
    sizes: np.ndarray,
) -> float:
    """All documents in turn; adds to kind_sums and sizes, returns their part of the bound."""
    topics, tables = len(log_pi), all_zeta.shape[1]
    phi, mass, before = np.empty((tables, topics)), np.empty(tables), np.empty(tables)
    log_weights = np.empty(tables)
    bound = 0.0
    for d in range(len(offsets) - 1):
        begin, end = offsets[d], offsets[d + 1]
        words = end - begin
        log_theta = np.empty((words, topics))
        for n in range(words):
            log_theta[n] = log_theta_rows[rows_of[begin + n]]
        count, zeta = counts[begin:end], all_zeta[begin:end]
        if words > 0 and zeta[0, 0] < 0.0:
            _likeliest_topics(count, log_theta, log_pi, zeta)
        length = count.sum()
        before[:] = 0.0
        part = 0.0
        for _ in range(MOST_ROUNDS):
            # sticks and topics of the tables, given who sits there
            mass[:] = 0.0
            for n in range(words):
                mass += count[n] * zeta[n]
            part = -_stick_logs(mass, concentration, log_weights)
            for t in range(tables):
                phi[t] = log_pi
                for n in range(words):
                    if zeta[n, t] > 0.0:
                        weight = count[n] * zeta[n, t]
                        for k in range(topics):
                            phi[t, k] += weight * log_theta[n, k]
                scores = phi[t].copy()
                log_total = _to_probabilities(phi[t])
                # E[log pi] - E[log phi], of which the words' share comes below
                for k in range(topics):
                    if phi[t, k] > 0.0:
                        part += phi[t, k] * (log_pi[k] - scores[k] + log_total)
            # seats of the words
            for n in range(words):
                for t in range(tables):
                    zeta[n, t] = log_weights[t] + _dot(phi[t], log_theta[n])
                part += count[n] * _to_probabilities(zeta[n])
            moved = 0.0
            for t in range(tables):
                moved += abs(mass[t] - before[t])
                before[t] = mass[t]
            if moved <= CONVERGED * length:
                break
        bound += part
        for t in range(tables):
            sizes += phi[t]
            for n in range(words):
                weight = count[n] * zeta[n, t]
                if weight > 0.0:
                    sums = kind_sums[rows_of[begin + n]]
                    for k in range(topics):
                        sums[k] += weight * phi[t, k]
    return bound
