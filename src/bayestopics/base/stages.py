"""Long computations in stages: what was done before a kill is not done again, and the bits are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from bayestopics.base.checkpoint import Checkpoint

Made = TypeVar("Made")


class Stages:
    """The results of the stages so far, and the generator as it was after the last one."""

    def __init__(self, rng: np.random.Generator, checkpoint: Checkpoint | None = None) -> None:
        saved = checkpoint.load() if checkpoint is not None else None
        self.results: list[Any] = saved["results"] if saved else []
        self.rng: np.random.Generator = saved["rng"] if saved else rng
        self.checkpoint, self.next = checkpoint, 0

    def __call__(self, compute: Callable[[np.random.Generator], Made]) -> Made:
        """The result of the next stage: computed, or as it was."""
        if self.next == len(self.results):
            self.results.append(compute(self.rng))
            if self.checkpoint is not None and self.checkpoint.due():
                self.checkpoint.save({"results": self.results, "rng": self.rng})
        self.next += 1
        result: Made = self.results[self.next - 1]
        return result
