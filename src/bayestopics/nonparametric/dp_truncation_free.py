"""The DP mixture by locally collapsed variational inference, without truncation [Wang & Blei, sections 2.2 and 2.3].

A document's component is drawn from q(z) = E_q[p(x, z | theta, pi)] [6], in closed form. The documents of a batch
depend on each other [the display after 11]: each is drawn given the others, whose counts are added to lambda, u and v.
Components born in the batch follow the Chinese restaurant process: their order on the stick is summed out.

The cost grows with the number of components, because a document needs its probability under each of them. Lists of the
components that have had a term, as in the HDP, would not help: on KOS and NIPS they hold 36 to 78 % of all components.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import scipy.sparse as sparse

from bayestopics.base.jit import kernel
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.uniforms import new_words, uniform
from bayestopics.nonparametric import BIRTHS
from bayestopics.nonparametric.components import Components
from bayestopics.nonparametric.dp_mixture import collapsed, log_likelihoods
from bayestopics.nonparametric.merging import dp_log_odds, means_of_pair, merge_components
from bayestopics.nonparametric.sticks import Sticks
from bayestopics.nonparametric.stream import Bags, HeldOutScore, checked
from bayestopics.nonparametric.truncation_free import TruncationFree, factors_of_a_product, without_gaps

ROOM = 16  # components that can be born before the arrays must grow
FRESH = 50  # new components over which births from the data spread the documents
BIRTH_SWEEPS = 10
COLLECTED = 10_000  # documents that births from the data look at together
MERGE_EVERY = 2_000  # documents


class TruncationFreeDPMixture(TruncationFree):
    """Makes `sweeps` Gibbs sweeps over a batch after a first sequential draw; a batch of one document needs none.

    Births "words" are the paper's: a document draws a new component. With "data", the first `COLLECTED` documents wait,
    and are then drawn together by Gibbs sweeps from a start that spreads them over new components at random: a short
    Gibbs run. Later births are the paper's, and every `MERGE_EVERY` documents `merging` removes components that do not
    help to predict.
    """

    name = "truncation-free DP mixture"

    def __init__(
        self,
        term_count: int,
        rng: np.random.Generator,
        documents: int | None = None,
        eta: float = 0.5,
        concentration: float = 1.0,
        sweeps: int = 2,
        births: str = "words",
        first_pass: str = "sequential",
    ) -> None:
        if births not in BIRTHS:
            raise InputError(f"unknown births {births!r}; known are {', '.join(BIRTHS)}")
        checked(eta=eta, concentration=concentration, terms=term_count)
        settings: dict[str, Any] = {"documents": documents, "concentration": concentration, "sweeps": sweeps}
        settings |= {"births": births, "first_pass": first_pass}
        super().__init__(Components(term_count, eta), settings, rng)
        self.waiting = Bags.none(term_count)

    def top_concentration(self) -> float:
        return float(self.settings["concentration"])

    def _alive(self) -> np.ndarray:
        return self.components.sizes >= 1.0

    def score(self, held_out: Corpus | sparse.csr_array) -> HeldOutScore:
        return HeldOutScore(collapsed(self, held_out).per_word, 0.0)

    def _draw(self, components: Components, bags: Bags) -> np.ndarray:
        sweeps = 0 if len(bags) == 1 else self.settings["sweeps"]
        return draw_batch(components, self.top_concentration(), bags, sweeps, self.rng)

    def _update(self, bags: Bags) -> None:
        if self.settings["births"] == "words":
            super()._update(bags)
        elif self.components.count == 0:
            bags = self.waiting.followed_by(bags)
            enough = len(bags) >= COLLECTED or self.documents_seen == self.settings["documents"]
            self.waiting = Bags.none(self.term_count) if enough else bags
            if enough:
                self._learn(bags, self._draw_births(bags))
        else:
            drawn = self._draw(self.components, bags)
            if self._passes(MERGE_EVERY, len(bags)) and self._merge(bags, drawn):
                drawn = self._draw(self.components, bags)
            self._learn(bags, drawn)

    def _draw_births(self, bags: Bags) -> np.ndarray:
        """Draw from a start with many new components."""
        return draw_batch(self.components, self.top_concentration(), bags, BIRTH_SWEEPS, self.rng, FRESH)

    def _merge(self, bags: Bags, drawn: np.ndarray) -> int:
        """Merge components that predict a batch no better than one would, given what was drawn for it; how many."""
        entries, weights = (bags.counts, bags.terms, bags.offsets), self.mean_weights()[0]
        counts = sparse.csr_array(entries, (len(bags), self.term_count))

        def log_odds(first: int, second: int) -> float:
            chosen = counts[np.flatnonzero((drawn == first) | (drawn == second))]
            return dp_log_odds(chosen, means_of_pair(self.components, first, second), (weights[first], weights[second]))

        return merge_components(self.components, log_odds)

    def _add(self, components: Components, bags: Bags, drawn: np.ndarray, first: int = 0) -> None:
        """lambda_kw += n_kw, and the size of component z grows by one document."""
        components.grow(max(int(drawn.max(initial=-1)) + 1 - components.count, 0))
        z = np.where(drawn >= first, drawn, -1)
        _add_entries(bags.offsets, bags.terms, bags.counts, z, 1.0 / components.weight, components.stored)
        np.add.at(components.totals, z[z >= 0], bags.lengths[z >= 0])
        np.add.at(components.sizes, z[z >= 0], 1.0)

    def state_dict(self) -> dict[str, np.ndarray]:
        waiting = {f"waiting_{name}": getattr(self.waiting, name) for name in ("offsets", "terms", "counts")}
        return super().state_dict() | waiting

    @classmethod
    def from_state_dict(cls, state: dict[str, np.ndarray]) -> Self:
        learner = super().from_state_dict(state)
        offsets, terms, counts = (state[f"waiting_{name}"] for name in ("offsets", "terms", "counts"))
        learner.waiting = Bags(offsets, terms, counts, learner.term_count)
        return learner


# -- a batch ------------------------------------------------------------------------------------------


def draw_batch(
    components: Components, concentration: float, bags: Bags, sweeps: int, rng: np.random.Generator, fresh: int = 0
) -> np.ndarray:
    """Draw the component of each document, first one after the other and then in `sweeps` Gibbs sweeps. Numbers from
    `components.count` on are new components, and every such number up to the largest is in use.

    With `fresh`, the sweeps start from documents spread over this many new components at random instead.
    """
    sticks = Sticks.of(components.sizes, concentration)
    room = min(ROOM, len(bags)) + fresh
    rows, totals = components.rows(bags.kinds, room), components.row_totals(room)
    members = np.zeros(components.count + room, np.int64)
    z = np.full(len(bags), -1, np.int64)
    factors = factors_of_a_product(components.eta, totals.max(initial=1.0) + bags.counts.sum())
    if fresh:
        z[:] = components.count + rng.integers(fresh, size=len(bags))
        np.add.at(members, z, 1)
        np.add.at(totals, z, bags.lengths)
        np.add.at(rows, (bags.rows, np.repeat(z, np.diff(bags.offsets))), bags.counts)
    words = new_words(rng)
    prior = (components.eta, components.eta * components.term_count, concentration)
    for _ in range(sweeps + 1):
        done = 0
        while done < len(bags):
            batch = (bags.offsets, bags.rows, bags.counts, bags.lengths, sticks.order, sticks.u, sticks.v)
            done = _draw_documents(done, *batch, rows, totals, members, z, *prior, factors, words)
            if done < len(bags):  # no room for another component
                more = len(members)
                rows = np.hstack((rows, np.full((len(rows), more), components.eta)))
                totals = np.concatenate((totals, np.full(more, prior[1])))
                members = np.concatenate((members, np.zeros(more, np.int64)))
    return without_gaps(z, components.count)


@kernel
def _add_entries(
    offsets: np.ndarray, terms: np.ndarray, counts: np.ndarray, z: np.ndarray, amount: float, stored: np.ndarray
) -> None:
    """Documents with a negative z are left out."""
    for d in range(len(z)):
        if z[d] >= 0:
            for e in range(offsets[d], offsets[d + 1]):
                stored[terms[e], z[d]] += amount * counts[e]


# -- kernels ------------------------------------------------------------------------------------------


@kernel
def _log_likelihood_of_new(
    start: int, end: int, counts: np.ndarray, length: int, eta: float, total_eta: float
) -> float:
    result = math.lgamma(total_eta) - math.lgamma(total_eta + length)
    for e in range(start, end):
        result += math.lgamma(eta + counts[e]) - math.lgamma(eta)
    return result


@kernel
def _weights(
    order: np.ndarray, u: np.ndarray, v: np.ndarray, members: np.ndarray, concentration: float, weights: np.ndarray
) -> None:
    """E[pi_k] given the documents that have a component; the last entry of `weights` is for a new component."""
    old, slots = len(order), len(members)
    in_tail = 0
    for k in range(old, slots):
        in_tail += members[k]
    after = np.empty(old, np.int64)
    total = in_tail
    for j in range(old - 1, -1, -1):
        after[j] = total
        total += members[order[j]]
    left = 1.0
    for j in range(old):
        k = order[j]
        both = u[j] + v[j] + members[k] + after[j]
        weights[k] = left * (u[j] + members[k]) / both
        left *= (v[j] + after[j]) / both
    for k in range(old, slots):  # the Chinese restaurant
        weights[k] = left * members[k] / (concentration + in_tail)
    weights[slots] = left * concentration / (concentration + in_tail)


@kernel
def _draw_documents(
    start: int,
    offsets: np.ndarray,
    rows_of: np.ndarray,
    counts: np.ndarray,
    lengths: np.ndarray,
    order: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    rows: np.ndarray,
    totals: np.ndarray,
    members: np.ndarray,
    z: np.ndarray,
    eta: float,
    total_eta: float,
    concentration: float,
    factors: int,
    words: np.ndarray,
) -> int:
    """Draw the components of the documents from `start` on; returns the first that was not drawn for lack of room."""
    old, slots = len(order), len(members)
    weights = np.empty(slots + 1)
    log_weights = np.empty(slots + 1)
    for d in range(start, len(z)):
        begin, end = offsets[d], offsets[d + 1]
        empty = slots
        for k in range(old, slots):
            empty = k if members[k] == 0 else empty
        if empty == slots:  # stop before drawing: to drop a draw would make births rarer
            return d
        # take it out of its component
        k = z[d]
        if k >= 0:
            members[k] -= 1
            totals[k] -= lengths[d]
            for e in range(begin, end):
                rows[rows_of[e], k] -= counts[e]
        # the conditional [6]
        _weights(order, u, v, members, concentration, weights)
        log_likelihoods(begin, end, rows_of, counts, lengths[d], rows, totals, factors, log_weights[:slots])
        log_weights[slots] = _log_likelihood_of_new(begin, end, counts, lengths[d], eta, total_eta)
        largest = -np.inf
        for k in range(slots + 1):
            log_weights[k] += math.log(weights[k]) if weights[k] > 0.0 else -np.inf
            largest = max(largest, log_weights[k])
        mass = 0.0
        for k in range(slots + 1):
            weights[k] = math.exp(log_weights[k] - largest)
            mass += weights[k]
        threshold = uniform(words) * mass
        new = slots
        for k in range(slots + 1):
            if weights[k] > 0.0:
                new = k
                threshold -= weights[k]
                if threshold < 0.0:
                    break
        # put it into its component
        new = empty if new == slots else new
        z[d] = new
        members[new] += 1
        totals[new] += lengths[d]
        for e in range(begin, end):
            rows[rows_of[e], new] += counts[e]
    return len(z)
