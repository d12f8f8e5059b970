"""What the four variational methods share: they take batches of documents and have a state of plain arrays to save.

A learner sees each batch once and keeps nothing of it, so that its memory is always the components plus one batch.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sparse

from bayestopics.base.arrays import read_arrays
from bayestopics.base.files import replacing
from bayestopics.base.guard import finite, not_finite
from bayestopics.base.packing import GENERATORS
from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus, whole_numbers
from bayestopics.nonparametric.components import Components

MOST_ENTRIES = 1024  # in a history


# -- batches -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bags:
    """Documents as (term, count) entries; document d has the entries offsets[d] .. offsets[d + 1] - 1."""

    offsets: np.ndarray  # int64[D + 1]
    terms: np.ndarray  # int64[entries]
    counts: np.ndarray  # int64[entries], none 0
    term_count: int
    ids: np.ndarray | None = None  # int64[D]: numbers by which a learner can remember the documents

    @classmethod
    def of(
        cls, batch: Corpus | sparse.csr_array | sparse.csr_matrix, term_count: int, ids: np.ndarray | None = None
    ) -> Self:
        """From a Corpus or from a documents x terms matrix of counts."""
        matrix = batch.counts if isinstance(batch, Corpus) else sparse.csr_array(batch)
        if matrix.shape[1] != term_count:
            raise InputError(f"this batch has {matrix.shape[1]} terms, but the model has {term_count}")
        if not isinstance(batch, Corpus) and (not matrix.has_canonical_format or np.any(matrix.data == 0)):
            matrix = matrix.copy()
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
        counts = whole_numbers(matrix.data, "batch")
        if np.any(counts < 0):
            raise InputError("this batch has negative counts")
        if ids is not None and len(ids) != matrix.shape[0]:
            raise InputError(f"a batch of {matrix.shape[0]} documents has {len(ids)} numbers")
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), counts, term_count, ids)

    @classmethod
    def none(cls, term_count: int) -> Self:
        return cls(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), term_count)

    def followed_by(self, others: Self) -> Self:
        offsets = np.concatenate((self.offsets, self.offsets[-1] + others.offsets[1:]))
        terms, counts = (np.concatenate((getattr(self, n), getattr(others, n))) for n in ("terms", "counts"))
        ids = None if others.ids is None else np.concatenate(([] if self.ids is None else self.ids, others.ids))
        return type(self)(offsets, terms, counts, self.term_count, None if ids is None else ids.astype(np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each document."""
        ends = np.concatenate(([0], np.cumsum(self.counts)))[self.offsets]
        return np.diff(ends)

    @cached_property
    def kinds(self) -> np.ndarray:
        """The terms that occur, sorted."""
        if len(self) == 1:  # its entries are sorted, and no term occurs twice
            return self.terms
        return np.flatnonzero(np.bincount(self.terms, minlength=self.term_count))

    @cached_property
    def rows(self) -> np.ndarray:
        """The place of each entry's term in `kinds`."""
        if len(self) == 1:
            return np.arange(len(self.terms))
        place = np.empty(self.term_count, np.int64)
        place[self.kinds] = np.arange(len(self.kinds))
        return place[self.terms]

    def document(self, d: int) -> Bags:
        """One document, as a batch of its own."""
        start, end = self.offsets[d], self.offsets[d + 1]
        return Bags(np.array([0, end - start]), self.terms[start:end], self.counts[start:end], self.term_count)

    def matrix(self) -> sparse.csr_array:
        """Documents x kinds."""
        return sparse.csr_array((self.counts.astype(np.float64), self.rows, self.offsets), (len(self), len(self.kinds)))


def minibatches(corpus: Corpus, size: int, rng: np.random.Generator, passes: int | None = None) -> Iterator[Any]:
    """Batches of `size` documents, each pass in a new random order; without `passes` they never end."""
    if size < 1:
        raise InputError(f"a batch must have at least 1 document, not {size}")
    done = 0
    while passes is None or done < passes:
        order = rng.permutation(corpus.document_count)
        for start in range(0, len(order), size):
            yield corpus.counts[order[start : start + size]]
        done += 1


# -- what is recorded ---------------------------------------------------------------------------------


class History:
    """Entries of `width` numbers, of which every `interval`th is kept.

    When it is full, every other entry is dropped and the interval doubles, so that even an endless stream has a history
    of bounded length.
    """

    def __init__(self, width: int, entries: np.ndarray | None = None, added: int = 0, interval: int = 1) -> None:
        self.width, self.added, self.interval = width, added, interval
        self._entries = [] if entries is None else entries.tolist()

    def add(self, *entry: float) -> None:
        self.added += 1
        if self.added % self.interval == 0:
            self._entries.append(list(entry))
        if len(self._entries) > MOST_ENTRIES:
            self.interval *= 2
            self._entries = self._entries[1::2]

    def table(self) -> np.ndarray:
        """float64[n, width], the oldest first."""
        return np.array(self._entries, np.float64).reshape(-1, self.width)


class HeldOutScore(NamedTuple):
    """The score of held-out documents: log p(x) per word, and its Monte Carlo error."""

    per_word: float
    error: float


