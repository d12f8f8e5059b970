"""The variational methods by model and name."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

from bayestopics.nonparametric import BIRTHS
from bayestopics.nonparametric.dp_truncated import TruncatedDPMixture
from bayestopics.nonparametric.dp_truncation_free import MERGE_EVERY, TruncationFreeDPMixture
from bayestopics.nonparametric.hdp_held_out import importance_sampling
from bayestopics.nonparametric.hdp_memoized import MemoizedHDP
from bayestopics.nonparametric.hdp_truncated import TruncatedHDP
from bayestopics.nonparametric.hdp_truncation_free import TruncationFreeHDP
from bayestopics.nonparametric.stream import Learner
from bayestopics.nonparametric.truncation_free import TruncationFree

LEARNERS: dict[tuple[str, str], type[Learner]] = {
    ("hdp", "truncation-free"): TruncationFreeHDP,
    ("hdp", "truncated"): TruncatedHDP,
    ("dp-mixture", "truncation-free"): TruncationFreeDPMixture,
    ("dp-mixture", "truncated"): TruncatedDPMixture,
}

KINDS: tuple[type[Learner], ...] = (*LEARNERS.values(), MemoizedHDP)  # all of them


def learner_of(model: str, method: str, births: str | None = None) -> type[Learner]:
    """`births` of truncation-free methods; None means the first of BIRTHS."""
    if (model, method, births or BIRTHS[0]) == ("hdp", "truncation-free", "data"):
        return MemoizedHDP
    return LEARNERS[model, method]


def compile_learner(kind: type[Learner]) -> None:
    """Compile all kernels, or load them from the cache, so that no timing includes compilation.

    Arrays of components with room to grow need a compilation of their own.
    """
    rng, counts = np.random.default_rng(0), sparse.csr_array(np.eye(4, dtype=np.int64) + 1)
    if kind is MemoizedHDP:
        remembering = MemoizedHDP(4, rng, 4)
        for _ in range(3):
            remembering.partial_fit(counts, held_out=counts, ids=np.arange(4))
        return
    grows = issubclass(kind, TruncationFree)
    learner = kind(4, rng, 4, **({} if grows else {"truncation": 20}))  # type: ignore[arg-type]
    learner.partial_fit(counts, held_out=counts)
    if grows:
        learner.components.grow(learner.components.count + 4)
        learner.components.grow(1)  # it grows by half, so that some room is left
        learner.partial_fit(counts)
    if kind is TruncationFreeDPMixture:
        mixture = TruncationFreeDPMixture(4, rng, 4, births="data")
        mixture.partial_fit(counts)
        mixture.documents_seen = MERGE_EVERY - 1  # the next batch merges
        mixture.partial_fit(counts)
    if "HDP" in kind.name:
        importance_sampling(learner, counts, 20, rng)
