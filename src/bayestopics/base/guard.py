"""A guard for long loops: a number that is not finite stops the loop at once, and the state is kept for who looks."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayestopics.base.checkpoint import Checkpoint


class NotFiniteError(ArithmeticError):
    """A computation came to nan or infinity; the message is one line that names the iteration."""


def finite(value: Any) -> bool:
    """Whether a number, or each of several, is finite."""
    return bool(np.all(np.isfinite(value)))


def not_finite(what: str, iteration: int, checkpoint: Checkpoint | None, state: Any) -> NotFiniteError:
    """What to raise at an iteration, counted from 0 and named from 1.

    The state is saved beside the checkpoint, not in its place: the same command begins again at the last sound state.
    """
    kept = ""
    if checkpoint is not None:
        aside = checkpoint.part("not finite")
        aside.save(state)
        kept = f"; the state is kept in {path}" if (path := getattr(aside, "path", None)) else ""
    return NotFiniteError(f"{what} is not finite at iteration {iteration + 1}{kept}")
