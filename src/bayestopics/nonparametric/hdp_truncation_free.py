"""The HDP topic model by locally collapsed variational inference, without truncation [Wang & Blei, S.2].

In a batch, the topics z of the tokens, the table counts s and the top-level weights pi are drawn in turn, with q as the
prior: z given pi, with theta integrated out; s given z and pi; pi given s. Topics born in the batch share the weight
that pi leaves to unseen topics as Dirichlet(s, a). This is the Chinese restaurant franchise with their order on the
stick summed out.

Tokens move one at a time, as in the paper. On request, all tokens of a document in a topic also move at once (see
`hdp_blocks`), because a topic born with a single token rarely survives: other topics explain its next word better.

A token's topic is drawn by parts, as in SparseLDA (Yao, Mimno & McCallum 2009). With factor_k = (n_dk + b pi_k) / L_k,
the weight of topic k is factor_k (lambda_kw - eta) + factor_k eta. The first part is not 0 only for the few topics that
have had the term, which are listed. For the second part we keep two sums, over the topics of the document and over all
others; a draw from this part is so rare that it may search through all topics. So only the cost of drawing pi grows
with the number of topics: every sweep over a batch draws all of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse

from bayestopics.base.jit import kernel
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.uniforms import new_words, uniform
from bayestopics.nonparametric.components import Components, Lists, place_in_list
from bayestopics.nonparametric.hdp_blocks import empty_slot, finish_documents
from bayestopics.nonparametric.hdp_held_out import score
from bayestopics.nonparametric.sticks import Sticks, draw_weights
from bayestopics.nonparametric.stream import Bags, HeldOutScore, checked
from bayestopics.nonparametric.truncation_free import TruncationFree, factors_of_a_product, without_gaps

ROOM = 16  # topics that can be born before the arrays must grow


class TruncationFreeHDP(TruncationFree):
    """`gamma` (the paper's a) is for the corpus, `concentration` (b) for the documents; `sweeps` follow the first draw.

    With `block_moves` many more topics are born, at several times the work per document. Block moves are made only in
    the first pass over `documents`, or always if this number is not given: in later passes q has already seen the
    documents, and a topic made by one of them fits it too well. Held-out scores after equal CPU seconds (8 on real
    corpora, batches of 100, one or two seeds), in nats per word with and without block moves: -7.59 and -7.75 on ACL
    abstracts, -7.50 and -7.60 on the New York Times sample, -7.42 and -7.44 on NIPS abstracts, but -7.78 and -7.77, and
    -7.66 and -7.57, on KOS. On one simulated corpus of 15 topics they find 13 to 15; without them 4 to 6 are found.
    They are not the default, because the paper does not have them and they make far more topics than the data need:
    over 700 on KOS, where the 120 topics of a sampler predict better.
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
        first_pass: str = "sequential",
    ) -> None:
        checked(eta=eta, gamma=gamma, concentration=concentration, terms=term_count)
        settings: dict[str, Any] = {"documents": documents, "gamma": gamma, "concentration": concentration}
        settings |= {"sweeps": sweeps, "block_moves": block_moves, "first_pass": first_pass}
        super().__init__(Components(term_count, eta), settings, rng)

    def top_concentration(self) -> float:
        return float(self.settings["gamma"])

    def _alive(self) -> np.ndarray:
        return self.components.totals >= 1.0

    def score(self, held_out: Corpus | sparse.csr_array) -> HeldOutScore:
        return score(self, held_out)

    def _draw(self, components: Components, bags: Bags) -> Drawn:
        concentrations = (self.settings["gamma"], self.settings["concentration"])
        sampler = (self.settings["sweeps"], self.settings["block_moves"] and self._in_first_pass(len(bags)))
        return draw_batch(components, *concentrations, bags, *sampler, self.rng)

    def _add(self, components: Components, bags: Bags, drawn: Drawn, first: int = 0) -> None:
        """lambda_kw += n_kw, and add the tables to the sizes [S.2.1]."""
        components.grow(max(len(drawn.tables) - components.count, 0))
        z = np.where(drawn.assignments >= first, drawn.assignments, -1)
        components.add_tokens(np.repeat(bags.terms, bags.counts), z)
        components.sizes[first : len(drawn.tables)] += drawn.tables[first:]


