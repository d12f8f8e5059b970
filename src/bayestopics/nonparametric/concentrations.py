"""Resampling gamma and the documents' concentration by auxiliary variables (Teh et al. 2006, appendix A).

Both are drawn given the tables, with beta integrated out; so they are drawn after the tables and before beta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayestopics.base.problems import InputError


@dataclass(frozen=True)
class GammaPrior:
    """Gamma(shape, rate), with mean shape / rate."""

    shape: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        if not (0 < self.shape < np.inf and 0 < self.rate < np.inf):
            raise InputError(f"shape and rate of a gamma prior must be positive, not {self.shape} and {self.rate}")


@dataclass(frozen=True)
class ConcentrationPriors:
    gamma: GammaPrior = GammaPrior()
    concentration: GammaPrior = GammaPrior()


def draw_gamma(gamma: float, topics: int, tables: int, prior: GammaPrior, rng: np.random.Generator) -> float:
    """gamma | K, m: p(K | m, gamma) ~ gamma^K G(gamma) / G(gamma + m) (Escobar & West 1995)."""
    return _draw(gamma, topics, np.array([tables]), prior, rng)


def draw_concentration(
    concentration: float, tables: int, lengths: np.ndarray, prior: GammaPrior, rng: np.random.Generator
) -> float:
    """a | m, n: a^m prod_d G(a) / G(a + n_d)."""
    return _draw(concentration, tables, lengths[lengths > 0], prior, rng)


def _draw(value: float, power: int, sizes: np.ndarray, prior: GammaPrior, rng: np.random.Generator) -> float:
    """Draw x from x^power prod_j G(x) / G(x + n_j) times its prior.

    Up to a constant, G(x) / G(x + n) is the integral of w^x (1 - w)^(n - 1) (1 + n / x) over w. So, given
    w_j ~ Beta(x + 1, n_j) and s_j ~ Bernoulli(n_j / (n_j + x)), x is a gamma variable.
    """
    log_w = np.log(rng.beta(value + 1.0, sizes))
    s = rng.random(len(sizes)) * (sizes + value) < sizes
    return float(rng.gamma(prior.shape + power - s.sum(), 1.0 / (prior.rate - log_w.sum())))
