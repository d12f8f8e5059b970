"""The toy example of figure 2 [Wang & Blei, section 2.2]: is a document that repeats one word in component 1 or 2?

There are two components of equal weight and 10 terms. q(theta_2) = Dirichlet(0.1, ..., 0.1) has seen nothing.
q(theta_1) is Dirichlet(0.1, 1, ..., 1) in case A, where word 1 is unlikely, and Dirichlet(1, ..., 1) in case B.
The y axis is log q(z = 1) - log q(z = 2). The exact answer integrates theta out, as the locally collapsed update does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, psi

TERMS = 10
SECOND = np.full(TERMS, 0.1)
CASES = {"A": np.array([0.1] + [1.0] * (TERMS - 1)), "B": np.ones(TERMS)}


@dataclass(frozen=True, eq=False)
class Curves:
    """The log-odds of component 1 for each number of occurrences."""

    occurrences: np.ndarray
    exact: np.ndarray
    locally_collapsed: np.ndarray
    mean_field: np.ndarray


def toy_figure2(case: str, most: int = 20) -> Curves:
    occurrences = np.arange(1, most + 1)
    first = CASES[case]
    return Curves(
        occurrences,
        exact_log_odds(first, SECOND, occurrences),
        locally_collapsed_log_odds(first, SECOND, occurrences),
        mean_field_log_odds(first, SECOND, occurrences),
    )


def exact_log_odds(first: np.ndarray, second: np.ndarray, occurrences: np.ndarray) -> np.ndarray:
    """Polya's urn, one word at a time: occurrence i (from 0) has probability (lambda_1 + i) / (sum lambda + i)."""
    steps = np.arange(occurrences.max())
    log_urns = [np.log(q[0] + steps) - np.log(q.sum() + steps) for q in (first, second)]
    return np.cumsum(log_urns[0] - log_urns[1])[occurrences - 1]


def locally_collapsed_log_odds(first: np.ndarray, second: np.ndarray, occurrences: np.ndarray) -> np.ndarray:
    """E_q[p(x | theta_k)], in gammas [6]."""

    def log_mean(q: np.ndarray) -> np.ndarray:
        words = gammaln(q[0] + occurrences) - gammaln(q[0])
        return words - gammaln(q.sum() + occurrences) + gammaln(q.sum())

    return log_mean(first) - log_mean(second)


def mean_field_log_odds(first: np.ndarray, second: np.ndarray, occurrences: np.ndarray) -> np.ndarray:
    """E_q[log p(x | theta_k)] [5]."""
    mean_logs = [psi(q[0]) - psi(q.sum()) for q in (first, second)]
    return occurrences * (mean_logs[0] - mean_logs[1])
