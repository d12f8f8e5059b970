"""A guard for long loops: a number that is not finite stops the loop at once, and the state is kept for who looks.

A loop raises `not_finite` with its state, in whatever process it runs; the driver of the run keeps the state.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayestopics.base.checkpoint import Checkpoint


class NotFiniteError(ArithmeticError):
    """A computation came to nan or infinity; the message is one line that names the iteration."""

    def __init__(self, message: str, state: Any = None) -> None:
        super().__init__(message)
        self.state = state  # None once it is kept


def finite(value: Any) -> bool:
    """Whether a number, or each of several, is finite."""
    return bool(np.all(np.isfinite(value)))


def possible_log(value: Any) -> bool:
    """Whether a number, or each of several, is the log of a finite number; minus infinity is the log of 0."""
    return bool(np.all(np.asarray(value) < np.inf))


def not_finite(what: str, iteration: int, state: Any) -> NotFiniteError:
    """What to raise at an iteration, counted from 0 and named from 1."""
    return NotFiniteError(f"{what} is not finite at iteration {iteration + 1}", state)


def kept(error: NotFiniteError, checkpoint: Checkpoint) -> NotFiniteError:
    """The same error, with its state saved beside the checkpoint, not in its place: the same command begins again at
    the last sound state."""
    if error.state is None:
        return error
    aside = checkpoint.part("not finite")
    aside.save(error.state)
    path = getattr(aside, "path", None)
    return NotFiniteError(f"{error}; the state is kept in {path}" if path else str(error))
