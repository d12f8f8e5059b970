"""The posterior of T from weighted chains, with an error that also sees what the chains disagree about.

Chains are divided into batches, and a batch is its total weight on every T. A share of T is a ratio of two sums, so its
error comes from the batches' residuals. Batches of one chain cannot know what that chain has missed; the errors from
whole chains can. The larger of the two is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from bayestopics.base.problems import InputError
from bayestopics.base.wording import rhat_told
from bayestopics.evidence.topic_prior import TopicPrior

BATCHES = 20  # of each chain
# beyond these limits a posterior cannot be trusted
LARGEST_RHAT = 1.05
LARGEST_VARIATION = 0.2  # total variation between the posteriors of two chains
ALIKE = 0.005  # total variation from the mean of all chains
FEWEST_DRAWS = 100  # the effective sample size below which shares of T are rough
LARGEST_BATCH = 0.5  # of the weight of a chain
AT_THE_END = 0.05  # probability of the largest T of the prior
ROUNDING = 1e-12  # a smaller relative error of the mean of T is rounding
CERTAIN = 1e-6  # a smaller variance of T says nothing about the chains, or is rounding


@dataclass(frozen=True)
class TopicLaw:
    """The posterior of T with its errors, and whether the chains agree."""

    posterior: dict[int, float]
    standard_error: dict[int, float]
    mean: float
    mean_error: float | None  # None for a single batch of a single chain
    mode: int
    rhat: float | None  # of T, between the halves of the chains; None for one chain
    effective_sample_size: float | None  # of the mean of T; None if T is certain
    total_variation: float | None  # the largest distance between the posteriors of two chains
    largest_batch: float  # the largest share of a chain's weight that one batch carries
    by_chain: list[dict[int, float]]
    batches: float  # of all chains; fewer if they weigh differently

    @property
    def agrees(self) -> bool:
        """Whether several chains agree about T."""
        return self.rhat is not None and self.rhat <= LARGEST_RHAT


def law(batches: pd.DataFrame) -> TopicLaw:
    """From a table with chain, batch, topics and weight. Each chain counts the same."""
    table = batches.pivot_table(index=["chain", "batch"], columns="topics", values="weight", fill_value=0.0)
    topics, chains = table.columns.to_numpy(), table.index.get_level_values("chain").nunique()
    weights = table.to_numpy().reshape(chains, -1, len(topics))
    totals = weights.sum(axis=(1, 2), keepdims=True)
    if np.any(totals == 0):
        raise InputError("a chain has no draw of positive weight; use more iterations (--iterations)")
    weights = weights / totals
    shares = weights.sum(axis=(0, 1)) / chains
    mean = float(shares @ topics)
    residuals = weights - shares * weights.sum(axis=2, keepdims=True)
    errors, (mean_error,) = _error(residuals), _error((residuals @ topics)[..., None])
    mean_error = 0.0 if mean_error < ROUNDING * mean else mean_error
    variance = float(shares @ (topics - mean) ** 2)
    by_chain = weights.sum(axis=1)
    pairs = combinations(by_chain, 2)
    return TopicLaw(
        posterior=_by_topics(topics, shares),
        standard_error=_by_topics(topics, errors),
        mean=mean,
        mean_error=None if np.isnan(mean_error) else float(mean_error),
        mode=int(topics[np.argmax(shares)]),
        rhat=_rhat_of_topics(weights, topics) if chains > 1 else None,
        effective_sample_size=float(variance / mean_error**2) if variance > CERTAIN and mean_error > 0 else None,
        total_variation=max((float(0.5 * np.abs(a - b).sum()) for a, b in pairs), default=None),
        largest_batch=float(weights.sum(axis=2).max()),
        by_chain=[_by_topics(topics, one) for one in by_chain],
        batches=float((1 / np.square(weights.sum(axis=2)).sum(axis=1)).sum()),
    )


def _by_topics(topics: np.ndarray, values: np.ndarray) -> dict[int, float]:
    return {int(t): float(value) for t, value in zip(topics, values, strict=True)}


def _error(residuals: np.ndarray) -> np.ndarray:
    """Standard errors of the mean over chains, from residuals[chain, batch, ...]: from batches, or from whole chains if
    that is larger. A single batch has none (nan)."""
    chains, batches = residuals.shape[:2]
    errors = [residuals.reshape(chains * batches, -1), residuals.sum(axis=1)][: 1 + (chains > 1)]
    found = [np.sqrt(len(one) / (len(one) - 1) * np.square(one).sum(axis=0)) / chains for one in errors if len(one) > 1]
    return np.max(found, axis=0) if found else np.full(residuals.shape[2], np.nan)


def _rhat_of_topics(weights: np.ndarray, topics: np.ndarray) -> float:
    """R-hat between the halves of the chains; a half without weight is left out. If T is nearly certain, the ratio of
    two tiny variances says nothing: chains whose posteriors of T are ALIKE have 1."""
    by_chain = weights.sum(axis=1)
    if 0.5 * np.abs(by_chain - by_chain.mean(axis=0)).sum(axis=1).max() <= ALIKE:
        return 1.0
    half = weights.shape[1] // 2
    halves = np.concatenate([weights[:, :half].sum(axis=1), weights[:, half:].sum(axis=1)])
    halves = halves[halves.sum(axis=1) > 0]
    halves = halves / halves.sum(axis=1, keepdims=True)
    means = halves @ topics
    return rhat(means, halves @ topics**2 - means**2)


def rhat(means: np.ndarray, variances: np.ndarray) -> float:
    """sqrt(1 + variance between / variance within): 1 if all agree, also on a single value."""
    between, within = float(np.var(means, ddof=1)), float(np.mean(variances))
    if between <= 1e-12:
        return 1.0
    return float(np.sqrt(1 + between / within)) if within > 0 else float("inf")


def rhat_of(values: np.ndarray, weights: np.ndarray) -> float | None:
    """R-hat of a quantity with weighted draws, chains x draws, between the halves of the chains; None for one chain, or
    if there is no draw or no weight in one of the halves."""
    half = values.shape[1] // 2
    x, w = (np.concatenate([one[:, :half], one[:, half : 2 * half]]) for one in (values, weights))
    if len(values) == 1 or np.any(w.sum(axis=1) == 0):
        return None
    w = w / w.sum(axis=1, keepdims=True)
    means = (w * x).sum(axis=1)
    return rhat(means, (w * (x - means[:, None]) ** 2).sum(axis=1))


def interval(found: TopicLaw, topics: int) -> tuple[float, float]:
    """Where the probability of T is: two standard errors on either side. If nothing was seen in n batches, it may still
    have a probability of 3 / n (Hanley & Lippman-Hand 1983); so the ends come no nearer to 0 and 1 than that."""
    share, error, seen = found.posterior[topics], found.standard_error[topics], 3 / found.batches
    if np.isnan(error):
        return 0.0, 1.0
    low, high = share - 2 * error, share + 2 * error
    return max(0.0, min(low, 1 - seen)), min(1.0, max(high, seen))


def covered(found: TopicLaw, level: float) -> tuple[int, int]:
    """The smallest and largest T that a chain has in the middle part of its own posterior."""
    ends = [_middle(one, level) for one in found.by_chain]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _middle(shares: dict[int, float], level: float) -> tuple[int, int]:
    topics, sums = np.array(list(shares)), np.cumsum(list(shares.values()))
    tail = (1 - level) / 2
    ends = (int(np.searchsorted(sums, part * sums[-1], side="right")) for part in (tail, 1 - tail))
    low, high = (int(topics[min(end, len(topics) - 1)]) for end in ends)
    return low, high


def hyper_law(logs: np.ndarray, weights: np.ndarray) -> dict[str, float]:
    """The posterior of alpha or of eta from draws of its log, chains x draws: mean, median and the ends of the middle
    95 %. Each chain counts the same."""
    shares = (weights / weights.sum(axis=1, keepdims=True)).ravel() / len(weights)
    order = np.argsort(logs, axis=None, kind="stable")
    values, sums = np.exp(logs.ravel()[order]), np.cumsum(shares[order])
    low, median, high = (float(values[min(int(np.searchsorted(sums, q)), len(sums) - 1)]) for q in (0.025, 0.5, 0.975))
    return {"mean": float(shares[order] @ values), "median": median, "low": low, "high": high}


def doubts(found: TopicLaw, prior: TopicPrior, starts: Sequence[int]) -> list[str]:
    """What to know before trusting the posterior."""
    said = []
    if len(starts) == 1:
        said.append("A single chain cannot show whether the start matters. Give several starts (--start 1,30,60).")
    if found.rhat is not None and found.rhat > LARGEST_RHAT:
        means = [sum(t * share for t, share in one.items()) for one in found.by_chain]
        told = ", ".join(f"{mean:.1f} from {start}" for mean, start in zip(means, starts, strict=True))
        said.append(
            "The chains disagree about the number of topics; until they agree, T is not known, and it can also be "
            "smaller or larger than in all of them. Use more iterations (--iterations) and a longer burn-in "
            f"(--burn-in): their means are {told}, and R-hat of the number of topics is {rhat_told(found.rhat)}, but "
            f"converged chains have at most {LARGEST_RHAT}."
        )
    elif found.total_variation is not None and found.total_variation > LARGEST_VARIATION:
        said.append(
            "Two chains give different probabilities, so they are known only roughly. Use more iterations "
            f"(--iterations): the posteriors differ by {found.total_variation:.2f} in total variation (0: equal, 1: "
            "nothing in common)."
        )
    known = found.rhat is None or found.agrees
    if known and found.effective_sample_size is not None and found.effective_sample_size < FEWEST_DRAWS:
        said.append(
            "The probabilities are rough; look at their errors. Use more iterations (--iterations): all chains "
            f"together are worth about {found.effective_sample_size:.0f} independent draws of T."
        )
    if found.largest_batch > LARGEST_BATCH:
        said.append(
            "The result of a chain rests mainly on a small part of it, and may change with another seed. Use more "
            f"iterations (--iterations): a twentieth of the chain carries {found.largest_batch:.0%} of its weight."
        )
    if prior.high is not None and (share := found.posterior.get(prior.high, 0.0)) > AT_THE_END:
        said.append(
            "The range of T ends too early, so more topics may be better still. Raise --max: "
            f"{share:.0%} of the posterior is at the largest number of topics, {prior.high}."
        )
    return said
