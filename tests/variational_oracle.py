"""Exact laws for the DP mixture and the HDP on tiny batches, by enumeration; no code of the package is used.

q has K components with Dirichlet parameters `parameters` (K x V) and sticks Beta(u, v); all others have the prior. An
assignment is a tuple of labels: 0 .. K-1 are the components of q, from K on new ones, numbered by first appearance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import betaln, gammaln, logsumexp
from scipy.stats import chi2

FALSE_ALARM = 1e-6  # of each statistical assertion, over seeds


@dataclass(frozen=True)
class Q:
    parameters: np.ndarray  # K x V
    u: np.ndarray
    v: np.ndarray
    eta: float
    concentration: float

    @property
    def components(self) -> int:
        return len(self.u)

    def of(self, k: int) -> np.ndarray:
        terms = self.parameters.shape[1]
        return self.parameters[k] if k < self.components else np.full(terms, self.eta)


def prior_only(terms: int, eta: float, concentration: float) -> Q:
    return Q(np.empty((0, terms)), np.empty(0), np.empty(0), eta, concentration)


def assignments(items: int, components: int) -> Iterator[tuple[int, ...]]:
    """All labellings of the items; for no components these are the set partitions."""

    def extend(labels: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(labels) == items:
            yield labels
            return
        for label in range(max((components, *(k + 1 for k in labels))) + 1):
            yield from extend((*labels, label))

    return extend(())


def canonical(labels: np.ndarray, components: int) -> tuple[int, ...]:
    """New components numbered by first appearance."""
    names: dict[int, int] = {}
    return tuple(int(k) if k < components else names.setdefault(k, components + len(names)) for k in labels)


def log_words(counts: np.ndarray, parameters: np.ndarray) -> float:
    """Dirichlet-multinomial, of a sequence."""
    return float(
        gammaln(parameters.sum())
        - gammaln(parameters.sum() + counts.sum())
        + np.sum(gammaln(parameters + counts) - gammaln(parameters))
    )


def log_sticks(q: Q, members: np.ndarray) -> float:
    """log E_q of prod pi_k^members_k, summed over the places of the new components on the stick."""
    old, new = members[: q.components], members[q.components :]
    after = np.append(np.cumsum(members[::-1])[::-1], 0)[1 : q.components + 1]
    log_old = np.sum(betaln(q.u + old, q.v + after) - betaln(q.u, q.v))
    a = q.concentration
    log_new = gammaln(a) - gammaln(a + new.sum()) + np.sum(np.log(a) + gammaln(new))
    return float(log_old + log_new)


# -- the DP mixture ------------------------------------------------------------------------------------


def dp_law(q: Q, documents: np.ndarray) -> dict[tuple[int, ...], float]:
    """log E_q[prod_d p(x_d, z_d)] of every assignment; documents is D x V counts."""
    law = {}
    for z in assignments(len(documents), q.components):
        count = max(q.components, *(k + 1 for k in z))
        members = np.bincount(z, minlength=count)
        words = [log_words(documents[np.array(z) == k].sum(axis=0), q.of(k)) for k in range(count)]
        law[z] = log_sticks(q, members) + sum(words)
    return law


# -- the HDP -------------------------------------------------------------------------------------------


def stirling(most: int) -> np.ndarray:
    """Unsigned Stirling numbers of the first kind."""
    table = np.zeros((most + 1, most + 1))
    table[0, 0] = 1.0
    for n in range(most):
        table[n + 1, 1:] = table[n, :-1] + n * table[n, 1:]
    return table


def hdp_law(
    q: Q, documents: list[int], terms: list[int], concentration: float
) -> dict[tuple[int, ...], dict[tuple[int, ...], float]]:
    """log E_q[p(w, z, s)] by assignment z of the tokens and, within, by tables s_k in all documents together.

    `concentration` is that of the documents (b), q.concentration that of the corpus (a).
    """
    stirlings = stirling(len(terms))
    vocabulary = np.eye(q.parameters.shape[1])[terms]
    law: dict[tuple[int, ...], dict[tuple[int, ...], float]] = {}
    for z in assignments(len(terms), q.components):
        count = max(q.components, *(k + 1 for k in z))
        words = sum(log_words(vocabulary[np.array(z) == k].sum(axis=0), q.of(k)) for k in range(count))
        cells = sorted(Counter(zip(documents, z, strict=True)).items())  # ((document, topic), tokens)
        lengths = np.bincount(documents)
        constant = words + np.sum(gammaln(concentration) - gammaln(concentration + lengths))
        by_tables: dict[tuple[int, ...], list[float]] = {}
        for seating in product(*(range(1, n + 1) for _, n in cells)):
            tables = np.zeros(count, int)
            for ((_, k), _), s in zip(cells, seating, strict=True):
                tables[k] += s
            ways = sum(np.log(stirlings[n, s]) for (_, n), s in zip(cells, seating, strict=True))
            log_p = constant + ways + tables.sum() * np.log(concentration) + log_sticks(q, tables)
            by_tables.setdefault(tuple(tables.tolist()), []).append(log_p)
        law[z] = {tables: float(logsumexp(logs)) for tables, logs in by_tables.items()}
    return law


# -- comparing -----------------------------------------------------------------------------------------


def normalised(log_law: dict) -> dict:
    total = logsumexp(list(log_law.values()))
    return {outcome: float(np.exp(value - total)) for outcome, value in log_law.items()}


def p_value(draws: list, law: dict) -> float:
    """Chi-square of independent draws; outcomes expected less than 5 times are put together."""
    seen, expected, observed, rest = Counter(draws), [], [], [0.0, 0.0]
    assert set(seen) <= set(law), "an impossible outcome"
    for outcome, probability in law.items():
        cell = (len(draws) * probability, seen[outcome])
        if cell[0] < 5:
            rest = [rest[0] + cell[0], rest[1] + cell[1]]
        else:
            expected.append(cell[0])
            observed.append(cell[1])
    if rest[0] > 0:
        expected.append(rest[0])
        observed.append(rest[1])
    difference = np.array(observed) - np.array(expected)
    return float(chi2.sf(np.sum(difference**2 / np.array(expected)), len(expected) - 1))
