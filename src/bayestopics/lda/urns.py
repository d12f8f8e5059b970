"""log p(z | alpha) as a function of alpha, and log p(w | z, eta) as a function of eta: both are the same function.

Every document draws its topics, and every topic its terms, as from a Polya urn with `colours` colours (T topics, or V
terms) and, at the start, x balls of each colour (x is alpha, or eta). The log density of everything that was drawn,
averaged over draws of z, depends on z only through how often each count occurs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, gammaln

from bayestopics.base.problems import InputError
from bayestopics.corpus.corpus import Corpus
from bayestopics.lda.state import Prior

ENDS = (1e-4, 1e4)  # alpha and eta are always chosen in this range; beyond it, densities hardly change
GRID = np.geomspace(*ENDS, 97)  # twelve points for each factor of ten
STILL, MOST_STEPS = 1e-10, 10_000  # Minka's iteration ends at so small a relative step, or after this many steps


@dataclass(frozen=True, eq=False)
class Urns:
    counts: np.ndarray  # the different counts of a colour in an urn
    how_often: np.ndarray  # how often each count occurs in one draw of z, on average
    totals: np.ndarray  # the different numbers of balls drawn from an urn
    how_often_total: np.ndarray  # how often each total occurs
    colours: int

    def log_density(self, x: float) -> float:
        """sum_urns [ lG(K x) - lG(n + K x) + sum_k ( lG(n_k + x) - lG(x) ) ], K colours."""
        balls = self.colours * x
        # sums, not `@`: the bits of a BLAS product depend on its number of threads
        drawn = (self.how_often * (gammaln(self.counts + x) - gammaln(x))).sum()
        return float(drawn - (self.how_often_total * (gammaln(self.totals + balls) - gammaln(balls))).sum())

    def slopes(self, x: float) -> tuple[float, float]:
        """Two positive numbers whose difference, the first minus the second, is the derivative of `log_density`."""
        balls = self.colours * x
        up = (self.how_often * (digamma(self.counts + x) - digamma(x))).sum()
        down = (self.how_often_total * (digamma(self.totals + balls) - digamma(balls))).sum()
        return float(up), float(self.colours * down)

    def derivative(self, x: float) -> float:
        up, down = self.slopes(x)
        return up - down

    def argmax(self) -> float:
        """Where `log_density` is largest between the ends: the best grid point, then the zero of the derivative."""
        best = int(np.argmax([self.log_density(x) for x in GRID]))
        return peak(self.derivative, GRID[max(best - 1, 0)], GRID[min(best + 1, len(GRID) - 1)])

    def minka(self, x: float) -> float:
        """Minka's fixed-point iteration for the Dirichlet-multinomial (2003), from x until it stops, between the ends.

        Each step maximises a lower bound of `log_density` that touches it at x, so `log_density` never falls, and the
        iteration stops only where the derivative is zero.
        """
        for _ in range(MOST_STEPS):
            up, down = self.slopes(x)
            new = float(np.clip(x * up / down, *ENDS))
            if abs(new - x) <= STILL * x:
                return new
            x = new
        return x


def peak(derivative: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that rises and then falls, and has this derivative, is largest between two positive ends."""
    if derivative(low) <= 0:
        return float(low)
    if derivative(high) >= 0:
        return float(high)
    return float(np.exp(brentq(lambda log_x: derivative(np.exp(log_x)), np.log(low), np.log(high), xtol=1e-12)))


def at_ends(alpha: float, eta: float) -> list[str]:
    """A warning for each of alpha and eta that is at an end of the allowed range."""
    chosen = {"alpha": alpha, "eta": eta}
    return [
        f"The best {name} is at the end of its range, {x:g}; the true best may lie beyond."
        for name, x in chosen.items()
        if not ENDS[0] < x < ENDS[1]
    ]


def check_model(corpus: Corpus, topics: int, start: Prior) -> None:
    """Refuse corpora and models where m(h) does not depend on alpha or on eta."""
    if np.ndim(start.alpha) > 0:
        raise InputError("alpha must be one number here, the same for all topics")
    if topics < 2:
        raise InputError(f"alpha has no meaning with {topics} topics: at least 2 topics are needed")
    if corpus.term_count < 2:
        raise InputError("eta has no meaning with one term: at least 2 terms are needed")
    if corpus.document_lengths.max() < 2:
        raise InputError("alpha has no meaning if every document has only one token")
