"""What a learner remembers of documents that it will see again: the topic of every token, and the tables.

With it, a document's counts can be taken out of the sums before it is drawn again (memoized inference, Hughes &
Sudderth 2013). The sums are then those of one state of all documents seen so far: nothing is counted twice, nothing
fades, and no rate has to be chosen.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from bayestopics.base.problems import InputError

GROWTH = 1.5


class Memory:
    """Documents by their numbers. Their tokens have places in two long arrays; -1 is the topic of a new token."""

    def __init__(self) -> None:
        self._starts = np.empty(0, np.int64)  # of documents; -1: not seen
        self._lengths, self._marks = np.empty(0, np.int64), np.empty(0)
        self._topics, self._seats = np.empty(0, np.int32), np.empty(0, np.int32)  # of tokens, with room to grow
        self._used = 0

    def places(self, ids: np.ndarray, lengths: np.ndarray, marks: np.ndarray) -> np.ndarray:
        """Where the tokens of these documents are, one document after the other; new ones get the next places.

        `marks` are numbers by which to know a document again.
        """
        if len(np.unique(ids)) < len(ids) or ids.min(initial=0) < 0:
            raise InputError("the numbers of the documents in a batch must be different and not negative")
        more = ids.max(initial=-1) + 1 - len(self._starts)
        if more > 0:
            self._starts = np.concatenate((self._starts, np.full(more, -1)))
            self._lengths = np.concatenate((self._lengths, np.zeros(more, np.int64)))
            self._marks = np.concatenate((self._marks, np.zeros(more)))
        new = self._starts[ids] < 0
        changed = ids[~new & ((self._lengths[ids] != lengths) | (self._marks[ids] != marks))]
        if len(changed) > 0:
            raise InputError(f"document {changed[0]} had other words when it was seen before")
        self._starts[ids[new]] = self._used + np.concatenate(([0], np.cumsum(lengths[new])))[:-1]
        self._lengths[ids[new]], self._marks[ids[new]] = lengths[new], marks[new]
        self._used += int(lengths[new].sum())
        if self._used > len(self._topics):
            room = max(self._used, int(GROWTH * len(self._topics)))
            self._topics = _longer(self._topics, room, -1)
            self._seats = _longer(self._seats, room, 0)
        offsets = np.cumsum(lengths) - lengths
        return np.repeat(self._starts[ids] - offsets, lengths) + np.arange(int(lengths.sum()))

    def recall(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The topics of these tokens, and the tables of a document and topic, at the first of their tokens."""
        return self._topics[places].astype(np.int64), self._seats[places].astype(np.int64)

    def keep(self, places: np.ndarray, topics: np.ndarray, seats: np.ndarray) -> None:
        self._topics[places], self._seats[places] = topics, seats

    def arrays(self) -> dict[str, np.ndarray]:
        tokens = {"memory_topics": self._topics[: self._used], "memory_seats": self._seats[: self._used]}
        documents = {"memory_starts": self._starts, "memory_lengths": self._lengths, "memory_marks": self._marks}
        return documents | tokens

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        memory = cls()
        for name in ("starts", "lengths", "marks", "topics", "seats"):
            setattr(memory, f"_{name}", arrays[f"memory_{name}"].copy())
        memory._used = len(memory._topics)
        return memory


def _longer(array: np.ndarray, room: int, value: int) -> np.ndarray:
    return np.concatenate((array, np.full(room - len(array), value, array.dtype)))