# -- learners ------------------------------------------------------------------------------------------


class Learner(ABC):
    """`partial_fit` a batch, `save`, `load`. Subclasses keep their numbers in `settings` and `components`.

    `history` has the documents seen and the components in use after an update. If held-out documents were given,
    `scores` has the documents seen, the components in use, the score per word and its Monte Carlo error.
    """

    name: ClassVar[str]

    def __init__(self, components: Components, settings: dict[str, Any], rng: np.random.Generator) -> None:
        self.components = components
        self.settings = settings
        self.rng = rng
        self.documents_seen = 0
        self.updates = 0
        self.history, self.scores = History(2), History(4)

    @property
    def term_count(self) -> int:
        return self.components.term_count

    def partial_fit(
        self,
        batch: Corpus | sparse.csr_array | sparse.csr_matrix,
        held_out: Corpus | sparse.csr_array | None = None,
        ids: np.ndarray | None = None,
    ) -> Self:
        """Make one update from one batch; then add the score of the held-out documents, if any, to `scores`.

        `ids` are numbers for the documents, by which some learners remember them.
        """
        bags = Bags.of(batch, self.term_count, ids)
        if len(bags) > 0:
            self.documents_seen += len(bags)
            self.updates += 1
            self._update(bags)
            if not finite((self.components.weight, *self.components.totals, *self.components.sizes)):
                raise not_finite("the size of a topic", self.updates - 1, self.state_dict())
            self._record(held_out)
        return self

    def _record(self, held_out: Corpus | sparse.csr_array | None) -> None:
        now = self.documents_seen, self.used_components()
        self.history.add(*now)
        if held_out is not None:
            self.scores.add(*now, *self.score(held_out))

    @abstractmethod
    def _update(self, bags: Bags) -> None: ...

    @abstractmethod
    def score(self, held_out: Corpus | sparse.csr_array) -> HeldOutScore:
        """E_q[p(x)], exact for the DP mixture; for the HDP, by left-to-right at the means of q."""

    @abstractmethod
    def used_components(self) -> int:
        """The number of components that hold at least one document (DP mixture) or one token (HDP)."""

    @abstractmethod
    def top_concentration(self) -> float:
        """The parameter a of the sticks that all documents share."""

    @abstractmethod
    def mean_weights(self) -> tuple[np.ndarray, float]:
        """E[pi] of every component, and of all unseen components together."""

    def mean_model(self) -> tuple[np.ndarray, np.ndarray]:
        """E[pi] and E[theta] (V x K) without weights of 0; the unseen components are one more, uniform component."""
        weights, unseen = self.mean_weights()
        uniform = np.full(self.term_count, 1.0 / self.term_count)
        weights, theta = np.append(weights, unseen), np.column_stack((self.components.means(), uniform))
        return weights[weights > 0.0], theta[:, weights > 0.0]

    # -- saving ----------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, np.ndarray]:
        """Everything that the next update depends on, including the generator."""
        return self.components.arrays() | {
            "name": np.array(self.name),
            "settings": np.array(json.dumps(self.settings)),
            "generator": np.array(json.dumps(self.rng.bit_generator.state, default=np.ndarray.tolist)),
            "progress": np.array([self.documents_seen, self.updates]),
            "history": self.history.table(),
            "scores": self.scores.table(),
            "histories": np.array([(kept.added, kept.interval) for kept in (self.history, self.scores)]),
        }

    @classmethod
    def from_state_dict(cls, state: dict[str, np.ndarray]) -> Self:
        if str(state["name"]) != cls.name:
            raise InputError(f"this is the state of {state['name']}, not of {cls.name}")
        learner = cls.__new__(cls)
        components = Components.from_arrays(state)
        Learner.__init__(learner, components, json.loads(str(state["settings"])), _generator(str(state["generator"])))
        learner.documents_seen, learner.updates = state["progress"].tolist()
        of_history, of_scores = state["histories"].tolist()
        learner.history, learner.scores = (
            History(2, state["history"], *of_history),
            History(4, state["scores"], *of_scores),
        )
        return learner

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an .npz file; a crash leaves either the whole file or none."""
        with replacing(Path(path)) as temporary, open(temporary, "wb") as file:
            np.savez(file, allow_pickle=False, **self.state_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a saved learner, which continues with the same bits."""
        try:
            return cls.from_state_dict(read_arrays(Path(path).read_bytes(), path, limited=False))
        except InputError:
            raise
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{path}: not a saved model ({type(error).__name__})") from None


def _generator(state: str) -> np.random.Generator:
    described = json.loads(state)
    if described["bit_generator"] not in GENERATORS:
        raise InputError(f"there is no generator {described['bit_generator']}")
    bits = getattr(np.random, described["bit_generator"])()
    bits.state = described
    return np.random.Generator(bits)


def checked(**values: float) -> None:
    """Check that all of these are positive and finite."""
    for name, value in values.items():
        if not 0.0 < value < np.inf:
            raise InputError(f"{name} must be positive and finite, not {value}")
