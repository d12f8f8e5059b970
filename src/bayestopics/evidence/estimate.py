"""From independent estimates of the evidence m(T) = p(w | T, alpha, eta) to one value with its error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtrit

from bayestopics.base.wording import NAT, nats

LARGE_ERROR = 1.0  # nats: beyond this, the largest estimate dominates the average


@dataclass(frozen=True)
class Evidence:
    """log m(T), from independent repeats."""

    log_evidence: float  # log of the mean of the repeats' estimates
    standard_error: float | None  # None for a single repeat, and for estimates with infinite variance
    log_estimates: list[float]
    unbiased: bool  # each exp(log estimate) has expectation m(T); its log is then below log m(T) on average
    warnings: list[str] = field(default_factory=list)


def combine(
    log_estimates: np.ndarray, *, unbiased: bool = True, has_variance: bool = True, unit: str = "sweeps"
) -> Evidence:
    """The log of the mean of the estimates, with an honest error.

    Let s be the standard deviation of the R log-estimates. If s is small, the delta method gives the error of the log
    of their mean as s / sqrt(R). If s is large, a few repeats dominate the mean, and the delta method would never
    report more than about one nat however wrong the mean is; then the error is s itself. Estimates with infinite
    variance have no standard error, however little they scatter. `unit` is what makes a repeat longer, for the
    warnings.
    """
    values = np.asarray(log_estimates, dtype=float)
    if nothing := int(np.sum(values == -np.inf)):
        doubts = [
            f"Some runs found nothing, so the evidence is not known yet. Use more {unit} (--{unit}): {nothing} of the "
            f"{len(values)} runs gave an estimate of zero."
        ]
        log_evidence = float(np.logaddexp.reduce(values) - np.log(len(values)))
        return Evidence(log_evidence, None, values.tolist(), unbiased, doubts)
    highest = values.max()
    weights = np.exp(values - highest)
    log_evidence = float(highest + np.log(weights.mean()))
    if len(values) == 1:
        doubts = ["There is only one run, so the error is unknown. Use more repeats (--repeats)."]
        return Evidence(log_evidence, None, values.tolist(), unbiased, doubts)
    spread = float(values.std(ddof=1))
    if not has_variance:
        doubts = [
            "The estimates of this method have infinite variance, so no standard error can be given; the runs scatter "
            f"by {nats(spread)} ({NAT})."
        ]
        return Evidence(log_evidence, None, values.tolist(), unbiased, doubts)
    error = spread / np.sqrt(len(values)) if spread < LARGE_ERROR else spread
    doubts = []
    if error > LARGE_ERROR:
        doubts.append(
            "The runs disagree, so the evidence is not known yet, and this T may be better or worse than it looks. "
            f"Use more {unit} (--{unit}), not more repeats: the runs differ by about {nats(spread)} ({NAT})."
        )
    if (share := weights.max() / weights.sum()) > 0.5 and len(values) > 2:
        doubts.append(
            "The result rests mainly on one run, so its error may be larger than it looks. Use more repeats "
            f"(--repeats): one of the {len(values)} runs carries {share:.0%} of the weight."
        )
    return Evidence(log_evidence, error, values.tolist(), unbiased, doubts)


def not_excluded(log_values: Sequence[float], errors: Sequence[float | None], repeats: int) -> np.ndarray:
    """Which values are compatible with being the largest, given their errors. An unknown error excludes nothing.

    A value is compatible if its difference from the largest is within the 95 % limit of a Student t distribution for
    this number of repeats. Where the error is the deviation of a single repeat (see `combine`), the limit is at least
    twice that deviation, however many repeats there are.
    """
    values = np.asarray(log_values, dtype=float)
    known = np.array([np.inf if error is None or np.isnan(error) else error for error in errors])
    quantile = float(stdtrit(repeats - 1, 0.975)) if repeats > 1 else np.inf
    margins = known * np.where(known < LARGE_ERROR, quantile, max(2.0, quantile / np.sqrt(repeats)))
    largest = int(np.argmax(values))
    return values >= values[largest] - np.hypot(margins, margins[largest])
