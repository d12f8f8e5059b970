"""Random generators that depend on the root seed and a name only, not on scheduling or the number of cores."""

from __future__ import annotations

import hashlib

import numpy as np


def generator(root_seed: int, key: str) -> np.random.Generator:
    """The generator for `key`. The same seed and key give the same bits; different keys give independent streams."""
    digest = hashlib.sha256(key.encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence(root_seed, spawn_key=words)))


def seed_from(rng: np.random.Generator) -> int:
    """A seed from a generator, for functions that take a seed."""
    return int(rng.integers(2**31))
