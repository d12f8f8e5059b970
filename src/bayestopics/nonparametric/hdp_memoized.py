"""The HDP topic model by truncation-free inference that remembers documents: births from the data, nothing fades.

The paper's updates [Wang & Blei, S.2] draw the topics of a batch anew in every pass, from a q that has counted the same
documents before. Here the counts of a batch are taken out of the sums first (memoized inference, Hughes & Sudderth
2013), one token at a time, and its tokens are drawn from where they were. Given all other documents, this is a Gibbs
step of the posterior: z given beta, the batch's tables given z, beta given the tables of all documents (Teh et al.
2006). q(theta_k) is Dirichlet(eta + the mean counts of topic k over the latest states), which predicts better than one
state does.

Documents without numbers (`ids`) are drawn, counted and forgotten, so that a stream needs no more memory as it goes on.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sparse

from bayestopics.base.jit import kernel
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.state import unsigned
from bayestopics.lda.uniforms import new_words, uniform
from bayestopics.nonparametric.antoniak import draw_tables
from bayestopics.nonparametric.components import Components
from bayestopics.nonparametric.hdp_gibbs import visit_tokens
from bayestopics.nonparametric.hdp_held_out import score
from bayestopics.nonparametric.memory import Memory
from bayestopics.nonparametric.stream import Bags, HeldOutScore, Learner, checked
from bayestopics.nonparametric.top_level import weights_of_tables

START = 500  # documents: a short chain over few finds better topics in the same time than a shorter one over many
FRESH = 60  # topics over which the start spreads their tokens
BIRTH_SWEEPS = 300
SPARE = 8  # free labels after making room
LATEST = 20.0  # passes over which q averages, in the long run
RECENT = 3.0  # before that, about the last third of the passes


class MemoizedHDP(Learner):
    """`gamma` (the paper's a) is for the corpus, `concentration` (b) for the documents.

    The first `start` documents wait, or all `documents` if there are fewer. They are then drawn together by a Gibbs run
    of `BIRTH_SWEEPS` sweeps from random topics. The tokens of a later document get their first topics one after the
    other, followed by `sweeps` further draws; a document that is seen again is drawn once.
    """

    name = "memoized HDP"

    def __init__(
        self,
        term_count: int,
        rng: np.random.Generator,
        documents: int | None = None,
        eta: float = 0.01,
        gamma: float = 1.0,
        concentration: float = 1.0,
        sweeps: int = 5,
        start: int = START,
    ) -> None:
        checked(eta=eta, gamma=gamma, concentration=concentration, terms=term_count)
        settings: dict[str, Any] = {"documents": documents, "gamma": gamma, "concentration": concentration}
        super().__init__(Components(term_count, eta), settings | {"sweeps": sweeps, "start": start}, rng)
        self.waiting, self.memory = Bags.none(term_count), Memory()
        self.counts = Counts(term_count, concentration)
        self.drawn, self.averaged = 0, 0  # tokens: all draws, and those before the last average

    def top_concentration(self) -> float:
        return float(self.settings["gamma"])

    def used_components(self) -> int:
        return int(np.count_nonzero(self.components.totals >= 1.0))

    def mean_weights(self) -> tuple[np.ndarray, float]:
        """E[beta] given the mean tables."""
        total = self.components.sizes.sum() + self.top_concentration()
        return self.components.sizes / total, self.top_concentration() / total

    def score(self, held_out: Corpus | sparse.csr_array) -> HeldOutScore:
        return score(self, held_out)

    def _update(self, bags: Bags) -> None:
        births = not self.counts.topic_total.any()
        if births:
            self.waiting = bags = self.waiting.followed_by(bags)
            if len(bags) < self.settings["start"] and self.documents_seen != self.settings["documents"]:
                return
            self.waiting = Bags.none(self.term_count)
        tokens = Tokens.of(bags)
        places = None if bags.ids is None else self.memory.places(bags.ids, bags.lengths, tokens.marks())
        if places is not None:
            tokens.recall(*self.memory.recall(places))
        new = bool(np.any(tokens.assignments < 0))
        if births:
            tokens.assignments[:] = self.rng.integers(FRESH, size=len(tokens.assignments))
            self.counts.add(tokens, FRESH)
        for _ in range(BIRTH_SWEEPS if births else 1 + new * self.settings["sweeps"]):
            self._draw(tokens)
        if places is not None:
            self.memory.keep(places, tokens.assignments, tokens.seats)
        if births or self.drawn - self.averaged >= self.counts.term_topic.size:  # so that drawing remains the work
            self._average()

    def _draw(self, tokens: Tokens) -> None:
        """One draw of the batch's topics and tables, and of beta."""
        self.counts.draw(tokens, self.top_concentration(), self.components.eta, new_words(self.rng))
        self.counts.draw_weights(self.top_concentration(), self.rng)
        self.drawn += len(tokens.assignments)

    def _average(self) -> None:
        """lambda <- (1 - rho) lambda + rho (eta + counts). The rates of a pass add up to 1 / LATEST, or at first to
        RECENT divided by the number of passes."""
        labels, held = len(self.counts.topic_total), max(int(self.counts.topic_total.sum()), 1)
        part, passes = (self.drawn - self.averaged) / held, self.drawn / held
        rate = min(1.0, part * max(1.0 / LATEST, RECENT / max(passes, 1e-300)))
        self.components.grow(labels - self.components.count)
        sums = (self.components.stored, self.components.totals, self.components.sizes)
        latest: tuple[np.ndarray, ...] = (self.counts.term_topic, self.counts.topic_total, self.counts.tables)
        for mean, now in zip(sums, latest, strict=True):
            mean *= 1.0 - rate
            mean += rate * now
        self.averaged = self.drawn

    def state_dict(self) -> dict[str, np.ndarray]:
        waiting = {f"waiting_{name}": getattr(self.waiting, name) for name in ("offsets", "terms", "counts")}
        waiting["waiting_ids"] = np.empty(0, np.int64) if self.waiting.ids is None else self.waiting.ids
        drawn = {"drawn": np.array([self.drawn, self.averaged])}
        return super().state_dict() | waiting | drawn | self.counts.arrays() | self.memory.arrays()

    @classmethod
    def from_state_dict(cls, state: dict[str, np.ndarray]) -> Self:
        learner = super().from_state_dict(state)
        offsets, terms, counts, ids = (state[f"waiting_{name}"] for name in ("offsets", "terms", "counts", "ids"))
        learner.waiting = Bags(
            offsets, terms, counts, learner.term_count, ids if len(ids) == len(offsets) - 1 else None
        )
        learner.drawn, learner.averaged = state["drawn"].tolist()
        learner.counts = Counts.from_arrays(state, learner.settings["concentration"])
        learner.memory = Memory.from_arrays(state)
        return learner


class Tokens:
    """The tokens of a batch: document in the batch, term, topic (-1: none yet) and tables, see `Memory`."""

    def __init__(self, documents: np.ndarray, terms: np.ndarray, count: int) -> None:
        self.documents, self.terms, self.count = documents.astype(np.int32), terms.astype(np.int32), count
        self.assignments, self.seats = np.full(len(terms), -1, np.int32), np.zeros(len(terms), np.int32)

    @classmethod
    def of(cls, bags: Bags) -> Self:
        return cls(np.repeat(np.arange(len(bags)), bags.lengths), np.repeat(bags.terms, bags.counts), len(bags))

    def marks(self) -> np.ndarray:
        """A whole number for each document, which depends on its terms."""
        return np.bincount(self.documents, (self.terms + 1.0) ** 2, self.count)

    def recall(self, assignments: np.ndarray, seats: np.ndarray) -> None:
        self.assignments[:], self.seats[:] = assignments, seats


class Counts:
    """The state of all documents that were not forgotten: tokens and tables of the topics, and alpha = b beta.

    A label without tokens is free and has alpha 0. Labels keep their numbers, because the documents remember them.
    """

    NAMES = ("term_topic", "topic_total", "tables", "alpha", "alpha_new")

    def __init__(self, term_count: int, concentration: float) -> None:
        self.concentration = concentration
        self.term_topic = np.zeros((term_count, 0), np.int32)
        self.topic_total, self.tables = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.alpha, self.alpha_new = np.zeros(0), np.full(1, concentration)

    def make_room(self, labels: int) -> None:
        for name in ("term_topic", "topic_total", "tables", "alpha"):
            array = getattr(self, name)
            wider = np.zeros((*array.shape[:-1], labels), array.dtype)
            wider[..., : array.shape[-1]] = array
            setattr(self, name, wider)

    def add(self, tokens: Tokens, topics: int) -> None:
        """Tokens that have topics but were not counted; all of these topics get the same weight, one table each."""
        self.make_room(topics + SPARE)
        np.add.at(self.term_topic, (tokens.terms, tokens.assignments), 1)
        self.topic_total[:] = self.term_topic.sum(axis=0)
        used = self.topic_total > 0
        share = self.concentration / (used.sum() + 1)
        self.alpha[used], self.alpha_new[0] = share, share

    def draw(self, tokens: Tokens, gamma: float, eta: float, words: np.ndarray) -> None:
        """Every topic of the batch once, given all others and beta; then its tables."""
        self._forget_tables(tokens)
        total_eta, end = len(self.term_topic) * eta, len(tokens.terms)
        labels = len(self.alpha)
        document_topic = np.zeros((tokens.count, labels), np.int32)
        z = tokens.assignments
        first_topics(
            tokens.documents, tokens.terms, document_topic, self.term_topic, self.topic_total, self.alpha, eta, z, words
        )
        arrays, reached = unsigned(tokens.documents, tokens.terms, z), 0
        while True:
            given = (document_topic, self.term_topic, self.topic_total, self.alpha, self.alpha_new)
            documents, terms, assignments = arrays
            reached = visit_tokens(reached, end, documents, terms, *given, gamma, eta, total_eta, assignments, words)
            if reached == end:
                break
            self.make_room(len(self.alpha) + max(SPARE, len(self.alpha) // 4))
            document_topic = np.pad(document_topic, ((0, 0), (0, len(self.alpha) - document_topic.shape[1])))
        draw_seats(tokens.documents, z, document_topic, self.alpha, self.tables, tokens.seats, words)

    def _forget_tables(self, tokens: Tokens) -> None:
        seated = tokens.seats > 0
        self.tables -= np.bincount(tokens.assignments[seated], tokens.seats[seated], len(self.tables)).astype(np.int64)

    def draw_weights(self, gamma: float, rng: np.random.Generator) -> None:
        self.alpha[:], self.alpha_new[0] = weights_of_tables(self.tables, gamma, self.concentration, rng)

    def arrays(self) -> dict[str, np.ndarray]:
        return {f"counts_{name}": getattr(self, name) for name in self.NAMES}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], concentration: float) -> Self:
        counts = cls(0, concentration)
        for name in cls.NAMES:
            setattr(counts, name, np.array(arrays[f"counts_{name}"], order="C"))
        return counts


# -- kernels ------------------------------------------------------------------------------------------


@kernel
def first_topics(
    documents: np.ndarray,
    terms: np.ndarray,
    document_topic: np.ndarray,
    term_topic: np.ndarray,
    topic_total: np.ndarray,
    alpha: np.ndarray,
    eta: float,
    z: np.ndarray,
    words: np.ndarray,
) -> None:
    """Count the batch's tokens in their documents. Those without a topic get one of the known topics, given the tokens
    before them, and are added to the sums."""
    labels, total_eta = len(alpha), len(term_topic) * eta
    weights = np.empty(labels)
    for i in range(len(z)):
        d, v = documents[i], terms[i]
        if z[i] < 0:
            mass = 0.0
            for t in range(labels):
                in_topic = (term_topic[v, t] + eta) / (topic_total[t] + total_eta)
                weights[t] = (document_topic[d, t] + alpha[t]) * in_topic
                mass += weights[t]
            threshold = uniform(words) * mass
            for t in range(labels):
                if weights[t] > 0.0:
                    z[i] = t
                    threshold -= weights[t]
                    if threshold < 0.0:
                        break
            term_topic[v, z[i]] += 1
            topic_total[z[i]] += 1
        document_topic[d, z[i]] += 1


@kernel
def draw_seats(
    documents: np.ndarray,
    z: np.ndarray,
    document_topic: np.ndarray,
    alpha: np.ndarray,
    tables: np.ndarray,
    seats: np.ndarray,
    words: np.ndarray,
) -> None:
    """The tables of each document and topic, at the first of their tokens, and added up; uses up `document_topic`."""
    for i in range(len(z)):
        d, k = documents[i], z[i]
        seats[i] = draw_tables(document_topic[d, k], alpha[k], words)
        tables[k] += seats[i]
        document_topic[d, k] = 0
