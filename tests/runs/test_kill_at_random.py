"""A short version of kill_at_random.py, which see: `select`, which does a little of everything."""

from pathlib import Path

import numpy as np

from kill_at_random import Command

WORDS = "select --topics 1-3 --iterations 100 --chains 2"
SHARES = np.random.default_rng(1).random(2)


def test_killed_at_a_random_moment_it_gives_the_same_bits(tmp_path: Path) -> None:
    """Whether it was killed before it could save anything, while it did, or when its record was there."""
    command = Command(WORDS, tmp_path, workers=1)
    for number, share in enumerate(SHARES):
        assert command.kill(number, float(share)).same
