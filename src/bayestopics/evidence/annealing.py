"""Annealed importance sampling of the evidence (Neal 2001), along p(z) p(w | z)^b from b = 0 to b = 1.

Each run starts from an exact draw of the prior, makes one Gibbs sweep at every b of a ladder, and ends with a weight
whose expectation is m(T) for every ladder; a longer ladder gives a smaller variance. A backward run starts from an
exact draw of the posterior (on simulated corpora, the z that generated them); its weight has the expectation 1 / m(T).
So forward runs bound log m(T) from below and backward runs from above, on average.
"""

from __future__ import annotations

import numpy as np

from bayestopics.base.guard import finite, not_finite
from bayestopics.base.problems import InputError
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.tempered import Tempered, draw_prior
from bayestopics.lda.state import Prior, State

PILOT_STEPS = 200


def first_ladder(steps: int) -> np.ndarray:
    """0 = b_0 < ... < b_steps = 1, with small steps near 0, where log p(w | z) rises fastest."""
    return np.linspace(0.0, 1.0, steps + 1) ** 4


def pilot(
    corpus: Corpus, topics: int, prior: Prior, rng: np.random.Generator, steps: int = PILOT_STEPS
) -> tuple[np.ndarray, np.ndarray]:
    """A short run: the b of its steps, and log p(w | z) after the sweep at each b."""
    ladder = first_ladder(steps)
    tempered = Tempered(draw_prior(corpus, topics, prior, rng))
    log_likelihood = [tempered.log_likelihood]
    for step, b in enumerate(ladder[1:]):
        log_likelihood.append(tempered.sweep(b, rng))
        if not finite(log_likelihood[-1]):
            raise not_finite("log p(w | z) in a pilot run", step, tempered.state)
    return ladder, np.array(log_likelihood)


def ladder_from(b: np.ndarray, log_likelihood: np.ndarray, steps: int) -> np.ndarray:
    """A ladder whose steps all add about the same variance to the log-weight, judged by a pilot run.

    A step db adds db^2 Var_b[log p(w | z)], and this variance is the slope of L(b) = E_b[log p(w | z)]; so the steps
    are chosen equal in the integral of sqrt(dL db). The pilot's L is made to rise with b, as its expectation does.
    """
    rising = np.maximum.accumulate(log_likelihood)
    gain = np.diff(rising) + 1e-3 * np.ptp(rising) / len(b) + 1e-12  # every stretch gets some steps
    length = np.concatenate([[0.0], np.cumsum(np.sqrt(gain * np.diff(b)))])
    ladder = np.interp(np.linspace(0.0, length[-1], steps + 1), length, b)
    ladder[0], ladder[-1] = 0.0, 1.0
    return ladder


def repeat(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> float:
    """One estimate of log m(T), with a ladder of `sweeps` steps."""
    ladder = ladder_of_its_own(corpus, topics, prior, sweeps, rng)
    return anneal(Tempered(draw_prior(corpus, topics, prior, rng)), ladder, rng)


def ladder_of_its_own(corpus: Corpus, topics: int, prior: Prior, steps: int, rng: np.random.Generator) -> np.ndarray:
    """A ladder from a pilot run of its own, so that repeats are independent."""
    return ladder_from(*pilot(corpus, topics, prior, rng, min(PILOT_STEPS, max(20, steps))), steps)


def anneal(tempered: Tempered, ladder: np.ndarray, rng: np.random.Generator) -> float:
    """One estimate of log m(T), by annealing from a draw from the prior, which is changed."""
    check_ladder(ladder)
    log_weight = 0.0
    for step in counted(range(len(ladder) - 1), f"annealing, T={tempered.state.topics}", "step"):
        log_weight += (ladder[step + 1] - ladder[step]) * tempered.log_likelihood
        if not finite(log_weight):
            raise not_finite("the log weight of annealing", step, tempered.state)
        if ladder[step + 1] < 1.0:
            tempered.sweep(ladder[step + 1], rng)
    return float(log_weight)


def anneal_backward(state: State, ladder: np.ndarray, rng: np.random.Generator) -> float:
    """One estimate of log m(T) from above: minus the log of an estimate of 1 / m(T). `state` must be a draw from the
    posterior; it is not changed."""
    check_ladder(ladder)
    tempered = Tempered(state.copy())
    log_weight = 0.0
    for step in range(len(ladder) - 1, 0, -1):
        log_weight += (ladder[step] - ladder[step - 1]) * tempered.log_likelihood
        if not finite(log_weight):
            raise not_finite("the log weight of annealing back", len(ladder) - 1 - step, tempered.state)
        if ladder[step - 1] > 0.0:
            tempered.sweep(ladder[step - 1], rng)
    return float(log_weight)


def check_ladder(ladder: np.ndarray) -> None:
    if len(ladder) < 2 or ladder[0] != 0 or ladder[-1] != 1 or np.any(np.diff(ladder) < 0):
        raise InputError("a ladder must rise from 0 to 1")
