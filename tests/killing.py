"""Checkpoints whose runs die: as soon as something is saved, or at the second saving of each life."""

from typing import Any

from bayestopics.runs.checkpoint import Checkpoint


class Killed(Exception):
    pass


class Killing(Checkpoint):
    def save(self, state: Any) -> None:
        super().save(state)
        raise Killed


class KillingSecond(Checkpoint):
    """Saves whenever it can, and dies after the second save of each life; `saves` is set to 0 when a life begins.

    A run that saves once more when it is finished gets there in the end.
    """

    saves = 0

    def due(self) -> bool:
        return True

    def save(self, state: Any) -> None:
        super().save(state)
        KillingSecond.saves += 1
        if KillingSecond.saves == 2:
            raise Killed
