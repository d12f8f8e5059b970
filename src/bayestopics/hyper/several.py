"""Several independent searches for the best h, and whether they agree.

A single chain may stay in one mode of z and report a precise but wrong answer: its Monte Carlo ellipse, computed from
its own batches, contains nothing about other modes. So each chain here is a complete search, from its own random start
to its own grid; the estimate and its ellipse come from the scatter between the chains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import f

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.problems import InputError
from bayestopics.base.processes import in_processes
from bayestopics.base.progress import Progress, telling
from bayestopics.base.seeds import generator, seed_from
from bayestopics.base.wording import explain_once
from bayestopics.corpus.corpus import Corpus
from bayestopics.hyper.best import FEWEST, Best, best_of_chains
from bayestopics.hyper.search import Search, check, find
from bayestopics.hyper.tempering import TemperedChain

CHAINS = 4
DISAGREE = 0.01  # the chains disagree if the p-value of `agreement` is smaller
USUAL = 1.8  # sweeps of a search over those of its last run: a fifth each for the pilot, its burn-in and two tunings


@dataclass(frozen=True, eq=False)
class Several:
    best: Best  # of all chains together
    found: list[Search]  # by each chain
    agreement: float | None  # p-value of `agreement`
    warnings: list[str]

    @property
    def chains(self) -> list[TemperedChain]:
        return [one.chains[0] for one in self.found]

    def summary(self) -> dict[str, Any]:
        """What `bayestopics hyper` prints."""
        regions = {"ellipse": self.best.ellipse, "region": self.best.region}
        return {
            "alpha": self.best.alpha,
            "eta": self.best.eta,
            **{name: None if one is None else one.summary() for name, one in regions.items()},
            "agreement": self.agreement,
            "chains": [one.summary() for one in self.found],
            "warnings": self.warnings,
        }


def search_several(
    corpus: Corpus,
    topics: int,
    *,
    chains: int = CHAINS,
    workers: int = 1,
    seed: int = 0,
    checkpoint: Checkpoint | None = None,
    **how: Any,
) -> Several:
    """Run `find` with `chains` independent chains in `workers` processes; the bits do not depend on `workers`."""
    if min(chains, workers) < 1:
        raise InputError(f"at least 1 chain and 1 worker are needed, not {chains} chains and {workers} workers")
    sweeps = how["sweeps"]
    check(how.get("alphas"), how.get("etas"), how.get("shape"), sweeps)  # before processes start
    seeds = [seed_from(generator(seed, f"hyper/chain/{number}")) for number in range(chains)]
    parts = [(checkpoint or NoCheckpoint()).part(f"chain-{number}") for number in range(chains)]
    jobs = [(topics, {**how, "seed": one, "checkpoint": part}) for one, part in zip(seeds, parts, strict=True)]
    found = _all(corpus, jobs, min(workers, chains), round(USUAL * sweeps * chains))
    together = found[0].best if chains == 1 else best_of_chains([one.chains[0] for one in found])
    same = agreement([one.best for one in found])
    said = [f"Chain {number}: {warning}" for number, one in enumerate(found) for warning in one.warnings]
    return Several(together, found, same, explain_once([*_doubts(chains, same), *said]))


def agreement(found: Sequence[Best]) -> float | None:
    """The p-value of the hypothesis that the best h of the chains differ by no more than their own ellipses say. Chains
    without an ellipse are left out; the result is None if fewer than two remain.

    Wilks' lambda compares the covariance between the chains with the mean covariance within them. For two numbers it
    has exactly an F distribution if the best h of batches and chains are normal [Anderson, An Introduction to
    Multivariate Statistical Analysis, section 8.4].
    """
    known = [(one.ellipse, one.batches) for one in found if one.ellipse is not None]
    if len(known) < 2:
        return None
    degrees = len(known) - 1, sum(batches - 1 for _, batches in known)
    between = degrees[0] * np.cov(np.log([ellipse.center for ellipse, _ in known]).T)
    within = sum((batches - 1) * np.array(ellipse.log_covariance) for ellipse, batches in known)
    root = np.sqrt(np.linalg.det(within) / np.linalg.det(within + between))
    statistic = (1 - root) / root * (degrees[1] - 1) / degrees[0]
    return float(f.sf(statistic, 2 * degrees[0], 2 * (degrees[1] - 1)))


def _doubts(chains: int, same: float | None) -> list[str]:
    if chains == 1:
        return [
            "A single chain may stay in one mode and report a precise but wrong answer. Run several chains (--chains)."
        ]
    said = []
    if same is not None and same < DISAGREE:
        said.append(
            f"The chains disagree by far more than their own Monte Carlo errors (p = {same:.1g}), so they are in "
            "different modes or too short. Look at the result of each chain, and use more sweeps (--sweeps)."
        )
    if chains < FEWEST:
        said.append(
            f"The Monte Carlo ellipse needs at least {FEWEST} independent chains, not {chains}, so it is unknown. "
            "Run more chains (--chains)."
        )
    return said


# -- the chains ------------------------------------------------------------------------------------------


Job = tuple[int, dict[str, Any]]  # topics, and the options of `find`


def _all(corpus: Corpus, jobs: list[Job], workers: int, sweeps: int) -> list[Search]:
    """Run all searches. `sweeps` is about how many sweeps there will be, for the progress bar."""
    if workers == 1:
        with Progress(f"{len(jobs)} chains", sweeps, "sweep") as bar, telling(bar.update):
            return [find(corpus, topics, **how) for topics, how in jobs]
    return in_processes(_job, corpus, jobs, sweeps, workers)


def _job(corpus: Corpus, topics: int, how: dict[str, Any], progress: Callable[[int], None]) -> Search:
    done = 0

    def tell(sweeps: int) -> None:
        nonlocal done
        done += sweeps
        progress(done)

    with telling(tell):
        return find(corpus, topics, **how)
