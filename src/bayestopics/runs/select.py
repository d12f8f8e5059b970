"""Which model? (T, alpha, eta) together, with their uncertainty.

For each number of topics T a chain that samples h = (alpha, eta) with the topics finds the best h for it, and the
evidence log m(T, h) is estimated there by annealing. What is exact: each estimate of m(T, h) is unbiased, whatever h
is. What is not: h varies from T to T, so that p(w | T) is an integral of m(T, h) over the prior of h, taken here as
uniform in the logs between wide ends; the integral is by Laplace, with the covariance of the sampled log h. It adds a
few nats, differently for different T. At the best T serial tempering then gives h with both its regions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayestopics.base.problems import InputError
from bayestopics.base.progress import counted
from bayestopics.base.seeds import generator
from bayestopics.corpus.corpus import Corpus
from bayestopics.evidence.compute import evidence
from bayestopics.evidence.estimate import not_excluded
from bayestopics.hyper.full_bayes import FullBayes, full_bayes
from bayestopics.hyper.search import SHORTEST
from bayestopics.hyper.several import CHAINS, Several, search_several
from bayestopics.hyper.urns import ENDS
from bayestopics.lda.state import Prior

LOG_AREA = 2 * np.log(np.log(ENDS[1] / ENDS[0]))  # of the prior of log h


@dataclass(frozen=True, eq=False)
class Selection:
    topics: int
    posterior: dict[int, float]  # of T, uniform over those that were tried
    table: pd.DataFrame  # a row a T: alpha, eta, log_evidence at it, standard_error, log_marginal
    hyper: Several  # tempering at the best T
    warnings: list[str]

    def summary(self) -> dict[str, Any]:
        """What `bayestopics select` prints; alpha and eta are those of tempering, not those of the table."""
        found = self.hyper.summary()
        table = self.table.astype(object).where(self.table.notna(), None)
        return {
            "topics": self.topics,
            **{name: found[name] for name in ("alpha", "eta")},
            "posterior": self.posterior,
            **{name: found[name] for name in ("ellipse", "region", "agreement", "chains")},
            "table": table.to_dict("records"),
            "warnings": self.warnings,
        }


def select(
    corpus: Corpus,
    topics: Sequence[int],
    *,
    sweeps: int = 2000,
    steps: int = 2000,
    repeats: int = 4,
    chains: int = CHAINS,
    seed: int = 0,
    workers: int = 1,
) -> Selection:
    """`sweeps` of each chain of h, `steps` of each ladder of annealing, `repeats` of it for each T, `chains` of
    tempering at the best T."""
    check(topics, sweeps)
    numbers = sorted(set(topics))
    rows, doubts = [], []
    for number in counted(numbers, "select", "T"):
        rng = generator(seed, f"select/{number}")
        chain = full_bayes(corpus, number, sweeps=sweeps, burn_in=sweeps, rng=rng)
        alpha, eta = chain.mode.tolist()
        work = {"sweeps": steps, "passes": 1, "repeats": repeats, "seed": seed, "workers": workers}
        found = evidence(corpus, [number], Prior(alpha, eta), method="annealing", **work)  # type: ignore[arg-type]
        value, error = found["log_evidence"][0], found["standard_error"][0]
        rows.append(
            {"topics": number, "alpha": alpha, "eta": eta, "log_evidence": value}
            | {"standard_error": np.nan if error is None else error, "log_marginal": value + log_volume(chain)}
        )
        doubts += found["warnings"]
    table = pd.DataFrame(rows)
    logs = table["log_marginal"].to_numpy()
    shares = np.exp(logs - logsumexp(logs))
    best = int(table["topics"][int(np.argmax(logs))])
    doubts += _doubts(table, best, repeats)
    hyper = search_several(corpus, best, chains=chains, workers=workers, seed=seed, sweeps=max(1000, sweeps))
    posterior = dict(zip(numbers, shares.tolist(), strict=True))
    return Selection(best, posterior, table, hyper, [*doubts, *hyper.warnings])


def check(topics: Sequence[int], sweeps: int) -> None:
    if not topics or min(topics) < 2:
        raise InputError(f"alpha has no meaning with one topic: try numbers of topics from 2 on, not {list(topics)}")
    if sweeps < SHORTEST:
        raise InputError(f"a chain of alpha and eta needs at least {SHORTEST} sweeps, not {sweeps}")


def log_volume(chain: FullBayes) -> float:
    """Laplace: log of the integral over log h of m(h) / m(mode) times the prior's density."""
    covariance = np.cov(np.log(chain.draws).T)
    return float(np.log(2 * np.pi) + 0.5 * np.linalg.slogdet(covariance)[1] - LOG_AREA)


def _doubts(table: pd.DataFrame, best: int, repeats: int) -> list[str]:
    said = []
    if best in (table["topics"].iloc[0], table["topics"].iloc[-1]) and len(table) > 1:
        said.append(f"T={best} is the first or the last that was tried: try more")
    near = table[not_excluded(table["log_marginal"].tolist(), table["standard_error"].tolist(), repeats)]
    if len(near) > 1:
        said.append(f"the errors do not tell apart T = {', '.join(map(str, near['topics']))}")
    return said
