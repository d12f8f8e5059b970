"""Compile the kernels of a variational method and of its held-out score, or take them from the cache."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

from bayestopics.nonparametric.hdp_held_out import importance_sampling
from bayestopics.nonparametric.stream import Learner
from bayestopics.nonparametric.truncation_free import TruncationFree


def warm(kind: type[Learner]) -> None:
    """So that no timing holds a compilation. Kernels are compiled anew for arrays of components with room to grow."""
    rng, counts = np.random.default_rng(0), sparse.csr_array(np.eye(4, dtype=np.int64) + 1)
    grows = issubclass(kind, TruncationFree)
    learner = kind(4, rng, 4, **({} if grows else {"truncation": 20}))  # type: ignore[arg-type]
    learner.partial_fit(counts, held_out=counts)
    if grows:
        learner.components.grow(learner.components.count + 4)
        learner.components.grow(1)  # by half of what there is: some is left
        learner.partial_fit(counts)
    if "HDP" in kind.name:
        importance_sampling(learner, counts, 20, rng)
