"""Several independent searches for the best h, and whether they agree.

A single chain may stay in one mode of z and report a precise but wrong answer: its Monte Carlo ellipse, computed from
its own batches, contains nothing about other modes. So each chain here is a complete search, from its own random start
to its own grid; the ellipse comes from the batches of all chains, compared with the mean of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import fdtrc

from bayestopics.base.checkpoint import Checkpoint, NoCheckpoint
from bayestopics.base.problems import InputError
from bayestopics.base.processes import team
from bayestopics.base.progress import totalling
from bayestopics.base.seeds import generator, seed_from
from bayestopics.base.wording import explain_once
from bayestopics.corpus.corpus import Corpus
from bayestopics.errors.pooled import DISAGREE
from bayestopics.hyper.best import Best, bent, best_of_chains
from bayestopics.hyper.search import Search, check, find, lengthen
from bayestopics.hyper.tempering import TemperedChain

CHAINS = 8
TRIPS = 20  # round trips of every chain, before a precision counts as reached
MOST_ROUNDS = 64  # for a precision that was asked for, the chains become at most so many times longer
TRIED, SLACK = 4, 4  # after so many rounds, the number of rounds that are needed is known to about this factor
HOPEFUL = 8  # rounds in which an error that is unknown may become known
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
            "precision": self.best.precision,
            "chains": [one.summary() for one in self.found],
            "warnings": self.warnings,
        }


def search_several(
    corpus: Corpus,
    topics: int,
    *,
    chains: int = CHAINS,
    precision: float | None = None,
    workers: int = 1,
    seed: int = 0,
    checkpoint: Checkpoint | None = None,
    **how: Any,
) -> Several:
    """Run `find` with `chains` independent chains in `workers` processes; the bits do not depend on `workers`.

    With a `precision`, the chains become longer until the Monte Carlo deviation is at most this part of the uncertainty
    of h itself, and every chain has made `TRIPS` round trips.
    """
    if min(chains, workers) < 1:
        raise InputError(f"at least 1 chain and 1 worker are needed, not {chains} chains and {workers} workers")
    check_precision(precision)
    sweeps = how["sweeps"]
    check(how.get("alphas"), how.get("etas"), how.get("shape"), sweeps)  # before processes start
    seeds = [seed_from(generator(seed, f"hyper/chain/{number}")) for number in range(chains)]
    parts = [(checkpoint or NoCheckpoint()).part(f"chain-{number}") for number in range(chains)]
    jobs = [(topics, {**how, "seed": one, "checkpoint": part}) for one, part in zip(seeds, parts, strict=True)]
    with team(corpus, chains, min(workers, chains)) as run:
        found = run(_find, jobs, round(USUAL * sweeps * chains))
        together, rounds = _together(found), 1
        while (missing := needed(together, found, precision)) and within_reach(together.precision, precision, rounds):
            more: dict[str, Any] = {"sweeps": sweeps, "sampler": how.get("sampler", "single-site"), "part": rounds}
            longer = [
                (topics, one, {**more, "seed": own, "checkpoint": part.part(f"more-{rounds}")})
                for one, own, part in zip(found, seeds, parts, strict=True)
            ]
            found = run(_lengthen, longer, sweeps * chains)
            together, rounds = _together(found), rounds + 1
    same = agreement([one.best for one in found])
    together, no_ellipse = checked(together, [one.chains[0] for one in found])
    said = [f"Chain {number}: {warning}" for number, one in enumerate(found) for warning in one.warnings]
    return Several(together, found, same, explain_once([*no_ellipse, *disagreement(chains, same), *missing, *said]))


def _together(found: Sequence[Search]) -> Best:
    return found[0].best if len(found) == 1 else best_of_chains([one.chains[0] for one in found])


def checked(together: Best, chains: Sequence[TemperedChain]) -> tuple[Best, list[str]]:
    """Without a region where log m is not nearly quadratic in it, and without an ellipse too where it is flat; and what
    to say then."""
    region = together.region
    if region is None:
        return together, []
    if wide := [one for one in (region, together.ellipse) if one is not None and one.wide]:
        half = np.diag(wide[0].log_covariance)
        said = f"The corpus hardly determines {('alpha', 'eta')[int(np.argmax(half))]}, so there is no region and no "
        said += "Monte Carlo ellipse. The method score finds the level set."
        return replace(together, ellipse=None, region=None), [said]
    if names := bent(region, chains):
        said = f"The corpus does not bound {' and '.join(names)} as an ellipse would, so there is no region. The "
        said += "method score finds the level set."
        return replace(together, region=None), [said]
    return together, []


def needed(together: Best, found: Sequence[Search], precision: float | None) -> list[str]:
    """What is still missing for the precision that was asked for: nothing, or what to say about it."""
    if precision is None:
        return []
    said, now = [], together.precision
    if now is None:
        said.append("The Monte Carlo error is unknown, so the precision is not reached. Use more sweeps (--sweeps).")
    elif now > precision:
        said.append(short_of(now, precision))
    trips = min(one.chains[0].round_trips for one in found)
    if trips < TRIPS:
        said.append(
            f"A chain made only {trips} round trips over its grid, and at least {TRIPS} are needed for errors that "
            "hold. Use more sweeps (--sweeps)."
        )
    return said


def within_reach(now: float | None, precision: float | None, rounds: int) -> bool:
    """Whether chains of `MOST_ROUNDS` rounds may have this precision. Errors fall with the square root of the length;
    those of chains that stay in different modes do not fall, and then more rounds would be in vain."""
    if now is None:
        return rounds < HOPEFUL
    if rounds >= MOST_ROUNDS:
        return False
    if precision is None or rounds < TRIED:
        return True
    return rounds * (now / precision) ** 2 <= SLACK * MOST_ROUNDS


def short_of(now: float, precision: float) -> str:
    return (
        f"The Monte Carlo error is {now:.2g} of the uncertainty of (alpha, eta), not {precision:g}: chains about "
        f"{(now / precision) ** 2:.1f} times as long are needed. Use more sweeps (--sweeps), or, if the chains "
        "disagree, more chains (--chains)."
    )


def check_precision(precision: float | None) -> None:
    if precision is not None and not 0 < precision < 1:
        raise InputError(f"the precision must lie between 0 and 1, not {precision}")


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
    return float(fdtrc(2 * degrees[0], 2 * (degrees[1] - 1), statistic))


def disagreement(chains: int, same: float | None) -> list[str]:
    """A warning if there is only one chain, or if the chains disagree."""
    if chains == 1:
        return [
            "A single chain may stay in one mode and report a precise but wrong answer. Run several chains (--chains)."
        ]
    if same is None or same >= DISAGREE:
        return []
    return [
        f"The chains disagree by far more than their own Monte Carlo errors (p = {same:.1g}), so they are in "
        "different modes or too short. Look at the result of each chain, and use more sweeps (--sweeps)."
    ]


# -- the chains ------------------------------------------------------------------------------------------


def _find(corpus: Corpus, topics: int, how: dict[str, Any], progress: Callable[[int], None]) -> Search:
    with totalling(progress):
        return find(corpus, topics, **how)


def _lengthen(
    corpus: Corpus, topics: int, before: Search, how: dict[str, Any], progress: Callable[[int], None]
) -> Search:
    with totalling(progress):
        return lengthen(corpus, topics, before, **how)
