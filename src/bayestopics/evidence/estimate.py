"""What every estimator of the evidence m(T) = p(w | T, alpha, eta) returns, and how its error is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import t as student

LARGE_ERROR = 1.0  # nats: beyond, an average of estimates is ruled by the largest of them


@dataclass(frozen=True)
class Evidence:
    """log m(T), from independent repeats."""

    log_evidence: float  # log of the mean of the repeats' estimates
    standard_error: float | None  # None for one repeat, and where the estimates have no variance
    log_estimates: list[float]
    unbiased: bool  # each exp(log estimate) has expectation m(T); then its log lies below log m(T) on average
    warnings: list[str] = field(default_factory=list)


def combine(log_estimates: np.ndarray, *, unbiased: bool = True, has_variance: bool = True) -> Evidence:
    """The log of the mean, and an error that does not lie.

    By the delta method the error of the log of a mean is s / sqrt(R), s being the standard deviation of the
    log-estimates, if s is small. If it is not, the mean is ruled by a few repeats, and the delta method never says
    more than about one nat however wrong it is: then the error is s itself. Estimates without a variance have no
    standard error, however little they scatter.
    """
    values = np.asarray(log_estimates, dtype=float)
    if nothing := int(np.sum(values == -np.inf)):
        doubts = [f"{nothing} of {len(values)} repeats came to nothing: more steps are needed"]
        log_evidence = float(np.logaddexp.reduce(values) - np.log(len(values)))
        return Evidence(log_evidence, None, values.tolist(), unbiased, doubts)
    highest = values.max()
    weights = np.exp(values - highest)
    log_evidence = float(highest + np.log(weights.mean()))
    if len(values) == 1:
        return Evidence(log_evidence, None, values.tolist(), unbiased, ["one repeat: its error is unknown"])
    spread = float(values.std(ddof=1))
    if not has_variance:
        doubts = [f"the estimates have no variance, so no standard error; the repeats scatter by {spread:.2g} nats"]
        return Evidence(log_evidence, None, values.tolist(), unbiased, doubts)
    error = spread / np.sqrt(len(values)) if spread < LARGE_ERROR else spread
    doubts = []
    if error > LARGE_ERROR:
        doubts.append(f"the repeats scatter by {spread:.1f} nats: more steps are needed, not more repeats")
    if (share := weights.max() / weights.sum()) > 0.5 and len(values) > 2:
        doubts.append(f"one repeat of {len(values)} carries {share:.0%} of the weight")
    return Evidence(log_evidence, error, values.tolist(), unbiased, doubts)


def not_excluded(log_values: Sequence[float], errors: Sequence[float | None], repeats: int) -> np.ndarray:
    """Which are near enough to the largest. An unknown error excludes nothing.

    A difference may be as large as errors from so few repeats allow at a level of 95 % (Student t). Where an error is
    the deviation of a single repeat (`combine`), it may be at least twice that, however many repeats there are.
    """
    values = np.asarray(log_values, dtype=float)
    known = np.array([np.inf if error is None or np.isnan(error) else error for error in errors])
    quantile = float(student.ppf(0.975, repeats - 1)) if repeats > 1 else np.inf
    margins = known * np.where(known < LARGE_ERROR, quantile, max(2.0, quantile / np.sqrt(repeats)))
    largest = int(np.argmax(values))
    return values >= values[largest] - np.hypot(margins, margins[largest])
