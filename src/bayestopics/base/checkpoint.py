"""What a long computation needs in order to go on after it was killed."""

from __future__ import annotations

from typing import Any, Protocol


class Checkpoint(Protocol):
    """`runs.checkpoint.Checkpoint`."""

    def load(self) -> Any | None: ...
    def due(self) -> bool: ...
    def save(self, state: Any) -> None: ...
    def part(self, name: str) -> Checkpoint: ...


class NoCheckpoint:
    """For what is over in an instant."""

    def load(self) -> None: ...

    def due(self) -> bool:
        return False

    def save(self, state: Any) -> None: ...

    def part(self, name: str) -> NoCheckpoint:
        return self
