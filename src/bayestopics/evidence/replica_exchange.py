"""Evidence by replica exchange (Geyer 1991) along p(z) p(w | z)^b, with Bennett's (1976) ratio between neighbours.

There is one chain at every b of a ladder. Neighbours swap states, so that the chain at b = 1 forgets its start through
the hot chains (small b). The ratio of the normalising constants of two neighbours is computed from the log likelihoods
of both. The estimate is not unbiased: it is only as good as the mixing of the chains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayestopics.base.guard import finite, not_finite
from bayestopics.base.progress import counted
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors.bennett import bennett
from bayestopics.evidence.annealing import check_ladder, ladder_of_its_own
from bayestopics.evidence.tempered import Tempered, draw_prior
from bayestopics.lda.state import Prior

LEVELS = 30


@dataclass(frozen=True, eq=False)
class Exchange:
    log_evidence: float
    swap_rates: np.ndarray  # the share of swaps that were accepted, for each pair of neighbours
    log_likelihood: np.ndarray  # kept rounds x levels
    round_trips: int  # how often a replica went from b = 0 to b = 1 and back, over all replicas


def repeat(corpus: Corpus, topics: int, prior: Prior, sweeps: int, rng: np.random.Generator) -> float:
    """One estimate of log m(T), with `sweeps` sweeps of every replica."""
    ladder = ladder_of_its_own(corpus, topics, prior, LEVELS, rng)
    return exchange(corpus, topics, prior, ladder, max(4, sweeps), rng).log_evidence


def exchange(
    corpus: Corpus,
    topics: int,
    prior: Prior,
    ladder: np.ndarray,
    rounds: int,
    rng: np.random.Generator,
    burn_in: float = 0.5,
) -> Exchange:
    """Run `rounds` rounds, each with a sweep at every b and swaps of neighbours; the share `burn_in` is dropped."""
    check_ladder(ladder)
    levels = len(ladder)
    # the levels start along one annealing run
    replicas = [Tempered(draw_prior(corpus, topics, prior, rng))]
    for b in ladder[1:]:
        following = Tempered(replicas[-1].state.copy())
        following.sweep(b, rng)
        replicas.append(following)
    names, seen_top, trips = np.arange(levels), np.zeros(levels, bool), 0
    trace, swaps = np.empty((rounds, levels)), np.zeros((2, levels - 1))
    for step in counted(range(rounds), f"replica exchange, T={topics}", "round"):
        replicas[0] = Tempered(draw_prior(corpus, topics, prior, rng))  # b = 0 is drawn exactly
        for level in range(1, levels):
            replicas[level].sweep(ladder[level], rng)
        trace[step] = [replica.log_likelihood for replica in replicas]
        if not finite(trace[step]):
            raise not_finite("log p(w | z) of a replica", step, [replica.state for replica in replicas])
        for level in range(step % 2, levels - 1, 2):
            gain = replicas[level].log_likelihood - replicas[level + 1].log_likelihood
            swaps[1, level] += 1
            if np.log(rng.random()) < (ladder[level + 1] - ladder[level]) * gain:
                replicas[level], replicas[level + 1] = replicas[level + 1], replicas[level]
                names[level], names[level + 1] = names[level + 1], names[level]
                swaps[0, level] += 1
        seen_top[names[-1]] = True
        trips += int(seen_top[names[0]])
        seen_top[names[0]] = False
    kept = trace[int(burn_in * rounds) :]
    ratios = [bennett(step * kept[:, k], step * kept[:, k + 1]) for k, step in enumerate(np.diff(ladder))]
    return Exchange(float(np.sum(ratios)), swaps[0] / np.maximum(swaps[1], 1), kept, trips)