# -- a batch ------------------------------------------------------------------------------------------


class Drawn(NamedTuple):
    """The topic of every token of a batch, and the number of tables of each topic over all its documents."""

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
    """Draw tokens one after the other, then make `sweeps` Gibbs sweeps; topics from `components.count` on are new."""
    sticks = Sticks.of(components.sizes, gamma)
    old, slots = components.count, components.count + ROOM
    row_of = np.repeat(bags.rows, bags.counts)
    lists, totals = components.lists(bags.kinds, np.bincount(row_of)), components.row_totals(ROOM)
    members, tables = np.zeros(slots, np.int64), np.zeros(slots, np.int64)  # of the batch
    token_offsets = np.concatenate(([0], np.cumsum(bags.lengths)))
    z, place = np.full(len(row_of), -1, np.int64), np.empty(len(row_of), np.int64)
    words = new_words(rng)
    batch = (token_offsets, row_of, sticks.order, sticks.u, sticks.v, z, place, lists)
    eta, total_eta = components.eta, components.eta * components.term_count
    factors = factors_of_a_product(eta / (totals.max() + len(z)), 10.0)
    numbers = (gamma, concentration, components.term_count, eta, total_eta, factors, blocks)
    progress, pi, unseen = np.zeros(3, np.int64), np.zeros(slots), np.ones(1)
    while not _gibbs(progress, sweeps + 1, *batch, totals, members, tables, pi, unseen, *numbers, words):
        more = len(members)
        totals = np.concatenate((totals, np.full(more, total_eta)))
        members, tables = (np.concatenate((array, np.zeros(more, np.int64))) for array in (members, tables))
        pi = np.concatenate((pi, np.zeros(more)))
    born = np.flatnonzero(members[old:]) + old
    return Drawn(without_gaps(z, old), np.concatenate((tables[:old], tables[born])))


# -- kernels ------------------------------------------------------------------------------------------


@kernel
def _gibbs(
    progress: np.ndarray,
    sweeps: int,
    token_offsets: np.ndarray,
    row_of: np.ndarray,
    order: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    z: np.ndarray,
    place: np.ndarray,
    lists: Lists,
    totals: np.ndarray,
    members: np.ndarray,
    tables: np.ndarray,
    pi: np.ndarray,
    unseen: np.ndarray,
    gamma: float,
    concentration: float,
    terms: int,
    eta: float,
    total_eta: float,
    factors: int,
    blocks: bool,
    words: np.ndarray,
) -> bool:
    """Continue the sweeps from `progress` = (sweep, token, document); False if it stopped for lack of room.

    A sweep draws pi, then the topics of the tokens, then the topics of whole blocks together with the tables.
    """
    old = len(order)
    tokens = (token_offsets, row_of, z, place)
    while progress[0] < sweeps:
        if progress[1] == 0 and progress[2] == 0:
            unseen[0] = draw_weights(order, u, v, tables, gamma, words, pi)
            tables[:] = 0
        if progress[1] < len(z):
            numbers = (old, gamma, concentration, terms, eta)
            progress[1] = _sweep(progress[1], tokens, lists, totals, members, pi, unseen, numbers, words)
            if progress[1] < len(z):
                return False
        constants = (old, gamma, concentration, eta, total_eta, factors, blocks)
        progress[2] = finish_documents(
            progress[2], tokens, lists, totals, members, tables, pi, unseen, constants, words
        )
        if progress[2] < len(token_offsets) - 1:
            return False
        progress[0] += 1
        progress[1] = 0
        progress[2] = 0
    return True


