"""Long computations in stages: after an interruption, finished stages are not repeated, and the bits are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint

Made = TypeVar("Made")


class Stages:
    """The results of the stages so far, and the state of the generator after the last one."""

    def __init__(self, rng: np.random.Generator, checkpoint: Checkpoint | None = None) -> None:
        self.checkpoint, self.rng, self.next = checkpoint or NoCheckpoint(), rng, 0
        self.results: list[Any] = []
        if (saved := self.checkpoint.load()) is not None:
            self.results, rng.bit_generator.state = saved

    def __call__(self, compute: Callable[[np.random.Generator], Made]) -> Made:
        """The result of the next stage: computed, or restored from the checkpoint."""
        if self.next == len(self.results):
            self.results.append(compute(self.rng))
            if self.checkpoint.due():
                self.checkpoint.save((self.results, self.rng.bit_generator.state))
        self.next += 1
        result: Made = self.results[self.next - 1]
        return result

    @property
    def inside(self) -> Checkpoint:
        """A checkpoint for the stage that is being computed, so that a long stage need not start again."""
        return self.checkpoint.part(f"stage {self.next}")
