"""The command line, with checkpoints that count their saves: `python killed_command.py STRIDE DIES_AT HALF WORDS...`

Every STRIDE-th time that a run asks, a save is due. The process kills itself (SIGKILL) after save number DIES_AT of its
life, or, if HALF is 1, in the middle of it: when the new state is written, and has not yet taken its name. If DIES_AT
is 0, it lives.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from bayestopics.base import progress
from bayestopics.cli.main import main
from bayestopics.runs import checkpoint as checkpoint_module
from bayestopics.runs import driver
from bayestopics.runs.checkpoint import Checkpoint
from killing import NEVER


class Counting(Checkpoint):
    stride, dies_at, half = 1, 0, False
    asked = saves = 0

    def due(self) -> bool:
        Counting.asked += 1
        return Counting.asked % self.stride == 0

    def save(self, state: Any) -> None:
        Counting.saves += 1
        if self.half and Counting.saves == self.dies_at:
            checkpoint_module.os.fsync = die  # type: ignore[assignment]
        super().save(state)
        if Counting.saves == self.dies_at:
            die()


def die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    Counting.stride, Counting.dies_at = int(sys.argv[1]), int(sys.argv[2])
    Counting.half = sys.argv[3] == "1"
    progress.EVERY_SECONDS = NEVER
    driver.Checkpoint = Counting  # type: ignore[misc]
    sys.exit(main(sys.argv[4:]))
