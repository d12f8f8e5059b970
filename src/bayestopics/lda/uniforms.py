"""A small random generator for use inside kernels: xoshiro256+ (Blackman & Vigna 2021), 53-bit uniforms.

A sweep takes its 256 bits of state from the run's numpy generator, so the run's seed determines everything.
"""

from __future__ import annotations

import numpy as np

from bayestopics.base.jit import kernel

NO_WORDS = np.ones(4, np.uint64)  # for forced sweeps, which need no random numbers


def new_words(rng: np.random.Generator) -> np.ndarray:
    """uint64[4]: the state of a fresh generator."""
    return rng.integers(1, 2**64, size=4, dtype=np.uint64)


@kernel
def uniform(words: np.ndarray) -> float:
    """The next number, in [0, 1)."""
    result = words[0] + words[3]
    shifted = words[1] << np.uint64(17)
    words[2] ^= words[0]
    words[3] ^= words[1]
    words[1] ^= words[2]
    words[0] ^= words[3]
    words[2] ^= shifted
    words[3] = (words[3] << np.uint64(45)) | (words[3] >> np.uint64(19))
    return (result >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def split_words(seed: np.uint64, number: int) -> np.ndarray:
    """uint64[4]: the state of generator `number` of a family, by splitmix64 (Steele, Lea & Flood 2014)."""
    words = np.empty(4, np.uint64)
    for k in range(4):
        counter = np.uint64(4 * number + k + 1)
        mixed = seed + counter * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        words[k] = mixed ^ (mixed >> np.uint64(31))
    return words