@kernel
def _sweep(
    start: int,
    tokens: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    lists: Lists,
    totals: np.ndarray,
    members: np.ndarray,
    pi: np.ndarray,
    unseen: np.ndarray,
    numbers: tuple[int, float, float, int, float],
    words: np.ndarray,
) -> int:
    """Draw the topics of the tokens from `start` on; returns the first that was not drawn for lack of room.

    lists and totals are lambda and its sums, including the tokens of the batch; place[i] is token i's entry in a list.
    """
    token_offsets, row_of, z, place = tokens
    starts, ends, components, excess = lists
    old, gamma, concentration, terms, eta = numbers
    slots = len(members)
    factor = concentration * pi / totals  # (n_dk + b pi_k) / sum_v lambda_kv
    others = factor.sum()  # of the topics that the document does not have
    in_document = np.zeros(slots, np.int64)
    listed = np.zeros(slots, np.bool_)
    topics = np.empty(slots, np.int64)  # the document's
    empty = empty_slot(old, members)
    d = np.searchsorted(token_offsets, start, side="right") - 1
    while d < len(token_offsets) - 1:
        begin, end = token_offsets[d], token_offsets[d + 1]
        count, own = 0, 0.0
        for i in range(begin, end):
            if z[i] >= 0:
                in_document[z[i]] += 1
                if not listed[z[i]]:
                    listed[z[i]] = True
                    topics[count] = z[i]
                    count += 1
        for k in topics[:count]:
            others -= factor[k]
            factor[k] = (in_document[k] + concentration * pi[k]) / totals[k]
            own += factor[k]
        for i in range(max(begin, start), end):
            if empty == slots:  # stop before drawing: to drop a draw would make births rarer
                return i
            k = z[i]
            if k >= 0:  # take it out of its topic
                in_document[k] -= 1
                members[k] -= 1
                totals[k] -= 1.0
                excess[place[i]] -= 1.0
                if k >= old and members[k] == 0:  # the topic dies, and its share is unseen again
                    unseen[0] += pi[k]
                    pi[k] = 0.0
                    empty = k
                own -= factor[k]
                factor[k] = (in_document[k] + concentration * pi[k]) / totals[k]
                own += factor[k]
            # (n_dk + b pi_k) (lambda_kw + n_kw) / (sum_v lambda_kv + n_k), by parts; b (1 - sum pi) / V if new [S.2.2]
            first, last = starts[row_of[i]], ends[row_of[i]]
            mass = 0.0
            for j in range(first, last):
                mass += factor[components[j]] * excess[j]
            mass_of_own, mass_of_others = eta * max(own, 0.0), eta * max(others, 0.0)
            mass_of_new = concentration * unseen[0] / terms
            threshold = uniform(words) * (mass + mass_of_own + mass_of_others + mass_of_new)
            new, entry = -1, -1
            if threshold < mass:
                for j in range(first, last):
                    weight = factor[components[j]] * excess[j]
                    if weight > 0.0:
                        entry = j
                        threshold -= weight
                        if threshold < 0.0:
                            break
                new = components[entry]
            elif threshold < mass + mass_of_own:
                threshold -= mass
                for k in topics[:count]:
                    if factor[k] > 0.0:
                        new = k
                        threshold -= eta * factor[k]
                        if threshold < 0.0:
                            break
            elif threshold < mass + mass_of_own + mass_of_others:
                threshold -= mass + mass_of_own
                for k in range(slots):
                    if factor[k] > 0.0 and not listed[k]:
                        new = k
                        threshold -= eta * factor[k]
                        if threshold < 0.0:
                            break
            if new < 0:  # a new topic breaks a Beta(1, a) share off the unseen weight
                new = empty
                left = (1.0 - uniform(words)) ** (1.0 / gamma)
                pi[new] = unseen[0] * (1.0 - left)
                unseen[0] *= left
            if not listed[new]:
                listed[new] = True
                topics[count] = new
                count += 1
                others -= factor[new]
                own += factor[new]
            z[i] = new
            place[i] = entry if entry >= 0 else place_in_list(row_of[i], new, lists)
            in_document[new] += 1
            members[new] += 1
            totals[new] += 1.0
            excess[place[i]] += 1.0
            own -= factor[new]
            factor[new] = (in_document[new] + concentration * pi[new]) / totals[new]
            own += factor[new]
            if new == empty:
                empty = empty_slot(old, members)
        for k in topics[:count]:  # these are not topics of the next document
            in_document[k] = 0
            listed[k] = False
            factor[k] = concentration * pi[k] / totals[k]
            others += factor[k]
        d += 1
    return len(z)
