"""The interface of a checkpoint, with which a long computation can continue after an interruption."""

from __future__ import annotations

from typing import Any, Protocol


class Checkpoint(Protocol):
    """The interface of `runs.checkpoint.Checkpoint`."""

    def load(self) -> Any | None: ...
    def due(self) -> bool: ...
    def save(self, state: Any) -> None: ...
    def part(self, name: str) -> Checkpoint: ...


class NoCheckpoint:
    """A checkpoint that saves nothing, for short computations."""

    def load(self) -> None: ...

    def due(self) -> bool:
        return False

    def save(self, state: Any) -> None: ...

    def part(self, name: str) -> NoCheckpoint:
        return self
