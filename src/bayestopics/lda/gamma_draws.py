"""Logs of gamma variables inside kernels; finite for every positive shape.

Shapes of one and more: Marsaglia & Tsang (2000), with normals by the polar method. Shapes below one: algorithm GS of
Ahrens & Dieter (1974), whose power U^(1 / shape) underflows for a small shape, so that its log is kept.
"""

from __future__ import annotations

import math

import numpy as np

from bayestopics.base.jit import kernel
from bayestopics.lda.uniforms import uniform

NOTHING = -37.0  # exp(-x) is 1 in double precision if log x is below


@kernel
def log_gamma_draw(shape: float, least: float, words: np.ndarray) -> float:
    """The log of a gamma variable. With a shape below one it is -inf if it is below log(least) / shape, which saves
    the time of a log; `least` = 0 for never."""
    return _of_large_shape(shape, words) if shape >= 1.0 else _of_small_shape(shape, least, words)


@kernel
def _of_large_shape(shape: float, words: np.ndarray) -> float:
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = _normal(words)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u = 1.0 - uniform(words)
            if u < 1.0 - 0.0331 * x * x * x * x or math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
                return math.log(d * v)


@kernel
def _normal(words: np.ndarray) -> float:
    while True:
        x, y = 2.0 * uniform(words) - 1.0, 2.0 * uniform(words) - 1.0
        r = x * x + y * y
        if 0.0 < r < 1.0:
            return x * math.sqrt(-2.0 * math.log(r) / r)


@kernel
def _of_small_shape(shape: float, least: float, words: np.ndarray) -> float:
    b = 1.0 + shape / math.e
    while True:
        p = b * (1.0 - uniform(words))  # above 0
        if p < least:
            return -math.inf
        if p <= 1.0:
            log_x = math.log(p) / shape
            if log_x < NOTHING or uniform(words) <= math.exp(-math.exp(log_x)):
                return log_x
        else:
            x = -math.log((b - p) / shape)
            if uniform(words) <= x ** (shape - 1.0):
                return math.log(x)
