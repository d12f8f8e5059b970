"""A checkpoint in memory, with the state of a chain after each of its iterations."""

from __future__ import annotations

from typing import Any

from bayestopics.base.checkpoint import NoCheckpoint
from bayestopics.base.packing import pack, unpack


class KeptStates(NoCheckpoint):
    """A run begins anew, or, if `number` is set, goes on from the state with this number."""

    def __init__(self) -> None:
        self.packed: list[bytes] = []
        self.number: int | None = None

    def load(self) -> Any:
        return None if self.number is None else unpack(self.packed[self.number])

    def due(self) -> bool:
        return True

    def save(self, value: Any) -> None:
        self.packed.append(pack(value))
