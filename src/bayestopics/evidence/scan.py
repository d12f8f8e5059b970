"""Learns the weights of the soft topic at sizes at which the chain has not been.

The weights are made from the rates at which tokens enter and leave a topic of each size (`soft_topic`). A chain sees
these rates only at the sizes that it visits; and if the first guess is wrong by some nats in between, it visits only
small sizes and normal ones, so it never learns better. So in the burn-in a new topic is led from no token to a normal
size and back, by a weight exp(-(size - m)^2 / 2 w^2) whose centre m moves slowly (umbrella sampling; Torrie & Valleau
1977). The rates are those without this weight. Then everything is as before, but for what was learnt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayestopics.evidence.soft_topic import STEEPEST

if TYPE_CHECKING:
    from bayestopics.evidence.jump import Sampler

SWEEPS = 10  # in each bin of sizes, each way
WIDTH, NARROWEST = 0.35, 0.4  # w is this part of sqrt(m), tokens: narrow enough to hold a size against its force


def scan(sampler: Sampler, most: int) -> None:
    """Lead a new topic there and back, in about `most` sweeps at the most."""
    chain = sampler.chain
    used = sampler.empty_last()
    before, topics, soft = chain.assignments.copy(), chain.topics, chain.soft
    sampler.set_topics(used + 1)
    chain.soft = chain.topics - 1
    sizes = sampler.soft_topic.bin_edges(chain.topics)
    each = min(SWEEPS, most // (2 * len(sizes)))
    centres = np.interp(np.arange(each * (len(sizes) - 1)) / max(each, 1), np.arange(len(sizes)), sizes)
    for centre in [*centres, *centres[::-1]]:
        sampler.sweep_with(umbrella(centre, 2 * int(sizes[-1])))
    sampler.soft_topic.renew()
    chain.assignments, chain.soft = before, soft
    sampler.set_topics(topics)


def umbrella(centre: float, length: int) -> np.ndarray:
    """float64[length]: the weight of each size, over that of the size before it."""
    width = max(NARROWEST, WIDTH * np.sqrt(centre))
    steps = np.diff((np.arange(length + 1) - centre) ** 2) / (2 * width**2)
    return np.exp(np.clip(-steps, -STEEPEST, STEEPEST))
