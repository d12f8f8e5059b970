"""The DP mixture by mean field at a truncation level: the baseline [Wang & Blei, section 2.1; Blei & Jordan 2006].

q(z_i = k) is proportional to exp E[log pi_k + sum_w c_w log theta_kw] [5]. Updates are stochastic, one batch at a time,
or coordinate ascent on the whole corpus, which also gives the bound [3].
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
from scipy.special import logsumexp

from bayestopics.corpus.corpus import Corpus
from bayestopics.nonparametric.dp_mixture import collapsed
from bayestopics.nonparametric.sticks import ClosedSticks
from bayestopics.nonparametric.stream import Bags, HeldOutScore, checked
from bayestopics.nonparametric.truncated import Ascent, Truncated, expected_log_rows


class TruncatedDPMixture(Truncated):
    name = "truncated DP mixture"

    def __init__(
        self,
        term_count: int,
        rng: np.random.Generator,
        documents: int,
        eta: float = 0.5,
        concentration: float = 1.0,
        truncation: int = 300,
    ) -> None:
        checked(concentration=concentration)
        super().__init__(term_count, rng, eta, truncation, {"documents": documents, "concentration": concentration})

    def top_concentration(self) -> float:
        return float(self.settings["concentration"])

    def used_components(self) -> int:
        return int(np.count_nonzero(self.components.sizes >= 1.0))

    def score(self, held_out: Corpus | sparse.csr_array) -> HeldOutScore:
        return HeldOutScore(collapsed(self, held_out).per_word, 0.0)

    def responsibilities(self, bags: Bags, sticks: ClosedSticks) -> tuple[np.ndarray, np.ndarray]:
        """q(z) of every document [5], and the logs of the normalisers."""
        scores = bags.matrix() @ expected_log_rows(self.components, bags.kinds) + sticks.expected_logs()
        normalisers = logsumexp(scores, axis=1)
        return np.exp(scores - normalisers[:, None]), normalisers

    def _update(self, bags: Bags) -> None:
        q, _ = self.responsibilities(bags, self.sticks())
        self._step(bags, bags.matrix().T @ q, q.sum(axis=0))

    def _ascent(self, bags: Bags) -> Ascent:
        def local(sticks: ClosedSticks) -> tuple[np.ndarray, np.ndarray, float]:
            q, normalisers = self.responsibilities(bags, sticks)
            # [3] at the optimal q(z): E[log p(x, z)] - E[log q(z)] is the sum of the log normalisers
            return bags.matrix().T @ q, q.sum(axis=0), normalisers.sum()

        return local
