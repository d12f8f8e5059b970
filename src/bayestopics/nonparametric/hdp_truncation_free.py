"""The HDP topic model by locally collapsed variational inference, without truncation [Wang & Blei, S.2].

In a batch, topics z of the tokens, table counts s and top-level weights pi are drawn in turn, with q as the prior:
z given pi, theta summed out; s given z and pi; pi given s. Topics born in the batch share what pi leaves to unseen ones
as Dirichlet(s, a): the law of the Chinese restaurant franchise, with their order on the stick summed out.

Tokens move one at a time, as in the paper, and if asked for all tokens of a document in a topic at once too (see
`hdp_blocks`): a topic born with a single token rarely lives, as others explain its next word better.

A token's topic is drawn in two parts. Topics that the document has, a few, are weighed one by one. For all the others
the weights of a term change only when the document takes up one of them: their sum is kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from bayestopics.corpus.corpus import Corpus
from bayestopics.jit import kernel, sum_kernel
from bayestopics.lda.uniforms import new_words, uniform
from bayestopics.nonparametric.components import Components
from bayestopics.nonparametric.hdp_blocks import empty_slot, finish_documents
from bayestopics.nonparametric.hdp_held_out import score
from bayestopics.nonparametric.sticks import Sticks, draw_weights
from bayestopics.nonparametric.stream import Bags, Score, checked
from bayestopics.nonparametric.truncation_free import TruncationFree, factors_of_a_product, without_gaps

ROOM = 16  # topics that may be born before arrays are made larger


class TruncationFreeHDP(TruncationFree):
    """`gamma` (the paper's a) of the corpus, `concentration` (b) of the documents; `sweeps` after the first draw.

    With `block_moves` many more topics are born, for several times the work a document. There are block moves in the
    first pass over `documents` only, or for ever in a stream without that number: later q has seen the documents
    before, and a topic made by one of them suits it too well. After equal CPU seconds (8 on real corpora, batches of
    100, one or two seeds) held-out scores are higher with them on ACL abstracts (-7.59, not -7.75 nats a word), the New
    York Times sample (-7.50, -7.60) and NIPS abstracts (-7.42, -7.44), not on KOS (-7.78, -7.77 and -7.66, -7.57); of
    15 simulated topics (one corpus) 13 to 15 are found, without them 4 to 6. They are not the default, as they are not
    the paper's and make far more topics than the data need: over 700 on KOS, where 120 of a sampler predict better.
    """

    name = "truncation-free HDP"

    def __init__(
        self,
        term_count: int,
        rng: np.random.Generator,
        documents: int | None = None,
        eta: float = 0.01,
        gamma: float = 1.0,
        concentration: float = 1.0,
        sweeps: int = 5,
        block_moves: bool = False,
    ) -> None:
        checked(eta=eta, gamma=gamma, concentration=concentration, terms=term_count)
        settings = {"documents": documents, "gamma": gamma, "concentration": concentration}
        settings |= {"sweeps": sweeps, "block_moves": block_moves}
        super().__init__(Components(term_count, eta), settings, rng)

    def top_concentration(self) -> float:
        return float(self.settings["gamma"])

    def _alive(self) -> np.ndarray:
        return self.components.totals >= 1.0

    def score(self, held_out: Corpus | sparse.csr_array) -> Score:
        return score(self, held_out)

    def _draw(self, components: Components, bags: Bags) -> Drawn:
        concentrations = (self.settings["gamma"], self.settings["concentration"])
        documents = self.settings["documents"]
        first_pass = documents is None or self.documents_seen - len(bags) < documents
        sampler = (self.settings["sweeps"], self.settings["block_moves"] and first_pass)
        return draw_batch(components, *concentrations, bags, *sampler, self.rng)

    def _add(self, components: Components, bags: Bags, drawn: Drawn, first: int = 0) -> None:
        """lambda_kw += n_kw, and the tables to the sizes [S.2.1]."""
        components.grow(max(len(drawn.tables) - components.count, 0))
        z = np.where(drawn.assignments >= first, drawn.assignments, -1)
        terms = np.repeat(bags.terms, bags.counts)
        _add_tokens(terms, z, 1.0 / components.weight, components.stored, components.totals)
        components.sizes[first : len(drawn.tables)] += drawn.tables[first:]


# -- a batch ------------------------------------------------------------------------------------------


class Drawn(NamedTuple):
    """The topic of every token of a batch, and how many tables each topic has in its documents together."""

    assignments: np.ndarray
    tables: np.ndarray


def draw_batch(
    components: Components,
    gamma: float,
    concentration: float,
    bags: Bags,
    sweeps: int,
    blocks: bool,
    rng: np.random.Generator,
) -> Drawn:
    """Tokens one after the other, then `sweeps` Gibbs sweeps; topics from `components.count` on are new."""
    sticks = Sticks.of(components.sizes, gamma)
    old, slots = components.count, components.count + ROOM
    rows, totals = components.rows(bags.kinds, ROOM), components.row_totals(ROOM)
    members, tables = np.zeros(slots, np.int64), np.zeros(slots, np.int64)  # of the batch
    entry_of = np.repeat(np.arange(len(bags.terms)), bags.counts)
    token_offsets = np.concatenate(([0], np.cumsum(bags.lengths)))
    z = np.full(len(entry_of), -1, np.int64)
    words = new_words(rng)
    batch = (token_offsets, bags.offsets, entry_of, bags.rows, sticks.order, sticks.u, sticks.v)
    eta, total_eta = components.eta, components.eta * components.term_count
    factors = factors_of_a_product(eta / (totals.max() + len(z)), 10.0)
    numbers = (gamma, concentration, components.term_count, eta, total_eta, factors, blocks)
    progress, pi, unseen = np.zeros(3, np.int64), np.zeros(slots), np.ones(1)
    while not _gibbs(progress, sweeps + 1, *batch, rows, totals, members, tables, pi, unseen, z, *numbers, words):
        rows, totals, members, tables, pi = _with_room(rows, totals, members, tables, pi, components)
    born = np.flatnonzero(members[old:]) + old
    return Drawn(without_gaps(z, old), np.concatenate((tables[:old], tables[born])))


def _with_room(
    rows: np.ndarray, totals: np.ndarray, members: np.ndarray, tables: np.ndarray, pi: np.ndarray, prior: Components
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same arrays with room for as many topics more."""
    more = len(members)
    return (
        np.hstack((rows, np.full((len(rows), more), prior.eta))),
        np.concatenate((totals, np.full(more, prior.eta * prior.term_count))),
        np.concatenate((members, np.zeros(more, np.int64))),
        np.concatenate((tables, np.zeros(more, np.int64))),
        np.concatenate((pi, np.zeros(more))),
    )


# -- kernels ------------------------------------------------------------------------------------------


@kernel
def _add_tokens(terms: np.ndarray, z: np.ndarray, amount: float, stored: np.ndarray, totals: np.ndarray) -> None:
    """Tokens with a negative z are left out."""
    for i in range(len(z)):
        if z[i] >= 0:
            stored[terms[i], z[i]] += amount
            totals[z[i]] += 1.0


@sum_kernel
def _dot(a: np.ndarray, b: np.ndarray) -> float:
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@kernel
def _gibbs(
    progress: np.ndarray,
    sweeps: int,
    token_offsets: np.ndarray,
    entry_offsets: np.ndarray,
    entry_of: np.ndarray,
    rows_of: np.ndarray,
    order: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    rows: np.ndarray,
    totals: np.ndarray,
    members: np.ndarray,
    tables: np.ndarray,
    pi: np.ndarray,
    unseen: np.ndarray,
    z: np.ndarray,
    gamma: float,
    concentration: float,
    terms: int,
    eta: float,
    total_eta: float,
    factors: int,
    blocks: bool,
    words: np.ndarray,
) -> bool:
    """Sweeps from `progress`, (sweep, token, document), on; False if it stopped for want of room.

    A sweep draws pi, then the topics of the tokens, then those of whole blocks, with the tables.
    """
    old = len(order)
    while progress[0] < sweeps:
        if progress[1] == 0 and progress[2] == 0:
            unseen[0] = draw_weights(order, u, v, tables, gamma, words, pi)
            tables[:] = 0
        arrays = (entry_of, rows_of, rows, totals, members)
        if progress[1] < len(z):
            offsets, numbers = (token_offsets, entry_offsets), (old, gamma, concentration, terms)
            progress[1] = _sweep(progress[1], offsets, arrays, pi, unseen, z, numbers, words)
            if progress[1] < len(z):
                return False
        constants = (old, gamma, concentration, eta, total_eta, factors, blocks)
        progress[2] = finish_documents(progress[2], token_offsets, arrays, tables, pi, unseen, z, constants, words)
        if progress[2] < len(token_offsets) - 1:
            return False
        progress[0] += 1
        progress[1] = 0
        progress[2] = 0
    return True


@kernel
def _sweep(
    start: int,
    offsets: tuple[np.ndarray, np.ndarray],
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    pi: np.ndarray,
    unseen: np.ndarray,
    z: np.ndarray,
    numbers: tuple[int, float, float, int],
    words: np.ndarray,
) -> int:
    """Draw the topics of tokens start, ...; returns the first that was not drawn, for want of room.

    rows and totals are lambda and its sums, with the tokens of the batch.
    """
    token_offsets, entry_offsets = offsets
    entry_of, rows_of, rows, totals, members = arrays
    old, gamma, concentration, terms = numbers
    slots = len(members)
    in_document = np.zeros(slots, np.int64)
    factor = np.zeros(slots)  # (n_dk + b pi_k) / sum_v lambda_kv of the document's topics
    factor_of_others = np.empty(slots)  # b pi_k / sum_v lambda_kv of the others, 0 for the document's
    listed = np.zeros(slots, np.bool_)
    topics = np.empty(slots, np.int64)  # the document's
    cumulative = np.empty(slots)
    empty = empty_slot(old, members)
    d = np.searchsorted(token_offsets, start, side="right") - 1
    while d < len(token_offsets) - 1:
        begin, end = token_offsets[d], token_offsets[d + 1]
        first_entry, last_entry = entry_offsets[d], entry_offsets[d + 1]
        # the document's topics, and for each of its terms the mass of the others
        for k in range(slots):
            factor_of_others[k] = concentration * pi[k] / totals[k]
        count = 0
        for i in range(begin, end):
            if z[i] >= 0:
                in_document[z[i]] += 1
                if not listed[z[i]]:
                    listed[z[i]] = True
                    topics[count] = z[i]
                    count += 1
        for j in range(count):
            k = topics[j]
            factor[k] = (in_document[k] + concentration * pi[k]) / totals[k]
            factor_of_others[k] = 0.0
        others = np.empty(last_entry - first_entry)
        for e in range(first_entry, last_entry):
            others[e - first_entry] = _dot(factor_of_others, rows[rows_of[e]])
        for i in range(max(begin, start), end):
            if empty == slots:  # before anything is drawn: a draw that was dropped would make births rarer
                return i
            e = entry_of[i]
            row = rows[rows_of[e]]
            k = z[i]
            if k >= 0:  # out of its topic
                in_document[k] -= 1
                members[k] -= 1
                totals[k] -= 1.0
                row[k] -= 1.0
                if k >= old and members[k] == 0:  # it dies: its share is unseen again
                    unseen[0] += pi[k]
                    pi[k] = 0.0
                    empty = k
                factor[k] = (in_document[k] + concentration * pi[k]) / totals[k]
            # (n_dk + b pi_k) (lambda_kw + n_kw) / (sum_v lambda_kv + n_k); b (1 - sum pi) / V for a new topic [S.2.2]
            mass = 0.0
            for j in range(count):
                mass += factor[topics[j]] * row[topics[j]]
                cumulative[j] = mass
            mass_of_others = max(others[e - first_entry], 0.0)
            mass_of_new = concentration * unseen[0] / terms
            threshold = uniform(words) * (mass + mass_of_others + mass_of_new)
            new = -1
            if threshold < mass:
                j = 0
                while cumulative[j] <= threshold:
                    j += 1
                new = topics[j]
            elif threshold < mass + mass_of_others:
                threshold -= mass
                for k in range(slots):
                    weight = factor_of_others[k] * row[k]
                    if weight > 0.0:
                        new = k
                        threshold -= weight
                        if threshold < 0.0:
                            break
            if new < 0:  # a new topic breaks Beta(1, a) off what is unseen
                new = empty
                left = (1.0 - uniform(words)) ** (1.0 / gamma)
                pi[new] = unseen[0] * (1.0 - left)
                unseen[0] *= left
            z[i] = new
            if not listed[new]:
                listed[new] = True
                topics[count] = new
                count += 1
                for e in range(first_entry, last_entry):
                    others[e - first_entry] -= factor_of_others[new] * rows[rows_of[e], new]
                factor_of_others[new] = 0.0
            in_document[new] += 1
            members[new] += 1
            totals[new] += 1.0
            row[new] += 1.0
            factor[new] = (in_document[new] + concentration * pi[new]) / totals[new]
            if new == empty:
                empty = empty_slot(old, members)
        for j in range(count):  # cleared for the next document
            in_document[topics[j]] = 0
            factor[topics[j]] = 0.0
            listed[topics[j]] = False
        d += 1
    return len(z)
